"""Progress on the icon in the taskbar: each system's own call, played or over a real bus."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui import taskbar
from kimi_desktop.ui.taskbar import DockBadge, LinuxTaskbar, NoTaskbar, WindowsTaskbar


def test_linux_says_share_count_and_urgency() -> None:
    sent: list[tuple[str, dict[str, Any]]] = []
    bar = LinuxTaskbar(lambda file, properties: sent.append((file, properties)))
    bar.show(0.25, 2)
    bar.show(None, 0, failed=True)
    assert sent[0] == (
        "application://kimi-desktop.desktop",
        {
            "progress": 0.25,
            "progress-visible": True,
            "count": 2,
            "count-visible": True,
            "urgent": False,
        },
    )
    assert sent[1][1]["progress-visible"] is False
    assert sent[1][1]["urgent"] is True


def test_windows_calls_by_the_place_in_the_table() -> None:
    calls: list[tuple[int, ...]] = []
    bar = WindowsTaskbar(77, lambda *arguments: calls.append(arguments) or 0)
    bar.show(0.5, 1)
    bar.show(None, 0)
    bar.show(None, 0, failed=True)
    assert calls == [
        (3,),
        (10, 77, 2),
        (9, 77, 500, 1000),
        (10, 77, 0),
        (10, 77, 4),
        (9, 77, 1000, 1000),
    ]


def test_the_dock_counts() -> None:
    numbers: list[int] = []
    DockBadge(numbers.append).show(0.5, 3)
    assert numbers == [3]


def test_each_system_has_its_own(qtbot, monkeypatch: pytest.MonkeyPatch) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    assert isinstance(taskbar.taskbar_for(window, "darwin"), DockBadge)
    monkeypatch.setattr(taskbar, "has_session_bus", lambda: False)
    none = taskbar.taskbar_for(window, "linux")
    assert isinstance(none, NoTaskbar)
    none.show(0.5, 1)
    monkeypatch.setattr(taskbar, "has_session_bus", lambda: True)
    assert isinstance(taskbar.taskbar_for(window, "linux"), LinuxTaskbar)
    monkeypatch.setattr(taskbar, "windows_taskbar_call", lambda: None)
    assert isinstance(taskbar.taskbar_for(window, "win32"), NoTaskbar)
    monkeypatch.setattr(taskbar, "windows_taskbar_call", lambda: lambda *_: 0)
    assert isinstance(taskbar.taskbar_for(window, "win32"), WindowsTaskbar)


class Ole:
    """A COM library whose object notes what is called on it."""

    def __init__(self, result: int = 0) -> None:
        self.result = result
        self.heard: list[tuple[int, ...]] = []
        kind = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p)
        state = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
        value = ctypes.CFUNCTYPE(
            ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_ulonglong
        )
        self.functions = [
            kind(lambda _me: self.heard.append((3,)) or 0),
            state(lambda _me, window, flag: self.heard.append((10, window, flag)) or 0),
            value(lambda _me, window, done, of: self.heard.append((9, window, done, of)) or 0),
        ]
        self.table = (ctypes.c_void_p * 11)()
        for place, function in zip((3, 10, 9), self.functions, strict=True):
            self.table[place] = ctypes.cast(function, ctypes.c_void_p).value
        self.thing = ctypes.pointer(self.table)

    def CoInitialize(self, _reserved: None) -> int:  # noqa: N802 - its name
        return 0

    def CoCreateInstance(self, *arguments: Any) -> int:  # noqa: N802 - its name
        if self.result == 0:
            address = ctypes.addressof(self.thing)
            ctypes.cast(arguments[4], ctypes.POINTER(ctypes.c_void_p))[0] = address
        return self.result


@pytest.mark.skipif(sys.platform == "win32", reason="plays Windows with C's calling convention")
def test_a_com_object_is_called_through_its_table() -> None:
    ole = Ole()
    call = taskbar.windows_taskbar_call(ole)
    assert call is not None
    WindowsTaskbar(5, call).show(0.25, 1)
    assert ole.heard == [(3,), (10, 5, 2), (9, 5, 250, 1000)]


def test_no_com_object_no_taskbar() -> None:
    assert taskbar.windows_taskbar_call(Ole(result=-1)) is None
    if sys.platform != "win32":
        assert taskbar.windows_taskbar_call() is None


PROGRAM = """
import sys
from PySide6.QtCore import QCoreApplication, QObject, QTimer, SLOT, Slot
from PySide6.QtDBus import QDBusConnection, QDBusMessage
from kimi_desktop.ui.taskbar import LinuxTaskbar, has_session_bus

app = QCoreApplication([])
assert has_session_bus()

class Ear(QObject):
    @Slot(QDBusMessage)
    def heard(self, message):
        print(message.arguments()[0], flush=True)
        app.quit()

ear = Ear()
bus = QDBusConnection.sessionBus()
assert bus.connect("", "", "com.canonical.Unity.LauncherEntry", "Update", ear,
                   SLOT("heard(QDBusMessage)"))
QTimer.singleShot(0, lambda: LinuxTaskbar().show(0.5, 2))
QTimer.singleShot(20000, app.quit)
app.exec()
"""


@pytest.mark.skipif(shutil.which("dbus-run-session") is None, reason="no session bus here")
def test_over_a_real_session_bus() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        ["dbus-run-session", "--", sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.stdout.strip() == "application://kimi-desktop.desktop", done.stderr
