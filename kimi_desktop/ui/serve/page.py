"""The Serve page: one switch, what a program needs to connect, lines to try it with. Qt thread."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineState, EngineStateChanged
from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.settings import ServeSettings
from kimi_desktop.base.units import format_count
from kimi_desktop.serve.snippets import CERTIFICATE
from kimi_desktop.serve.types import ServeChanged, ServeState, ServeStatus
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.engine_words import USABLE
from kimi_desktop.ui.language import language
from kimi_desktop.ui.serve.clients_card import ClientsCard
from kimi_desktop.ui.serve.connection_card import LEAST_PORT, MOST_PORT, ConnectionCard
from kimi_desktop.ui.serve.reach_card import ReachCard
from kimi_desktop.ui.serve.requests_card import RequestsCard
from kimi_desktop.ui.serve.snippet_card import SnippetCard
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Card, Heading, PageHeader, ScrollPage
from kimi_desktop.ui.widgets.chip import Chip, Dot, StateLabel, Verdict
from kimi_desktop.ui.widgets.label import Label
from kimi_desktop.ui.widgets.message_bar import MessageBar
from kimi_desktop.ui.widgets.toggle import Switch

WIDTH = 760
WIDE = 1400
"""From here on there is room for two columns."""
GAP = 12
DOTS = {
    ServeState.OFF: Dot.OFF,
    ServeState.STARTING: Dot.BUSY,
    ServeState.ON: Dot.OK,
    ServeState.FAILED: Dot.BAD,
}
LISTENING = frozenset({ServeState.STARTING, ServeState.ON})


class ServePage(QWidget):
    """Shows the gateway's status; its failures stand below the switch."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._error: BaseException | None = None
        self._header = PageHeader()
        self.switch = Switch()
        self.state = StateLabel()
        self.open_badge = Chip(Verdict.BAD, icon="triangle")
        self.open_badge.hide()
        self._heading = Heading()
        self._what_for = Label(tone="muted", wrap=True)
        self.reach = ReachCard()
        self.clients = ClientsCard()
        self.requests = RequestsCard()
        self.error_bar = MessageBar("bad")
        self.error_bar.set_closable(closable=False)
        self.free_port = Button(small=True)
        self.again = Button(small=True)
        self.error_bar.add_button(self.free_port)
        self.error_bar.add_button(self.again)
        self.engine_bar = MessageBar("accent")
        self.engine_bar.set_closable(closable=False)
        self.start = Button(small=True, icon="play")
        self.engine_bar.add_button(self.start)
        self.connection = ConnectionCard()
        self.snippets = SnippetCard()
        scrolled = ScrollPage(width=2 * WIDTH + GAP)
        self._columns = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        self._columns.setSpacing(GAP)
        for column in (
            (self._switch_card(), self.error_bar, self.engine_bar, self.connection, self.reach),
            (self.snippets, self.requests, self.clients),
        ):
            self._columns.addWidget(_column(*column), 1, Qt.AlignmentFlag.AlignTop)
        scrolled.body.addWidget(self._header)
        scrolled.body.addLayout(self._columns)
        scrolled.body.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scrolled)
        self.switch.clicked.connect(self._on_switched)
        self.free_port.clicked.connect(self._take_free_port)
        self.again.clicked.connect(self._switch_on)
        self.start.clicked.connect(lambda _checked: bridge.navigation.start_engine())
        self.connection.port_chosen.connect(self._save_port)
        self.connection.move_wanted.connect(self._use_port)
        self.connection.renewal_wanted.connect(self._renew)
        self.reach.address_chosen.connect(self._choose_address)
        self.reach.encryption_chosen.connect(self._choose_encryption)
        self.reach.certificate_wanted.connect(self._save_certificate)
        self.clients.added.connect(self._add_client)
        self.clients.revoked.connect(self._revoke_client)
        self.connection.revealed.connect(self.snippets.set_revealed)
        bridge.happened.connect(self._on_event)
        self.retranslate()

    @property
    def status(self) -> ServeStatus:
        """The gateway now."""
        return self._bridge.services.serve.status

    def retranslate(self) -> None:
        """Set the words."""
        self._header.set_title(self.tr("Serve"))
        self._heading.setText(self.tr("Let other programs use the model"))
        self._what_for.setText(
            self.tr("Open WebUI, the openai package, curl and whatever else speaks the OpenAI API.")
        )
        self.switch.set_label(self.tr("Let other programs use the model"))
        self.again.setText(self.tr("Try again"))
        self.open_badge.show_verdict(Verdict.BAD, self.tr("Open to the local network"))
        self.start.setText(self.tr("Start engine"))
        self._show_all()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A wide window has the lines beside what they connect to."""
        super().resizeEvent(event)
        direction = QBoxLayout.Direction
        wide = self.width() >= WIDE
        self._columns.setDirection(direction.LeftToRight if wide else direction.TopToBottom)

    def showEvent(self, event: QShowEvent) -> None:
        """Networks come and go: look again whenever somebody does."""
        super().showEvent(event)
        found = self._bridge.services.serve.lan_addresses()
        self._bridge.watch(found, self.reach.show_addresses)

    def hideEvent(self, event: QHideEvent) -> None:
        """A key that was shown does not wait in the open."""
        super().hideEvent(event)
        self.connection.hide_key()

    def _switch_card(self) -> Card:
        card = Card()
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._heading, 1)
        head.addWidget(self.open_badge)
        head.addWidget(self.state)
        head.addWidget(self.switch)
        card.body.addLayout(head)
        card.body.addWidget(self._what_for)
        return card

    # what is shown

    def _show_all(self) -> None:
        self._show_status()
        self._show_engine()

    def _show_status(self) -> None:
        status = self.status
        word = {
            ServeState.OFF: self.tr("Off"),
            ServeState.STARTING: self.tr("Starting"),
            ServeState.ON: self.tr("On"),
            ServeState.FAILED: self.tr("Failed"),
        }[status.state]
        self.state.show_state(DOTS[status.state], word)
        self.switch.setChecked(status.state in LISTENING)
        self.switch.setAccessibleDescription(word)
        counts = self.tr("{running} running · {served} answered")
        on = status.state is ServeState.ON
        self._header.set_note(
            counts.format(running=format_count(status.running), served=format_count(status.served))
            if on
            else ""
        )
        self.requests.setVisible(status.state in LISTENING)
        self.requests.show_requests(status.live, status.done, status.refused)
        self.open_badge.setVisible(on and bool(status.address))
        self.clients.show_clients(status.clients)
        self._show_connection()
        self._show_error(status.error if status.state is ServeState.FAILED else None)

    def _show_connection(self) -> None:
        status, settings = self.status, self._bridge.settings.serve
        key = status.api_key
        self.connection.show_connection(
            url=status.url or _url_of(settings, status.address),
            key=key,
            model=status.model,
            port=settings.port,
            running=status.state in LISTENING,
        )
        self.reach.show_reach(
            status.address,
            encrypted=settings.encrypted,
            fingerprint=status.fingerprint,
            url=status.url,
        )
        absent = self.tr("Lines to copy stand here once it is on.")
        if status.state is ServeState.ON:
            absent = self.tr("Lines to copy stand here once the engine is running.")
        self.snippets.show_snippets(self._bridge.services.serve.snippets(), key, absent)

    def _show_error(self, error: BaseException | None) -> None:
        is_new = error is not None and error is not self._error
        self._error = error
        self.error_bar.setVisible(error is not None)
        if error is None:
            self.connection.clear_port_problem()
            return
        what, advice = describe_error(error, language())
        self.error_bar.show_message(what, advice)
        free = self._free_port(error)
        self.free_port.setVisible(free is not None)
        if free is not None:
            self.free_port.setText(self.tr("Use port {port}").format(port=free))
        if _is_port_taken(error):
            self.connection.show_port_problem(self.tr("This port is taken."))
            if is_new and self.isVisible():  # never twice: somebody may be typing elsewhere
                self.connection.ask_for_port()

    def _show_engine(self) -> None:
        status = self._bridge.services.engine.status
        self.engine_bar.setVisible(status.state not in USABLE)
        self.start.setVisible(status.state in (EngineState.STOPPED, EngineState.FAILED))
        refused = self.tr("Requests of other programs are refused until it runs.")
        if status.state in (EngineState.STARTING, EngineState.LOADING):
            what = self.tr("The model is loading.")
            refused = self.tr("Requests of other programs are refused until it is ready.")
        elif status.state is EngineState.FAILED and status.error is not None:
            what = describe_error(status.error, language())[0]
        else:
            what = self.tr("The engine is not running.")
        if status.state not in USABLE:
            self.engine_bar.show_message(what, refused)

    @staticmethod
    def _free_port(error: BaseException) -> int | None:
        """The free port that the failure names."""
        if not isinstance(error, KimiError) or not _is_port_taken(error):
            return None
        port = error.params.get("free_port")
        return port if isinstance(port, int) and LEAST_PORT <= port <= MOST_PORT else None

    # what is done

    def _on_switched(self, on: bool) -> None:
        if on:
            self._switch_on()
        else:
            self._bridge.watch(self._bridge.services.serve.switch_off(), on_error=self._failed)

    def _switch_on(self) -> None:
        self._bridge.watch(self._bridge.services.serve.switch_on(), on_error=self._failed)

    def _failed(self, error: BaseException) -> None:
        """The status says most failures itself."""
        if self.status.state is ServeState.FAILED and self.status.error is not None:
            self._show_status()
        else:
            self._bridge.navigation.report(error)
            self._show_status()

    def _choose_address(self, address: str) -> None:
        operation = self._bridge.services.serve.set_address(address)
        self._bridge.watch(operation, lambda _status: self._show_status(), self._failed)

    def _choose_encryption(self, encrypted: bool) -> None:
        operation = self._bridge.services.serve.set_encrypted(encrypted=encrypted)
        self._bridge.watch(operation, lambda _status: self._show_status(), self._failed)

    def _save_certificate(self) -> None:
        """Where the person wants it: it has no secret."""
        certificate = self.status.certificate
        if certificate is None:
            return
        title = self.tr("Save the certificate")
        name, _ = QFileDialog.getSaveFileName(self, title, CERTIFICATE, "PEM (*.pem)")
        if name:
            operation = self._bridge.services.serve.save_certificate(Path(name))
            self._bridge.watch(
                operation,
                lambda _path: self._bridge.navigation.tell(
                    self.tr("Saved: {path}").format(path=name)
                ),
                self._bridge.navigation.report,
            )

    def _add_client(self, name: str) -> None:
        def refused(error: BaseException) -> None:
            self.clients.show_problem(describe_error(error, language())[0])

        operation = self._bridge.services.serve.add_client(name)
        self._bridge.watch(operation, lambda _status: self.clients.clear_name(), refused)

    def _revoke_client(self, name: str) -> None:
        operation = self._bridge.services.serve.revoke_client(name)
        self._bridge.watch(operation, on_error=self._failed)

    def _save_port(self, port: int) -> None:
        self._bridge.save_settings(
            lambda s: dataclasses.replace(s, serve=dataclasses.replace(s.serve, port=port))
        )

    def _use_port(self) -> None:
        """Listen on the port in the field: move there, or try again after a failure."""
        port = self.connection.entered_port()
        if port is None:
            return
        moving = self.status.state in LISTENING
        changed = port != self._bridge.settings.serve.port
        if changed:
            self._save_port(port)
        if moving and changed:
            operation = self._bridge.services.serve.switch_off()
            self._bridge.watch(operation, lambda _status: self._switch_on(), self._failed)
        elif self.status.state is ServeState.FAILED:
            self._switch_on()

    def _take_free_port(self) -> None:
        error = self.status.error
        port = self._free_port(error) if error is not None else None
        if port is not None:
            self._save_port(port)
            self._switch_on()

    def _renew(self) -> None:
        operation = self._bridge.services.serve.renew_key()
        self._bridge.watch(operation, lambda _status: self.connection.show_renewed(), self._failed)

    # what happens

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ServeChanged):
            self._show_status()
        elif isinstance(event, SettingsChanged):
            self._show_connection()
        elif isinstance(event, EngineStateChanged):
            self._show_all()


class _NarrowLayout(QVBoxLayout):
    """Text wraps at the width that the column may have; Qt asks for the height at its parent's."""

    def heightForWidth(self, width: int) -> int:
        """Of the column."""
        return super().heightForWidth(min(width, WIDTH))


def _column(*parts: QWidget) -> QWidget:
    """Parts below one another, no wider than text should be."""
    column = QWidget()
    column.setMaximumWidth(WIDTH)
    layout = _NarrowLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(GAP)
    for part in parts:
        layout.addWidget(part)
    return column


def _url_of(settings: ServeSettings, address: str) -> str:
    """As it will be once it is on."""
    scheme = "https" if address and settings.encrypted else "http"
    return f"{scheme}://{address or '127.0.0.1'}:{settings.port}/v1"


def _is_port_taken(error: BaseException) -> bool:
    return isinstance(error, KimiError) and error.code is ErrorCode.SERVE_PORT_TAKEN
