"""Answers of kernel32 laid out as its headers say."""
# ruff: noqa: N802 - functions keep the names of Windows

from __future__ import annotations

import ctypes
import struct
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.machine import cpu, windows
from kimi_desktop.machine.types import DiskKind
from kimi_desktop.machine.volumes import Volume
from kimi_desktop.machine.windows import Topology, disk_kind, look_cpu, parse_topology, volumes


def record(relation: int, size: int = 48) -> bytes:
    return struct.pack("<II", relation, size) + bytes(size - 8)


def topology(cores: int, packages: int, nodes: int) -> bytes:
    caches = record(2, 56) * 3 * cores
    group = record(4, 80)
    return (
        record(windows.RELATION_CORE) * cores
        + caches
        + record(windows.RELATION_PACKAGE) * packages
        + record(windows.RELATION_NUMA_NODE) * nodes
        + group
    )


def device(bus: int) -> bytes:
    """STORAGE_DEVICE_DESCRIPTOR with a product name behind it."""
    head = struct.pack("<IIBBBBIIIII", 40, 60, 0, 0, 0, 1, 0, 40, 0, 0, bus)
    return head + bytes(8) + b"Samsung SSD 990 PRO\0"


def seek_penalty(has: bool) -> bytes:
    return struct.pack("<II?3x", 12, 12, has)


class Recorded:
    """A desktop with Windows 11."""

    def __init__(self, bus: int = 17, seek: bytes = b"", drive: int = 3) -> None:
        self.answers = {windows.PROPERTY_DEVICE: device(bus), windows.PROPERTY_SEEK_PENALTY: seek}
        self.drive = drive
        self.information = topology(16, 1, 1)

    def processor_name(self) -> str:
        return "AMD Ryzen 9 7950X 16-Core Processor            "

    def has_feature(self, number: int) -> bool:
        return number in (39, 40, 41)

    def processor_information(self) -> bytes:
        return self.information

    def logical_cores(self) -> int:
        return 32

    def usable_cores(self) -> int:
        return 30

    def volume(self, folder: Path) -> str:
        return "D:\\"

    def drive_type(self, volume: str) -> int:
        return self.drive

    def file_system(self, volume: str) -> str:
        return "NTFS"

    def storage_property(self, volume: str, number: int) -> bytes:
        return self.answers[number]


def test_a_desktop() -> None:
    seen = look_cpu(Recorded())
    assert seen.model == "AMD Ryzen 9 7950X 16-Core Processor"
    assert (seen.physical_cores, seen.logical_cores, seen.usable_cores) == (16, 32, 30)
    assert (seen.sockets, seen.numa_nodes) == (1, 1)
    assert seen.isa == ("avx", "avx2", "avx512f")


def test_a_system_that_does_not_list_its_cores() -> None:
    kernel = Recorded()
    kernel.information = b""
    seen = look_cpu(kernel)
    assert (seen.physical_cores, seen.sockets, seen.numa_nodes) == (32, 1, 1)


@given(st.integers(0, 200), st.integers(0, 8), st.integers(0, 16))
def test_topology_counts_its_records(cores: int, packages: int, nodes: int) -> None:
    assert parse_topology(topology(cores, packages, nodes)) == Topology(cores, packages, nodes)


@given(st.binary(max_size=200))
def test_topology_of_any_bytes_ends(buffer: bytes) -> None:
    assert all(count >= 0 for count in parse_topology(buffer))


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        (Recorded(bus=17), DiskKind.NVME),
        (Recorded(bus=11, seek=seek_penalty(False)), DiskKind.SSD),
        (Recorded(bus=11, seek=seek_penalty(True)), DiskKind.ROTATIONAL),
        (Recorded(bus=7), DiskKind.UNKNOWN),  # a USB stick that does not say
        (Recorded(bus=15), DiskKind.UNKNOWN),
        (Recorded(drive=windows.DRIVE_REMOTE), DiskKind.NETWORK),
    ],
)
def test_kinds_of_volumes(kernel: Recorded, kind: DiskKind) -> None:
    assert volumes(kernel)(Path("D:/models")) == Volume("D:\\", kind, "NTFS")


def test_a_share_without_a_letter() -> None:
    assert disk_kind(Recorded(), "\\\\server\\models\\") is DiskKind.NETWORK


def test_a_volume_that_tells_nothing() -> None:
    kernel = Recorded()
    kernel.answers = dict.fromkeys(kernel.answers, b"")
    assert disk_kind(kernel, "D:\\") is DiskKind.UNKNOWN


