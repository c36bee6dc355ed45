"""Windows: reading a file past the cache with FILE_FLAG_NO_BUFFERING. ``Files`` is what tests play.

Offsets, lengths and the buffer must be whole sectors; pieces of 4 MiB in a page-aligned map are.
"""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path
from typing import Any, Protocol

GENERIC_READ = 0x80000000
SHARE_ALL = 7
OPEN_EXISTING = 3
NO_BUFFERING = 0x20000000
ERROR_HANDLE_EOF = 38
INVALID_HANDLE = ctypes.c_void_p(-1).value


class Files(Protocol):
    """What is asked of kernel32."""

    def open(self, path: str, access: int, share: int, disposition: int, flags: int) -> int:
        """CreateFileW; raises OSError."""

    def read(self, handle: int, address: int, length: int, offset: int) -> int:
        """ReadFile at an offset: bytes read, 0 at the end; raises OSError."""

    def close(self, handle: int) -> None:
        """CloseHandle."""


class WindowsFile:
    """One file."""

    def __init__(self, path: Path, files: Files) -> None:
        self._files = files
        self._handle = files.open(str(path), GENERIC_READ, SHARE_ALL, OPEN_EXISTING, NO_BUFFERING)

    def read_at(self, offset: int, buffer: mmap.mmap) -> int:
        """Fill ``buffer``."""
        view = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        try:
            return self._files.read(self._handle, ctypes.addressof(view), len(buffer), offset)
        finally:
            del view  # a map with a view cannot be closed

    def close(self) -> None:
        """Let it go."""
        self._files.close(self._handle)


def open_direct(path: Path, files: Files | None = None) -> WindowsFile:
    """Open a file for reading past the cache.

    Raises:
        OSError: Windows says no.
    """
    return WindowsFile(path, files or KernelFiles())


class Overlapped(ctypes.Structure):
    """OVERLAPPED: where to read."""

    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", ctypes.c_uint32),
        ("offset_high", ctypes.c_uint32),
        ("event", ctypes.c_void_p),
    )


class KernelFiles:
    """kernel32 itself."""

    def __init__(self) -> None:
        kernel: Any = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
        self._kernel = kernel
        kernel.CreateFileW.restype = ctypes.c_void_p
        kernel.CreateFileW.argtypes = (
            ctypes.c_wchar_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p,
            ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p,
        )  # fmt: skip
        kernel.ReadFile.argtypes = (
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32,
            ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(Overlapped),
        )  # fmt: skip
        kernel.CloseHandle.argtypes = (ctypes.c_void_p,)

    def open(self, path: str, access: int, share: int, disposition: int, flags: int) -> int:
        """CreateFileW."""
        handle = self._kernel.CreateFileW(path, access, share, None, disposition, flags, None)
        if handle in (None, INVALID_HANDLE):
            raise self._error()
        return int(handle)

    def read(self, handle: int, address: int, length: int, offset: int) -> int:
        """ReadFile."""
        count = ctypes.c_uint32()
        place = Overlapped(None, None, offset & 0xFFFFFFFF, offset >> 32, None)
        done = self._kernel.ReadFile(
            handle, address, length, ctypes.byref(count), ctypes.byref(place)
        )
        if not done:
            error = self._error()
            if getattr(error, "winerror", None) != ERROR_HANDLE_EOF:
                raise error
        return count.value

    def close(self, handle: int) -> None:
        """CloseHandle."""
        self._kernel.CloseHandle(handle)

    @staticmethod
    def _error() -> OSError:
        error: OSError = ctypes.WinError(ctypes.get_last_error())  # type: ignore[attr-defined]
        return error
