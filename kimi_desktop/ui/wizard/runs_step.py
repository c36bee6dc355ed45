"""Step 2: what runs here, before anything is downloaded: the Kimi family, priced. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.downloads.engine_builds.types import BuildsChanged
from kimi_desktop.machine.types import MachineProbed
from kimi_desktop.planner.offer_types import OfferedFile, OfferedModel, Use
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.get_build import GetBuild
from kimi_desktop.ui.language import language
from kimi_desktop.ui.offer_row import OfferRow, offer_head
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import Card, Divider
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.message_bar import EmptyState, MessageBar
from kimi_desktop.ui.wizard.step import Step

DOWNLOAD_WIDTH = 32
FITTING = (Use.GOOD, Use.SLOW, Use.TIGHT)


class RunsStep(Step):
    """One row per model, with its best file for this machine; what does not fit on request."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._offers: tuple[OfferedModel, ...] = ()
        self._shows_rest = False
        self.rows: list[OfferRow] = []
        self.downloads: list[IconButton] = []
        self._intro = Label(tone="muted", wrap=True)
        self._holder = QWidget()
        self._place = QVBoxLayout(self._holder)
        self._place.setContentsMargins(0, 0, 0, 0)
        self.engine_note = MessageBar("warn")
        self.get_engine = Button(small=True)
        self.engine_note.add_button(self.get_engine)
        self.engine_note.hide()
        self.get_engine.clicked.connect(self._get_engine)
        self.get_build = GetBuild(bridge)
        self._build_card = Card(padding=1)
        self._build_card.body.addWidget(self.get_build)
        self._build_card.hide()
        self.nothing = EmptyState("models")
        self.more = Button(kind=ButtonKind.QUIET)
        self.more.clicked.connect(self._show_rest)
        self._foot = Label(tone="muted", wrap=True)
        foot = QHBoxLayout()
        foot.setSpacing(16)
        foot.addWidget(self._foot, 1)
        foot.addWidget(self.more)
        self.body.addWidget(self._intro)
        self.body.addWidget(self.engine_note)
        self.body.addWidget(self._build_card)
        self.body.addWidget(self.nothing)
        self.body.addWidget(self._holder)
        self.body.addLayout(foot)
        self.body.addStretch(1)
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def title(self) -> str:
        """The step's name."""
        return self.tr("What runs here")

    def next_text(self) -> str:
        """The words on Next."""
        return self.tr("Next: first model")

    def enter(self) -> None:
        """Price the catalogue by what the machine is now."""
        self._ask()

    def retranslate(self) -> None:
        """Set the words, the rows' too."""
        super().retranslate()
        self._intro.setText(
            self.tr(
                "Each model with the file that suits this machine, before you download anything."
            )
        )
        self._foot.setText(
            self.tr(
                "Estimated for a context of 32K tokens and a prompt of 2,048; once a file’s "
                "header is read, Plan says it exactly."
            )
        )
        self.engine_note.show_message(
            self.tr("These figures use your GPUs; the engine that is chosen does not."),
            self.tr("Get a llama.cpp built for them, or choose one of yours, to get this speed."),
        )
        self.get_engine.setText(self.tr("Get one"))
        self._show()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MachineProbed) and self.isVisible():
            self._ask()
        elif isinstance(event, BuildsChanged):
            self._show()

    def _get_engine(self) -> None:
        self._build_card.show()
        self.get_engine.hide()
        self.get_build.ask()

    def _ask(self) -> None:
        self.bridge.watch(self.bridge.services.discover.offers(), self._take, self._failed)

    def _take(self, offers: Sequence[OfferedModel]) -> None:
        self._offers = tuple(offers)
        self._show()

    def _failed(self, error: BaseException) -> None:
        self.bridge.navigation.report(error)

    def _show_rest(self) -> None:
        self._shows_rest = not self._shows_rest
        self._show()

    def _show(self) -> None:
        fitting = [offer for offer in self._offers if offer.use in FITTING]
        rest = [offer for offer in self._offers if offer.use in (Use.DISK, Use.NONE)]
        shown = fitting + (rest if self._shows_rest else [])
        looked = bool(self._offers)
        self.nothing.set_texts(
            self.tr("No model of the family fits into the memory of this machine.")
            if looked
            else self.tr("This machine has not been looked at yet: go back one step."),
            "",
        )
        self.nothing.setVisible(not shown)
        self._holder.setVisible(bool(shown))
        self._foot.setVisible(bool(shown))
        lacks = bool(shown) and self.bridge.services.discover.lacks_gpu_engine
        self.engine_note.setVisible(lacks)
        if not lacks:
            self._build_card.hide()
        self.more.setVisible(bool(rest))
        self.more.setText(
            self.tr("Hide what does not fit")
            if self._shows_rest
            else self.tr("Show {count} more that do not fit").format(count=len(rest))
        )
        self._fill(shown)

    def _fill(self, shown: Sequence[OfferedModel]) -> None:
        while (item := self._place.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self.rows, self.downloads = [], []
        if not shown:
            return
        table = Card(padding=1)
        table.body.setSpacing(0)
        heads = (self.tr("Model"), self.tr("On this machine"), self.tr("Speed"), self.tr("Size"))
        table.body.addWidget(_line(offer_head(heads), QWidget()))
        for offer in shown:
            if offer.best is None:
                continue
            words = self.bridge.services.discover.words(offer.best, language())
            below = " · ".join(filter(None, (offer.best.quantization, words.quality)))
            row = OfferRow()
            row.show_offer(offer.name, below, offer.best, words)
            table.body.addWidget(Divider())
            table.body.addWidget(_line(row, self._download_button(offer.name, offer.best)))
            self.rows.append(row)
        self._place.addWidget(table)

    def _download_button(self, name: str, file: OfferedFile) -> IconButton:
        """Asks before anything is fetched; the set-up goes on meanwhile."""
        words = self.tr("Download {name} {file}").format(name=name, file=file.quantization)
        button = IconButton("download", words, bordered=True)
        button.clicked.connect(lambda: self.bridge.navigation.download(file.id))
        self.downloads.append(button)
        return button


def _line(row: QWidget, end: QWidget) -> QWidget:
    """A row of the table, and what stands behind its columns."""
    holder = QWidget()
    layout = QHBoxLayout(holder)
    layout.setContentsMargins(0, 0, 12, 0)
    layout.setSpacing(0)
    layout.addWidget(row, 1)
    if isinstance(end, IconButton):
        layout.addSpacing(DOWNLOAD_WIDTH - end.width())
    else:
        end.setFixedWidth(DOWNLOAD_WIDTH)
    layout.addWidget(end)
    return holder
