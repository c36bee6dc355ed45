"""What a program needs to connect: address, key, model; and the port to choose. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from kimi_desktop.ui.widgets.button import Button, IconButton
from kimi_desktop.ui.widgets.card import Card
from kimi_desktop.ui.widgets.copying import CopyButton
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.message_bar import MessageBar

LEAST_PORT, MOST_PORT = 1024, 65_535
LABEL_WIDTH = 96


class _Row(QWidget):
    """A label, a field, what can be done with it, and a line below for its error or a note."""

    def __init__(self, field: Field, *buttons: QWidget, stretched: bool = True) -> None:
        super().__init__()
        self.field = field
        self._label = Label(tone="muted")
        self._label.setFixedWidth(LABEL_WIDTH)
        self._label.setBuddy(field)
        self._note = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self._note.setContentsMargins(LABEL_WIDTH + 8, 0, 0, 0)
        self._note.hide()
        across = QHBoxLayout()
        across.setSpacing(8)
        across.addWidget(self._label)
        across.addWidget(field, 1 if stretched else 0)
        for button in buttons:
            across.addWidget(button)
        if not stretched:
            across.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(across)
        layout.addWidget(self._note)

    def set_label(self, label: str) -> None:
        """The visible label, which is also the field's accessible name."""
        self._label.setText(label)
        self.field.set_label(label)

    def set_note(self, text: str, *, error: bool = False) -> None:
        """The line below; as an error it also marks the field."""
        self._note.setText(text)
        self._note.set_tone("bad" if error else "muted")
        self._note.setVisible(bool(text))
        self.field.set_error(text if error else "")

    def note(self) -> str:
        """What the line says."""
        return self._note.text()


class _Question(MessageBar):
    """Asks in place; Escape says no."""

    refused = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.refused.emit()
        else:
            super().keyPressEvent(event)


