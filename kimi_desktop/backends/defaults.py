"""Load settings to begin with: what fits this machine by the forecast, until the planner owns it.

Pure, below 8 ms: some twenty forecasts of less than 0.1 ms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from kimi_desktop.backends.plain_chat import plain_chat_for
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel, ModelFacts
from kimi_desktop.planner.types import LoadForecast


class Forecast(Protocol):
    """The planner's forecast of load settings (joined at the top)."""

    def __call__(
        self, settings: LoadSettings, model: LocalModel, machine: Machine, *, uses_gpus: bool
    ) -> LoadForecast:
        """Memory per device; ``uses_gpus`` False for an engine that was built without."""


CONTEXTS = (32_768, 16_384, 8_192, 4_096, 2_048)
"""From what is comfortable down to what is usable."""
FREE_SHARE = 0.10
"""Left free on every device."""
GPU_RESERVE_BYTES = 2 * 2**30
"""Compute buffers and the driver, until they are forecast."""
STAGING_BYTES = 3 * 2**30
"""More of it on the first GPU when experts lie in RAM: one whole expert tensor is staged there."""
HOST_RESERVE_BYTES = 2**30


def default_settings(
    model: LocalModel,
    machine: Machine | None,
    forecast: Forecast,
    *,
    kind: EngineKind,
    binary: Path | None,
    uses_gpu: bool,
) -> LoadSettings:
    """The most comfortable settings that fit; the least ones when nothing does.

    Args:
        model: what to load.
        machine: None when nobody has looked yet: then nothing goes to a GPU.
        forecast: memory per device of given settings.
        kind: which engine will load it.
        binary: its program, for a llama-server.
        uses_gpu: that engine can use this machine's GPUs.
    """
    facts = model.facts
    base = LoadSettings(model_path=model.path, kind=kind, binary=binary)
    if facts is None:
        return base
    if facts.chat_template is None:
        plain = plain_chat_for(facts.architecture)
        base = dataclasses.replace(base, chat_template=plain.template, stop=plain.stop)
    base = dataclasses.replace(base, context=_least_context(facts))
    if machine is None:
        return base
    on_gpu = uses_gpu and bool(machine.gpus)

    def fits(settings: LoadSettings) -> bool:
        staged = settings.n_cpu_moe > 0 or settings.n_gpu_layers <= facts.n_layer
        memory = forecast(settings, model, machine, uses_gpus=uses_gpu)
        return _fits(memory, staged=staged and facts.n_expert > 0)

    for context in CONTEXTS:
        if context <= facts.context_train:
            wanted = dataclasses.replace(base, context=context)
            placed = _placed(wanted, facts, fits) if on_gpu else wanted
            if placed is not None and fits(placed):
                return placed
    return base


def _least_context(facts: ModelFacts) -> int:
    return min(CONTEXTS[-1], facts.context_train) if facts.context_train else CONTEXTS[-1]


def _placed(
    settings: LoadSettings, facts: ModelFacts, fits: Callable[[LoadSettings], bool]
) -> LoadSettings | None:
    """All on the GPU; else the fewest experts in RAM; else the most layers on the GPU."""
    everything = dataclasses.replace(settings, n_gpu_layers=facts.n_layer + 1)
    if fits(everything):
        return everything
    if facts.n_expert:
        moved = _least(facts.n_layer, lambda n: fits(dataclasses.replace(everything, n_cpu_moe=n)))
        if moved is not None:
            return dataclasses.replace(everything, n_cpu_moe=moved)
    left_out = _least(
        facts.n_layer + 1,
        lambda n: fits(dataclasses.replace(settings, n_gpu_layers=facts.n_layer + 1 - n)),
    )
    if left_out is None:
        return None
    return dataclasses.replace(settings, n_gpu_layers=facts.n_layer + 1 - left_out)


def _least(highest: int, is_enough: Callable[[int], bool]) -> int | None:
    """The least number in 1 ... highest that is enough; more is never less enough."""
    if not is_enough(highest):
        return None
    low, high = 1, highest
    while low < high:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _fits(forecast: LoadForecast, *, staged: bool) -> bool:
    """Every device has its share free, with a reserve for what is not forecast."""
    for number, device in enumerate(forecast.devices):
        reserve = 0
        if device.compute_bytes is None:
            reserve = HOST_RESERVE_BYTES if device.device == "host" else GPU_RESERVE_BYTES
            if staged and number == 0 and device.device != "host":
                reserve += STAGING_BYTES
        if device.used_bytes + reserve > device.total_bytes * (1 - FREE_SHARE):
            return False
    return True
