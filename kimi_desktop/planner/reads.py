"""How many bytes one new token reads, and the time that takes by bandwidth alone. Pure.

Of the experts of a layer a token reads ``n_expert_used / n_expert``, of everything else all.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.base.units import GB
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.plan_types import SpeedRule, TokenReads
from kimi_desktop.planner.types import HOST, ModelShape
from kimi_desktop.planner.weights import layer_bytes

TYPICAL_DEPTH = 4_096
"""Tokens in the cache that a plan's speed is judged with."""
GPU_EFFICIENCY = 0.66
RAM_EFFICIENCY = 0.68
"""Shares of the bandwidth that decoding reaches: fitted to measured runs of large models."""
ASSUMED_GPU_BYTES_PER_S = 500.0 * GB
ASSUMED_RAM_BYTES_PER_S = 50.0 * GB
SEEN_OF_THEORETICAL = 0.8
SEVERAL_SOCKETS = 0.63
"""Of the summed bandwidth, what threads of all sockets together reach."""


def token_reads(
    shape: ModelShape,
    devices: Sequence[int],
    experts_in_ram: frozenset[int],
    cache_bytes: Sequence[int],
    *,
    context: int,
    n_gpu: int,
) -> TokenReads:
    """Bytes per device.

    Args:
        shape: the model.
        devices: of every layer, numbers of the machine's GPUs or HOST.
        experts_in_ram: blocks whose experts are in main memory, wherever the block is.
        cache_bytes: K and V per block with the whole context filled.
        context: tokens; the cache is read to ``TYPICAL_DEPTH`` at most.
        n_gpu: GPUs of the machine.
    """
    geometry = shape.geometry
    active = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
    depth = min(1.0, TYPICAL_DEPTH / max(context, 1))
    read = [0.0] * (n_gpu + 1)
    for index, layer in enumerate(layer_bytes(shape)):
        device = devices[index]
        place = n_gpu if device == HOST else device
        cache = cache_bytes[index] if index < len(cache_bytes) else 0
        # A layer reads the same bytes wherever it is; padding does not matter here.
        read[place] += layer.dense_gpu + cache * depth
        expert_place = n_gpu if index in experts_in_ram else place
        read[expert_place] += layer.experts_gpu * active
    return TokenReads(read[n_gpu], tuple(read[:n_gpu]))


def gpu_bytes_per_s(machine: Machine) -> tuple[float, ...]:
    """Memory bandwidth per GPU, an assumed one where the driver does not say."""
    return tuple(gpu.memory_bytes_per_s or ASSUMED_GPU_BYTES_PER_S for gpu in machine.gpus)


def ram_bytes_per_s(machine: Machine) -> float:
    """What threads can read of main memory: measured, else derived, else assumed."""
    memory = machine.memory
    if memory.read_bytes_per_s_measured:
        return memory.read_bytes_per_s_measured
    if memory.read_bytes_per_s_theoretical:
        several = SEVERAL_SOCKETS if machine.cpu.sockets > 1 else 1.0
        return memory.read_bytes_per_s_theoretical * SEEN_OF_THEORETICAL * several
    return ASSUMED_RAM_BYTES_PER_S


def bandwidth_rule(machine: Machine) -> SpeedRule:
    """Seconds per token as bytes over bandwidth, one device after the other."""
    gpus = tuple(GPU_EFFICIENCY * rate for rate in gpu_bytes_per_s(machine))
    ram = RAM_EFFICIENCY * ram_bytes_per_s(machine)

    def seconds(reads: TokenReads) -> float:
        on_gpus = sum(size / rate for size, rate in zip(reads.gpu_bytes, gpus, strict=True))
        return on_gpus + reads.host_bytes / ram

    return seconds
