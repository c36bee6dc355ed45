"""Long work on models of the library, one card each: how far, how fast, Cancel. Qt thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.models.report_card import ReportCard
from kimi_desktop.ui.widgets.button import IconButton
from kimi_desktop.ui.widgets.card import Card
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.progress_row import ProgressRow

T = TypeVar("T")


class TaskCard(Card):
    """One piece of work; what went wrong stays until it is closed."""

    closed = Signal()

    def __init__(self, title: str) -> None:
        super().__init__(padding=12)
        self.progress = ProgressRow()
        self.failure = Label(tone="bad", wrap=True)
        self.advice = Label(tone="muted", wrap=True)
        self.close_button = IconButton("close", self.tr("Close"))
        self.close_button.clicked.connect(self.closed)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.failure)
        texts.addWidget(self.advice)
        self._failed = QWidget()
        row = QHBoxLayout(self._failed)
        row.setContentsMargins(0, 0, 0, 0)
        row.addLayout(texts, 1)
        row.addWidget(self.close_button)
        self._failed.hide()
        self.body.addWidget(self.progress)
        self.body.addWidget(self._failed)
        self.progress.begin(title)
        self.setAccessibleName(title)

    def show_failure(self, error: BaseException) -> None:
        """Instead of the progress."""
        text, advice = describe_error(error, language())
        self.failure.setText(text)
        self.advice.setText(advice)
        self.progress.hide()
        self._failed.show()
        self.setAccessibleName(f"{text} {advice}")


class Tasks(QWidget):
    """Hidden while nothing is under way."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._cards: dict[str, TaskCard] = {}
        self._reports: dict[str, ReportCard] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self.hide()

    def card(self, key: str) -> TaskCard | None:
        """Of a piece of work."""
        return self._cards.get(key)

    def run(
        self, key: str, title: str, operation: Operation[T], on_done: Callable[[T], None]
    ) -> None:
        """Show the work until it ends."""
        self._remove(key)
        card = self._cards[key] = TaskCard(title)
        self._layout.addWidget(card)
        self.show()
        card.closed.connect(lambda: self._remove(key))
        # A bound method would be held weakly, and nobody else holds the operation.
        card.progress.cancelled.connect(lambda: operation.cancel())  # noqa: PLW0108

        def done(result: Any) -> None:  # noqa: ANN401
            self._remove(key)
            on_done(result)

        def failed(error: BaseException) -> None:
            if isinstance(error, Cancelled):
                self._remove(key)
            else:
                card.show_failure(error)

        self._bridge.watch(operation, done, failed)

    def report(self, key: str) -> ReportCard | None:
        """What came out of a piece of work, while it is shown."""
        return self._reports.get(key)

    def show_report(self, key: str, report: ReportCard) -> None:
        """Show what came out, until it is closed or the work is done again."""
        self._remove(key)
        self._reports[key] = report
        report.closed.connect(lambda: self._remove(key))
        self._layout.addWidget(report)
        self.show()

    def _remove(self, key: str) -> None:
        for card in (self._cards.pop(key, None), self._reports.pop(key, None)):
            if card is not None:
                card.hide()
                self._layout.removeWidget(card)
                card.deleteLater()
        self.setVisible(bool(self._cards or self._reports))
