"""The engine's log over the window; after a failure with the lines that decided marked. Qt thread.

What only looks like the cause (every failed load ends with it) is greyed: people post those lines
and look for help with the wrong thing.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QGuiApplication, QTextCursor, QTextFormat
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QTextEdit, QWidget

from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.diagnosis.types import UNKNOWN_BELOW, Diagnosis, FailureReading
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.theme import color, mono_font, tokens
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize


def read_log(
    status: EngineStatus, latest: FailureReading | None, text: str
) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """What to show, the lines that decided (the surest first), and the decoys.

    Args:
        status: of the engine.
        latest: of whichever failure was read last.
        text: the log as it is; what was read of a failure goes before it.
    """
    same = latest is not None and latest.started_at == status.started_at
    if status.state is not EngineState.FAILED or not same or latest is None:
        return text, (), ()
    if not latest.evidence.log:
        return text, (), ()
    return latest.evidence.log, *marked_lines(latest.diagnosis)


def marked_lines(found: Diagnosis) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lines that decided, the surest first, and the decoys."""
    decisive = dict.fromkeys(
        finding.line_number
        for finding in found.findings
        if finding.line_number is not None and finding.confidence >= UNKNOWN_BELOW
    )
    return tuple(decisive), found.decoys


class LogView(Overlay):
    """To read and copy."""

    def __init__(
        self,
        window: QWidget,
        text: str,
        decisive: tuple[int, ...] = (),
        decoys: tuple[int, ...] = (),
    ) -> None:
        """Open at the end, or at the surest of the lines that decided.

        Args:
            window: below it.
            text: the log.
            decisive: 0-based lines to mark, the surest first.
            decoys: 0-based lines to grey.
        """
        super().__init__(window, width=880)
        self._text, self._decisive, self._decoys = text, decisive, decoys
        self.view = QPlainTextEdit(text or self.tr("The log is empty."))
        self.view.setReadOnly(True)
        self.view.setFont(mono_font(SMALL_PX))
        self.view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.view.setMinimumHeight(440)
        self.view.setTabChangesFocus(True)
        self.view.setAccessibleName(self.tr("Engine log"))
        self.copy_button = Button(self.tr("Copy"), icon="copy")
        self.copy_button.setEnabled(bool(text))
        self.copy_button.clicked.connect(self._on_copy)
        self.next_button = Button(self.tr("Next marked line"))
        self.next_button.setVisible(len(decisive) > 1)
        self.next_button.clicked.connect(self._go_to_next)
        close = Button(self.tr("Close"))
        close.clicked.connect(self.dismiss)
        self.body.addWidget(Label(self.tr("Engine log"), size=TextSize.HEADING, weight=SEMIBOLD))
        if decisive or decoys:
            words = self.tr(
                "Marked lines decide; grey ones only look like the cause and follow other failures,"
                " too."
            )
            self.body.addWidget(Label(words, size=TextSize.SMALL, tone="muted", wrap=True))
        self.body.addWidget(self.view)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.copy_button)
        buttons.addWidget(self.next_button)
        buttons.addStretch(1)
        buttons.addWidget(close)
        self.body.addLayout(buttons)
        self._mark()
        self._shown = 0
        if decisive:
            self._go_to(decisive[0])
        else:
            bar = self.view.verticalScrollBar()
            bar.setValue(bar.maximum())

    def marked(self) -> tuple[int, ...]:
        """The lines that are marked, the surest first."""
        return self._decisive

    def changeEvent(self, event: QEvent) -> None:
        """Colours follow the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "_shown"):
            self._mark()

    def _mark(self) -> None:
        t = tokens()
        self.view.setExtraSelections(
            [
                *self._selections(self._decoys, color(t.muted), None),
                *self._selections(self._decisive, color(t.text), color(t.warn_soft)),
            ]
        )

    def _selections(
        self, lines: Iterable[int], text: QColor, ground: QColor | None
    ) -> list[QTextEdit.ExtraSelection]:
        found = []
        for number in lines:
            block = self.view.document().findBlockByNumber(number)
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(block)
            if ground is None:  # a ground over the whole width wants a cursor without selection
                cursor.movePosition(
                    QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
                )
            selection.cursor = cursor
            look = selection.format
            look.setForeground(text)
            if ground is not None:
                look.setBackground(ground)
                look.setProperty(QTextFormat.Property.FullWidthSelection, True)
            selection.format = look
            found.append(selection)
        return found

    def _go_to(self, number: int) -> None:
        self.view.setTextCursor(QTextCursor(self.view.document().findBlockByNumber(number)))
        self.view.centerCursor()

    def _go_to_next(self) -> None:
        self._shown = (self._shown + 1) % len(self._decisive)
        self._go_to(self._decisive[self._shown])

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self.copy_button.set_icon("check")
