"""Who can reach the endpoint: this machine, or one of its local networks, too. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Card, Heading
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.message_bar import MessageBar
from kimi_desktop.ui.widgets.segmented import Segmented

HERE, NETWORK = "here", "network"


class ReachCard(Card):
    """A choice of two; the network is asked about before it is opened."""

    address_chosen = Signal(str)
    """"" = this machine only."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._address = ""
        self._heading = Heading()
        self.reach = Segmented([(HERE, ""), (NETWORK, "")])
        self.addresses = Select()
        self._says = Label(tone="muted", wrap=True)
        self.question = MessageBar("warn")
        self.question.set_closable(closable=False)
        self.confirm, self.keep = Button(small=True), Button(small=True)
        self.question.add_button(self.confirm)
        self.question.add_button(self.keep)
        self.question.hide()
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._heading, 1)
        head.addWidget(self.reach)
        self.body.addLayout(head)
        self.body.addWidget(self.addresses)
        self.body.addWidget(self.question)
        self.body.addWidget(self._says)
        self.reach.chosen.connect(self._on_reach)
        self.addresses.activated.connect(lambda _index: self._on_address())
        self.confirm.clicked.connect(self._on_confirmed)
        self.keep.clicked.connect(self._on_kept)
        self.retranslate()

    def show_reach(self, address: str) -> None:
        """What holds: the address that is served, too, or ""."""
        self._address = address
        self.question.hide()
        self.reach.choose(NETWORK if address else HERE)
        if address and self.addresses.findData(address) < 0:
            self.addresses.addItem(address, address)
        if address:
            self.addresses.choose(address)
        self._show()

    def show_addresses(self, found: Sequence[str]) -> None:
        """The machine's addresses in local networks."""
        kept = self._address
        self.addresses.clear()
        for address in dict.fromkeys((*found, *([kept] if kept else []))):
            self.addresses.addItem(address, address)
        if kept:
            self.addresses.choose(kept)
        self.reach.set_option_enabled(
            NETWORK,
            enabled=bool(found) or bool(kept),
            why=self.tr("No local network is connected."),
        )
        self._show()

    def retranslate(self) -> None:
        """Set the words."""
        self._heading.setText(self.tr("Who can connect"))
        self.reach.set_label(self.tr("Who can connect"))
        self.reach.set_options(
            [(HERE, self.tr("This machine")), (NETWORK, self.tr("Local network"))]
        )
        self.reach.choose(NETWORK if self._address else HERE)
        self.addresses.set_label(self.tr("Address in the local network"))
        self.confirm.setText(self.tr("Open it"))
        self.keep.setText(self.tr("Keep it closed"))
        self.question.show_message(
            self.tr("Open the endpoint to the local network?"),
            self.tr(
                "Who has a key and is in this network can use the model. What is sent is not "
                "encrypted, so that others in the network may read it."
            ),
        )
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _show(self) -> None:
        network = bool(self._address) or not self.question.isHidden()
        self.addresses.setVisible(network)
        self._says.setText(
            self.tr(
                "Programs in the network of {address} can connect with a key. It closes by itself "
                "when this machine leaves that network."
            ).format(address=self._address)
            if self._address
            else self.tr(
                "Only programs on this machine can connect (127.0.0.1), and only with the key."
            )
        )

    def says(self) -> str:
        """The sentence below."""
        return self._says.text()

    def _on_reach(self, key: str) -> None:
        if key == HERE:
            self.question.hide()
            if self._address:
                self.address_chosen.emit("")
        elif not self._address:
            self.question.show()
            self.keep.setFocus()
        self._show()

    def _on_address(self) -> None:
        if self._address:  # open already: to another network
            self.address_chosen.emit(str(self.addresses.currentData()))

    def _on_confirmed(self) -> None:
        self.question.hide()
        self.address_chosen.emit(str(self.addresses.currentData()))

    def _on_kept(self) -> None:
        self.question.hide()
        self.reach.choose(HERE)
        self._show()
