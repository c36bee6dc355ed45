"""How the features are joined: the memory of our own engine is no obstacle to a plan."""

from __future__ import annotations

import dataclasses

from kimi_desktop.forecasting import without_engine
from tests.support import scripted_data as data

GIB = data.GIB
BOX = data.two_gpu_box()


def looked_at(engine_gib: float, other_gib: float):
    """The machine while an engine runs, and a sample of that moment."""
    gpus = tuple(
        dataclasses.replace(
            gpu,
            vram_free_bytes=gpu.vram_total_bytes - int((engine_gib + other_gib) * GIB),
        )
        for gpu in BOX.gpus
    )
    memory = dataclasses.replace(BOX.memory, available_bytes=600 * GIB)
    sample = data.sample(BOX, data.NOW)
    held = tuple(
        dataclasses.replace(gpu, engine_vram_bytes=int(engine_gib * GIB)) for gpu in sample.gpus
    )
    sample = dataclasses.replace(sample, gpus=held, engine_anonymous_bytes=50 * GIB)
    return dataclasses.replace(BOX, gpus=gpus, memory=memory), sample


def test_what_our_engine_holds_is_free_for_the_next() -> None:
    machine, sample = looked_at(80, 2)
    found = without_engine(machine, sample)
    for gpu in found.gpus:
        assert gpu.vram_total_bytes - gpu.vram_free_bytes == 2 * GIB
    assert found.memory.available_bytes == 650 * GIB
    assert found.cpu == machine.cpu


def test_without_an_engine_nothing_changes() -> None:
    machine, sample = looked_at(0, 2)
    nothing = dataclasses.replace(
        sample,
        engine_anonymous_bytes=None,
        gpus=tuple(dataclasses.replace(gpu, engine_vram_bytes=None) for gpu in sample.gpus),
    )
    assert without_engine(machine, nothing) == machine
    assert without_engine(machine, None) == machine


def test_never_more_than_there_is() -> None:
    machine, sample = looked_at(80, 2)
    idle = dataclasses.replace(machine, gpus=BOX.gpus, memory=BOX.memory)
    found = without_engine(idle, sample)
    for gpu in found.gpus:
        assert gpu.vram_free_bytes == gpu.vram_total_bytes
    assert found.memory.available_bytes == BOX.memory.total_bytes
