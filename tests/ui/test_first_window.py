"""The window stands there before anything behind it is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from kimi_desktop.first_window import bad_qt
from kimi_desktop.ui import tokens
from kimi_desktop.ui.shell import DARK, LIGHT, Shell


@pytest.mark.parametrize(
    ("python", "qt", "bad"),
    [
        ((3, 11, 2), "6.12.0", True),
        ((3, 11, 2), "6.11.3", False),
        ((3, 11, 2), "6.12.1", False),
        ((3, 12, 0), "6.12.0", False),
    ],
)
def test_only_the_crashing_pair_is_refused(python: tuple[int, ...], qt: str, bad: bool) -> None:
    assert bad_qt(python, qt) is bad


def test_the_window_is_no_larger_than_the_screen(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from kimi_desktop.ui.shell import Shell\n"
        "app = QApplication([])\n"
        "shell = Shell(Path(sys.argv[1]))\n"
        "room = shell.screen().availableSize()\n"
        "print(shell.width() <= room.width(), shell.minimumHeight() <= room.height())\n"
    )
    scaled = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=scaled,
    )
    assert done.stdout.split() == ["True", "True"]


def test_nothing_heavy_is_loaded_before_the_first_picture() -> None:
    code = (
        "import sys\n"
        "from kimi_desktop import first_window\n"
        "heavy = {'httpx', 'asyncio', 'sqlite3', 'psutil', 'pynvml', 'xllamacpp', 'pygments',"
        " 'markdown_it', 'kimi_desktop.core', 'kimi_desktop.app'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_arguments_without_a_verb_are_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop", "--nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--nonsense" in done.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="others always have a display")
def test_without_a_display_it_says_so_instead_of_aborting() -> None:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop"],
        env={**environment, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "no display" in done.stderr
    assert "kimi-desktop chat" in done.stderr


def test_the_first_colours_are_those_of_the_themes() -> None:
    assert (tokens.DARK.window, tokens.DARK.panel) == DARK
    assert (tokens.LIGHT.window, tokens.LIGHT.panel) == LIGHT


def test_it_remembers_its_place_and_look(qtbot: QtBot, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with qtbot.waitSignal(shell.first_painted):
        shell.show()
    shell.resize(1111, 666)
    shell.remember_look("#123456", "#654321")
    with qtbot.waitSignal(shell.closed):
        shell.close()
    again = Shell(tmp_path)
    qtbot.addWidget(again)
    qtbot.addWidget(shell)
    assert again.height() == 666  # the offscreen screen is narrower than the window
    with qtbot.waitSignal(again.first_painted):
        again.show()
    image = again.grab().toImage()
    assert image.pixelColor(600, 400).name() == "#123456"
    assert image.pixelColor(600, 10).name() == "#654321"


def test_content_that_objects_keeps_the_window_open(qtbot: QtBot, tmp_path: Path) -> None:
    from PySide6.QtGui import QCloseEvent  # noqa: PLC0415
    from PySide6.QtWidgets import QWidget  # noqa: PLC0415

    class Stubborn(QWidget):
        objects = True

        def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
            if self.objects:
                event.ignore()

    shell, content = Shell(tmp_path), Stubborn()
    qtbot.addWidget(shell)
    shell.set_content(content)
    shell.show()
    assert not shell.close()
    content.objects = False
    assert shell.close()
