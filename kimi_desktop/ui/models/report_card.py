"""What came out of a verification or an import, in place until it is closed. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from kimi_desktop.base.messages import describe_error
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import Card
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize

MOST_LINES = 8


class ReportCard(Card):
    """A heading, a line for each thing that was found, and what can be done about it."""

    closed = Signal()

    def __init__(self, heading: str, lines: Sequence[str], *, tone: str = "") -> None:
        super().__init__(padding=12)
        self._text = "\n".join([heading, *lines])
        self.heading = Label(heading, weight=SEMIBOLD, wrap=True, tone=tone)
        self.lines = [Label(line, wrap=True) for line in lines[:MOST_LINES]]
        self.more = Label(size=TextSize.SMALL, tone="muted")
        left = len(lines) - MOST_LINES
        self.more.setText(self.tr("and {count} more, in the copy").format(count=left))
        self.more.setVisible(left > 0)
        self.failure = Label(tone="bad", wrap=True)
        self.failure.hide()
        self.close_button = IconButton("close", self.tr("Close"))
        self.copy_button = Button(self.tr("Copy"), icon="copy", small=True)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._buttons.addWidget(self.copy_button)
        self._buttons.addStretch(1)
        head = QHBoxLayout()
        head.addWidget(self.heading, 1)
        head.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(2)
        for label in self.lines:
            column.addWidget(label)
        column.addWidget(self.more)
        self.body.addLayout(head)
        self.body.addLayout(column)
        self.body.addWidget(self.failure)
        self.body.addLayout(self._buttons)
        self.copy_button.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.closed)
        self.setAccessibleName(self._text)

    def add_action(self, words: str, icon: str, run: Callable[[], None]) -> Button:
        """The thing to do about it."""
        button = Button(words, kind=ButtonKind.PRIMARY, icon=icon, small=True)
        button.clicked.connect(lambda: run())  # noqa: PLW0108 - the signal brings a flag
        self._buttons.insertWidget(0, button)
        return button

    def show_failure(self, error: BaseException) -> None:
        """That did not work."""
        self.failure.setText(" ".join(describe_error(error, language())))
        self.failure.show()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self.copy_button.set_icon("check")
