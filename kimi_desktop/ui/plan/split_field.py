"""How the layers are shared out over the GPUs, as numbers that the user writes. Qt thread."""

from __future__ import annotations

import math
import re

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.widgets.field import Field, LabeledField

Shares = tuple[float, ...]
_BETWEEN = re.compile(r"[\s,;:/]+")
MOST_SHARE = 1e6


class SplitField(LabeledField):
    """``taken`` has a share for each GPU of the machine, or None to leave it to the planner."""

    taken = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        self.field = Field()
        super().__init__(self.field, parent)
        self._count = 0
        self._wished: Shares | None = None
        self.field.editingFinished.connect(self._on_edited)

    def show_split(self, count: int, wished: Shares | None, found: Shares) -> None:
        """Show what holds; what is being typed stays.

        Args:
            count: GPUs of the machine; one has nothing to share.
            wished: shares by the user, None for the planner's.
            found: those of the plan shown.
        """
        self._count, self._wished = count, wished
        self.setVisible(count > 1)
        words = self.tr("Automatic ({value})") if any(found) else self.tr("Automatic")
        self.field.setPlaceholderText(words.format(value=_text(found)))
        if self.field.hasFocus() or self.field.property("failed"):
            return
        self.field.setText(_text(wished) if wished else "")
        self.set_note(self._hint())

    def retranslate(self) -> None:
        """Set the words."""
        self.set_label(self.tr("Layers per GPU"))
        if not self.field.property("failed"):
            self.set_note(self._hint())

    def _hint(self) -> str:
        numbers = self.tr("GPU 0 to {last}, in shares; 0 leaves one out.")
        return numbers.format(last=self._count - 1) if self._count > 1 else ""

    def _on_edited(self) -> None:
        text = self.field.text().strip()
        shares = _read(text, self._count) if text else None
        if text and shares is None:
            words = self.tr("Up to {count} numbers, one for each GPU, or empty.")
            self.set_note(words.format(count=self._count), error=True)
            return
        self.set_note(self._hint())
        if shares != self._wished:
            self._wished = shares
            self.taken.emit(shares)


def _read(text: str, count: int) -> Shares | None:
    try:
        found = tuple(float(word) for word in _BETWEEN.split(text) if word)
    except ValueError:
        return None
    good = all(math.isfinite(share) and 0 <= share <= MOST_SHARE for share in found)
    if not good or not any(found) or len(found) > count:
        return None
    return (*found, *[0.0] * (count - len(found)))


def _text(shares: Shares) -> str:
    return ", ".join(f"{share:g}" for share in shares)
