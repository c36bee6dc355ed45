"""Settings: servers that somebody else runs; added, checked, edited, removed. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.backends.attached.types import (
    OtherServer,
    OtherServersChanged,
    ServerDraft,
)
from kimi_desktop.base.events import Event
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.settings.rows import SettingRow, SettingsCard
from kimi_desktop.ui.settings.server_form import ServerForm
from kimi_desktop.ui.settings.server_row import ServerRow
from kimi_desktop.ui.widgets.button import Button


class ServersCard(SettingsCard):
    """One row a server, and one to add another."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._asked = False
        self.rows: dict[str, ServerRow] = {}
        self.add = Button(icon="plus", small=True)
        self.add.clicked.connect(self.open_form)
        self._add_row = SettingRow(self.add)
        self.form = ServerForm()
        self.form.hide()
        self.form.given.connect(self._save)
        self.form.closed.connect(self._close_form)
        self._foot = QWidget()
        foot = QVBoxLayout(self._foot)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(0)
        foot.addWidget(self._add_row)
        foot.addWidget(self.form)
        self.show_rows((self._foot,))
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def showEvent(self, event: QShowEvent) -> None:
        """Keyring and servers are asked when somebody looks."""
        super().showEvent(event)
        if not self._asked:
            self._asked = True
            others = self._bridge.services.other_servers
            self._bridge.watch(others.can_keep_keys(), self.form.set_can_keep, owner=self)
            self._bridge.watch(others.look(), self._fill, self._report)
            others.freshen()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def open_form(self) -> None:
        """Add one."""
        self._add_row.hide()
        self.form.open(None)

    def retranslate(self) -> None:
        """Set the words."""
        self._add_row.set_texts(
            self.tr("Add a server"),
            self.tr(
                "vLLM, SGLang, llama.cpp, Ollama, or any other with an OpenAI API: on another "
                "machine, or a hoster's. Ollama on this machine is found by itself."
            ),
        )
        self.add.setText(self.tr("Add…"))
        self.form.retranslate()
        for row in self.rows.values():
            row.retranslate()

    def _fill(self, servers: tuple[OtherServer, ...]) -> None:
        before, self.rows = self.rows, {}
        for server in servers:
            name = server.entry.name
            row = before.get(name) or self._new_row()
            row.show_server(server)
            self.rows[name] = row
        self.show_rows((*self.rows.values(), self._foot))
        for row in self.rows.values():
            row.show()
        self._foot.show()

    def _new_row(self) -> ServerRow:
        row = ServerRow(self._bridge)
        row.removed.connect(self._remove)
        return row

    def _save(self, draft: ServerDraft) -> None:
        self.form.set_busy(busy=True)
        operation = self._bridge.services.other_servers.save(draft)
        self._bridge.watch(operation, self._on_saved, self._on_refused)

    def _on_saved(self, server: OtherServer) -> None:
        self._close_form()
        if row := self.rows.get(server.entry.name):
            row.check.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_refused(self, error: BaseException) -> None:
        self.form.set_busy(busy=False)
        self.form.show_problem(error)

    def _close_form(self) -> None:
        self.form.close_form()
        self._add_row.show()
        self.add.setFocus(Qt.FocusReason.OtherFocusReason)

    def _remove(self, name: str) -> None:
        self._bridge.watch(
            self._bridge.services.other_servers.remove(name), on_error=self._report, owner=self
        )

    def _report(self, error: BaseException) -> None:
        self._bridge.navigation.report(error)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, OtherServersChanged) and self._asked:
            self._fill(event.servers)
