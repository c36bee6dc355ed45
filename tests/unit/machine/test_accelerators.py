"""What decides between builds: driver, makers of GPUs, Vulkan loader."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kimi_desktop.machine import accelerators
from kimi_desktop.machine.accelerators import look_at_accelerators
from tests.support.nvml_playback import PlaybackNvml


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(accelerators.platform, "machine", lambda: "x86_64")


def no_library(_name: str) -> None:
    return None


def test_a_driver_says_its_cuda_and_the_lowest_capability(tmp_path: Path) -> None:
    library = PlaybackNvml("h200.json")
    library.answer("SystemGetCudaDriverVersion_v2", 13020)
    here = look_at_accelerators(library, tmp_path, lambda name: f"lib{name}.so.1")
    assert (here.system, here.arch) == ("linux", "x64")
    assert here.makers == {"nvidia"}
    assert (here.cuda, here.capability) == ((13, 2), (9, 0))
    assert here.has_vulkan
    assert library.calls[-1] == "Shutdown"


def test_makers_without_a_driver(tmp_path: Path) -> None:
    for number, vendor in enumerate(("0x1002", "0x8086", "0x1234")):
        device = tmp_path / f"sys/class/drm/card{number}/device"
        device.mkdir(parents=True)
        (device / "vendor").write_text(vendor + "\n")
    library = PlaybackNvml()
    library.fail("Init", 12, "no library")
    here = look_at_accelerators(library, tmp_path, no_library)
    assert here.makers == {"amd", "intel"}
    assert (here.cuda, here.capability, here.has_vulkan) == (None, None, False)


def test_apple_silicon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(accelerators.platform, "machine", lambda: "arm64")
    here = look_at_accelerators(PlaybackNvml(), tmp_path, no_library)
    assert (here.system, here.arch, here.makers) == ("macos", "arm64", {"apple"})
