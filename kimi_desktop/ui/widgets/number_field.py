"""A field for a number of a range, or for nothing: what is not one is marked, not taken. Qt."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from kimi_desktop.base.units import format_count
from kimi_desktop.ui.widgets.field import Field, LabeledField

MOST_DIGITS = 10


class NumberField(LabeledField):
    """``taken`` has a whole number, or None for an empty field."""

    taken = Signal(object)

    def __init__(self, least: int, most: int, parent: QWidget | None = None) -> None:
        self.field = Field()
        super().__init__(self.field, parent)
        self._range = (least, most)
        self._shown: int | None = None
        self._hint = ""
        self.field.editingFinished.connect(self._on_edited)

    def set_texts(self, label: str, placeholder: str, note: str = "") -> None:
        """Its label, what an empty field means, and a line below."""
        self.set_label(label)
        self.field.setPlaceholderText(placeholder)
        self._hint = note
        if not self.field.failed:
            self.set_note(note)

    def show_number(self, number: int | None) -> None:
        """Show what holds; what is being typed stays."""
        self._shown = number
        if not self.field.hasFocus() and not self.field.failed:
            self.field.setText("" if number is None else str(number))

    def _on_edited(self) -> None:
        text = self.field.text().strip()
        least, most = self._range
        good = text.isdecimal() and len(text) <= MOST_DIGITS and least <= int(text) <= most
        if text and not good:
            words = self.tr("A whole number from {least} to {most}, or empty.")
            self.set_note(
                words.format(least=format_count(least), most=format_count(most)), error=True
            )
            return
        self.set_note(self._hint)
        number = int(text) if text else None
        if number != self._shown:
            self._shown = number
            self.taken.emit(number)
