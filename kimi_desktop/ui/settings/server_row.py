"""One server that somebody else runs, in the settings: what it says, its models, what can be done.

Qt thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.attached.types import (
    OfferedByServer,
    OtherServer,
    ServerDraft,
)
from kimi_desktop.backends.attached.words import (
    key_words,
    model_words,
    program_words,
    report_words,
)
from kimi_desktop.backends.types import ServerProgram
from kimi_desktop.base.hosts import is_loopback
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Operation
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.settings.server_form import MARGINS, ServerForm
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.label import MEDIUM, ElidedLabel, Label, TextSize

T = TypeVar("T")
MOST_MODELS = 4
"""Shown in a row; the list of models has all of them."""


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
