"""The memory forecast of llama.cpp: one estimator for every page and verb. Pure, below 1 ms."""

from __future__ import annotations

from functools import lru_cache

from kimi_desktop.machine.types import Machine
from kimi_desktop.models.geometry import Geometry, TensorTable
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.planner.cache import cache_by_device
from kimi_desktop.planner.compute import compute_by_device
from kimi_desktop.planner.overhead import (
    gpu_overhead_bytes,
    host_overhead_bytes,
    worker_overhead_bytes,
)
from kimi_desktop.planner.rpc import device_id, device_name, own_gpus
from kimi_desktop.planner.types import (
    HOST,
    DeviceMemory,
    LoadForecast,
    ModelShape,
    Placement,
)
from kimi_desktop.planner.weights import layer_devices, weights_by_device


def shape_of(facts: ModelFacts) -> ModelShape:
    """What the formulas need; the same object for the same header.

    Raises:
        ValueError: the facts were not read from a header.
    """
    if facts.geometry is None or facts.tensors is None:
        raise ValueError("facts without a geometry")
    return _shape(facts.geometry, facts.tensors)


@lru_cache(maxsize=64)
def _shape(geometry: Geometry, tensors: TensorTable) -> ModelShape:
    return ModelShape(geometry, tensors)


def forecast(
    shape: ModelShape, placement: Placement, machine: Machine, *, uses_gpus: bool = True
) -> LoadForecast:
    """What every device of ``machine`` will hold.

    Args:
        shape: the model.
        placement: the flags; ``tensor_split`` empty = by free VRAM, as llama.cpp does.
        machine: totals and what others use now.
        uses_gpus: False for an engine that was built without GPU support; GPUs are listed all
            the same, with what others use.
    """
    gpus = machine.gpus
    split: tuple[float, ...] = ()
    if uses_gpus and gpus:
        free = tuple(float(gpu.vram_free_bytes) for gpu in gpus)
        split = (placement.tensor_split or free)[: len(gpus)]
    devices = layer_devices(shape.geometry.n_layer, placement.n_gpu_layers, split)
    weights = weights_by_device(shape, placement, split)
    cache = cache_by_device(shape.geometry, placement, devices)
    compute = compute_by_device(shape, placement, split, devices)
    gpu_overhead = gpu_overhead_bytes(shape, placement)
    worker_overhead = worker_overhead_bytes(shape, placement)
    own = own_gpus(machine)
    rows = [
        DeviceMemory(
            device=device_id(number, gpu, own),
            name=device_name(gpu),
            total_bytes=gpu.vram_total_bytes,
            weights_bytes=weights.bytes.get(number, 0),
            kv_bytes=cache.get(number, 0),
            compute_bytes=compute.bytes.get(number, 0),
            overhead_bytes=(gpu_overhead if gpu.link is None else worker_overhead)
            if number < len(split)
            else 0,
            others_bytes=gpu.vram_total_bytes - gpu.vram_free_bytes,
        )
        for number, gpu in enumerate(gpus)
    ]
    memory = machine.memory
    rows.append(
        DeviceMemory(
            device="host",
            name="RAM",
            total_bytes=memory.usable_total_bytes,
            weights_bytes=weights.bytes[HOST],
            kv_bytes=cache.get(HOST, 0),
            compute_bytes=compute.bytes[HOST],
            overhead_bytes=host_overhead_bytes(shape, placement),
            others_bytes=max(memory.usable_total_bytes - memory.available_bytes, 0),
        )
    )
    is_known = shape.geometry.exact and compute.measured
    return LoadForecast(tuple(rows), is_known and not shape.by_size, is_known)
