"""What the steps of the wizard have in common. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize


class Step(QWidget):
    """One step: a head with its number and title, and a body below."""

    finished = Signal()
    """What Next asked for is done: go on."""
    changed = Signal()
    """Next may have other words, or be possible or not."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self.bridge = bridge
        self.busy_control: QWidget | None = None
        """What the keyboard is on while the step works (Cancel)."""
        self._number = Label(size=TextSize.SMALL, tone="muted")
        self._title = Label(size=TextSize.TITLE, weight=SEMIBOLD)
        self.note = Label(size=TextSize.SMALL, tone="muted")
        self.head = QHBoxLayout()
        self.head.setSpacing(8)
        titles = QVBoxLayout()
        titles.setSpacing(4)
        titles.addWidget(self._number)
        titles.addWidget(self._title)
        self.head.addLayout(titles, 1)
        self.head.addWidget(self.note)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 24, 0, 24)
        self.body.setSpacing(16)
        self.body.addLayout(self.head)

    def show_number(self, number: int, count: int) -> None:
        """Which step of how many."""
        text = self.tr("Step {number} of {count}")
        self._number.setText(text.format(number=number, count=count))
        self._title.setText(self.title())

    def title(self) -> str:
        """The step's name."""
        raise NotImplementedError

    def next_text(self) -> str:
        """The words on Next."""
        raise NotImplementedError

    def can_go_on(self) -> bool:
        """Next is possible."""
        return True

    def enter(self) -> None:
        """The step is shown."""

    def leave(self) -> None:
        """The step is left by Back or Skip."""

    def go_on(self) -> None:
        """Next was pressed: do the work, then emit ``finished``."""
        self.finished.emit()

    def retranslate(self) -> None:
        """Set the words."""
        self._title.setText(self.title())

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)
