"""What the planner says of settings and models, for services that do not know it. Pure."""

from __future__ import annotations

import dataclasses

from kimi_desktop.backends.placed import gpus_of, placement_of
from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.monitor.types import Sample
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import forecast_on
from kimi_desktop.planner.types import LoadForecast


def forecast_load(
    settings: LoadSettings, model: LocalModel, machine: Machine, *, uses_gpus: bool
) -> LoadForecast:
    """The planner's forecast of these settings; without devices when the header was not read."""
    if model.facts is None or model.facts.geometry is None or model.facts.tensors is None:
        return LoadForecast(())
    gpus = gpus_of(settings, machine, uses_gpus=uses_gpus)
    return forecast_on(shape_of(model.facts), placement_of(settings), machine, gpus)


def without_engine(machine: Machine, sample: Sample | None) -> Machine:
    """A machine with the memory of our own engine given back, as far as it is known.

    Args:
        machine: looked at while the engine was running.
        sample: of that moment; None when there is none.
    """
    if sample is None:
        return machine
    held = {gpu.index: gpu.engine_vram_bytes or 0 for gpu in sample.gpus}
    gpus = tuple(
        dataclasses.replace(
            gpu,
            vram_free_bytes=min(gpu.vram_free_bytes + held.get(gpu.index, 0), gpu.vram_total_bytes),
        )
        for gpu in machine.gpus
    )
    memory = machine.memory
    # File pages of the weights count as available already.
    available = memory.available_bytes + (sample.engine_anonymous_bytes or 0)
    memory = dataclasses.replace(memory, available_bytes=min(available, memory.total_bytes))
    return dataclasses.replace(machine, gpus=gpus, memory=memory)
