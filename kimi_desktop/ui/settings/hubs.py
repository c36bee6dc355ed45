"""Settings: model hubs, whose token is kept for each, and the one to ask first. Qt thread.

A token is shown to nobody: it goes in masked and never comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings
from kimi_desktop.downloads.hubs.account_types import HubAccount, HubAccounts, TokenPlace
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.settings.rows import SettingRow, SettingsCard
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox, Switch

T = TypeVar("T")
OURS = (TokenPlace.KEYRING, TokenPlace.SESSION, TokenPlace.FILE)


class HubsCard(SettingsCard):
    """One row a hub, and the address of one's own."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._asked = False
        self._known: HubAccounts | None = None
        self.rows: dict[str, HubRow] = {}
        self.endpoint = Field()
        self.endpoint.setMinimumWidth(280)
        self.endpoint.editingFinished.connect(self._on_endpoint)
        self._endpoint_row = SettingRow(self.endpoint)
        self._endpoint_problem = Label(tone="bad", wrap=True, size=TextSize.SMALL)
        self._endpoint_problem.setContentsMargins(16, 0, 16, 12)
        self._endpoint_problem.hide()
        self._own = QWidget()
        own = QVBoxLayout(self._own)
        own.setContentsMargins(0, 0, 0, 0)
        own.setSpacing(0)
        own.addWidget(self._endpoint_row)
        own.addWidget(self._endpoint_problem)
        self.newer = Switch()
        self.newer.setChecked(bridge.settings.hubs.looks_for_newer)
        self.newer.toggled.connect(self._on_newer)
        self._newer_row = SettingRow(self.newer)
        self.show_rows((self._own, self._newer_row))
        self.retranslate()

    def showEvent(self, event: QShowEvent) -> None:
        """The keyring is asked when somebody looks."""
        super().showEvent(event)
        if not self._asked:
            self._asked = True
            self._bridge.watch(self._bridge.services.hubs.look(), self._on_looked, self._on_failed)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        fixed = self._known is not None and self._known.from_environment
        note = self.tr("Asked first: a mirror, or a hub of your own. Empty: the usual order.")
        if fixed:
            note = self.tr("The environment variable HF_ENDPOINT says so; it goes before this.")
        self._endpoint_row.set_texts(self.tr("Another hub (HF_ENDPOINT)"), note)
        self._newer_row.set_texts(
            self.tr("Look for newer versions of models"),
            self.tr("Once a day, when Models is opened. Sends the names of their repositories."),
        )
        self.endpoint.setPlaceholderText("https://hf-mirror.com")
        for row in self.rows.values():
            row.retranslate()

    def _on_looked(self, found: HubAccounts) -> None:
        self._known = found
        self._endpoint_problem.hide()
        self.endpoint.set_error("")
        self.endpoint.setText(found.endpoint)
        self.endpoint.setReadOnly(found.from_environment)
        for account in found.accounts:
            if account.endpoint not in self.rows:
                self.rows[account.endpoint] = HubRow(self._bridge)
            self.rows[account.endpoint].show_account(account)
        wanted = [account.endpoint for account in found.accounts]
        self.rows = {endpoint: self.rows[endpoint] for endpoint in wanted}
        self.show_rows((*self.rows.values(), self._own, self._newer_row))
        for row in self.rows.values():
            row.show()
        self._own.show()
        self._newer_row.show()
        self.retranslate()

    def _on_failed(self, error: BaseException) -> None:
        self._bridge.navigation.report(error)

    def _on_newer(self, on: bool) -> None:
        def change(settings: Settings) -> Settings:
            return replace(settings, hubs=replace(settings.hubs, looks_for_newer=on))

        self._bridge.services.store.update(change)

    def _on_endpoint(self) -> None:
        text = self.endpoint.text().strip()
        if self._known is None or text == self._known.endpoint:
            return
        operation = self._bridge.services.hubs.set_endpoint(text)
        self._bridge.watch(operation, self._on_looked, self._on_bad_endpoint)

    def _on_bad_endpoint(self, error: BaseException) -> None:
        text = " ".join(describe_error(error, language()))
        self.endpoint.set_error(text)
        self._endpoint_problem.setText(text)
        self._endpoint_problem.show()


