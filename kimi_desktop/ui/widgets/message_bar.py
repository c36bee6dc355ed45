"""What went wrong, where it went wrong: the message bar and the failure panel. Qt thread.

A bar is one line for small matters. A panel stands in place of what failed: cause, evidence, one
to three fixes, the log and the diagnostics. Neither is ever a dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded
from kimi_desktop.ui.widgets.toggle import CheckBox

BAR_ICONS = {"bad": "triangle", "warn": "triangle", "accent": "info", "ok": "check"}


class _Sign(QWidget):
    """An icon in a tone, 20 px."""

    def __init__(self, name: str, tone: str) -> None:
        super().__init__()
        self._name, self._tone = name, tone
        self.setFixedSize(icons.GRID, icons.GRID)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it."""
        del event
        painter = painter_on(self)
        tint = getattr(tokens(), self._tone)
        icons.paint(painter, self._name, QPoint(0, 0), icons.GRID, tint)
        painter.end()


class MessageBar(QWidget):
    """One matter in one line: what, what to do, buttons, and a cross to close it."""

    closed = Signal()

    def __init__(self, tone: str = "bad", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tone = tone
        self._text = Label(wrap=True, weight=MEDIUM)
        self._next = Label(wrap=True, tone="muted")
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._close = IconButton("close", self.tr("Close"), side=28)
        self._close.clicked.connect(self._on_close)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._text)
        texts.addWidget(self._next)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(12)
        layout.addWidget(_Sign(BAR_ICONS[tone], tone), 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(texts, 1)
        layout.addLayout(self._buttons)
        layout.addWidget(self._close)

    def show_message(self, text: str, advice: str = "") -> None:
        """What happened, and what to do about it."""
        self._text.setText(text)
        self._next.setText(advice)
        self._next.setVisible(bool(advice))
        self.setAccessibleName(f"{text} {advice}".strip())

    def text(self) -> str:
        """What it says."""
        return self._text.text()

    def add_button(self, button: Button) -> None:
        """One more button, before the cross."""
        self._buttons.addWidget(button)

    def buttons(self) -> tuple[Button, ...]:
        """The buttons, in order."""
        items = (self._buttons.itemAt(i) for i in range(self._buttons.count()))
        found = (item.widget() for item in items if item is not None)
        return tuple(button for button in found if isinstance(button, Button))

    def close_button(self) -> IconButton:
        """The cross."""
        return self._close

    def set_closable(self, *, closable: bool) -> None:
        """Whether the cross is there."""
        self._close.setVisible(closable)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The tint and the border of its tone."""
        del event
        t = tokens()
        painter = painter_on(self)
        fill, border = getattr(t, f"{self._tone}_soft"), getattr(t, self._tone)
        box(painter, QRectF(self.rect()), RADIUS, fill=fill, border=border)
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self._close.set_label(self.tr("Close"))
        super().changeEvent(event)

    def _on_close(self) -> None:
        self.hide()
        self.closed.emit()


@dataclass(frozen=True, slots=True)
class Fix:
    """One way out: what it does, what it costs, and the button's words."""

    title: str
    detail: str
    action: str
    run: Callable[[], None]


class FailurePanel(QWidget):
    """Cause, evidence, fixes. Only the first fix is a primary button."""

    log_wanted = Signal()
    diagnostics_wanted = Signal()
    step_down_chosen = Signal(bool)
    closed = Signal()
    """The cross was pressed; the panel stays until its owner hides it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._head = _Head()
        self._extra = QVBoxLayout()
        self._extra.setSpacing(4)
        self._evidence_title = Label(size=TextSize.SMALL, tone="muted")
        self._evidence = _Evidence()
        self._fixes = QVBoxLayout()
        self._fixes.setSpacing(0)
        self._log = Button(icon="file", kind=ButtonKind.QUIET, small=True)
        self._copy = Button(icon="copy", kind=ButtonKind.QUIET, small=True)
        self._head.close_button.clicked.connect(self.closed)
        self._log.clicked.connect(self.log_wanted)
        self._copy.clicked.connect(self.diagnostics_wanted)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self._log)
        foot.addWidget(self._copy)
        foot.addStretch(1)
        self._step_down = CheckBox()
        self._step_down.clicked.connect(self.step_down_chosen)
        foot.addWidget(self._step_down)
        body = QVBoxLayout()
        body.setContentsMargins(16, 12, 16, 12)
        body.setSpacing(4)
        body.addLayout(self._extra)
        body.addWidget(self._evidence_title)
        body.addWidget(self._evidence)
        body.addSpacing(8)
        body.addLayout(self._fixes)
        body.addWidget(Divider())
        body.addSpacing(4)
        body.addLayout(foot)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addLayout(body)
        self.show_evidence(())
        self.show_step_down(None)
        # Never squeezed: rows drawn over each other help nobody.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.retranslate()

    def show_cause(self, cause: str, advice: str = "", time: str = "") -> None:
        """The plain cause, one more sentence, and when it happened."""
        self._head.show_cause(cause, advice, time)
        self.setAccessibleName(cause)
        self.setAccessibleDescription(advice)

    def show_evidence(self, lines: Sequence[str], title: str = "") -> None:
        """The lines of a log that prove it; none hides the box."""
        self._evidence.show_lines(lines)
        self._evidence.setVisible(bool(lines))
        self._evidence_title.setText(title or self.tr("Evidence"))
        self._evidence_title.setVisible(bool(lines))

    def show_step_down(self, chosen: bool | None) -> None:
        """Whether the next step is taken by itself; None hides the question."""
        self._step_down.setVisible(chosen is not None)
        self._step_down.setChecked(bool(chosen))

    def step_down_box(self) -> CheckBox:
        """The question."""
        return self._step_down

    def add_picture(self, picture: QWidget) -> None:
        """Something that shows the cause, between head and evidence (a memory bar)."""
        self._extra.addWidget(picture)

    def show_fixes(self, fixes: Sequence[Fix]) -> None:
        """One to three ways out."""
        while (item := self._fixes.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        for number, fix in enumerate(fixes):
            self._fixes.addWidget(_FixRow(fix, primary=number == 0))

    def set_closable(self) -> None:
        """It was asked for where nothing stands in its place: there is a cross."""
        self._head.close_button.show()

    def close_button(self) -> IconButton:
        """The cross."""
        return self._head.close_button

    def fix_buttons(self) -> tuple[Button, ...]:
        """The buttons of the fixes, the first one primary."""
        rows = (self._fixes.itemAt(i) for i in range(self._fixes.count()))
        found = (row.widget() for row in rows if row is not None)
        return tuple(row.button for row in found if isinstance(row, _FixRow))

    def log_button(self) -> Button:
        """Show log."""
        return self._log

    def copy_button(self) -> Button:
        """Copy diagnostics."""
        return self._copy

    def paintEvent(self, event: QPaintEvent) -> None:
        """A panel with a border that says it failed."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.bad)
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self._log.setText(self.tr("Show log"))
        self._copy.setText(self.tr("Copy diagnostics"))
        self._head.close_button.set_label(self.tr("Close"))
        self._step_down.setText(self.tr("Step down by itself next time"))


class _Head(QWidget):
    """The coloured head of a panel."""

    def __init__(self) -> None:
        super().__init__()
        self._cause = Label(size=TextSize.MESSAGE, weight=SEMIBOLD, wrap=True)
        self._advice = Label(wrap=True)
        self._time = Label(size=TextSize.SMALL, tone="muted")
        self.close_button = IconButton("close", side=28)
        self.close_button.hide()
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._cause)
        texts.addWidget(self._advice)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(12)
        layout.addWidget(_Sign("triangle", "bad"), 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(texts, 1)
        layout.addWidget(self._time, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self.close_button, 0, Qt.AlignmentFlag.AlignTop)

    def show_cause(self, cause: str, advice: str, time: str) -> None:
        self._cause.setText(cause)
        self._advice.setText(advice)
        self._advice.setVisible(bool(advice))
        self._time.setText(time)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The tint, rounded at the top like the panel."""
        del event
        painter = painter_on(self)
        shape = QRectF(self.rect()).adjusted(0, 0, 0, RADIUS)
        painter.setClipPath(rounded(shape, RADIUS - 1))
        painter.fillRect(self.rect(), color(tokens().bad_soft))
        painter.end()


class _Evidence(QWidget):
    """Lines of a log in a box; they can be selected."""

    def __init__(self) -> None:
        super().__init__()
        self._text = Label(mono=True, size=TextSize.SMALL, wrap=True)
        self._text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.addWidget(self._text)

    def show_lines(self, lines: Sequence[str]) -> None:
        self._text.setText("\n".join(lines))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The box of code."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.code, border=t.line)
        painter.end()


class _FixRow(QWidget):
    """One fix: 57 px with its line."""

    def __init__(self, fix: Fix, *, primary: bool) -> None:
        super().__init__()
        kind = ButtonKind.PRIMARY if primary else ButtonKind.SECONDARY
        self.button = Button(fix.action, kind=kind)
        self.button.setAccessibleDescription(fix.title)
        self.button.clicked.connect(lambda _checked: fix.run())
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(Label(fix.title, weight=MEDIUM, wrap=True))
        if fix.detail:
            texts.addWidget(Label(fix.detail, size=TextSize.SMALL, tone="muted", wrap=True))
        row = QHBoxLayout()
        row.setContentsMargins(0, 8, 0, 8)
        row.setSpacing(12)
        row.addLayout(texts, 1)
        row.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(Divider())
        layout.addLayout(row)


class EmptyState(QWidget):
    """Nothing here yet: one sentence and one button."""

    def __init__(self, icon: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = Button(kind=ButtonKind.PRIMARY)
        self._text = Label(size=TextSize.MESSAGE, tone="muted", wrap=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout = QVBoxLayout(self)
        layout.setSpacing(16)
        layout.addStretch(2)
        if icon:
            layout.addWidget(_Sign(icon, "muted"), 0, Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(self._text)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignCenter)
        layout.addStretch(3)

    def set_texts(self, sentence: str, action: str) -> None:
        """The sentence and the button's words; no words, no button."""
        self._text.setText(sentence)
        self.button.setText(action)
        self.button.setVisible(bool(action))

    def sentence(self) -> str:
        """What it says."""
        return self._text.text()

    def sizeHint(self) -> QSize:
        """Room for a sentence."""
        return QSize(360, 160)