class ConnectionCard(Card):
    """Shows what ``show_connection`` gives it; asks before it wants the key renewed."""

    port_chosen = Signal(int)
    """An allowed port was entered; saved at once."""
    move_wanted = Signal()
    """Enter, or the button beside the port: use it now."""
    renewal_wanted = Signal()
    revealed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._port = 0
        self._running = False
        self.address = _read_only()
        self.key = _read_only()
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.model = _read_only()
        self.port = Field(numeric=True)
        self.port.setFixedWidth(96)
        self.copy_address = CopyButton(self.address.text)
        self.copy_key = CopyButton(self.key.text)
        self.copy_model = CopyButton(self.model.text)
        self.reveal = IconButton("eye", checkable=True)
        self.renew = IconButton("refresh")
        self.move_button = Button(small=True)
        self.move_button.hide()
        self._address_row = _Row(self.address, self.copy_address)
        self._key_row = _Row(self.key, self.reveal, self.copy_key, self.renew)
        self._model_row = _Row(self.model, self.copy_model)
        self._port_row = _Row(self.port, self.move_button, stretched=False)
        self.question = self._make_question()
        for part in (
            self._address_row,
            self._key_row,
            self.question,
            self._model_row,
            self._port_row,
        ):
            self.body.addWidget(part)
        self.reveal.toggled.connect(self._on_reveal)
        self.renew.clicked.connect(self._ask)
        self.port.textEdited.connect(self._on_port_edited)
        self.port.editingFinished.connect(self._on_port_entered)
        self.port.returnPressed.connect(self._on_return)
        self.move_button.clicked.connect(self.move_wanted)
        self.retranslate()

    def show_connection(self, *, url: str, key: str, model: str, port: int, running: bool) -> None:
        """What holds now; ``running``: a gateway listens, so that another port means a move."""
        self._running = running
        _show(self.address, url)
        if self.key.text() != key:
            self._key_row.set_note("")
        _show(self.key, key)
        _show(self.model, model)
        self.copy_key.setEnabled(bool(key))
        self.reveal.setEnabled(bool(key))
        self.renew.setEnabled(bool(key))
        self.copy_model.setEnabled(bool(model))
        if port != self._port:
            self._port = port
            if self.entered_port() != port:
                self.port.setText(str(port))
                self._port_row.set_note("")
        self._show_move()

    def entered_port(self) -> int | None:
        """The port in the field, None when it is none that can be used."""
        text = self.port.text().strip()
        if text.isascii() and text.isdigit() and LEAST_PORT <= int(text) <= MOST_PORT:
            return int(text)
        return None

    def show_port_problem(self, text: str) -> None:
        """The port cannot be used: say why beside it."""
        self._port_row.set_note(text, error=True)

    def ask_for_port(self) -> None:
        """Let another port be typed."""
        self.port.setFocus(Qt.FocusReason.OtherFocusReason)
        self.port.selectAll()

    def clear_port_problem(self) -> None:
        """It works now."""
        if self.entered_port() is not None:
            self._port_row.set_note("")

    def port_problem(self) -> str:
        """What stands below the port."""
        return self._port_row.note()

    def show_renewed(self) -> None:
        """The key was replaced."""
        self._key_row.set_note(self.tr("This is the new key. Give it to your programs."))

    def key_note(self) -> str:
        """What stands below the key."""
        return self._key_row.note()

    def hide_key(self) -> None:
        """Mask the key again."""
        self.reveal.setChecked(False)

    def retranslate(self) -> None:
        """Set the words."""
        self._address_row.set_label(self.tr("Address"))
        self._key_row.set_label(self.tr("Key"))
        self._model_row.set_label(self.tr("Model"))
        self._port_row.set_label(self.tr("Port"))
        copied = self.tr("Copied")
        self.copy_address.set_words(self.tr("Copy the address"), copied)
        self.copy_key.set_words(self.tr("Copy the key"), copied)
        self.copy_model.set_words(self.tr("Copy the model's name"), copied)
        self.renew.set_label(self.tr("Replace the key"))
        self.key.setPlaceholderText(self.tr("Made when you switch it on for the first time"))
        self.model.setPlaceholderText(self.tr("Shown once it is on and the engine is running"))
        self.move_button.setText(self.tr("Move to this port"))
        self._confirm.setText(self.tr("Replace the key"))
        self._keep.setText(self.tr("Keep it"))
        self.question.show_message(
            self.tr("Replace the key?"),
            self.tr("Programs that use the old one are refused at once."),
        )
        self._name_reveal()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _make_question(self) -> _Question:
        question = _Question("warn")
        question.set_closable(closable=False)
        self._confirm = Button(small=True)
        self._keep = Button(small=True)
        question.add_button(self._confirm)
        question.add_button(self._keep)
        question.hide()
        self._confirm.clicked.connect(self._on_confirmed)
        self._keep.clicked.connect(self._end_question)
        question.refused.connect(self._end_question)
        return question

    def _ask(self) -> None:
        self.question.show()
        self._keep.setFocus(Qt.FocusReason.TabFocusReason)

    def _on_confirmed(self) -> None:
        self._end_question()
        self.renewal_wanted.emit()

    def _end_question(self) -> None:
        self.renew.setFocus(Qt.FocusReason.OtherFocusReason)
        self.question.hide()

    def _on_reveal(self, shown: bool) -> None:
        mode = QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password
        self.key.setEchoMode(mode)
        self.reveal.set_icon("eye-off" if shown else "eye")
        self._name_reveal()
        self.revealed.emit(shown)

    def _name_reveal(self) -> None:
        shown = self.reveal.isChecked()
        self.reveal.set_label(self.tr("Hide the key") if shown else self.tr("Show the key"))

    def _on_port_edited(self, _text: str) -> None:
        if self.entered_port() is None:
            text = self.tr("A number from {least} to {most}.")
            self._port_row.set_note(
                text.format(least=f"{LEAST_PORT:,}", most=f"{MOST_PORT:,}"), error=True
            )
        else:
            self._port_row.set_note("")
        self._show_move()

    def _on_port_entered(self) -> None:
        port = self.entered_port()
        if port is None:  # what was typed is no port: back to the one in force
            self.port.setText(str(self._port))
            self._port_row.set_note("")
        elif port != self._port and not self._running:
            self._port = port
            self.port_chosen.emit(port)
        self._show_move()

    def _on_return(self) -> None:
        if self.entered_port() is not None:
            self.move_wanted.emit()

    def _show_move(self) -> None:
        port = self.entered_port()
        self.move_button.setVisible(self._running and port not in (None, self._port))


def _read_only() -> Field:
    field = Field()
    field.setReadOnly(True)
    return field


def _show(field: Field, text: str) -> None:
    if field.text() != text:
        field.setText(text)
        field.setCursorPosition(0)
