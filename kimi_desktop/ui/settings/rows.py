"""Rows of the settings: words at the left, a control at the right, a line between. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.ui.widgets.card import Card, Divider
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize


class SettingRow(QWidget):
    """A name, what it does, and its control."""

    def __init__(self, *controls: QWidget) -> None:
        super().__init__()
        self._controls = controls
        self._name = Label(weight=MEDIUM)
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._name)
        texts.addWidget(self._note)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(16)
        layout.addLayout(texts, 1)
        for control in controls:
            layout.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)

    def set_texts(self, name: str, note: str = "") -> None:
        """The words; the name is also the first control's accessible name."""
        self._name.setText(name)
        self._note.setText(note)
        self._note.setVisible(bool(note))
        if self._controls:
            self._controls[0].setAccessibleName(name)
            self._controls[0].setAccessibleDescription(note)


class SettingsCard(Card):
    """Rows with lines between them."""

    def __init__(self, *rows: QWidget) -> None:
        super().__init__(padding=1)
        self.body.setSpacing(0)
        self.show_rows(rows)

    def show_rows(self, rows: tuple[QWidget, ...]) -> None:
        """Replace the rows; those that stay may be given again."""
        # Not takeAt: Qt must delete a row's old item before the row gets another one, or the new
        # one never hears that the row has grown.
        while (item := self.body.itemAt(0)) is not None:
            old = item.widget()
            assert old is not None  # rows and lines are all that there is
            self.body.removeWidget(old)
            if old not in rows:
                old.hide()
                old.deleteLater()
        for number, row in enumerate(rows):
            if number:
                self.body.addWidget(Divider())
            self.body.addWidget(row)
