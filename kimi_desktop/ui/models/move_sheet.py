"""Where a model should go: the library's other folders, or any other. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.keeping.types import MovePlace
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_names import full_name
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.option_card import OptionCard


class MoveSheet(Overlay):
    """``on_chosen`` runs with the folder."""

    def __init__(
        self,
        window: QWidget,
        bridge: Bridge,
        model: LocalModel,
        on_chosen: Callable[[Path], None],
    ) -> None:
        super().__init__(window, width=560)
        self._bridge = bridge
        self._model = model
        self._on_chosen = on_chosen
        self._places: list[MovePlace] = []
        self.cards: list[OptionCard] = []
        size = format_file_size(model.size_bytes)
        heading = self.tr("Move {name}, {size}").format(name=full_name(model), size=size)
        self.note = Label(
            self.tr(
                "Every file is copied, read back from the new drive and compared by SHA-256. Only "
                "then the old files are removed."
            ),
            wrap=True,
            tone="muted",
        )
        self.failure = Label(wrap=True, tone="bad")
        self.failure.hide()
        self._list = QWidget()
        self._cards = QVBoxLayout(self._list)
        self._cards.setContentsMargins(0, 0, 0, 0)
        self._cards.setSpacing(8)
        self.other = Button(self.tr("Another folder…"), icon="folder")
        self.cancel_button = Button(self.tr("Cancel"))
        self.move_button = Button(self.tr("Move"), kind=ButtonKind.PRIMARY, icon="disk")
        self.move_button.setEnabled(False)
        self.other.clicked.connect(self._choose_folder)
        self.cancel_button.clicked.connect(self.dismiss)
        self.move_button.clicked.connect(self._confirm)
        self.body.addWidget(Label(heading, size=TextSize.HEADING, weight=SEMIBOLD, wrap=True))
        self.body.addWidget(self.note)
        self.body.addWidget(self._list)
        self.body.addWidget(self.failure)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.other)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.move_button)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(heading)
        bridge.watch(bridge.services.keeper.places(model), self._on_places, self._on_failed)

    def chosen(self) -> MovePlace | None:
        """The place whose card is on."""
        for place, card in zip(self._places, self.cards, strict=True):
            if card.isChecked():
                return place
        return None

    def _on_places(self, places: Sequence[MovePlace]) -> None:
        for place in places:
            self._add(place)
        able = [c for c, p in zip(self.cards, self._places, strict=True) if _is_possible(p)]
        if able:
            able[0].setChecked(True)
            able[0].setFocus()
        self._cover()

    def _on_place(self, place: MovePlace) -> None:
        """One that the user chose; it may be in the list already."""
        known = [known.folder for known in self._places]
        if place.folder not in known:
            self._add(place)
            known.append(place.folder)
        if _is_possible(place):
            self.cards[known.index(place.folder)].setChecked(True)
        self._cover()

    def _add(self, place: MovePlace) -> None:
        card = OptionCard()
        free = self.tr("{size} free").format(size=format_file_size(place.free_bytes))
        card.set_texts(str(place.folder), self._words(place), free)
        card.setEnabled(_is_possible(place))
        card.toggled.connect(self._on_toggled)
        self._places.append(place)
        self.cards.append(card)
        self._cards.addWidget(card)

    def _words(self, place: MovePlace) -> str:
        if not place.writable:
            return self.tr("Cannot be written.")
        if place.same_volume:
            return self.tr("On the same drive: done at once, nothing is copied.")
        if not place.fits:
            return self.tr("Not enough space for this model.")
        return self.tr("On another drive.")

    def _on_toggled(self) -> None:
        place = self.chosen()
        self.move_button.setEnabled(place is not None)
        self.note.setVisible(place is None or not place.same_volume)

    def _choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Move to which folder?"))
        if name:
            self.failure.hide()
            look = self._bridge.services.keeper.look_at_place(self._model, Path(name))
            self._bridge.watch(look, self._on_place, self._on_failed)

    def _on_failed(self, error: BaseException) -> None:
        self.failure.setText(" ".join(describe_error(error, language())))
        self.failure.show()
        self._cover()

    def _confirm(self) -> None:
        place = self.chosen()
        if place is not None:
            self.dismiss()
            self._on_chosen(place.folder)


def _is_possible(place: MovePlace) -> bool:
    return place.fits and place.writable
