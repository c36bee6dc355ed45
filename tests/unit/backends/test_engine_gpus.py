"""Engines count the GPUs as plans do, whichever cards CUDA sees besides."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engine_gpus import known_gpus, visible_gpus
from kimi_desktop.backends.engines.interface import RunPlace
from kimi_desktop.backends.engines.llama_cpp import LlamaCpp
from kimi_desktop.backends.engines.sglang import Sglang
from kimi_desktop.backends.engines.vllm import Vllm
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.types import Gpu, Machine
from kimi_desktop.machine.visible import part_of_gpu, shown
from kimi_desktop.planner.flags import device_list
from tests.support.machines import gpu
from tests.support.machines import machine as described
from tests.support.nvml_playback import PlaybackNvml

MIG = "MIG-377e0049-554c-540b-93c6-d0976f8426cb"
BUILD = EngineBuild(
    EngineKind.LLAMA_SERVER, ("llama-server",), {"--device": "D", "-dev": "D"}, devices=("CUDA0",)
)
SETTINGS = LoadSettings(Path("m.gguf"))


def three_cards() -> PlaybackNvml:
    library = PlaybackNvml("h200.json")
    for key, answer in list(library.answers.items()):
        if " gpu0" in key:
            for number in (1, 2):
                library.answers[key.replace(" gpu0", f" gpu{number}")] = answer
    for number in range(3):
        library.answer(f"DeviceGetHandleByIndex {number}", f"gpu{number}")
        library.answer(f"DeviceGetUUID gpu{number}", f"GPU-{number:08d}")
    library.answer("DeviceGetCount", 3)
    return library


def looked(library: PlaybackNvml, folder: Path, wish: str | None = None) -> Machine:
    environment = {} if wish is None else {"CUDA_VISIBLE_DEVICES": wish}
    look = GpuReader(library, folder, environment=environment).look()
    return dataclasses.replace(
        described(), gpus=look.gpus, gpu_note=look.note, gpu_failures=look.failures
    )


def place_on(machine: Machine | None) -> RunPlace:
    return RunPlace(Path("/run/engine-1"), "secret", known_gpus(machine))


def test_a_card_that_does_not_answer_is_not_counted_by_the_engine(tmp_path: Path) -> None:
    library = three_cards()
    library.lose(1)
    place = place_on(looked(library, tmp_path))
    settings = dataclasses.replace(SETTINGS, gpus=(1,))  # of the plan: the last card
    told = LlamaCpp().environment(BUILD, settings, place)
    assert told["CUDA_VISIBLE_DEVICES"] == "GPU-00000000,GPU-00000002"
    assert device_list((1,)) == "CUDA1"
    for engine in (Vllm(), Sglang()):  # they take numbers, and count on the bus
        assert engine.environment(BUILD, settings, place)["CUDA_VISIBLE_DEVICES"] == "2"


def test_a_card_that_the_user_hides_is_not_used(tmp_path: Path) -> None:
    place = place_on(looked(three_cards(), tmp_path, "1,2"))
    told = LlamaCpp().environment(BUILD, SETTINGS, place)
    assert told["CUDA_VISIBLE_DEVICES"] == "GPU-00000001,GPU-00000002"
    assert Vllm().environment(BUILD, SETTINGS, place)["CUDA_VISIBLE_DEVICES"] == "1,2"
    hidden = place_on(looked(three_cards(), tmp_path, ""))
    assert LlamaCpp().environment(BUILD, SETTINGS, hidden)["CUDA_VISIBLE_DEVICES"] == ""


def test_where_no_card_is_known_the_engine_looks_for_itself(tmp_path: Path) -> None:
    library = PlaybackNvml()
    library.fail("Init", 999, "Unknown Error")
    for machine in (None, looked(library, tmp_path)):
        told = LlamaCpp().environment(BUILD, SETTINGS, place_on(machine))
        assert "CUDA_VISIBLE_DEVICES" not in told


def test_other_makers_builds_are_not_told() -> None:
    build = dataclasses.replace(BUILD, devices=("ROCm0",))
    place = place_on(described(gpus=(gpu(0),), gpu_note=""))
    assert "CUDA_VISIBLE_DEVICES" not in LlamaCpp().environment(build, SETTINGS, place)


def test_cards_without_a_uuid_and_those_of_workers() -> None:
    cards: tuple[Gpu, ...] = (gpu(0, uuid=""), gpu(2))
    assert visible_gpus(cards, (0, 1, 5))["CUDA_VISIBLE_DEVICES"] == "0,2"


@pytest.mark.parametrize(
    ("numbers", "value", "expected"),
    [
        ("1", "GPU-a,GPU-c", "GPU-c"),
        ("1,0", "GPU-a,GPU-c", "GPU-c,GPU-a"),
        ("", "GPU-a", ""),
        ("0,2", None, "0,2"),
        ("0", MIG, MIG),
    ],
)
def test_the_embedded_engine_chooses_among_what_is_shown(
    numbers: str, value: str | None, expected: str
) -> None:
    assert shown(numbers, value) == expected


def test_a_part_of_a_card_is_the_only_one(tmp_path: Path) -> None:
    """CUDA shows a program one part (MIG): its memory is what a plan has, its UUID its name."""
    library = three_cards()
    library.answer(f"DeviceGetHandleByUUID {MIG}", "part")
    library.answer("DeviceGetName part", "NVIDIA H200 MIG 2g.35gb")
    library.answer("DeviceGetMemoryInfo part", {"total": 35 * 2**30, "free": 34 * 2**30})
    library.answer("DeviceGetDeviceHandleFromMigDeviceHandle part", "gpu1")
    machine = looked(library, tmp_path, f"{MIG},GPU-00000002")
    (part,) = machine.gpus
    assert (part.uuid, part.vram_total_bytes) == (MIG, 35 * 2**30)
    assert part.compute_capability == "9.0"
    place = place_on(machine)
    for engine in (LlamaCpp(), Vllm(), Sglang()):
        assert engine.environment(BUILD, SETTINGS, place)["CUDA_VISIBLE_DEVICES"] == MIG


def test_a_part_that_is_not_there_is_told(tmp_path: Path) -> None:
    machine = looked(three_cards(), tmp_path, MIG)
    assert machine.gpus == ()
    assert machine.gpu_note == "failed"
    assert MIG in machine.gpu_failures[0]
    assert part_of_gpu("0,1") is None
