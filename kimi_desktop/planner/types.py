"""Placements and forecasts as frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from kimi_desktop.models.geometry import Geometry, TensorTable

HOST = -1
"""The device number of main memory; GPUs count from 0."""

ALL_LAYERS = -1
"""``n_gpu_layers``: every block and the output."""

AGREES_BYTES = 64 * 2**20
"""A forecast that is off by no more than this was right: less than any reserve."""

EVERY_BLOCK = 1_000_000
"""``n_cpu_moe``: the experts of every block."""


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What the memory formulas need to know of a model."""

    geometry: Geometry
    tensors: TensorTable
    by_size: bool = False
    """Put together from name and size; no header was read."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model goes and how large its working memory is; the flags of llama-server."""

    context: int
    """Tokens, of all slots together."""
    n_gpu_layers: int = 0
    n_cpu_moe: int = 0
    """Blocks, from block 0, whose experts stay in main memory."""
    overrides: tuple[tuple[str, int], ...] = ()
    """(pattern of tensor names, device): the first match wins (``-ot``)."""
    tensor_split: tuple[float, ...] = ()
    """Shares of the GPUs; empty = in proportion to their free memory."""
    cache_type_k: str = "F16"
    cache_type_v: str = "F16"
    n_batch: int = 2048
    n_ubatch: int = 512
    n_parallel: int = 1
    n_state_snapshots: int = 0
    """Recurrent states kept per slot beside the current one."""
    kv_unified: bool = False
    """One pool of cells for all slots."""
    flash_attention: bool | None = None
    """None = the engine decides: on, where it can."""
    offload_kv: bool = True
    """The cache lives where its layer does, else in main memory."""
    offload_ops: bool = True
    """Large batches copy weights from main memory to the first GPU."""
    full_window: bool = False
    """``--swa-full``: window layers keep every token."""
    load_nextn: bool = False
    """Load the blocks of multi-token prediction."""
    repack: bool = True
    """The CPU rearranges some formats when no GPU is used."""
    n_outputs: int | None = None
    """Rows of logits per micro-batch; None = one per slot, as llama-server has it."""


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """What one device will hold, in bytes. None = not forecast."""

    device: str
    """"gpu:0", "host"."""
    name: str
    total_bytes: int
    weights_bytes: int
    kv_bytes: int
    compute_bytes: int | None
    overhead_bytes: int | None
    others_bytes: int
    """Used by other programs now."""

    @property
    def used_bytes(self) -> int:
        """The sum of what is known."""
        return (
            self.weights_bytes
            + self.kv_bytes
            + (self.compute_bytes or 0)
            + (self.overhead_bytes or 0)
            + self.others_bytes
        )

    @property
    def spare_bytes(self) -> int:
        """What is left; negative when it does not fit."""
        return self.total_bytes - self.used_bytes


@dataclass(frozen=True, slots=True)
class LoadForecast:
    """The memory of one load, the GPUs first, the host last."""

    devices: tuple[DeviceMemory, ...]
    exact: bool = True
    """False: the architecture was not measured, or no header was read; the figures are an
    estimate."""
    is_measured: bool = True
    """The rules of the architecture are known."""

    @property
    def fits(self) -> bool:
        """Nothing is over its total, by what is known."""
        return all(device.spare_bytes >= 0 for device in self.devices)


@dataclass(frozen=True, slots=True)
class ExactCheck:
    """What the engine itself says a load would allocate (a dry run: nothing is)."""

    devices: tuple[DeviceMemory, ...]
    """As a forecast has them, with the engine's weights, cache and compute buffers."""
    largest_difference_bytes: int
    """Between forecast and engine, of any buffer of any device; never negative."""
    build: str
    """"llama.cpp b11549"."""
    difference_device: str = ""
    """Where that is: "gpu:0", "host"; "" when there is none."""
    engine_takes_more: bool = False
    """There the engine takes more than was forecast."""

    @property
    def agrees(self) -> bool:
        """The forecast is as good as the engine's own word."""
        return self.largest_difference_bytes <= AGREES_BYTES
