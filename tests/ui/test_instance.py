"""One window per profile, also after a crash."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from pytestqt.qtbot import QtBot

from kimi_desktop.ui.instance import SingleInstance

SECOND_START = textwrap.dedent("""
    import sys
    from pathlib import Path
    from PySide6.QtCore import QCoreApplication
    from kimi_desktop.ui.instance import SingleInstance
    app = QCoreApplication([])
    instance = SingleInstance(Path(sys.argv[1]))
    print(instance.acquire(), flush=True)
    if len(sys.argv) > 2:
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    print(instance.ask_to_raise(), flush=True)
""")


def start_again(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SECOND_START, str(folder), *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_second_start_raises_the_first_window(qtbot: QtBot, tmp_path: Path) -> None:
    first = SingleInstance(tmp_path)
    assert first.acquire()
    first.listen()
    with qtbot.waitSignal(first.raise_requested, timeout=20_000):
        second = start_again(tmp_path)
    assert second.communicate(timeout=20)[0].split() == ["False", "True"]
    first.release()


def test_profiles_do_not_meet(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = SingleInstance(tmp_path / "a"), SingleInstance(tmp_path / "b")
    assert one.acquire()
    assert other.acquire()
    one.release()
    other.release()


def test_the_lock_of_a_killed_app_does_not_lock_out(qtbot: QtBot, tmp_path: Path) -> None:
    killed = start_again(tmp_path, "die")
    assert killed.communicate(timeout=20)[0].split() == ["True"]
    after = SingleInstance(tmp_path)
    assert after.acquire()
    after.release()


def test_a_folder_that_is_not_there_locks_nobody_out(qtbot: QtBot, tmp_path: Path) -> None:
    assert SingleInstance(tmp_path / "missing").acquire()