class Kernel32:
    """The functions of kernel32 that are called, with the buffers filled as it fills them."""

    def __init__(self) -> None:
        self.CreateFileW = self.open_volume
        self.opened: list[str] = []
        self.closed = 0

    def IsProcessorFeaturePresent(self, number: int) -> int:
        return int(number == 40)

    def GetLogicalProcessorInformationEx(self, relation: int, buffer: Any, size: Any) -> int:
        assert relation == 0xFFFF
        answer = topology(8, 1, 2)
        size._obj.value = len(answer)
        if buffer is None:
            return 0  # ERROR_INSUFFICIENT_BUFFER: the size is what was asked for
        ctypes.memmove(buffer, answer, len(answer))
        return 1

    def GetVolumePathNameW(self, folder: str, buffer: Any, length: int) -> int:
        buffer.value = "D:\\"
        return int(folder != "nowhere")

    def GetDriveTypeW(self, volume: str) -> int:
        return 3

    def GetVolumeInformationW(self, volume: str, *arguments: Any) -> int:
        arguments[5].value = "ReFS"
        return int(volume == "D:\\")

    class open_volume:  # noqa: N801 - a function with an attribute, as ctypes makes them
        restype: object = None

        def __new__(cls, device: str, *arguments: object) -> Any:
            return ctypes.c_void_p(-1).value if device.endswith("X:") else 77

    def DeviceIoControl(self, handle: Any, code: int, query: bytes, *rest: Any) -> int:
        assert (handle.value, code, len(query)) == (77, 0x2D1400, 12)
        number = struct.unpack_from("<I", query)[0]
        answer = device(11) if number == windows.PROPERTY_DEVICE else seek_penalty(False)
        buffer, size = rest[1], rest[3]
        ctypes.memmove(buffer, answer, len(answer))
        size._obj.value = len(answer)
        return 1

    def CloseHandle(self, handle: Any) -> None:
        self.closed += 1


class TestKernel32:
    """The thin calls, on a played library."""

    def test_processors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel = windows._Kernel32(Kernel32())
        names = SimpleNamespace(
            HKEY_LOCAL_MACHINE=1,
            OpenKey=lambda key, path: nullcontext(path),
            QueryValueEx=lambda key, name: ("Intel(R) Xeon(R)", 1),
        )
        monkeypatch.setattr(windows.importlib, "import_module", lambda name: names)
        seen = look_cpu(kernel)
        assert (seen.model, seen.isa) == ("Intel(R) Xeon(R)", ("avx2",))
        assert (seen.physical_cores, seen.sockets, seen.numa_nodes) == (8, 1, 2)
        assert 1 <= seen.usable_cores <= seen.logical_cores

        def no_key(key: object, path: str) -> None:
            raise FileNotFoundError(path)

        names.OpenKey = no_key
        assert kernel.processor_name() == ""

    def test_affinity_that_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise psutil.AccessDenied(1)

        monkeypatch.setattr(psutil, "Process", lambda: SimpleNamespace(cpu_affinity=refuse))
        kernel = windows._Kernel32(Kernel32())
        assert kernel.usable_cores() == kernel.logical_cores()

    def test_a_list_of_cores_that_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        library = Kernel32()
        monkeypatch.setattr(library, "GetLogicalProcessorInformationEx", lambda *_: 0)
        assert windows._Kernel32(library).processor_information() == b""

    def test_volumes(self) -> None:
        library = Kernel32()
        find = volumes(windows._Kernel32(library))
        assert find(Path("D:/models")) == Volume("D:\\", DiskKind.SSD, "ReFS")
        assert library.closed == 2

    def test_volumes_that_are_refused(self) -> None:
        kernel = windows._Kernel32(Kernel32())
        assert kernel.volume(Path("nowhere")) == Path("nowhere").anchor
        assert kernel.file_system("E:\\") == ""
        assert kernel.storage_property("X:\\", windows.PROPERTY_DEVICE) == b""


def test_look_cpu_takes_this_way_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu.platform, "system", lambda: "Windows")
    monkeypatch.setattr(windows, "kernel", Recorded)
    assert cpu.look_cpu().physical_cores == 16


def test_elsewhere_there_is_no_kernel32() -> None:
    windows.kernel.cache_clear()
    with pytest.raises(OSError, match="Windows"):
        windows.kernel()
