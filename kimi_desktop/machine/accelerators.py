"""What an engine build has to fit: system, processor, makers of the GPUs, CUDA of the driver.

Pool thread; opens NVML for itself and closes it again (its opens are counted).
"""

from __future__ import annotations

import ctypes.util
import importlib
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.machine.linux_files import read_text
from kimi_desktop.machine.nvml import InstalledNvml, Nvml, NvmlFailure

MAKERS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
"""PCI vendor ids."""
VULKAN_LIBRARIES = {"windows": "vulkan-1", "linux": "vulkan"}

_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}
_ARCHES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
_DISPLAY_ADAPTERS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"


@dataclass(frozen=True, slots=True)
class Accelerators:
    """One computer, as far as a choice between builds of one program goes by it."""

    system: str
    """linux, windows, macos, or what Python calls it."""
    arch: str
    """x64, arm64, or what the system calls it."""
    makers: frozenset[str] = frozenset()
    """Of its GPUs: nvidia, amd, intel, apple."""
    cuda: tuple[int, int] | None = None
    """The highest CUDA version that the NVIDIA driver knows."""
    capability: tuple[int, int] | None = None
    """The lowest compute capability of the NVIDIA GPUs."""
    has_vulkan: bool = False
    """A Vulkan loader is installed."""


def look_at_accelerators(
    library: Nvml | None = None,
    root: Path = Path("/"),
    find_library: Callable[[str], str | None] = ctypes.util.find_library,
) -> Accelerators:
    """Ask the driver and the system. Blocking; never fails."""
    system = _SYSTEMS.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    cuda, capability = _ask_nvml(library or InstalledNvml())
    makers = {"nvidia"} if cuda is not None else set()
    if system == "linux":
        makers |= _linux_makers(root)
    elif system == "windows":
        makers |= _windows_makers()
    elif system == "macos" and _ARCHES.get(machine) == "arm64":
        makers.add("apple")
    vulkan = VULKAN_LIBRARIES.get(system)
    return Accelerators(
        system,
        _ARCHES.get(machine, machine),
        frozenset(makers),
        cuda,
        capability,
        has_vulkan=vulkan is not None and find_library(vulkan) is not None,
    )


def _ask_nvml(library: Nvml) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """(CUDA version of the driver, lowest compute capability); None without a driver."""
    try:
        library.call("Init")
    except NvmlFailure:
        return None, None
    try:
        number = int(library.call("SystemGetCudaDriverVersion_v2"))  # 12040 is 12.4
        capabilities = []
        for index in range(int(library.call("DeviceGetCount"))):
            with suppress(NvmlFailure):
                handle = library.call("DeviceGetHandleByIndex", index)
                major, minor = library.call("DeviceGetCudaComputeCapability", handle)
                capabilities.append((int(major), int(minor)))
    except NvmlFailure:
        return None, None
    finally:
        with suppress(NvmlFailure):
            library.call("Shutdown")
    return (number // 1000, number % 1000 // 10), min(capabilities, default=None)


def _linux_makers(root: Path) -> set[str]:
    cards = (root / "sys/class/drm").glob("card*/device/vendor")
    found = {MAKERS.get(read_text(card) or "") for card in cards}
    return {maker for maker in found if maker is not None}


def _windows_makers() -> set[str]:
    winreg: Any = importlib.import_module("winreg")
    found: set[str] = set()
    for number in range(16):
        path = rf"{_DISPLAY_ADAPTERS}\{number:04d}"
        with suppress(OSError), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:
            text = str(winreg.QueryValueEx(key, "MatchingDeviceId")[0]).lower()
            found |= {name for vendor, name in MAKERS.items() if f"ven_{vendor[2:]}" in text}
    return found
