"""Windows: processors, NUMA and volumes from kernel32. ``Kernel`` is what tests replace."""

from __future__ import annotations

import ctypes
import importlib
import os
import struct
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kimi_desktop.machine.types import Cpu, DiskKind
from kimi_desktop.machine.volumes import FindVolume, Volume

# IsProcessorFeaturePresent: processthreadsapi.h.
ISA: Mapping[int, str] = {
    39: "avx",
    40: "avx2",
    41: "avx512f",
    19: "neon",
    43: "dotprod",
}

# GetLogicalProcessorInformationEx: LOGICAL_PROCESSOR_RELATIONSHIP.
RELATION_CORE = 0
RELATION_NUMA_NODE = 1
RELATION_PACKAGE = 3
RELATION_ALL = 0xFFFF

# GetDriveTypeW.
DRIVE_REMOTE = 4

# IOCTL_STORAGE_QUERY_PROPERTY: STORAGE_PROPERTY_ID and STORAGE_BUS_TYPE.
IOCTL_STORAGE_QUERY_PROPERTY = 0x2D1400
PROPERTY_DEVICE = 0
PROPERTY_SEEK_PENALTY = 7
BUS_NVME = 17
BUSES_VIRTUAL = frozenset({14, 15, 16})  # a virtual disk, a disk in a file, storage spaces
SHARE_READ_WRITE = 3
OPEN_EXISTING = 3


class Topology(NamedTuple):
    """Counts from GetLogicalProcessorInformationEx; 0 = not listed."""

    cores: int
    packages: int
    numa_nodes: int


class Kernel(Protocol):
    """What is asked of Windows."""

    def processor_name(self) -> str:
        """From the registry, "" when missing."""

    def has_feature(self, number: int) -> bool:
        """IsProcessorFeaturePresent."""

    def processor_information(self) -> bytes:
        """GetLogicalProcessorInformationEx(RelationAll), b"" when it fails."""

    def logical_cores(self) -> int:
        """Of the whole machine."""

    def usable_cores(self) -> int:
        """That this process may run on."""

    def volume(self, folder: Path) -> str:
        """The root of the volume that holds the folder: the drive."""

    def drive_type(self, volume: str) -> int:
        """GetDriveTypeW."""

    def file_system(self, volume: str) -> str:
        """GetVolumeInformationW: "NTFS"."""

    def storage_property(self, volume: str, number: int) -> bytes:
        """IOCTL_STORAGE_QUERY_PROPERTY, b"" when it fails."""


def look_cpu(kernel: Kernel) -> Cpu:
    """This computer's processors."""
    topology = parse_topology(kernel.processor_information())
    logical = kernel.logical_cores()
    return Cpu(
        model=" ".join(kernel.processor_name().split()) or "x86",
        physical_cores=topology.cores or logical,
        logical_cores=logical,
        usable_cores=kernel.usable_cores(),
        sockets=topology.packages or 1,
        numa_nodes=topology.numa_nodes or 1,
        isa=tuple(name for number, name in ISA.items() if kernel.has_feature(number)),
    )


def parse_topology(buffer: bytes) -> Topology:
    """Count the records; each starts with its relationship and its size (two DWORDs)."""
    counts = {RELATION_CORE: 0, RELATION_PACKAGE: 0, RELATION_NUMA_NODE: 0}
    offset = 0
    while offset + 8 <= len(buffer):
        relation, size = struct.unpack_from("<II", buffer, offset)
        if size < 8:
            break
        if relation in counts:
            counts[relation] += 1
        offset += size
    return Topology(counts[RELATION_CORE], counts[RELATION_PACKAGE], counts[RELATION_NUMA_NODE])


def volumes(kernel: Kernel) -> FindVolume:
    """By kernel32."""

    def find(folder: Path) -> Volume:
        volume = kernel.volume(folder)
        return Volume(volume, disk_kind(kernel, volume), kernel.file_system(volume))

    return find


