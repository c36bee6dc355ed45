"""NVIDIA GPUs by NVML. Every query may fail; none of that is an error to the caller.

Pool threads; one reader is shared by the machine's look and the monitor's samples (a lock keeps
them apart). The library stays open, since opening it takes longer than all queries together.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kimi_desktop.machine import nvml
from kimi_desktop.machine.linux_files import read_text
from kimi_desktop.machine.nvml import InstalledNvml, Nvml, NvmlFailure
from kimi_desktop.machine.types import Gpu, GpuReading
from kimi_desktop.machine.visible import VARIABLE, part_of_gpu, visible

log = logging.getLogger(__name__)

# A lost GPU makes every query slow; the driver's reset takes a while.
RETRY_LOST_S = 30.0
NVIDIA_VENDOR = "0x10de"
DISPLAY_CLASS = "0x03"

ABSENT_CODES = frozenset({nvml.DRIVER_NOT_LOADED, nvml.LIBRARY_NOT_FOUND, nvml.FUNCTION_NOT_FOUND})


@dataclass(frozen=True, slots=True)
class GpuLook:
    """All GPUs at one moment. ``note`` as in ``Machine.gpu_note``."""

    gpus: tuple[Gpu, ...]
    note: str
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What does not change while the library is open."""

    index: int
    handle: Any
    uuid: str
    name: str
    compute_capability: str | None
    pcie_gen: int | None
    pcie_width: int | None
    memory_bytes_per_s: float | None


