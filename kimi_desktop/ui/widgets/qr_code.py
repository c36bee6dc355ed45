"""A QR code: dark on light in every theme, because readers expect it. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from kimi_desktop.serve.qr import QUIET, qr_modules

MODULE = 4
"""Pixels; below three a phone has to come close."""
DARK, LIGHT = QColor("#000000"), QColor("#ffffff")


class QrCode(QWidget):
    """Shows a text; nothing for an empty one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._modules: tuple[tuple[bool, ...], ...] = ()

    def text(self) -> str:
        """What a reader reads."""
        return self._text

    def show_text(self, text: str) -> None:
        """Change it."""
        if text != self._text:
            self._text = text
            self._modules = qr_modules(text) if text else ()
            self.setAccessibleDescription(text)
            side = (len(self._modules) + 2 * QUIET) * MODULE if self._modules else 0
            self.setFixedSize(side, side)  # a layout that is short of room must not cut it
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Squares on a light ground."""
        del event
        painter = QPainter(self)
        painter.fillRect(self.rect(), LIGHT)
        painter.setPen(Qt.PenStyle.NoPen)
        for row, modules in enumerate(self._modules):
            for column, dark in enumerate(modules):
                if dark:
                    left, top = (column + QUIET) * MODULE, (row + QUIET) * MODULE
                    painter.fillRect(QRect(left, top, MODULE, MODULE), DARK)
        painter.end()
