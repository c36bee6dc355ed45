"""The quantizations of one model that are here, as a list to choose from. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QVBoxLayout, QWidget

from kimi_desktop.backends.types import PricedLoad
from kimi_desktop.base.units import format_file_size
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.model_names import telling_names
from kimi_desktop.ui.plan.verdict import chip_words, verdict_of
from kimi_desktop.ui.theme import tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.chip import Chip
from kimi_desktop.ui.widgets.label import SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, painter_on
from kimi_desktop.ui.widgets.toggle import ChoiceRow


class QuantizationList(QWidget):
    """Rows in a frame. ``chosen`` fires with the id of a model."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: dict[str, tuple[LocalModel, ChoiceRow, Chip]] = {}
        self._group = QButtonGroup(self)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        self._layout.setSpacing(0)
        self._group.buttonClicked.connect(self._on_clicked)

    def show_models(self, models: Sequence[LocalModel], selected_id: str) -> None:
        """List the models; the same ones keep their rows and their verdicts."""
        if [model for model, _, _ in self._rows.values()] != list(models):
            self._rebuild(models)
        if selected_id in self._rows:
            self._rows[selected_id][1].setChecked(True)

    def models(self) -> tuple[LocalModel, ...]:
        """What it lists."""
        return tuple(model for model, _, _ in self._rows.values())

    def row(self, model_id: str) -> ChoiceRow:
        """The row of a model, for tests."""
        return self._rows[model_id][1]

    def chip(self, model_id: str) -> Chip:
        """The verdict of a model, for tests."""
        return self._rows[model_id][2]

    def show_notes(self, note_of: Callable[[LocalModel], str]) -> None:
        """A muted note in every row: what tells it from its like, what it does to the answers."""
        told = telling_names(model for model, _, _ in self._rows.values())
        for model, row, _ in self._rows.values():
            parts = (told.get(model.id, ""), note_of(model))
            row.set_note(" · ".join(part for part in parts if part))

    def show_priced(self, model: LocalModel, priced: PricedLoad) -> None:
        """Put the verdict into the model's row, if it is listed."""
        if model.id in self._rows:
            _, row, chip = self._rows[model.id]
            chip.show_verdict(verdict_of(priced), chip_words(priced))
            chip.show()
            row.setAccessibleDescription(chip.text())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The frame."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.line)
        painter.end()

    def _rebuild(self, models: Sequence[LocalModel]) -> None:
        for button in self._group.buttons():
            self._group.removeButton(button)
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._rows = {}
        names = [model.facts.quantization if model.facts else "" for model in models]
        metrics = QFontMetrics(ui_font(BODY_PX, SEMIBOLD))
        width = max((metrics.horizontalAdvance(name) + 2 for name in names), default=0)
        last = len(models) - 1
        for number, (model, name) in enumerate(zip(models, names, strict=True)):
            if number:
                self._layout.addWidget(Divider())
            chip = Chip()
            chip.hide()
            size = format_file_size(model.size_bytes)
            row = ChoiceRow(name or model.path.name, size, parent=self, chip=chip)
            row.set_name_width(max(100, min(width, 160)))
            corner = RADIUS - 1
            row.set_rounding(corner if number == 0 else 0, corner if number == last else 0)
            row.setToolTip(str(model.path))
            self._group.addButton(row)
            self._layout.addWidget(row)
            self._rows[model.id] = (model, row, chip)

    def _on_clicked(self, button: ChoiceRow) -> None:
        for model, row, _ in self._rows.values():
            if row is button:
                self.chosen.emit(model.id)
