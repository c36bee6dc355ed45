"""The frame's overlays: a question, the shortcuts. Qt thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.shortcuts import ShortcutRow
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, Label, TextSize


class Question(Overlay):
    """One sentence, what follows from it, and two buttons. Enter does not confirm by accident."""

    def __init__(
        self,
        window: QWidget,
        *,
        question: str,
        detail: str,
        confirm: str,
        on_confirm: Callable[[], None],
    ) -> None:
        super().__init__(window, width=440)
        self._on_confirm = on_confirm
        heading = Label(question, size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self.cancel_button = Button(self.tr("Cancel"))
        self.confirm_button = Button(confirm, kind=ButtonKind.DANGER)
        self.cancel_button.clicked.connect(self.dismiss)
        self.confirm_button.clicked.connect(self._confirm)
        self.body.addWidget(heading)
        self.body.addWidget(Label(detail, wrap=True, tone="muted"))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.confirm_button)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(f"{question} {detail}")

    def _confirm(self) -> None:
        self.dismiss()
        self._on_confirm()


class ShortcutList(Overlay):
    """The keyboard shortcuts."""

    def __init__(self, window: QWidget, rows: tuple[ShortcutRow, ...]) -> None:
        super().__init__(window, width=440)
        title = self.tr("Keyboard shortcuts")
        self.body.addWidget(Label(title, size=TextSize.HEADING, weight=SEMIBOLD))
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(4)
        for number, row in enumerate(rows):
            grid.addWidget(Label(row.words, tone="muted"), number, 0)
            keys = Label(row.keys, weight=MEDIUM)
            keys.setAlignment(Qt.AlignmentFlag.AlignRight)
            grid.addWidget(keys, number, 1)
        self.body.addLayout(grid)
        close = Button(self.tr("Close"))
        close.clicked.connect(self.dismiss)
        self.body.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)
        self.panel.setAccessibleName(title)
