"""The form for a server that somebody else runs: name, address, key. Qt thread.

A key is shown to nobody: it goes in masked and never comes out.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from kimi_desktop.backends.attached.types import OtherServer, ServerDraft
from kimi_desktop.base.messages import describe_error
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox

MARGINS = (16, 10, 16, 10)


class ServerForm(QWidget):
    """``given`` fires with a ServerDraft; ``closed``."""

    given = Signal(object)
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._kept = False
        """There is a key already."""
        self._busy = False
        self._can_keep = True
        self.name, self.url = Field(), Field(icon="link")
        self.name.setMaxLength(40)
        self.key = Field(icon="key")
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setMaxLength(600)
        self.look = IconButton("eye", checkable=True, bordered=True, side=32)
        self.drop = CheckBox()
        self.in_file = CheckBox()
        self.hint = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self.problem.hide()
        self.save = Button(kind=ButtonKind.PRIMARY)
        self.cancel = Button()
        self._arrange()
        self.look.toggled.connect(self._on_look)
        for field in (self.name, self.url, self.key):
            field.textChanged.connect(self._on_text)
            field.returnPressed.connect(self._give)
        self.save.clicked.connect(self._give)
        self.cancel.clicked.connect(self.closed)

    def open(self, server: OtherServer | None) -> None:
        """Show it, empty or with an entry, and the keyboard in it."""
        self._kept = server is not None and server.key_place is not None
        self.name.setText(server.entry.name if server is not None else "")
        self.url.setText(server.entry.url if server is not None else "")
        self.show()
        self.retranslate()
        (self.url if server is not None else self.name).setFocus(Qt.FocusReason.OtherFocusReason)

    def close_form(self) -> None:
        """Nothing stays in it."""
        for field in (self.name, self.url, self.key):
            field.clear()
        self.look.setChecked(False)
        self.drop.setChecked(False)
        self.problem.hide()
        self._busy = False
        self.hide()

    def set_can_keep(self, can_keep: bool) -> None:
        """There is a keyring."""
        self._can_keep = can_keep
        self.retranslate()

    def set_busy(self, *, busy: bool) -> None:
        """The server is being asked."""
        self._busy = busy
        self.problem.hide()
        self.retranslate()

    def show_problem(self, error: BaseException) -> None:
        """Why it was not kept; what was typed stays to be mended."""
        self.problem.setText(" ".join(describe_error(error, language())))
        self.problem.show()

    def retranslate(self) -> None:
        """Set the words."""
        self.name.set_label(self.tr("Name of the server"))
        self.name.setPlaceholderText(self.tr("Name"))
        self.url.set_label(self.tr("Address of its API"))
        self.url.setPlaceholderText("http://192.168.1.5:8000/v1")
        self.key.set_label(self.tr("API key"))
        self.key.setPlaceholderText(
            self.tr("API key: as it is") if self._kept else self.tr("API key, if it wants one")
        )
        self.look.set_label(self.tr("Show the key"))
        self.drop.setText(self.tr("Forget the key"))
        self.drop.setVisible(self._kept)
        self.in_file.setText(self.tr("Keep it in a file that only I can read"))
        self.in_file.setVisible(not self._can_keep)
        hint = self.tr("The key goes to this address and nowhere else.")
        if not self._can_keep:
            hint += " " + self.tr(
                "This system has no keyring: without the file it is known until the app is closed."
            )
        self.hint.setText(hint)
        self.save.setText(self.tr("Checking") if self._busy else self.tr("Check and keep"))
        self.cancel.setText(self.tr("Cancel"))
        self._on_text()

    def _arrange(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self.name, 1)
        first.addWidget(self.url, 2)
        second = QHBoxLayout()
        second.setSpacing(8)
        second.addWidget(self.key, 1)
        second.addWidget(self.look)
        second.addWidget(self.save)
        second.addWidget(self.cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(8)
        layout.addLayout(first)
        layout.addLayout(second)
        for widget in (self.drop, self.in_file, self.hint, self.problem):
            layout.addWidget(widget)

    def _on_look(self, shown: bool) -> None:
        mode = QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password
        self.key.setEchoMode(mode)
        self.look.set_icon("eye-off" if shown else "eye")

    def _on_text(self) -> None:
        complete = bool(self.name.text().strip() and self.url.text().strip())
        self.save.setEnabled(complete and not self._busy)
        for field in (self.name, self.url, self.key):
            field.setEnabled(not self._busy)

    def _give(self) -> None:
        if not self.save.isEnabled():
            return
        key = self.key.text().strip() or None
        if self.drop.isChecked() and key is None:
            key = ""
        self.given.emit(
            ServerDraft(
                self.name.text(), self.url.text(), key, key_in_file=self.in_file.isChecked()
            )
        )
