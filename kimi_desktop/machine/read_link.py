"""How fast a GPU is fed over its link, by CUDA's driver library. Runs in a child process; blocking.

A pinned buffer of main memory is copied to each card for a moment. No CUDA toolkit is needed: the
driver brings ``libcuda``. ``CudaDriver`` is what tests play.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from kimi_desktop.base.units import MIB

BUFFER_BYTES = 256 * MIB
LEAST_BUFFER = 16 * MIB
COPY_S = 0.25
MOST_S = 2.2
"""No further card after this."""

Progress = Callable[[float], None]


class CudaError(Exception):
    """The driver says no: the function and its CUresult."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name}: CUDA error {code}")
        self.code = code


class CudaDriver(Protocol):
    """The functions of libcuda that are needed."""

    def count(self) -> int:
        """CuInit and cuDeviceGetCount."""

    def uuid(self, number: int) -> str:
        """``GPU-...`` as NVML spells it."""

    def open(self, number: int, size_bytes: int) -> Any:  # noqa: ANN401
        """A context, a pinned buffer and one on the card, made current."""

    def copy(self, buffers: Any) -> None:  # noqa: ANN401
        """CuMemcpyHtoD of the whole buffer; returns when it is there."""

    def close(self, buffers: Any) -> None:  # noqa: ANN401
        """Give everything back."""


def link_bandwidths(
    driver: CudaDriver | None = None,
    progress: Progress = lambda _share: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Bytes per second from main memory to each GPU, by its UUID.

    A card whose memory is full is left out; so are those that time is too short for.

    Raises:
        CudaError, OSError: there is no driver, or it does not start.
    """
    driver = driver or InstalledCuda()
    count = driver.count()
    found: dict[str, float] = {}
    began = clock()
    for number in range(count):
        if number and clock() - began > MOST_S:
            break
        rate = _one(driver, number, clock)
        if rate is not None:
            found[driver.uuid(number)] = rate
        progress((number + 1) / count)
    return found


def _one(driver: CudaDriver, number: int, clock: Callable[[], float]) -> float | None:
    size = BUFFER_BYTES
    while size >= LEAST_BUFFER:
        try:
            buffers = driver.open(number, size)
        except CudaError:
            size //= 4
            continue
        try:
            driver.copy(buffers)  # the first one also wakes the link
            done, began = 0, clock()
            until = began + COPY_S
            while (now := clock()) < until or not done:
                driver.copy(buffers)
                done += size
            now = clock()
            return done / (now - began) if now > began else None
        finally:
            driver.close(buffers)
    return None


class InstalledCuda:
    """libcuda through ctypes."""

    def __init__(self) -> None:
        if sys.platform == "win32":
            self._library: Any = ctypes.WinDLL("nvcuda")  # type: ignore[attr-defined]
        else:
            self._library = ctypes.CDLL("libcuda.so.1")

    def count(self) -> int:
        """CuInit and cuDeviceGetCount."""
        self._call("cuInit", 0)
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def uuid(self, number: int) -> str:
        """As NVML spells it."""
        raw = (ctypes.c_ubyte * 16)()
        name = (
            "cuDeviceGetUuid_v2"
            if hasattr(self._library, "cuDeviceGetUuid_v2")
            else ("cuDeviceGetUuid")
        )
        self._call(name, ctypes.byref(raw), self._device(number))
        digits = bytes(raw).hex()
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return "GPU-" + "-".join(parts)

    def open(self, number: int, size_bytes: int) -> Any:  # noqa: ANN401
        """The card's primary context, which other programs of ours would share."""
        device = self._device(number)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        host, card = ctypes.c_void_p(), ctypes.c_uint64()
        try:
            self._call("cuCtxSetCurrent", context)
            self._call("cuMemHostAlloc", ctypes.byref(host), ctypes.c_size_t(size_bytes), 0)
            self._call("cuMemAlloc_v2", ctypes.byref(card), ctypes.c_size_t(size_bytes))
        except CudaError:
            self.close((device, host, card, size_bytes))
            raise
        ctypes.memset(host, 1, size_bytes)
        return device, host, card, size_bytes

    def copy(self, buffers: Any) -> None:  # noqa: ANN401
        """A copy from pinned memory, which ends before the call does."""
        _, host, card, size = buffers
        self._call("cuMemcpyHtoD_v2", card, host, ctypes.c_size_t(size))

    def close(self, buffers: Any) -> None:  # noqa: ANN401
        """Give everything back, whatever of it there is."""
        device, host, card, _ = buffers
        if card.value:
            self._library.cuMemFree_v2(card)
        if host.value:
            self._library.cuMemFreeHost(host)
        self._library.cuDevicePrimaryCtxRelease_v2(device)

    def _device(self, number: int) -> ctypes.c_int:
        device = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(device), number)
        return device

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise CudaError(name, code)
