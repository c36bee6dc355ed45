"""Copy something and say that it was done. Qt thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.widgets.button import IconButton

CHECK_MS = 1500


class CopyButton(IconButton):
    """Puts ``text()`` on the clipboard; a check mark stands in its place for a moment."""

    def __init__(self, text: Callable[[], str], parent: QWidget | None = None) -> None:
        super().__init__("copy", "", parent)
        self._text = text
        self._label = ""
        self._copied = ""
        self._check = QTimer(self)
        self._check.setSingleShot(True)
        self._check.timeout.connect(self._on_check_over)
        self.clicked.connect(self._on_clicked)

    def set_words(self, label: str, copied: str) -> None:
        """What it does, and what it says when that is done."""
        self._label, self._copied = label, copied
        self.set_label(copied if self.icon_name() == "check" else label)

    def _on_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._text())
        self.set_icon("check")
        self.set_label(self._copied)
        self._check.start(CHECK_MS)  # counts from the last click

    def _on_check_over(self) -> None:
        self.set_icon("copy")
        self.set_label(self._label)
