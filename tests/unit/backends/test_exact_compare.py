"""Comparing a forecast with the engine's bytes; who can be asked."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from kimi_desktop.backends import exact_check
from kimi_desktop.backends.exact_check import check_exactly, compare, is_cuda
from kimi_desktop.backends.exact_check_child import read_placement
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language, message
from kimi_desktop.engine_questions import check_lines
from kimi_desktop.planner.types import DeviceMemory, LoadForecast, Placement
from tests.support.planned_machines import machine

MIB = 2**20


def row(device: str, *sizes: int) -> DeviceMemory:
    weights, cache, compute = sizes
    return DeviceMemory(device, device, 100 * MIB, weights, cache, compute, 5, 7)


FORECAST = LoadForecast((
    row("gpu:0", 0, 0, 0), row("gpu:1", 10 * MIB, 20 * MIB, 30 * MIB), row("host", 1, 2, 3),
))  # fmt: skip


def test_the_engine_s_devices_are_those_that_are_used() -> None:
    found = compare({"0": [11 * MIB, 20 * MIB, 30 * MIB], "-1": [1, 2, 3]}, (1,), FORECAST, "b1")
    assert found.devices[0] == FORECAST.devices[0]
    assert found.devices[1].weights_bytes == 11 * MIB
    assert found.devices[1].overhead_bytes == 5
    assert found.largest_difference_bytes == MIB
    assert found.build == "b1"
    assert found.agrees


def test_differences_do_not_cancel_out() -> None:
    found = compare({"0": [110 * MIB, 20 * MIB, 1], "-1": [1, 2, 3]}, (1,), FORECAST, "b1")
    assert found.largest_difference_bytes == 100 * MIB
    assert not found.agrees
    assert (found.difference_device, found.engine_takes_more) == ("gpu:1", True)
    missing = compare({"0": [10 * MIB, 20 * MIB, 30 * MIB]}, (1,), FORECAST, "b1")
    assert missing.largest_difference_bytes == 3
    assert (missing.difference_device, missing.engine_takes_more) == ("host", False)


@pytest.mark.parametrize("language", list(Language))
def test_where_and_by_how_much_the_engine_differs_is_said(language: Language) -> None:
    ram = message("plan.device.ram", language)
    same = {"0": [10 * MIB, 20 * MIB, 30 * MIB], "-1": [1, 2, 3]}
    more = compare({**same, "0": [210 * MIB, 20 * MIB, 30 * MIB]}, (1,), FORECAST, "b1")
    less = compare(same, (1,), dataclasses.replace(FORECAST, devices=(
        *FORECAST.devices[:2], row("host", 100 * MIB, 2, 3))), "b1")  # fmt: skip
    (line,) = check_lines(compare(same, (1,), FORECAST, "b1"), "", language)
    assert line == message("plan.check.same", language, build="b1")
    (line,) = check_lines(more, "", language)
    assert "GPU 1" in line
    assert "200 MiB" in line
    (line,) = check_lines(less, "", language)
    assert ram in line
    assert "100 MiB" in line


def test_a_placement_survives_its_way_to_the_child() -> None:
    placement = Placement(
        context=4096, overrides=((r"\.exps", -1),), tensor_split=(0.5, 0.5), flash_attention=None
    )
    assert read_placement(dataclasses.asdict(placement)) == placement


@pytest.mark.parametrize(
    ("name", "capability", "asked"),
    [("RTX 4090", None, True), ("NVIDIA H200", "9.0", True), ("AMD Instinct MI300X", None, False)],
)
def test_only_nvidia_is_pretended(name: str, capability: str | None, asked: bool) -> None:
    gpu = dataclasses.replace(machine(24).gpus[0], name=name, compute_capability=capability)
    assert is_cuda(gpu) is asked


def ask(where: object = None) -> object:
    amd = dataclasses.replace(machine(24).gpus[0], name="AMD Radeon", compute_capability=None)
    used = dataclasses.replace(machine(24), gpus=(amd,)) if where == "amd" else machine()
    gpus = (0,) if where == "amd" else ()
    return asyncio.run(check_exactly([], Placement(context=1), used, gpus, FORECAST))


def test_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("amd") is None

    def none() -> object:
        raise BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": "xllamacpp"})

    monkeypatch.setattr(exact_check, "embedded_build", none)
    assert ask() is None
    monkeypatch.setattr(exact_check.sys, "platform", "darwin")
    assert ask() is None
