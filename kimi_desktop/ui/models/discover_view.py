"""Discover: the Kimi family priced for this machine, and any other repository by search. Qt.

Nothing is fetched by looking: the catalogue ships with the app, a search asks a hub for names, and
a file that is planned costs its header.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.downloads.discover_types import SearchRow
from kimi_desktop.machine.types import MachineProbed
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, OfferedModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.hub_help import TokenButton
from kimi_desktop.ui.language import language
from kimi_desktop.ui.models.discover_card import ModelCard
from kimi_desktop.ui.models.discover_details import DiscoverDetails
from kimi_desktop.ui.models.discover_results import ResultList
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import ScrollPage
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.message_bar import EmptyState, MessageBar

T = TypeVar("T")

DETAILS_WIDTH, LEAST_DETAILS = 340, 280
DETAILS_SHARE = 0.3


class DiscoverView(QWidget):
    """``copy_wanted`` has the name of a file, ``shown`` how many models there are."""

    copy_wanted = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._asked = False
        self._machine_changed = False
        self._operation: Operation[Any] | None = None
        self._searched = ""
        self._group: QButtonGroup | None = None
        self.cards: list[ModelCard] = []
        self.search = Field(icon="search")
        self.go = Button()
        self.back = Button(icon="close")
        self.problem = MessageBar("bad")
        self.problem.set_closable(closable=False)
        self.again = Button(small=True)
        self.problem.add_button(self.again)
        self.token = TokenButton(bridge)
        self.problem.add_button(self.token)
        self.engine_note = MessageBar("warn")
        self.get_engine = Button(small=True)
        self.engine_note.add_button(self.get_engine)
        self.note = Label(tone="muted", wrap=True)
        self.results = ResultList()
        self.nothing = EmptyState("search")
        self._list = QWidget()
        self._cards = QVBoxLayout(self._list)
        self._cards.setContentsMargins(0, 0, 0, 0)
        self._cards.setSpacing(8)
        self.details = DiscoverDetails(bridge)
        self._arrange()
        self.search.returnPressed.connect(self._search)
        self.go.clicked.connect(self._search)
        self.get_engine.clicked.connect(lambda: bridge.navigation.open_settings("builds"))
        self.back.clicked.connect(self.show_family)
        self.again.clicked.connect(self._search)
        self.results.wanted.connect(self._look)
        self.details.copy_wanted.connect(self.copy_wanted)
        bridge.happened.connect(self._on_event)
        self.details.show_file(None, None)
        self.retranslate()
        self._show_state()

    def appear(self) -> None:
        """The view is shown: price the catalogue if nobody did for this machine."""
        if not self._asked or self._machine_changed:
            self._ask()
        lacks = self._bridge.services.discover.lacks_gpu_engine
        self.engine_note.setVisible(lacks)

    def show_family(self) -> None:
        """Leave the search; the Kimi family again."""
        self._cancel()
        self._searched = ""
        self.search.clear()
        self.problem.hide()
        self.results.show_rows(())
        self._ask()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape leaves a search."""
        if event.key() == Qt.Key.Key_Escape and self._searched:
            self.show_family()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The details take their share."""
        super().resizeEvent(event)
        wanted = round(self.width() * DETAILS_SHARE)
        self.details.setFixedWidth(max(LEAST_DETAILS, min(DETAILS_WIDTH, wanted)))

    def retranslate(self) -> None:
        """Set the words."""
        self.search.setPlaceholderText(
            self.tr("Search Hugging Face, or paste a model’s name or address")
        )
        self.search.set_label(self.tr("Search for models"))
        self.go.setText(self.tr("Search"))
        self.back.setText(self.tr("Kimi family"))
        self.again.setText(self.tr("Try again"))
        self.token.retranslate()
        self.engine_note.show_message(
            self.tr("These figures use your GPUs; the engine that is chosen does not."),
            self.tr("Get a llama.cpp built for them, or choose one of yours, to get this speed."),
        )
        self.get_engine.setText(self.tr("Get one"))
        for card in self.cards:
            card.retranslate()
        self.results.retranslate()
        self.details.retranslate()
        self._show_state()

    def _arrange(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.search, 1)
        line.addWidget(self.go)
        line.addWidget(self.back)
        page = ScrollPage()
        page.body.addLayout(line)
        for widget in (self.engine_note, self.problem, self.note, self.results, self._list):
            page.body.addWidget(widget)
        page.body.addWidget(self.nothing, 1)
        page.body.addStretch(0)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(page, 1)
        layout.addWidget(self.details)
        self.problem.hide()

    # the catalogue

    def _ask(self) -> None:
        self._asked = True
        self._machine_changed = False
        discover = self._bridge.services.discover
        self._bridge.watch(discover.offers(), self._take_family, self._bridge.navigation.report)

    def _take_family(self, offers: Sequence[OfferedModel]) -> None:
        if not self._searched:
            self._show_models(offers)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MachineProbed):
            self._machine_changed = True
            if self.isVisible() and not self._searched:
                self._ask()

    # the hubs

    def _search(self) -> None:
        text = self.search.text().strip()
        if not text:
            self.show_family()
            return
        discover = self._bridge.services.discover
        if discover.is_reference(text):
            self._look(text)
        else:
            self._begin(text, discover.search(text), self._take_rows)

    def _look(self, text: str) -> None:
        self.search.setText(text)
        discover = self._bridge.services.discover
        self._begin(text, discover.look(text), lambda model: self._show_models((model,)))

    def _begin(self, text: str, operation: Operation[T], take: Callable[[T], None]) -> None:
        self._cancel()
        self._searched = text
        self._operation = operation
        self.problem.hide()
        self._show_models(())
        self.results.show_rows(())
        self._show_state()

        def ended(result: T) -> None:
            if operation is self._operation:
                self._operation = None
                take(result)
                self._show_state()

        def failed(error: BaseException) -> None:
            if operation is self._operation and not isinstance(error, Cancelled):
                self._operation = None
                self.problem.show_message(*describe_error(error, language()))
                self.token.show_for(error)
                self.problem.show()
                self._show_state()

        self._bridge.watch(operation, ended, failed)

    def _take_rows(self, rows: tuple[SearchRow, ...]) -> None:
        self.results.show_rows(rows)

    def _cancel(self) -> None:
        if self._operation is not None:
            operation, self._operation = self._operation, None
            operation.cancel()

    # what is shown

    def _show_models(self, offers: Sequence[OfferedModel]) -> None:
        open_before = {card.model.id for card in self.cards if card.is_open}
        for card in self.cards:
            self._cards.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = []
        self._group = QButtonGroup(self)
        for offer in offers:
            card = ModelCard(offer, self._words, self._group)
            card.picked.connect(lambda file, one=offer: self.details.show_file(one, file))
            card.opened.connect(lambda one=card: self._on_opened(one))
            self.cards.append(card)
            self._cards.addWidget(card)
        kept = [card for card in self.cards if card.model.id in open_before]
        for card in kept or self.cards[:1]:
            card.set_open(is_open=True)
        if not self.cards:
            self.details.show_file(None, None)
        self._show_state()

    def _on_opened(self, card: ModelCard) -> None:
        """What suits this machine is looked at first."""
        if card.model.best is not None and not any(row.isChecked() for row in card.rows):
            card.pick(card.model.best)

    def _words(self, file: OfferedFile) -> FileWords:
        return self._bridge.services.discover.words(file, language())

    def _show_state(self) -> None:
        busy = self._operation is not None
        searching = bool(self._searched)
        failed = not self.problem.isHidden()
        self.back.setVisible(searching)
        found = bool(self.cards or self.results.rows)
        self.results.setVisible(bool(self.results.rows))
        self.nothing.setVisible(not found and not failed)
        if busy:
            said = self.tr("Asking the hub for “{words}”").format(words=self._searched)
        elif searching:
            said = self.tr("Nothing with GGUF files is called “{words}”.").format(
                words=self._searched
            )
        else:
            said = self.tr("This machine is being looked at; then its models come.")
        self.nothing.set_texts(said, "")
        if self.results.rows:
            count = len(self.results.rows)
            one = self.tr("One repository for “{words}”. Choose it to see its files.")
            several = self.tr("{count} repositories for “{words}”. Choose one to see its files.")
            text = one if count == 1 else several
            self.note.setText(text.format(count=count, words=self._searched))
        elif self.cards and not searching:
            self.note.setText(
                self.tr(
                    "The Kimi family, the most useful here first. Estimates for a context of 32K "
                    "tokens; a file’s header makes them exact."
                )
            )
        else:
            self.note.setText("")
        self.note.setVisible(bool(self.note.text()))