class HubRow(QWidget):
    """A hub: whose token is kept and where; a token can be given, checked and forgotten."""

    changed = Signal()

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._account: HubAccount | None = None
        self._busy = False
        self._failure: BaseException | None = None
        self.name = Label(weight=MEDIUM)
        self.address = Label(size=TextSize.SMALL, tone="muted")
        self.chip = Chip()
        self.state = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self.give = Button(icon="key", small=True)
        self.check = Button(small=True)
        self.forget = Button(small=True)
        self.form = TokenForm()
        self.form.hide()
        self._arrange()
        self.give.clicked.connect(self.open_form)
        self.check.clicked.connect(self._check)
        self.forget.clicked.connect(self._forget)
        self.form.given.connect(self._on_given)
        self.form.page_wanted.connect(self._open_page)
        self.form.closed.connect(self._close_form)

    def show_account(self, account: HubAccount) -> None:
        """What is known of it now."""
        self._account = account
        self._failure = account.problem
        self.retranslate()

    def open_form(self) -> None:
        """Ask for a token."""
        self.form.open()
        self.give.hide()

    def retranslate(self) -> None:
        """Set the words."""
        account = self._account
        if account is None:
            return
        self.name.setText(account.name)
        self.address.setText(account.endpoint)
        self.state.setText(self._place(account))
        known = account.place is not None
        if account.problem is not None and known:
            self.chip.show_verdict(Verdict.WARN, self.tr("Not checked"))
        elif known:
            who = account.owner or self.tr("Token kept")
            self.chip.show_verdict(Verdict.OK if account.owner else Verdict.PLAIN, who)
        self.chip.setVisible(known)
        self.give.setText(self.tr("Change…") if known else self.tr("Add a token…"))
        self.give.setAccessibleName(self.tr("Give a token for {name}").format(name=account.name))
        self.check.setText(self.tr("Checking") if self._busy else self.tr("Check"))
        self.check.setAccessibleName(self.tr("Check the token of {name}").format(name=account.name))
        self.forget.setText(self.tr("Forget"))
        self.forget.setAccessibleName(
            self.tr("Forget the token of {name}").format(name=account.name)
        )
        self.give.setVisible(self.form.isHidden())
        self.check.setVisible(known)
        self.forget.setVisible(account.place in OURS)
        for button in (self.give, self.check, self.forget):
            button.setEnabled(not self._busy)
        self.form.set_busy(busy=self._busy)
        self.form.show_account(account)
        text = " ".join(describe_error(self._failure, language())) if self._failure else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.name)
        head.addWidget(self.chip)
        head.addStretch(1)
        for button in (self.give, self.check, self.forget):
            head.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 16, 10)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self.address)
        layout.addWidget(self.state)
        layout.addWidget(self.problem)
        layout.addWidget(self.form)

    def _place(self, account: HubAccount) -> str:
        """Where the token is; what goes without one."""
        return {
            None: self.tr("No token: public models only."),
            TokenPlace.KEYRING: self.tr("Kept in the system’s keyring."),
            TokenPlace.FILE: self.tr("Kept in a file that only you can read."),
            TokenPlace.SESSION: self.tr("Known until the app is closed; kept nowhere."),
            TokenPlace.ENVIRONMENT: self.tr("From an environment variable."),
            TokenPlace.OTHER_PROGRAM: self.tr("From “hf auth login”."),
        }[account.place]

    def _on_given(self, token: str, in_file: bool) -> None:
        account = self._account
        if account is not None:
            hubs = self._bridge.services.hubs
            self._run(hubs.set_token(account.endpoint, token, in_file=in_file), self._on_kept)

    def _on_kept(self, account: HubAccount) -> None:
        self._close_form()
        self._on_account(account)
        self.check.setFocus(Qt.FocusReason.OtherFocusReason)

    def _check(self) -> None:
        if self._account is not None:
            self._run(self._bridge.services.hubs.check(self._account.endpoint), self._on_account)

    def _forget(self) -> None:
        if self._account is not None:
            self._run(self._bridge.services.hubs.forget(self._account.endpoint), self._on_account)

    def _run(self, operation: Operation[T], done: Callable[[T], None]) -> None:
        self._busy = True
        self._failure = None
        self.retranslate()
        self._bridge.watch(operation, done, self._on_failed)

    def _on_account(self, account: HubAccount) -> None:
        self._busy = False
        self.show_account(account)

    def _on_failed(self, error: BaseException) -> None:
        self._busy = False
        self._failure = error
        self.retranslate()

    def _close_form(self) -> None:
        self.form.clear()
        self.form.hide()
        self._failure = None
        self.retranslate()
        self.give.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open_page(self) -> None:
        if self._account is not None:
            QDesktopServices.openUrl(QUrl(self._account.token_page))


