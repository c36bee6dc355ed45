"""One dry run: a model's header, a placement, devices; the buffers that llama.cpp would make."""

from __future__ import annotations

import ctypes as c
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.dry_run.library import BufferBytes, Library
from kimi_desktop.backends.dry_run.pretended import GpuSize, PretendedGpus
from kimi_desktop.backends.dry_run.structs import BufferOverride, ModelParams
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.planner.types import EVERY_BLOCK, HOST, Placement

EXPERTS = r"ffn_(up|down|gate|gate_up)_(ch|)exps"
_FLASH = {None: -1, False: 0, True: 1}


class RefusedError(Exception):
    """llama.cpp does not load the model, or makes no context."""


@dataclass(frozen=True, slots=True)
class DeviceBytes:
    """What one device would hold."""

    weights: int = 0
    cache: int = 0
    compute: int = 0

    def __add__(self, other: DeviceBytes) -> DeviceBytes:
        """Both together."""
        return DeviceBytes(
            self.weights + other.weights, self.cache + other.cache, self.compute + other.compute
        )


class DryRun:
    """llama.cpp with a fixed set of pretended GPUs."""

    def __init__(self, library: Library, gpus: Sequence[GpuSize]) -> None:
        """Register the GPUs; once in a process."""
        self._library = library
        self._gpus = PretendedGpus(library, gpus) if gpus else None

    def measure(self, model: Path, placement: Placement) -> dict[int, DeviceBytes]:
        """Bytes per device, HOST for main memory.

        Raises:
            RefusedError: with llama.cpp's own words.
        """
        library = self._library
        library.log.clear()
        params, kept = self._model_params(placement)
        loaded = library.load(str(model).encode(), params)
        if not loaded:
            raise RefusedError(library.said())
        try:
            context = self._context(loaded, placement)
            try:
                return _by_device(library.buffers(context))
            finally:
                library.free_context(context)
        finally:
            library.free_model(loaded)
            del kept

    def _model_params(self, placement: Placement) -> tuple[ModelParams, list[object]]:
        library, kept = self._library, list[object]()
        params = library.model_defaults()
        params.no_alloc = True
        params.load_mode = 0  # mapped files and dry runs exclude each other
        params.n_gpu_layers = placement.n_gpu_layers
        params.use_extra_bufts = placement.repack
        params.load_mtp = placement.load_nextn
        addresses = self._gpus.addresses if self._gpus else []
        devices = (c.c_void_p * (len(addresses) + 1))(*addresses, None)
        kept.append(devices)
        params.devices = c.addressof(devices)
        if rules := list(_rules(placement)):
            overrides = (BufferOverride * (len(rules) + 1))()
            for one, (pattern, device) in zip(overrides, rules, strict=False):
                one.pattern = pattern.encode()
                one.buft = (
                    library.cpu_buffer_type()
                    if device == HOST
                    else library.device_buffer_type(addresses[device])
                )
            kept.append(overrides)
            params.tensor_buft_overrides = c.addressof(overrides)
        if placement.tensor_split:
            shares = (c.c_float * library.max_devices())(*placement.tensor_split)
            kept.append(shares)
            params.tensor_split = c.addressof(shares)
        return params, kept

    def _context(self, model: int, placement: Placement) -> int:
        library = self._library
        params = library.context_defaults()
        params.n_ctx, params.n_batch = placement.context, placement.n_batch
        params.n_ubatch, params.n_seq_max = placement.n_ubatch, placement.n_parallel
        params.n_outputs_max = (
            placement.n_parallel if placement.n_outputs is None else placement.n_outputs
        )
        params.n_outputs_max_per_seq = 1
        params.n_rs_seq = placement.n_state_snapshots
        params.flash_attn_type = _FLASH[placement.flash_attention]
        params.type_k = TYPES_BY_NAME[placement.cache_type_k].id
        params.type_v = TYPES_BY_NAME[placement.cache_type_v].id
        params.offload_kqv, params.op_offload = placement.offload_kv, placement.offload_ops
        params.swa_full, params.kv_unified = placement.full_window, placement.kv_unified
        context: int | None = library.new_context(model, params)
        if not context:
            raise RefusedError(library.said())
        return context


def _rules(placement: Placement) -> Iterable[tuple[str, int]]:
    """(pattern of tensor names, device): experts in main memory first, as llama-server has it."""
    if placement.n_cpu_moe >= EVERY_BLOCK:
        yield rf"\.{EXPERTS}", HOST
    else:
        for block in range(placement.n_cpu_moe):
            yield rf"blk\.{block}\.{EXPERTS}", HOST
    yield from placement.overrides


def _by_device(buffers: Iterable[BufferBytes]) -> dict[int, DeviceBytes]:
    found: dict[int, DeviceBytes] = {}
    for one in buffers:
        on_gpu = one.device.startswith("CUDA") and not one.is_host
        device = int(one.device.removeprefix("CUDA")) if on_gpu else HOST
        size = DeviceBytes(one.model, one.context, one.compute)
        found[device] = found.get(device, DeviceBytes()) + size
    return found
