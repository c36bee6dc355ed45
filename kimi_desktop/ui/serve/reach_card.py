"""Who can reach the endpoint: this machine, or one of its local networks, too. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Card, Heading
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.message_bar import MessageBar
from kimi_desktop.ui.widgets.qr_code import QrCode
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.toggle import Switch

HERE, NETWORK = "here", "network"


class ReachCard(Card):
    """A choice of two; the network is asked about before it is opened."""

    address_chosen = Signal(str)
    """"" = this machine only."""
    encryption_chosen = Signal(bool)
    certificate_wanted = Signal()
    """To be saved for programs on other machines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._address = ""
        self._fingerprint = ""
        self._heading = Heading()
        self.reach = Segmented([(HERE, ""), (NETWORK, "")])
        self.addresses = Select()
        self._says = Label(tone="muted", wrap=True)
        self._encrypt_word = Label()
        self.encrypted = Switch()
        self.fingerprint = Label(size=TextSize.SMALL, mono=True)
        self.fingerprint.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.save_certificate = Button(small=True)
        self._encryption = QWidget()
        self.plain = Label(tone="bad", wrap=True)
        self.code = QrCode()
        self._code_says = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self._code = QWidget()
        self.question = MessageBar("warn")
        self.question.set_closable(closable=False)
        self.confirm, self.keep = Button(small=True), Button(small=True)
        self.question.add_button(self.confirm)
        self.question.add_button(self.keep)
        self.question.hide()
        self._arrange()
        self.reach.chosen.connect(self._on_reach)
        self.addresses.activated.connect(lambda _index: self._on_address())
        self.encrypted.clicked.connect(self._on_encrypted)
        self.save_certificate.clicked.connect(self.certificate_wanted)
        self.confirm.clicked.connect(self._on_confirmed)
        self.keep.clicked.connect(self._on_kept)
        self.retranslate()

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._heading, 1)
        head.addWidget(self.reach)
        self.body.addLayout(head)
        self.body.addWidget(self.addresses)
        across = QHBoxLayout(self._encryption)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(12)
        across.addWidget(self._encrypt_word, 1)
        across.addWidget(self.save_certificate)
        across.addWidget(self.encrypted)
        self.body.addWidget(self._encryption)
        self.body.addWidget(self.fingerprint)
        self.body.addWidget(self.question)
        self.body.addWidget(self.plain)
        self.body.addWidget(self._says)
        beside = QHBoxLayout(self._code)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.setSpacing(12)
        beside.addWidget(self.code)
        beside.addWidget(self._code_says, 1)
        self.body.addWidget(self._code)

    def show_reach(
        self, address: str, *, encrypted: bool, fingerprint: str = "", url: str = ""
    ) -> None:
        """What holds: the address that is served, too, or "", how, and while it is on where."""
        self._address, self._fingerprint = address, fingerprint
        self.code.show_text(url if address else "")
        self.encrypted.setChecked(encrypted)
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
        self._encrypt_word.setText(self.tr("Encrypt what is sent (TLS)"))
        self.encrypted.set_label(self.tr("Encrypt what is sent (TLS)"))
        self.save_certificate.setText(self.tr("Save the certificate…"))
        self.plain.setText(self._plain_words())
        self._code_says.setText(
            self.tr("The address for a phone or tablet in this network. The key is not in it.")
        )
        self.code.setAccessibleName(self.tr("QR code of the address"))
        self.confirm.setText(self.tr("Open it"))
        self.keep.setText(self.tr("Keep it closed"))
        self._show()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _show(self) -> None:
        network = bool(self._address) or not self.question.isHidden()
        self.addresses.setVisible(network)
        self._encryption.setVisible(network)
        half = (len(self._fingerprint) + 1) // 2
        lines = (self._fingerprint[:half], self._fingerprint[half:])
        self.fingerprint.setText("\n".join(("SHA-256", *lines)))
        for part in (self.fingerprint, self.save_certificate):
            part.setVisible(bool(self._address and self._fingerprint))
        self.question.show_message(
            self.tr("Open the endpoint to the local network?"), self._what_opens()
        )
        self._says.setText(self._who_can())
        self.plain.setVisible(bool(self._address) and not self.encrypted.isChecked())
        self._code.setVisible(bool(self.code.text()))

    def _what_opens(self) -> str:
        who = self.tr("Who has a key and is in this network can use the model.")
        return who if self.encrypted.isChecked() else f"{who} {self._plain_words()}"

    def _plain_words(self) -> str:
        return self.tr("What is sent is not encrypted, so that others in the network may read it.")

    def _who_can(self) -> str:
        if not self._address:
            return self.tr(
                "Only programs on this machine can connect (127.0.0.1), and only with the key."
            )
        who = self.tr(
            "Programs in the network of {address} can connect with a key. It closes by itself "
            "when this machine leaves that network."
        ).format(address=self._address)
        trust = self.tr(
            "They trust the certificate, whose fingerprint stands above; nobody else vouches "
            "for it."
        )
        return f"{who} {trust}" if self._fingerprint else who

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

    def _on_encrypted(self, on: bool) -> None:
        self.encryption_chosen.emit(on)
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
