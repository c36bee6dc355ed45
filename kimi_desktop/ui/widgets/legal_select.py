"""A drop-down choice in which what is not possible is listed with the reason. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.widgets.field import Select

MOST_REASON = 88
"""Letters of a reason in the list; its tooltip has all of them."""


@dataclass(frozen=True, slots=True)
class LegalItem:
    """One value."""

    text: str
    value: object
    why_not: str = ""
    """"" = it can be chosen."""
    tip: str = ""


class LegalSelect(Select):
    """``picked`` has the value of the item that the user took."""

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: tuple[LegalItem, ...] = ()
        self._rows = QStandardItemModel(self)
        self.setModel(self._rows)
        self.activated.connect(self._on_activated)

    def show_items(self, items: Sequence[LegalItem], chosen: int) -> None:
        """List them, with the one at ``chosen`` shown; tells nobody."""
        if tuple(items) != self._items:
            self._items = tuple(items)
            self.blockSignals(True)
            self._rows.clear()
            for item in items:
                self._rows.appendRow(self._row(item))
            metrics = QFontMetrics(self.font())
            widest = max(metrics.horizontalAdvance(self.itemText(at)) for at in range(self.count()))
            self.view().setMinimumWidth(widest + 40)
            self.blockSignals(False)
            self.updateGeometry()
        if self.currentIndex() != chosen:
            self.setCurrentIndex(chosen)
        self.setToolTip(items[chosen].tip or items[chosen].why_not)

    def items(self) -> tuple[LegalItem, ...]:
        """What it lists."""
        return self._items

    def sizeHint(self) -> QSize:
        """By what can be chosen; reasons are only in the list."""
        metrics = QFontMetrics(self.font())
        legal = (each.text for each in self._items if not each.why_not)
        widest = max((metrics.horizontalAdvance(text) for text in legal), default=48)
        return QSize(widest + 46, super().sizeHint().height())

    def showPopup(self) -> None:
        """What cannot be chosen is muted, in the colours of the theme that holds now."""
        muted = color(tokens().muted)
        for place, item in enumerate(self._items):
            if item.why_not:
                self._rows.item(place).setForeground(muted)
        super().showPopup()

    def _row(self, item: LegalItem) -> QStandardItem:
        text = item.text
        if item.why_not:
            reason = item.why_not
            if len(reason) > MOST_REASON:
                reason = reason[: MOST_REASON - 1].rstrip() + "…"
            text = f"{text}   {reason}"
        row = QStandardItem(text)
        row.setEnabled(not item.why_not)
        row.setData(item.why_not or item.tip, Qt.ItemDataRole.ToolTipRole)
        return row

    def _on_activated(self, place: int) -> None:
        self.picked.emit(self._items[place].value)
