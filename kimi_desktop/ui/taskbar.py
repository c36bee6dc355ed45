"""Progress on the app's icon in the taskbar or the dock, each system by its own call. Qt thread.

Linux: the signal of Unity's LauncherEntry, which KDE Plasma, Dash to Dock and others follow.
Windows: ITaskbarList3. macOS: a number on the dock icon.
"""

from __future__ import annotations

import ctypes
import sys
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

DESKTOP_FILE = "application://kimi-desktop.desktop"
_PATH = "/com/canonical/unity/launcherentry/1"
_INTERFACE = "com.canonical.Unity.LauncherEntry"
_TASKBAR_LIST = uuid.UUID("56fdf344-fd6d-11d0-958a-006097c9a090")
_TASKBAR_LIST_3 = uuid.UUID("ea1afb91-9e28-4b86-90e9-9e9f8a5eefaf")
_IN_PROCESS_SERVER = 1
_INIT, _SET_VALUE, _SET_STATE = 3, 9, 10
"""Places in the table of ITaskbarList3 (shobjidl_core.h)."""
_NO_PROGRESS, _NORMAL, _ERROR = 0x0, 0x2, 0x4
STEPS = 1000

Send = Callable[[str, dict[str, Any]], None]
"""(desktop file, properties)"""


class Taskbar(Protocol):
    """The app's icon where programs are listed."""

    def show(self, share: float | None, count: int, *, failed: bool = False) -> None:
        """``share`` of the work is done (None = there is none), ``count`` things are under way."""


class LinuxTaskbar:
    """Unity's LauncherEntry over the session bus."""

    def __init__(self, send: Send | None = None) -> None:
        self._send = send or send_launcher_update

    def show(self, share: float | None, count: int, *, failed: bool = False) -> None:
        """See ``Taskbar``."""
        properties = {
            "progress": float(share or 0.0),
            "progress-visible": share is not None,
            "count": count,
            "count-visible": count > 1,
            "urgent": failed,
        }
        self._send(DESKTOP_FILE, properties)


class WindowsTaskbar:
    """ITaskbarList3 of a window; ``call`` (place in its table, arguments) is played in tests."""

    def __init__(self, window: int, call: Callable[..., int]) -> None:
        self._window = window
        self._call = call
        self._call(_INIT)

    def show(self, share: float | None, count: int, *, failed: bool = False) -> None:
        """See ``Taskbar``."""
        del count
        if share is None and not failed:
            self._call(_SET_STATE, self._window, _NO_PROGRESS)
            return
        self._call(_SET_STATE, self._window, _ERROR if failed else _NORMAL)
        done = round(min(1.0, max(0.0, 1.0 if share is None else share)) * STEPS)
        self._call(_SET_VALUE, self._window, done, STEPS)


class DockBadge:
    """A number on the dock icon."""

    def __init__(self, set_number: Callable[[int], None]) -> None:
        self._set_number = set_number

    def show(self, share: float | None, count: int, *, failed: bool = False) -> None:
        """See ``Taskbar``."""
        del share, failed
        self._set_number(count)


class NoTaskbar:
    """There is none that listens."""

    def show(self, share: float | None, count: int, *, failed: bool = False) -> None:
        """Nothing."""


def taskbar_for(window: QWidget, system: str = sys.platform) -> Taskbar:
    """The one of this system."""
    if system == "darwin":
        app = QGuiApplication.instance()
        return DockBadge(app.setBadgeNumber) if isinstance(app, QGuiApplication) else NoTaskbar()
    if system == "win32":
        call = windows_taskbar_call()
        return NoTaskbar() if call is None else WindowsTaskbar(int(window.winId()), call)
    return LinuxTaskbar() if has_session_bus() else NoTaskbar()


def has_session_bus() -> bool:
    """A desktop listens."""
    from PySide6.QtDBus import QDBusConnection  # noqa: PLC0415 - Linux, when something comes

    return QDBusConnection.sessionBus().isConnected()


def send_launcher_update(desktop_file: str, properties: dict[str, Any]) -> None:
    """The signal ``Update(s, a{sv})``."""
    from PySide6.QtDBus import QDBusConnection, QDBusMessage  # noqa: PLC0415

    signal = QDBusMessage.createSignal(_PATH, _INTERFACE, "Update")
    signal.setArguments([desktop_file, properties])
    QDBusConnection.sessionBus().send(signal)


def windows_taskbar_call(ole: Any = None) -> Callable[..., int] | None:  # noqa: ANN401
    """A call into a new ITaskbarList3 by the place in its table; None when there is none."""
    if sys.platform == "win32":
        ole = ole or ctypes.windll.ole32
    if ole is None:
        return None
    made = ctypes.c_void_p()
    classes = [(ctypes.c_ubyte * 16)(*one.bytes_le) for one in (_TASKBAR_LIST, _TASKBAR_LIST_3)]
    ole.CoInitialize(None)
    result = ole.CoCreateInstance(
        classes[0], None, _IN_PROCESS_SERVER, classes[1], ctypes.byref(made)
    )
    if result != 0 or not made.value:
        return None

    def call(place: int, *arguments: int) -> int:
        table = ctypes.cast(made, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
        kinds = {
            _INIT: (),
            _SET_VALUE: (ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_ulonglong),
            _SET_STATE: (ctypes.c_void_p, ctypes.c_int),
        }[place]
        factory = getattr(ctypes, "WINFUNCTYPE", ctypes.CFUNCTYPE)
        function = factory(ctypes.c_long, ctypes.c_void_p, *kinds)(table[place])
        return int(function(made, *arguments))

    return call