def disk_kind(kernel: Kernel, volume: str) -> DiskKind:
    """What a volume is made of. Needs no rights: the handle is opened for no access at all."""
    if volume.startswith("\\\\") or kernel.drive_type(volume) == DRIVE_REMOTE:
        return DiskKind.NETWORK
    device = kernel.storage_property(volume, PROPERTY_DEVICE)
    # STORAGE_DEVICE_DESCRIPTOR: BusType is the DWORD at 28.
    bus = struct.unpack_from("<I", device, 28)[0] if len(device) >= 32 else None
    if bus == BUS_NVME:
        return DiskKind.NVME
    if bus in BUSES_VIRTUAL:
        return DiskKind.UNKNOWN
    seek = kernel.storage_property(volume, PROPERTY_SEEK_PENALTY)
    # DEVICE_SEEK_PENALTY_DESCRIPTOR: IncursSeekPenalty is the byte at 8.
    if len(seek) < 9:
        return DiskKind.UNKNOWN
    return DiskKind.ROTATIONAL if seek[8] else DiskKind.SSD


@cache
def kernel() -> Kernel:
    """The real one.

    Raises:
        OSError: this is not Windows.
    """
    if sys.platform == "win32":
        return _Kernel32(ctypes.WinDLL("kernel32", use_last_error=True))
    raise OSError("kernel32 is on Windows only")


class _Kernel32:
    """Thin calls without decisions."""

    def __init__(self, library: Any) -> None:  # noqa: ANN401
        self._library = library
        library.CreateFileW.restype = ctypes.c_void_p

    def processor_name(self) -> str:
        winreg: Any = importlib.import_module("winreg")
        path = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
                return str(winreg.QueryValueEx(key, "ProcessorNameString")[0])
        except OSError:
            return ""

    def has_feature(self, number: int) -> bool:
        return bool(self._library.IsProcessorFeaturePresent(number))

    def processor_information(self) -> bytes:
        ask = self._library.GetLogicalProcessorInformationEx
        size = ctypes.c_ulong(0)
        ask(RELATION_ALL, None, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        if not ask(RELATION_ALL, buffer, ctypes.byref(size)):
            return b""
        return buffer.raw[: size.value]

    def logical_cores(self) -> int:
        return os.cpu_count() or 1

    def usable_cores(self) -> int:
        import psutil  # noqa: PLC0415 - 35 ms that the window's start should not pay

        try:
            return len(psutil.Process().cpu_affinity()) or 1
        except psutil.Error:
            return self.logical_cores()

    def volume(self, folder: Path) -> str:
        buffer = ctypes.create_unicode_buffer(1024)
        found = self._library.GetVolumePathNameW(str(folder), buffer, len(buffer))
        return buffer.value if found else folder.anchor

    def drive_type(self, volume: str) -> int:
        return int(self._library.GetDriveTypeW(volume))

    def file_system(self, volume: str) -> str:
        name = ctypes.create_unicode_buffer(64)
        found = self._library.GetVolumeInformationW(
            volume, None, 0, None, None, None, name, len(name)
        )
        return name.value if found else ""

    def storage_property(self, volume: str, number: int) -> bytes:
        device = "\\\\.\\" + volume.rstrip("\\")
        handle = self._library.CreateFileW(
            device, 0, SHARE_READ_WRITE, None, OPEN_EXISTING, 0, None
        )
        if handle in (None, ctypes.c_void_p(-1).value):
            return b""
        try:
            query = struct.pack("<IIB3x", number, 0, 0)  # PropertyStandardQuery
            answer = ctypes.create_string_buffer(1024)
            size = ctypes.c_ulong(0)
            done = self._library.DeviceIoControl(
                ctypes.c_void_p(handle),
                IOCTL_STORAGE_QUERY_PROPERTY,
                query,
                len(query),
                answer,
                len(answer),
                ctypes.byref(size),
                None,
            )
            return answer.raw[: size.value] if done else b""
        finally:
            self._library.CloseHandle(ctypes.c_void_p(handle))
