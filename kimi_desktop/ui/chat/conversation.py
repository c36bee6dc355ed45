"""The middle of the Chat page: transcript or beginning, failure panel, composer. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.composer import Composer
from kimi_desktop.ui.chat.start_panel import StartPanel
from kimi_desktop.ui.chat.transcript import COLUMN_MAX_PX, SIDE_PX, Transcript
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.widgets.button import IconButton

BOTTOM_PX = 12


class Conversation(QWidget):
    """One column of at most 760 px, centred."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.transcript = Transcript()
        self.start = StartPanel(bridge)
        self.failure = EngineFailurePanel(bridge)
        self.composer = Composer()
        self.list_button = IconButton("panel-left", parent=self, side=24)
        self.inspector_button = IconButton("panel-right", parent=self, side=24)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.start)
        self._stack.addWidget(self.transcript)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        # The messages give way to a failure panel, which must stay whole in the smallest window.
        self._stack.setMinimumHeight(1)
        layout.addWidget(self._stack, 1)
        layout.addWidget(_Column(self.failure))
        layout.addWidget(_Column(self.composer))
        self.retranslate()

    def show_transcript(self, shown: bool) -> None:
        """The messages, or where to begin while there are none."""
        self._stack.setCurrentWidget(self.transcript if shown else self.start)

    @property
    def shows_transcript(self) -> bool:
        """There are messages."""
        return self._stack.currentWidget() is self.transcript

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The buttons that bring a folded pane back stand in the upper corners."""
        super().resizeEvent(event)
        self.list_button.move(4, 8)
        self.inspector_button.move(self.width() - self.inspector_button.width() - 12, 8)
        self.list_button.raise_()
        self.inspector_button.raise_()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.list_button.set_label(self.tr("Show the list of chats"))
        self.inspector_button.set_label(self.tr("Show the inspector"))


class _Column(QWidget):
    """Centres a widget in the reading column."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(SIDE_PX, 0, SIDE_PX, BOTTOM_PX)
        self._row.addWidget(widget)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What is beyond the column's width becomes margin."""
        super().resizeEvent(event)
        left = max((self.width() - COLUMN_MAX_PX) // 2, SIDE_PX)
        right = max(self.width() - COLUMN_MAX_PX - left, SIDE_PX)
        self._row.setContentsMargins(left, 0, right, BOTTOM_PX)
