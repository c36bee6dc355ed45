"""Settings: servers that somebody else runs; added, checked, edited, removed. Qt thread.

A key is shown to nobody: it goes in masked and never comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QEvent, Qt, QUrl, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from kimi_desktop.backends.attached.types import (
    OfferedByServer,
    OtherServer,
    OtherServersChanged,
    ServerDraft,
)
from kimi_desktop.backends.attached.words import (
    key_words,
    model_words,
    program_words,
    report_words,
)
from kimi_desktop.backends.types import ServerProgram
from kimi_desktop.base.events import Event
from kimi_desktop.base.hosts import is_loopback
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Operation
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.settings.rows import SettingRow, SettingsCard
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import MEDIUM, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox

T = TypeVar("T")
MARGINS = (16, 10, 16, 10)
MOST_MODELS = 4
"""Shown in a row; the list of models has all of them."""


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


class ServerRow(QWidget):
    """A server: what it is, what it has, what is wrong with it."""

    removed = Signal(str)

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self._server: OtherServer | None = None
        self._busy = False
        self.name = Label(weight=MEDIUM)
        self.chip = Chip()
        self.address = Label(size=TextSize.SMALL, tone="muted")
        self.state = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.models = Label(size=TextSize.SMALL, wrap=True)
        self.files: tuple[FileLine, ...] = ()
        """Models whose files lie on this computer."""
        self._files = QVBoxLayout()
        self._files.setContentsMargins(0, 2, 0, 0)
        self._files.setSpacing(4)
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self.use = Button(small=True)
        self.check = Button(small=True)
        self.edit = Button(small=True)
        self.remove = Button(small=True)
        self.form = ServerForm()
        self.form.hide()
        self._arrange()
        self.use.clicked.connect(self._use)
        self.check.clicked.connect(self._check)
        self.edit.clicked.connect(self._edit)
        self.remove.clicked.connect(self._remove)
        self.form.given.connect(self._save)
        self.form.closed.connect(self._close_form)

    def show_server(self, server: OtherServer) -> None:
        """What is known of it now."""
        self._server = server
        self.retranslate()

    def retranslate(self) -> None:
        """Set the words."""
        server = self._server
        if server is None:
            return
        name, report = server.entry.name, server.report
        self.name.setText(name)
        self.address.setText(server.entry.url)
        self._show_chip(server)
        words = [key_words(server.key_place, language())]
        if server.entry.is_found:
            words = [self.tr("found on this computer")]
        if report is not None:
            words.append(report_words(report, language()))
        elif server.problem is None:
            words.append(self.tr("asking …"))
        self.state.setText(" · ".join(words))
        self._show_models(server)
        text = " ".join(describe_error(server.problem, language())) if server.problem else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        for button, word, spoken in (
            (self.use, self.tr("Chat with it"), self.tr("Chat with a model of {name}")),
            (self.check, self.tr("Check"), self.tr("Check {name}")),
            (self.edit, self.tr("Edit…"), self.tr("Edit {name}")),
            (self.remove, self.tr("Remove"), self.tr("Remove {name}")),
        ):
            button.setText(word)
            button.setAccessibleName(spoken.format(name=name))
            button.setEnabled(not self._busy)
        if self._busy:
            self.check.setText(self.tr("Checking"))
        self.use.setVisible(report is not None and bool(report.models) and not server.problem)
        self.edit.setVisible(not server.entry.is_found and self.form.isHidden())
        self.remove.setVisible(not server.entry.is_found)
        self.form.retranslate()

    def _show_chip(self, server: OtherServer) -> None:
        if server.problem is not None:
            self.chip.show_verdict(Verdict.WARN, self.tr("No answer"))
        elif server.report is not None:
            well = server.report.is_healthy is not False
            verdict = Verdict.OK if well else Verdict.WARN
            self.chip.show_verdict(verdict, program_words(server.report, language()))
        self.chip.setVisible(server.problem is not None or server.report is not None)

    def _show_models(self, server: OtherServer) -> None:
        report = server.report
        shown = report.models[:MOST_MODELS] if report is not None else ()
        program = report.program if report is not None else ""
        files = [model for model in shown if model.is_gguf] if is_here(server) else []
        self._show_files(files)
        lines: list[str] = []
        for model in shown:
            if model not in files:
                facts = model_words(model, language(), program=program)
                lines.append(f"{model.id} · {facts}" if facts else model.id)
        more = len(report.models) - MOST_MODELS if report is not None else 0
        if more > 0:
            lines.append(self.tr("and {count} more").format(count=more))
        self.models.setText("\n".join(lines))
        self.models.setVisible(bool(lines))

    def _show_files(self, models: list[OfferedByServer]) -> None:
        if [line.model for line in self.files] == models:
            for line in self.files:
                line.retranslate()
            return
        for line in self.files:
            self._files.removeWidget(line)
            line.hide()
            line.deleteLater()
        self.files = tuple(FileLine(model) for model in models)
        for line in self.files:
            line.wanted.connect(self._use_file)
            self._files.addWidget(line)

    def _use_file(self, model: str) -> None:
        """Take in the file that Ollama has: proven by its hash, linked, not copied."""
        go = self._bridge.navigation
        operation = self._bridge.services.imports.find_of_ollama(model)
        self._bridge.watch(operation, go.import_model, go.report, owner=self)

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.name)
        head.addWidget(self.chip)
        head.addStretch(1)
        for button in (self.use, self.check, self.edit, self.remove):
            head.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self.address)
        layout.addWidget(self.state)
        layout.addLayout(self._files)
        layout.addWidget(self.models)
        layout.addWidget(self.problem)
        layout.addWidget(self.form)

    def _use(self) -> None:
        """Its only model at once; of several the user chooses."""
        server, go = self._server, self._bridge.navigation
        if server is None or server.report is None:
            return
        if len(server.report.models) == 1:
            go.attach(server.entry.name, server.report.models[0].id)
            go.show_page("chat")
        else:
            go.open_picker()

    def _check(self) -> None:
        if self._server is not None:
            name = self._server.entry.name
            self._run(self._bridge.services.other_servers.check(name), self._on_checked)

    def _on_checked(self, server: OtherServer) -> None:
        self._busy = False
        self.show_server(server)

    def _edit(self) -> None:
        self.edit.hide()
        self.form.open(self._server)
        operation = self._bridge.services.other_servers.can_keep_keys()
        self._bridge.watch(operation, self.form.set_can_keep, owner=self)

    def _remove(self) -> None:
        if self._server is not None:
            self.removed.emit(self._server.entry.name)

    def _save(self, draft: ServerDraft) -> None:
        if self._server is not None:
            self.form.set_busy(busy=True)
            others = self._bridge.services.other_servers
            operation = others.save(draft, replaces=self._server.entry.name)
            self._bridge.watch(operation, lambda _: self._close_form(), self._refused, owner=self)

    def _refused(self, error: BaseException) -> None:
        self.form.set_busy(busy=False)
        self.form.show_problem(error)

    def _close_form(self) -> None:
        self.form.close_form()
        self.retranslate()
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _run(self, operation: Operation[T], done: Callable[[T], None]) -> None:
        self._busy = True
        self.retranslate()
        self._bridge.watch(operation, done, self._on_failed)

    def _on_failed(self, error: BaseException) -> None:
        self._busy = False
        self.retranslate()
        self._bridge.navigation.report(error)


class FileLine(QWidget):
    """A model of a program on this computer; ``wanted`` fires with its name."""

    wanted = Signal(str)

    def __init__(self, model: OfferedByServer) -> None:
        super().__init__()
        self.model = model
        self._words = ElidedLabel(size=TextSize.SMALL)
        self.use = Button(small=True, kind=ButtonKind.QUIET)
        self.use.clicked.connect(lambda _checked: self.wanted.emit(self.model.id))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._words, 1)
        layout.addWidget(self.use)
        self.retranslate()

    def retranslate(self) -> None:
        """Set the words."""
        facts = model_words(self.model, language())
        self._words.setText(f"{self.model.id} · {facts}" if facts else self.model.id)
        self.use.setText(self.tr("Use the file"))
        self.use.setToolTip(
            self.tr("Into the library: proven by its hash and linked, nothing is copied")
        )
        spoken = self.tr("Use the file of {name}")
        self.use.setAccessibleName(spoken.format(name=self.model.id))


def is_here(server: OtherServer) -> bool:
    """It is Ollama on this computer, whose files can be looked up."""
    report = server.report
    return (
        report is not None
        and report.program is ServerProgram.OLLAMA
        and is_loopback(QUrl(server.entry.url).host())
    )


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
