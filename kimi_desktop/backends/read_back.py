"""What the engine's log says was really loaded, beside what was asked and forecast. Pure.

Lines of llama.cpp b11434, which are there from ``-lv 4`` on; the context's older name is 2024's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode, Param
from kimi_desktop.base.units import MIB, format_gib
from kimi_desktop.planner.types import LoadForecast

PADDING = 256
"""llama.cpp rounds the context of a slot up to so many tokens."""
TOLERATED_SHARE = 0.05
TOLERATED_BYTES = 300 * MIB

_CONTEXT = re.compile(
    r"(?:llama_context|llama_new_context_with_model|llama_init_from_model): n_ctx\s+= (\d+)"
)
_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
_BUFFER = re.compile(r"\s(\S+) +(model|KV|RS|compute|output) buffer size = +([\d.]+) MiB")
_WORKER = re.compile(r"RPC\d*\[.*\]$")
_GPU = re.compile(r"(?:CUDA|ROCm|HIP|Vulkan|SYCL|MTL|Metal|MUSA|CANN)(\d*)$")


@dataclass(frozen=True, slots=True)
class Loaded:
    """One load, as far as the log tells."""

    context: int | None
    """Tokens of all slots together."""
    gpu_layers: tuple[int, int] | None
    """(on GPUs, of how many); said also where there is no GPU."""
    buffers: Mapping[str, int]
    """Device as the engine names it -> bytes of all its buffers."""

    @property
    def gpu_bytes(self) -> tuple[int, ...]:
        """Of each GPU that holds something, in the engine's order."""
        found = [(int(match[1] or 0), size) for name, size in self.buffers.items()
                 if (match := _GPU.match(name))]  # fmt: skip
        return tuple(size for _, size in sorted(found))

    @property
    def is_on_workers(self) -> bool:
        """A device of another machine holds something."""
        return any(_WORKER.match(name) for name in self.buffers)


def read_loaded(lines: Iterable[str]) -> Loaded:
    """Read a log up to where the model is loaded; a later draft model counts to its device."""
    context: int | None = None
    layers: tuple[int, int] | None = None
    buffers: dict[str, int] = defaultdict(int)
    for line in lines:
        if context is None and (match := _CONTEXT.search(line)):
            context = int(match[1])
        elif layers is None and (match := _OFFLOADED.search(line)):
            layers = int(match[1]), int(match[2])
        elif match := _BUFFER.search(line):
            buffers[match[1]] += round(float(match[3]) * MIB)
    return Loaded(context, layers, dict(buffers))


def differences(
    loaded: Loaded, settings: LoadSettings, forecast: LoadForecast
) -> tuple[BackendError, ...]:
    """What is otherwise than planned, the gravest first.

    Args:
        loaded: from the log.
        settings: what was asked.
        forecast: of these settings; empty where there is none.
    """
    found: list[BackendError] = []
    planned = [row for row in forecast.devices if row.device != "host" and row.weights_bytes > 0]
    planned_gpus = [row for row in planned if row.device.startswith("gpu:")]
    holds_some = bool(loaded.gpu_bytes) or loaded.is_on_workers
    if planned and loaded.buffers and not holds_some:
        found.append(BackendError(ErrorCode.ENGINE_LOADED_NO_GPU))
    elif loaded.gpu_layers is not None and holds_some:
        on_gpus, of = loaded.gpu_layers
        wanted = of if settings.n_gpu_layers < 0 else min(settings.n_gpu_layers, of)
        if on_gpus != wanted:
            params: dict[str, Param] = {"loaded": on_gpus, "planned": wanted}
            found.append(BackendError(ErrorCode.ENGINE_LOADED_LAYERS, params))
    if loaded.context is not None and settings.context:
        most = settings.context + PADDING * max(settings.n_parallel, 1)
        if not settings.context <= loaded.context <= most:
            params = {"loaded": loaded.context, "planned": settings.context}
            found.append(BackendError(ErrorCode.ENGINE_LOADED_CONTEXT, params))
    if len(planned_gpus) == len(loaded.gpu_bytes):
        for row, size in zip(planned_gpus, loaded.gpu_bytes, strict=True):
            expected = row.weights_bytes + row.kv_bytes + (row.compute_bytes or 0)
            if size - expected > max(TOLERATED_SHARE * expected, TOLERATED_BYTES):
                params = {
                    "device": row.name,
                    "loaded": format_gib(size),
                    "planned": format_gib(expected),
                }
                found.append(BackendError(ErrorCode.ENGINE_LOADED_MEMORY, params))
    return tuple(found)
