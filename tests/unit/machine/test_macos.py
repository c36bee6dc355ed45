"""Recorded answers of a MacBook Pro (M3 Max) and of an Intel iMac."""

from __future__ import annotations

import ctypes
import plistlib
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from kimi_desktop.machine import cpu, macos
from kimi_desktop.machine.macos import look_cpu, volumes
from kimi_desktop.machine.types import DiskKind
from kimi_desktop.machine.volumes import Volume

M3_MAX: dict[str, int | str] = {
    "machdep.cpu.brand_string": "Apple M3 Max",
    "hw.physicalcpu": 16,
    "hw.logicalcpu": 16,
    "hw.packages": 1,
    "hw.optional.neon": 1,
    "hw.optional.arm.AdvSIMD": 1,
    "hw.optional.arm.FEAT_DotProd": 1,
    "hw.optional.arm.FEAT_I8MM": 1,
    "hw.optional.arm.FEAT_BF16": 1,
    "hw.optional.arm.FEAT_SME": 0,
}
IMAC: dict[str, int | str] = {
    "machdep.cpu.brand_string": "Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz",
    "hw.physicalcpu": 8,
    "hw.logicalcpu": 16,
    "hw.packages": 1,
    "hw.optional.avx1_0": 1,
    "hw.optional.avx2_0": 1,
    "hw.optional.avx512f": 0,
}
INTERNAL = {
    "BusProtocol": "Apple Fabric",
    "DeviceIdentifier": "disk3s5",
    "FilesystemType": "apfs",
    "SolidState": True,
    "VolumeUUID": "0C8F2E5A",
    "WritableVolume": True,
}


def test_apple_silicon() -> None:
    seen = look_cpu(M3_MAX.get)
    assert seen.model == "Apple M3 Max"
    assert (seen.physical_cores, seen.usable_cores, seen.sockets) == (16, 16, 1)
    assert seen.isa == ("neon", "dotprod", "i8mm", "bf16")


def test_intel() -> None:
    seen = look_cpu(IMAC.get)
    assert (seen.physical_cores, seen.logical_cores) == (8, 16)
    assert seen.isa == ("avx", "avx2")


def test_a_mac_that_answers_nothing() -> None:
    seen = look_cpu(lambda name: None)
    assert (seen.model, seen.physical_cores, seen.isa) == ("Mac", 1, ())


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, DiskKind.NVME),
        ({"BusProtocol": "PCI-Express"}, DiskKind.NVME),
        ({"BusProtocol": "USB"}, DiskKind.SSD),
        ({"BusProtocol": "SATA", "SolidState": False}, DiskKind.ROTATIONAL),
        ({"BusProtocol": "Disk Image"}, DiskKind.UNKNOWN),
        ({"SolidState": "maybe"}, DiskKind.UNKNOWN),
    ],
)
def test_local_volumes(change: dict[str, Any], kind: DiskKind) -> None:
    find = volumes(lambda folder: INTERNAL | change, list)
    assert find(Path("/Users/me")) == Volume("0C8F2E5A", kind, "apfs")


def test_a_read_only_volume() -> None:
    find = volumes(lambda folder: INTERNAL | {"WritableVolume": False}, list)
    assert find(Path("/")).read_only


def test_network_volumes_are_known_from_the_mounts() -> None:
    mounts = [("/", "apfs"), ("/Volumes/nas", "smbfs"), ("/Volumes/nas2", "apfs")]
    find = volumes(lambda folder: {}, lambda: mounts)
    assert find(Path("/Volumes/nas/models")) == Volume("/Volumes/nas", DiskKind.NETWORK, "smbfs")
    assert find(Path("/Users")) == Volume("/", DiskKind.UNKNOWN, "apfs")
    assert volumes(lambda folder: {}, list)(Path("/x")) == Volume("/x", DiskKind.UNKNOWN, "")


def test_nothing_known_is_unknown() -> None:
    assert macos.disk_kind({}) is DiskKind.UNKNOWN


def test_diskutil_is_read_as_a_property_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
        assert command[1:] == ["info", "-plist", "/Users"]
        return subprocess.CompletedProcess(command, 0, plistlib.dumps(INTERNAL), b"")

    monkeypatch.setattr(macos.subprocess, "run", run)
    assert macos.diskutil(Path("/Users")) == INTERNAL


@pytest.mark.parametrize("output", [b"", b"not a list", plistlib.dumps(["a"])])
def test_diskutil_that_talks_nonsense(monkeypatch: pytest.MonkeyPatch, output: bytes) -> None:
    monkeypatch.setattr(
        macos.subprocess,
        "run",
        lambda *_, **__: subprocess.CompletedProcess([], 0, output, b""),
    )
    assert macos.diskutil(Path("/Users")) == {}


def test_diskutil_that_is_missing(tmp_path: Path) -> None:
    assert macos.diskutil(tmp_path) == {}  # here there is none


def test_sysctl_fills_numbers_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        b"hw.physicalcpu": struct.pack("=i", 16),
        b"hw.memsize": struct.pack("=q", 36 * 2**30),
        b"machdep.cpu.brand_string": b"Apple M3 Max\0",
    }

    class Library:
        def sysctlbyname(self, name: bytes, buffer: Any, size: Any, *_: object) -> int:
            if name not in answers:
                return -1
            size._obj.value = len(answers[name])
            if buffer is not None:
                ctypes.memmove(buffer, answers[name], len(answers[name]))
            return 0

    monkeypatch.setattr(macos.ctypes, "CDLL", lambda name: Library())
    assert macos.sysctl("hw.physicalcpu") == 16
    assert macos.sysctl("hw.memsize") == 36 * 2**30
    assert macos.sysctl("machdep.cpu.brand_string") == "Apple M3 Max"
    assert macos.sysctl("hw.unheard_of") is None


def test_the_mounts_come_from_psutil(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SimpleNamespace(mountpoint="/", device="/dev/disk3s1s1", fstype="apfs", opts="ro")
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: [disk])
    assert [point for point, _ in macos.mounts()] == ["/"]


def test_look_cpu_takes_this_way_on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(macos, "sysctl", M3_MAX.get)
    assert cpu.look_cpu().model == "Apple M3 Max"
