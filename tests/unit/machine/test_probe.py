from __future__ import annotations

from pathlib import Path

import pytest

from kimi_desktop.machine import nvml, probe
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.memory import LinuxMemory
from tests.support.machine_trees import MEMINFO, plant
from tests.support.machines import cpu
from tests.support.nvml_playback import PlaybackNvml


@pytest.fixture
def no_driver(tmp_path: Path) -> GpuReader:
    library = PlaybackNvml()
    library.fail("Init", nvml.LIBRARY_NOT_FOUND, "no")
    return GpuReader(library, tmp_path)


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CPU, memory and disks that do not depend on this computer."""
    root = plant(tmp_path, {"proc/meminfo": MEMINFO})
    monkeypatch.setattr(probe, "look_cpu", cpu)
    monkeypatch.setattr(probe, "memory_reader", lambda: LinuxMemory(root))
    monkeypatch.setattr(probe, "look_disks", lambda folders: ())


@pytest.mark.usefixtures("steady")
def test_linux_is_called_by_its_distribution(
    monkeypatch: pytest.MonkeyPatch, no_driver: GpuReader
) -> None:
    monkeypatch.setattr(probe.platform, "system", lambda: "Linux")
    monkeypatch.setattr(probe.platform, "release", lambda: "6.1.0")
    named = {"PRETTY_NAME": "Debian GNU/Linux 12"}
    monkeypatch.setattr(probe.platform, "freedesktop_os_release", lambda: named)
    found = probe.look([], no_driver)
    assert found.system == "Debian GNU/Linux 12, Linux 6.1.0"
    assert (found.gpus, found.gpu_note) == ((), "no_gpu")

    def no_release_file() -> dict[str, str]:
        raise FileNotFoundError

    monkeypatch.setattr(probe.platform, "freedesktop_os_release", no_release_file)
    assert probe.look([], no_driver).system == "Linux, Linux 6.1.0"


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize(("architecture", "note"), [("arm64", "apple"), ("x86_64", "no_gpu")])
def test_a_mac(
    monkeypatch: pytest.MonkeyPatch, no_driver: GpuReader, architecture: str, note: str
) -> None:
    monkeypatch.setattr(probe.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(probe.platform, "machine", lambda: architecture)
    monkeypatch.setattr(probe.platform, "mac_ver", lambda: ("15.5", ("", "", ""), architecture))
    found = probe.look([], no_driver)
    assert (found.system, found.gpu_note) == ("macOS 15.5", note)


@pytest.mark.usefixtures("steady")
def test_windows(monkeypatch: pytest.MonkeyPatch, no_driver: GpuReader) -> None:
    monkeypatch.setattr(probe.platform, "system", lambda: "Windows")
    monkeypatch.setattr(probe.platform, "release", lambda: "11")
    monkeypatch.setattr(probe.platform, "version", lambda: "10.0.26100")
    assert probe.look([], no_driver).system == "Windows 11 10.0.26100"


@pytest.mark.usefixtures("steady")
def test_a_lost_gpu_reaches_the_report(tmp_path: Path) -> None:
    found = probe.look([], GpuReader(PlaybackNvml("two_one_lost.json"), tmp_path))
    assert len(found.gpus) == 1
    assert (found.gpu_note, found.gpu_failures) == ("failed", ("GPU 1: GPU is lost",))