class TokenForm(QWidget):
    """``given`` fires with a token and whether a file may keep it; ``closed``; ``page_wanted``."""

    given = Signal(str, bool)
    closed = Signal()
    page_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.field = Field(icon="key")
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setMaxLength(600)
        self.look = IconButton("eye", checkable=True, bordered=True, side=32)
        self.save = Button(kind=ButtonKind.PRIMARY)
        self.cancel = Button()
        self.in_file = CheckBox()
        self.hint = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.page = Button(icon="link", small=True, kind=ButtonKind.QUIET)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.field, 1)
        line.addWidget(self.look)
        line.addWidget(self.save)
        line.addWidget(self.cancel)
        below = QHBoxLayout()
        below.addWidget(self.hint, 1)
        below.addWidget(self.page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 8, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(line)
        layout.addWidget(self.in_file)
        layout.addLayout(below)
        self.look.toggled.connect(self._on_look)
        self.field.textChanged.connect(self._on_text)
        self.field.returnPressed.connect(self._give)
        self.save.clicked.connect(self._give)
        self.cancel.clicked.connect(self.closed)
        self.page.clicked.connect(self.page_wanted)
        self._busy = False

    def open(self) -> None:
        """Show it, with the keyboard in it."""
        self.show()
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def clear(self) -> None:
        """Nothing stays in it."""
        self.field.clear()
        self.look.setChecked(False)

    def set_busy(self, *, busy: bool) -> None:
        """The hub is being asked."""
        self._busy = busy
        self._on_text()

    def show_account(self, account: HubAccount) -> None:
        """The words for a hub."""
        self.field.setPlaceholderText("hf_…" if "hugging" in account.endpoint else "")
        self.field.set_label(self.tr("Access token of {name}").format(name=account.name))
        self.save.setText(self.tr("Checking") if self._busy else self.tr("Check and keep"))
        self.cancel.setText(self.tr("Cancel"))
        self.look.set_label(self.tr("Show the token"))
        self.in_file.setText(self.tr("Keep it in a file that only I can read"))
        self.in_file.setVisible(not account.can_keep)
        hint = self.tr("A read-only token is enough. It goes to {host} and nowhere else.")
        lines = [hint.format(host=account.endpoint.partition("//")[2])]
        if not account.can_keep:
            lines.append(
                self.tr(
                    "This system has no keyring: without the file it is known until the app is "
                    "closed."
                )
            )
        self.hint.setText("\n".join(lines))
        self.page.setText(self.tr("Make one"))
        self.page.setToolTip(account.token_page)
        self.page.setAccessibleName(
            self.tr("Make a token at {page}").format(page=account.token_page)
        )

    def _on_look(self, shown: bool) -> None:
        mode = QLineEdit.EchoMode.Normal if shown else QLineEdit.EchoMode.Password
        self.field.setEchoMode(mode)
        self.look.set_icon("eye-off" if shown else "eye")

    def _on_text(self) -> None:
        self.save.setEnabled(bool(self.field.text().strip()) and not self._busy)
        self.field.setEnabled(not self._busy)

    def _give(self) -> None:
        if self.save.isEnabled():
            self.given.emit(self.field.text(), self.in_file.isChecked())
