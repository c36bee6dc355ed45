"""macOS: processors by sysctl, volumes by diskutil. Each behind a function that tests replace."""

from __future__ import annotations

import ctypes
import plistlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.machine.types import Cpu, DiskKind
from kimi_desktop.machine.volumes import FindVolume, Volume

Sysctl = Callable[[str], int | str | None]
"""The value of one name; None where this Mac does not have it."""

DiskInfo = Callable[[Path], Mapping[str, Any]]
"""``diskutil info -plist`` for a folder's volume; empty when it has nothing to say."""

Mounts = Callable[[], Sequence[tuple[str, str]]]
"""(mount point, file system) of every mount."""

ISA: Mapping[str, str] = {
    "hw.optional.avx1_0": "avx",
    "hw.optional.f16c": "f16c",
    "hw.optional.fma": "fma",
    "hw.optional.bmi2": "bmi2",
    "hw.optional.avx2_0": "avx2",
    "hw.optional.avx512f": "avx512f",
    "hw.optional.neon": "neon",
    "hw.optional.arm.AdvSIMD": "neon",
    "hw.optional.arm.FEAT_DotProd": "dotprod",
    "hw.optional.arm.FEAT_I8MM": "i8mm",
    "hw.optional.arm.FEAT_BF16": "bf16",
    "hw.optional.arm.FEAT_SME": "sme",
}

DISKUTIL_TIMEOUT_S = 10
# How the bus of an NVMe disk is called: inside Apple's own chips, and elsewhere.
NVME_BUSES = frozenset({"Apple Fabric", "PCI-Express", "NVMe"})
NETWORK_FILE_SYSTEMS = frozenset({"smbfs", "nfs", "afpfs", "webdav", "macfuse"})


def look_cpu(ask: Sysctl) -> Cpu:
    """This Mac's processors (macOS gives a process all of them)."""
    logical = _number(ask("hw.logicalcpu"), 1)
    isa = tuple(dict.fromkeys(name for key, name in ISA.items() if _number(ask(key), 0) > 0))
    return Cpu(
        model=str(ask("machdep.cpu.brand_string") or ask("hw.model") or "Mac"),
        physical_cores=_number(ask("hw.physicalcpu"), logical),
        logical_cores=logical,
        usable_cores=logical,
        sockets=_number(ask("hw.packages"), 1),
        numa_nodes=1,
        isa=isa,
    )


def volumes(info: DiskInfo, mounts: Mounts) -> FindVolume:
    """By diskutil, and by the list of mounts for what it does not know (network volumes)."""

    def find(folder: Path) -> Volume:
        known = info(folder)
        if known:
            return Volume(
                id=str(known.get("VolumeUUID") or known.get("DeviceIdentifier") or folder),
                kind=disk_kind(known),
                file_system=str(known.get("FilesystemType", "")),
                read_only=known.get("WritableVolume") is False,
            )
        above = [mount for mount in mounts() if folder.is_relative_to(mount[0])]
        point, file_system = max(above, key=lambda mount: len(mount[0]), default=("", ""))
        network = file_system in NETWORK_FILE_SYSTEMS
        kind = DiskKind.NETWORK if network else DiskKind.UNKNOWN
        return Volume(point or str(folder), kind, file_system)

    return find


def disk_kind(info: Mapping[str, Any]) -> DiskKind:
    """What a volume is made of, from diskutil's answer."""
    if not info:
        return DiskKind.UNKNOWN
    bus = info.get("BusProtocol", "")
    if bus == "Disk Image":
        return DiskKind.UNKNOWN
    if info.get("SolidState") is True:
        return DiskKind.NVME if bus in NVME_BUSES else DiskKind.SSD
    if info.get("SolidState") is False:
        return DiskKind.ROTATIONAL
    return DiskKind.UNKNOWN


def sysctl(name: str) -> int | str | None:
    """Ask the kernel by sysctlbyname(3)."""
    library = ctypes.CDLL(None)
    size = ctypes.c_size_t(0)
    key = name.encode()
    if library.sysctlbyname(key, None, ctypes.byref(size), None, 0) != 0:
        return None
    buffer = ctypes.create_string_buffer(size.value)
    if library.sysctlbyname(key, buffer, ctypes.byref(size), None, 0) != 0:
        return None
    if name.startswith("machdep.") or name == "hw.model":
        return buffer.value.decode(errors="replace")
    return int.from_bytes(buffer.raw[: size.value], sys.byteorder)


def diskutil(folder: Path) -> Mapping[str, Any]:
    """Ask diskutil. A pool thread may run it: it ends by itself and is waited for here."""
    command = ["/usr/sbin/diskutil", "info", "-plist", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=DISKUTIL_TIMEOUT_S)
        answer = plistlib.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, plistlib.InvalidFileException, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


def mounts() -> Sequence[tuple[str, str]]:
    """The list of mounts, by psutil."""
    import psutil  # noqa: PLC0415 - 35 ms that the window's start should not pay

    return [(part.mountpoint, part.fstype) for part in psutil.disk_partitions(all=True)]


def _number(value: int | str | None, default: int) -> int:
    return value if isinstance(value, int) else default
