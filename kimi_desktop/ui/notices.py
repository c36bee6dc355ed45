"""Bars between the top bar and the page: problems, questions that wait, short notes. Qt thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.message_bar import MessageBar

MOST = 3
NOTE_MS = 6000
OFFER_MS = 20_000


class Notices(QWidget):
    """At most three bars, the newest last; hidden while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(16, 8, 16, 8)
        self._layout.setSpacing(8)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._drop_note)
        self._note: MessageBar | None = None
        self.hide()

    def bars(self) -> tuple[MessageBar, ...]:
        """The bars shown, oldest first."""
        items = (self._layout.itemAt(i) for i in range(self._layout.count()))
        found = (item.widget() for item in items if item is not None)
        return tuple(bar for bar in found if isinstance(bar, MessageBar) and not bar.isHidden())

    def add(self, bar: MessageBar) -> None:
        """Show one more; the oldest goes when there are too many."""
        for old in self.bars()[: max(0, len(self.bars()) + 1 - MOST)]:
            self.remove(old)
        bar.closed.connect(lambda: self.remove(bar))
        self._layout.addWidget(bar)
        bar.show()
        self.show()

    def remove(self, bar: MessageBar) -> None:
        """Take it away."""
        bar.hide()
        self._layout.removeWidget(bar)
        bar.deleteLater()
        if bar is self._note:
            self._note = None
            self._timer.stop()
        self.setVisible(bool(self.bars()))

    def show_remark(self, remark: BaseException) -> MessageBar:
        """What is not as it should be, though nothing failed; stays until it is closed."""
        bar = MessageBar("warn")
        bar.show_message(*describe_error(remark, language()))
        self.add(bar)
        return bar

    def show_error(self, error: BaseException) -> MessageBar:
        """What happened and what to do; the same sentence is not shown twice."""
        what, advice = describe_error(error, language())
        for bar in self.bars():
            if bar.text() == what:
                return bar
        bar = MessageBar("bad")
        bar.show_message(what, advice)
        self.add(bar)
        return bar

    def show_unexpected(self, trace: str) -> None:
        """An error that nobody foresaw: its last line, and all of it to copy."""
        from kimi_desktop.base.redaction import redact  # noqa: PLC0415 - not at the start

        spoken = language()
        what = message("settings.unexpected", spoken, detail=trace.strip().rpartition("\n")[2])
        if any(bar.text() == what for bar in self.bars()):
            return
        bar = MessageBar("bad")
        bar.show_message(what, message("settings.unexpected.next", spoken))
        copy = Button(self.tr("Copy details"), icon="copy", small=True)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(redact(trace)))
        bar.add_button(copy)
        self.add(bar)

    def show_note(self, text: str) -> None:
        """Something good or neutral, for a few seconds."""
        self._drop_note()
        self._note = MessageBar("accent")
        self._note.show_message(text)
        self.add(self._note)
        self._timer.start(NOTE_MS)

    def show_offer(self, text: str, action: str, run: Callable[[], None]) -> None:
        """A note with a button, for longer; the button closes it."""
        self._drop_note()
        bar = self._note = MessageBar("accent")
        bar.show_message(text)
        button = Button(action, small=True)

        def take() -> None:
            self.remove(bar)
            run()

        button.clicked.connect(take)
        bar.add_button(button)
        self.add(bar)
        self._timer.start(OFFER_MS)

    def _drop_note(self) -> None:
        if self._note is not None:
            self.remove(self._note)