class GpuReader:
    """Looks at the GPUs (``look``) and samples them (``sample``)."""

    def __init__(
        self,
        library: Nvml | None = None,
        root: Path = Path("/"),
        clock: Callable[[], float] = time.monotonic,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._nvml = library or InstalledNvml()
        self._root = root
        self._clock = clock
        self._wish = environment.get(VARIABLE)
        self._lock = threading.Lock()
        self._is_open = False
        self._tried = False
        self._driver = ""
        self._fixed: list[_Fixed] = []
        self._note = ""
        self._failures: dict[str, str] = {}
        self._failed_at = 0.0

    def look(self) -> GpuLook:
        """Open the library anew and read everything: finds GPUs and drivers that came or went."""
        with self._lock:
            self._open()
            gpus = tuple(reading.gpu for reading in self._read(with_processes=False))
            note = self._note
            if not note and self._failures:
                note = "failed"
            elif not note and not gpus:
                note = "no_gpu"
            return GpuLook(gpus, note, tuple(self._failures.values()))

    def sample(self) -> tuple[GpuReading, ...]:
        """The GPUs that answer now. Where there is no driver this costs nothing."""
        with self._lock:
            if not self._tried or (
                self._failures and self._clock() - self._failed_at >= RETRY_LOST_S
            ):
                self._open()
            return self._read(with_processes=True)

    def close(self) -> None:
        """Let the library go."""
        with self._lock:
            self._shut()

    def _open(self) -> None:
        self._shut()
        self._tried = True
        self._note = ""
        self._failures = {}
        try:
            self._nvml.call("Init")
            self._is_open = True
            self._driver = _text(self._nvml.call("SystemGetDriverVersion"))
            count = int(self._nvml.call("DeviceGetCount"))
        except NvmlFailure as failure:
            if failure.code in ABSENT_CODES:
                self._note = "no_driver" if self._card_is_there() else "no_gpu"
            else:  # a driver that was updated under our feet, no permission ...
                self._note = "failed"
                self._fail("NVML", failure)
            return
        if part := part_of_gpu(self._wish):
            self._read_part(part)
            return
        for index in range(count):
            try:
                handle = self._nvml.call("DeviceGetHandleByIndex", index)
                self._fixed.append(self._read_fixed(index, handle))
            except NvmlFailure as failure:
                self._fail(f"GPU {index}", failure)
        self._hide(count)

    def _hide(self, count: int) -> None:
        """Leave out what the user's own variable hides."""
        uuids = [""] * count
        for fixed in self._fixed:
            uuids[fixed.index] = fixed.uuid
        allowed = visible(self._wish, uuids)
        shown = [fixed for fixed in self._fixed if fixed.index in allowed]
        if self._fixed and not shown:
            self._note = "hidden"
        self._fixed = shown

    def _shut(self) -> None:
        self._fixed = []
        if self._is_open:
            self._is_open = False
            try:
                self._nvml.call("Shutdown")
            except NvmlFailure as failure:
                log.info("NVML did not shut down: %s", failure)

    def _fail(self, what: str, failure: NvmlFailure) -> None:
        log.warning("%s does not answer: %s (%d)", what, failure, failure.code)
        self._failures[what] = f"{what}: {failure}"
        self._failed_at = self._clock()

    def _read_part(self, uuid: str) -> None:
        """A part of a GPU (MIG) that the user's variable names is all that programs see."""
        try:
            handle = self._nvml.call("DeviceGetHandleByUUID", uuid)
            part = self._read_fixed(0, handle)
            if part.compute_capability is None:  # only the whole GPU tells
                whole = self._ask("DeviceGetDeviceHandleFromMigDeviceHandle", handle)
                capability = self._ask("DeviceGetCudaComputeCapability", whole)
                part = replace(part, compute_capability=_version(capability))
            self._fixed.append(replace(part, uuid=uuid))
        except NvmlFailure as failure:
            self._fail(uuid, failure)

    def _read_fixed(self, index: int, handle: object) -> _Fixed:
        capability = self._ask("DeviceGetCudaComputeCapability", handle)
        clock_mhz = self._ask("DeviceGetMaxClockInfo", handle, nvml.CLOCK_MEMORY)
        bus_bits = self._ask("DeviceGetMemoryBusWidth", handle)
        return _Fixed(
            index=index,
            handle=handle,
            uuid=_text(self._ask("DeviceGetUUID", handle)),
            name=_text(self._ask("DeviceGetName", handle)) or f"GPU {index}",
            compute_capability=_version(capability),
            pcie_gen=self._ask("DeviceGetMaxPcieLinkGeneration", handle),
            pcie_width=self._ask("DeviceGetMaxPcieLinkWidth", handle),
            # Two transfers a clock, as NVML counts memory clocks.
            memory_bytes_per_s=(
                clock_mhz * 1e6 * 2 * bus_bits / 8 if clock_mhz and bus_bits else None
            ),
        )

    def _read(self, *, with_processes: bool) -> tuple[GpuReading, ...]:
        readings = []
        for fixed in tuple(self._fixed):
            try:
                reading = GpuReading(self._read_gpu(fixed), None)
                if with_processes:
                    reading = self._with_use(reading, fixed.handle)
            except NvmlFailure as failure:
                self._fixed.remove(fixed)
                self._fail(f"GPU {fixed.index}", failure)
                continue
            readings.append(reading)
        return tuple(readings)

    def _with_use(self, reading: GpuReading, handle: object) -> GpuReading:
        """With what only samples need: the driver counts traffic for 20 ms before it answers.

        Raises:
            NvmlFailure: the GPU is gone.
        """
        bits = self._ask("DeviceGetCurrentClocksThrottleReasons", handle) or 0
        return replace(
            reading,
            process_bytes=self._processes(handle),
            pcie_received_bytes_per_s=self._traffic(handle, nvml.PCIE_RX),
            pcie_sent_bytes_per_s=self._traffic(handle, nvml.PCIE_TX),
            throttled=tuple(name for bit, name in nvml.THROTTLES.items() if bits & bit),
        )

    def _traffic(self, handle: object, direction: int) -> float | None:
        kilobytes = self._ask("DeviceGetPcieThroughput", handle, direction)
        return None if kilobytes is None else kilobytes * 1000.0

    def _read_gpu(self, fixed: _Fixed) -> Gpu:
        """One GPU now.

        Raises:
            NvmlFailure: it is lost, or does not even tell its memory.
        """
        handle = fixed.handle
        total, free = self._memory(handle)
        load = self._ask("DeviceGetUtilizationRates", handle)
        limit_mw = self._ask("DeviceGetEnforcedPowerLimit", handle)
        return Gpu(
            index=fixed.index,
            uuid=fixed.uuid,
            name=fixed.name,
            vram_total_bytes=total,
            vram_free_bytes=free,
            driver=self._driver,
            compute_capability=fixed.compute_capability,
            pcie_gen=fixed.pcie_gen,
            pcie_width=fixed.pcie_width,
            temperature_c=self._ask("DeviceGetTemperature", handle, nvml.TEMPERATURE_GPU),
            power_w=_watts(self._ask("DeviceGetPowerUsage", handle)),
            power_limit_w=_watts(limit_mw),
            load_percent=None if load is None else int(load.gpu),
            memory_bytes_per_s=fixed.memory_bytes_per_s,
        )

    def _memory(self, handle: object) -> tuple[int, int]:
        try:
            memory = self._nvml.call("DeviceGetMemoryInfo", handle)
        except NvmlFailure as failure:
            if failure.code == nvml.NOT_SUPPORTED:  # shares main memory (GB10)
                return 0, 0
            raise
        return int(memory.total), int(memory.free)

    def _processes(self, handle: object) -> Mapping[int, int | None] | None:
        """VRAM per process. One that computes and draws stands in both lists with one figure."""
        lists = [
            self._ask("DeviceGetComputeRunningProcesses", handle),
            self._ask("DeviceGetGraphicsRunningProcesses", handle),
        ]
        if all(entries is None for entries in lists):
            return None
        return {
            int(entry.pid): None if entry.usedGpuMemory is None else int(entry.usedGpuMemory)
            for entries in lists
            for entry in entries or ()
        }

    def _ask(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        """One query that the GPU need not answer: None then.

        Raises:
            NvmlFailure: the GPU is gone.
        """
        try:
            return self._nvml.call(name, *arguments)
        except NvmlFailure as failure:
            if failure.code in (nvml.GPU_IS_LOST, nvml.RESET_REQUIRED, nvml.UNINITIALIZED):
                raise
            return None

    def _card_is_there(self) -> bool:
        """An NVIDIA display device on the PCI bus (Linux)."""
        devices = self._root / "sys/bus/pci/devices"
        return devices.is_dir() and any(
            read_text(device / "vendor") == NVIDIA_VENDOR
            and (read_text(device / "class") or "").startswith(DISPLAY_CLASS)
            for device in devices.iterdir()
        )


def _text(value: object) -> str:
    """Older bindings answer bytes."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return "" if value is None else str(value)


def _version(numbers: tuple[int, int] | None) -> str | None:
    return None if numbers is None else ".".join(map(str, numbers))


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
