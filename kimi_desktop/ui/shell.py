"""The window on the screen: its place, its title, its close button; empty at first. Qt thread.

It stands there within a few milliseconds of Qt itself, in the colours of the last run, and loads
nothing but Qt. ``app.py`` fills it as soon as it has painted itself.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QMainWindow, QWidget

DEFAULT_SIZE = QSize(1280, 800)
LEAST_SIZE = QSize(960, 600)
FILE = "window.ini"
TOP_BAR_HEIGHT_PX = 44
# Of the first start, before a look was remembered: window and panel of ui/tokens.py (tested).
DARK = ("#0F1216", "#161A20")
LIGHT = ("#F7F7F5", "#FFFFFF")


class Shell(QMainWindow):
    """``first_painted`` fires once it stands there; ``closed`` when the user has left for good."""

    first_painted = Signal()
    closed = Signal()

    def __init__(self, config_folder: Path) -> None:
        super().__init__()
        self._settings = QSettings(str(config_folder / FILE), QSettings.Format.IniFormat)
        self._begun = False
        self.content: QWidget | None = None
        self.setWindowTitle("Kimi Desktop")
        # A screen at twice the scale may have room for less than the window's own sizes.
        room = self.screen().availableSize()
        self.setMinimumSize(LEAST_SIZE.boundedTo(room))
        self.resize(DEFAULT_SIZE.boundedTo(room))
        place = self._settings.value("geometry")
        if isinstance(place, QByteArray):
            self.restoreGeometry(place)

    def set_content(self, content: QWidget) -> None:
        """Fill the window."""
        self.content = content
        self.setCentralWidget(content)

    def remember_look(self, window: str, panel: str) -> None:
        """Keep the colours in force for the next start."""
        self._settings.setValue("look", [window, panel])
        self._settings.sync()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The bare ground and the top bar, until the content covers them."""
        del event
        if self.content is None:
            window, panel = self._look()
            painter = QPainter(self)
            painter.fillRect(self.rect(), QColor(window))
            painter.fillRect(0, 0, self.width(), TOP_BAR_HEIGHT_PX, QColor(panel))
            painter.end()
        if not self._begun:
            self._begun = True
            QTimer.singleShot(0, self.first_painted.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        """The content may object; else remember the place and go."""
        if self.content is not None and not self.content.close():
            event.ignore()
            return
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.sync()
        super().closeEvent(event)
        self.closed.emit()

    def _look(self) -> tuple[str, str]:
        look = self._settings.value("look")
        if isinstance(look, list) and len(look) == 2 and all(QColor(c).isValid() for c in look):
            return str(look[0]), str(look[1])
        dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return DARK if dark else LIGHT
