"""Programs with a key of their own: add, copy, revoke. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.serve.types import ClientKey
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Card, Divider, Heading
from kimi_desktop.ui.widgets.copying import CopyButton
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, TextSize

MASKED = "kd-••••••••"


class ClientsCard(Card):
    """A row for each program, and a field for one more."""

    added = Signal(str)
    revoked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._clients: tuple[ClientKey, ...] = ()
        self._heading = Heading()
        self._why = Label(tone="muted", wrap=True)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(0)
        self.name = Field()
        self.add = Button(small=True, icon="plus")
        self._problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self._problem.hide()
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.name, 1)
        line.addWidget(self.add)
        self.body.addWidget(self._heading)
        self.body.addWidget(self._why)
        self.body.addLayout(self._rows)
        self.body.addLayout(line)
        self.body.addWidget(self._problem)
        self.add.clicked.connect(self._on_add)
        self.name.returnPressed.connect(self._on_add)
        self.name.textEdited.connect(lambda _text: self.show_problem(""))
        self.retranslate()

    def show_clients(self, clients: Sequence[ClientKey]) -> None:
        """The programs, in the order in which they were added."""
        if self._clients != tuple(clients):
            self._clients = tuple(clients)
            self._fill()

    def show_problem(self, text: str) -> None:
        """Why a name was not taken."""
        self._problem.setText(text)
        self._problem.setVisible(bool(text))
        self.name.set_error(text)

    def problem(self) -> str:
        """What stands below the field."""
        return self._problem.text()

    def clear_name(self) -> None:
        """It was taken."""
        self.name.clear()
        self.show_problem("")

    def rows(self) -> tuple[_ClientRow, ...]:
        """One for each program."""
        items = (self._rows.itemAt(place) for place in range(self._rows.count()))
        found = (item.widget() for item in items if item is not None)
        return tuple(row for row in found if isinstance(row, _ClientRow))

    def retranslate(self) -> None:
        """Set the words."""
        self._heading.setText(self.tr("Keys for programs"))
        self._why.setText(
            self.tr(
                "Give each program a key of its own: then one can be revoked without the others."
            )
        )
        self.name.set_label(self.tr("Name of the program"))
        self.name.setPlaceholderText(self.tr("Name of the program"))
        self.add.setText(self.tr("Add a key"))
        self._fill()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _on_add(self) -> None:
        self.added.emit(self.name.text())

    def _fill(self) -> None:
        while (item := self._rows.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        for client in self._clients:
            row = _ClientRow(client)
            row.revoke.clicked.connect(
                lambda _checked=False, name=client.name: self.revoked.emit(name)
            )
            self._rows.addWidget(row)


class _ClientRow(QWidget):
    """A name, its masked key, copy and revoke."""

    def __init__(self, client: ClientKey) -> None:
        super().__init__()
        name = ElidedLabel()
        name.setText(client.name)
        key = Label(MASKED, tone="muted", mono=True, size=TextSize.SMALL)
        copy = CopyButton(lambda: client.key)
        copy.set_words(
            self.tr("Copy the key of {name}").format(name=client.name), self.tr("Copied")
        )
        self.copy = copy
        self.revoke = Button(self.tr("Revoke"), small=True)
        self.revoke.setAccessibleDescription(client.name)
        line = QHBoxLayout()
        line.setContentsMargins(0, 6, 0, 6)
        line.setSpacing(8)
        line.addWidget(name, 1)
        line.addWidget(key)
        line.addWidget(copy)
        line.addWidget(self.revoke)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(line)
        layout.addWidget(Divider())
