"""The set-up: four steps from a fresh machine to a first answer, in the main window. Qt thread.

Every step can be skipped, Back works, and the keyboard reaches all of it. The frame hides rail and
status bar meanwhile and shows the language in the top bar.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from kimi_desktop.base.settings import Settings
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import USABLE
from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.painting import box, painter_on
from kimi_desktop.ui.wizard.machine_step import MachineStep
from kimi_desktop.ui.wizard.model_step import ModelStep
from kimi_desktop.ui.wizard.runs_step import RunsStep
from kimi_desktop.ui.wizard.start_step import StartStep
from kimi_desktop.ui.wizard.step import Step

CONTENT_WIDTH = 960
FOOTER_HEIGHT = 64


class WizardPage(QWidget):
    """Owns the steps and the way between them."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        start = StartStep(bridge)
        start.model_wanted.connect(self._back)
        self.steps: tuple[Step, ...] = (
            MachineStep(bridge),
            RunsStep(bridge),
            ModelStep(bridge),
            start,
        )
        self._stack = QStackedWidget()
        for step in self.steps:
            self._stack.addWidget(_scrolled(step))
            step.finished.connect(self._on_finished)
            step.changed.connect(self._refresh)
        self._dots = _Dots(len(self.steps))
        self.skip_button = Button(kind=ButtonKind.QUIET)
        self.back_button = Button()
        self.next_button = Button(kind=ButtonKind.PRIMARY)
        self.skip_button.clicked.connect(self._skip)
        self.back_button.clicked.connect(self._back)
        self.next_button.clicked.connect(lambda _checked: self.step.go_on())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self._make_footer())
        self.retranslate()
        self.show_step(0)

    @property
    def number(self) -> int:
        """The step shown, from 0."""
        return self._stack.currentIndex()

    @property
    def step(self) -> Step:
        """The step shown."""
        return self.steps[self.number]

    def show_step(self, number: int) -> None:
        """Go to a step."""
        self._stack.setCurrentIndex(number)
        self._dots.show_place(number)
        self.step.show_number(number + 1, len(self.steps))
        self.step.enter()
        self._refresh()
        self._focus_next()

    def showEvent(self, event: QShowEvent) -> None:
        """Enter alone goes on."""
        super().showEvent(event)
        self._focus_next()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Alt+Left is Back."""
        back = (
            event.key() == Qt.Key.Key_Left and event.modifiers() == Qt.KeyboardModifier.AltModifier
        )
        if back and self.back_button.isEnabled():
            self._back()
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.back_button.setText(self.tr("Back"))
        self.skip_button.setText(self.tr("Skip this step"))
        self.step.show_number(self.number + 1, len(self.steps))
        self._dots.setAccessibleName(
            self.tr("Step {number} of {count}").format(
                number=self.number + 1, count=len(self.steps)
            )
        )
        self._refresh()

    def _make_footer(self) -> QWidget:
        footer = Surface(tone="panel", edges="t")
        footer.setFixedHeight(FOOTER_HEIGHT)
        left, right = QHBoxLayout(), QHBoxLayout()
        left.addWidget(self.skip_button)
        left.addStretch(1)
        right.setSpacing(8)
        right.addStretch(1)
        right.addWidget(self.back_button)
        right.addWidget(self.next_button)
        row = QHBoxLayout(footer)
        row.setContentsMargins(12, 0, 24, 0)
        row.addLayout(left, 1)
        row.addWidget(self._dots)
        row.addLayout(right, 1)
        return footer

    def _refresh(self) -> None:
        """Next's words and state; the keyboard stays with what can be done now."""
        ready = self.step.can_go_on()
        follow = self._focus_is_ours()
        if follow and not ready:
            self.setFocus(Qt.FocusReason.OtherFocusReason)  # else Qt hands it to the next control
        self.back_button.setEnabled(self.number > 0)
        self.next_button.setText(self.step.next_text())
        self.next_button.setEnabled(ready)
        busy = self.step.busy_control
        if follow and ready:
            self._focus_next()
        elif follow and busy is not None and busy.isVisible():
            busy.setFocus(Qt.FocusReason.OtherFocusReason)

    def _focus_next(self) -> None:
        if self.isVisible():
            self.next_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _focus_is_ours(self) -> bool:
        """The user has not taken the keyboard elsewhere since it was put on Next."""
        focused = self.window().focusWidget()
        ours = (None, self, self.next_button, self.step.busy_control)
        return focused in ours or not (focused.isVisible() and focused.isEnabled())

    def _on_finished(self) -> None:
        if self.number < len(self.steps) - 1:
            self.show_step(self.number + 1)
        else:
            self._say_hello()

    def _back(self) -> None:
        self.step.leave()
        self.show_step(self.number - 1)

    def _skip(self) -> None:
        self.step.leave()
        if self.number < len(self.steps) - 1:
            self.show_step(self.number + 1)
        else:
            self._finish()
            self._bridge.navigation.show_page("chat")

    def _say_hello(self) -> None:
        self._finish()
        chats = self._bridge.services.chats
        chat_id = chats.new_chat()
        self._bridge.navigation.open_chat(chat_id)
        if self._bridge.services.engine.status.state in USABLE:
            chats.send(chat_id, self.tr("Hello! What can you do?"))

    def _finish(self) -> None:
        def change(settings: Settings) -> Settings:
            window = dataclasses.replace(settings.window, wizard_done=True, page="chat")
            return dataclasses.replace(settings, window=window)

        self._bridge.save_settings(change)


def _scrolled(step: Step) -> QScrollArea:
    """The step in a column of 960 px that scrolls when the window is low."""
    inside = QWidget()
    across = QHBoxLayout(inside)
    across.setContentsMargins(24, 0, 24, 0)
    step.setMaximumWidth(CONTENT_WIDTH)
    across.addStretch(1)
    across.addWidget(step, 1000)
    across.addStretch(1)
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.viewport().setAutoFillBackground(False)
    inside.setAutoFillBackground(False)
    area.setWidget(inside)
    return area


class _Dots(QWidget):
    """How far one is: the step shown is a bar, the others are rings, those done are filled."""

    SIDE, BAR, GAP = 8, 24, 8

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._place = 0
        self.setFixedSize(self.BAR + (count - 1) * (self.SIDE + self.GAP), self.SIDE)

    def show_place(self, place: int) -> None:
        self._place = place
        self.update()

    def sizeHint(self) -> QSize:
        """Its fixed size."""
        return self.size()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw them."""
        del event
        t = tokens()
        painter = painter_on(self)
        x = 0
        for number in range(self._count):
            width = self.BAR if number == self._place else self.SIDE
            place = QRectF(x, 0, width, self.SIDE)
            if number <= self._place:
                box(painter, place, 4, fill=t.accent)
            else:
                box(painter, place, 4, border=t.control, width=1.5)
            x += width + self.GAP
        painter.end()
