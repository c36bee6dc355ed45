"""Models that are one press away: the demo that comes along, a small one from a hub. Qt thread."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.models.types import LocalModel, StarterProgress
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Card
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label
from kimi_desktop.ui.widgets.progress_row import ProgressRow


class OfferCard(Card):
    """One offer: its words and a button; then how far it is; a failure in place with Retry.

    ``finished`` fires with the model, ``busy_changed`` when work begins or ends.
    """

    finished = Signal(object)
    busy_changed = Signal()

    def __init__(
        self, bridge: Bridge, command: Callable[[], Operation[LocalModel]], icon: str
    ) -> None:
        super().__init__(padding=12)
        self._bridge = bridge
        self._command = command
        self._operation: Operation[LocalModel] | None = None
        self._error: BaseException | None = None
        self._icon = icon
        self._action = ""
        self._working = ""
        self.title = Label(weight=SEMIBOLD)
        self.detail = Label(tone="muted", wrap=True)
        self.button = Button(icon=icon, kind=ButtonKind.SECONDARY)
        self.failure = Label(tone="bad", wrap=True)
        self.advice = Label(tone="muted", wrap=True)
        self.progress = ProgressRow()
        texts = QVBoxLayout()
        texts.setSpacing(2)
        for label in (self.title, self.detail, self.failure, self.advice):
            texts.addWidget(label)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addLayout(texts, 1)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        self.body.addWidget(self.progress)
        self.button.clicked.connect(self.begin)
        self.progress.cancelled.connect(self.cancel)
        self._show()

    @property
    def is_busy(self) -> bool:
        """Work is under way."""
        return self._operation is not None

    @property
    def has_failed(self) -> bool:
        """The last try ended badly."""
        return self._error is not None

    def set_texts(self, title: str, detail: str, action: str, working: str) -> None:
        """The words: what it is, what to press, what is going on meanwhile."""
        self.title.setText(title)
        self.detail.setText(detail)
        self._action, self._working = action, working
        self.setAccessibleName(title)
        self.setAccessibleDescription(detail)
        if self.is_busy:
            self.progress.set_title(working)
        self._show()

    def begin(self) -> None:
        """Do it."""
        if self.is_busy:
            return
        self._error = None
        self._operation = self._command()
        self.progress.begin(self._working)
        self._show()
        self.progress.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.busy_changed.emit()
        self._bridge.watch(self._operation, self._on_done, self._on_failed)

    def cancel(self) -> None:
        """Have it stopped; it ends when it has cleaned up."""
        if self._operation is not None:
            self._operation.cancel()

    def show_progress(self, event: StarterProgress) -> None:
        """How far it is."""
        if self.is_busy:
            checking = event.phase == "checking"
            self.progress.set_title(
                self.tr("Checking every byte (SHA-256)") if checking else self._working
            )
            self.progress.show_bytes(event.done_bytes, event.total_bytes)

    def _on_done(self, model: LocalModel) -> None:
        self._end(None)
        self.finished.emit(model)

    def _on_failed(self, error: BaseException) -> None:
        self._end(None if isinstance(error, Cancelled) else error)

    def _end(self, error: BaseException | None) -> None:
        had_focus = self.progress.cancel_button.hasFocus()
        self._operation, self._error = None, error
        self._show()
        if had_focus:
            self.button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.busy_changed.emit()

    def _show(self) -> None:
        busy = self.is_busy
        self.progress.setVisible(busy)
        self.button.setVisible(not busy)
        self.button.setText(self.tr("Try again") if self._error else self._action)
        self.button.set_icon("refresh" if self._error else self._icon)
        text, advice = describe_error(self._error, language()) if self._error else ("", "")
        self.failure.setText(text)
        self.failure.setVisible(bool(text))
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))


class Offers(QWidget):
    """Both cards; each goes away when the library has what it offers."""

    finished = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        models = bridge.services.models
        self.starter = OfferCard(bridge, models.install_starter, "plus")
        self.chat = OfferCard(bridge, models.fetch_first_chat, "download")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for card in self.cards():
            layout.addWidget(card)
            card.finished.connect(self._on_finished)
            card.busy_changed.connect(self._on_busy)
        self.retranslate()

    def cards(self) -> tuple[OfferCard, OfferCard]:
        """The demo, the small chat model."""
        return self.starter, self.chat

    def show_models(self, models: tuple[LocalModel, ...]) -> None:
        """Offer what is not there; what is under way or has failed stays."""
        has_starter = any(model.is_starter for model in models)
        can_chat = any(
            model.facts is not None and model.facts.chat_template and not model.is_starter
            for model in models
        )
        starter = self._bridge.services.models.starter_available and not has_starter
        self.starter.setVisible(starter or self.starter.is_busy or self.starter.has_failed)
        self.chat.setVisible(not can_chat or self.chat.is_busy or self.chat.has_failed)
        self.setVisible(any(not card.isHidden() for card in self.cards()))

    def show_progress(self, event: StarterProgress) -> None:
        """The busy one is meant: only one can be at a time."""
        for card in self.cards():
            card.show_progress(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.starter.set_texts(
            self.tr("Demo model: Gemma 3 270M"),
            self.tr(
                "Comes with the app, 253 MB. A base model: it continues text and is no assistant."
            ),
            self.tr("Install"),
            self.tr("Putting the demo model together"),
        )
        self.chat.set_texts(
            self.tr("Small chat model: Qwen3 0.6B"),
            self.tr(
                "Answers questions. Downloaded from Hugging Face, hf-mirror or ModelScope, "
                "whichever answers, and checked by its SHA-256."
            ),
            self.tr("Download"),
            self.tr("Downloading the small chat model"),
        )

    def _on_finished(self, model: LocalModel) -> None:
        self.show_models(self._bridge.services.models.models)
        self.finished.emit(model)

    def _on_busy(self) -> None:
        """One at a time: their progress comes in the same event."""
        busy = any(card.is_busy for card in self.cards())
        for card in self.cards():
            card.button.setEnabled(not busy)
