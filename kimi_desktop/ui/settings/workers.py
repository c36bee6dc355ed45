"""Settings: machines that lend llama.cpp their devices; added, checked, removed. Qt thread."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.rpc.types import Worker, WorkersChanged
from kimi_desktop.backends.rpc.words import link_words, worker_memory
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.settings.rows import SettingsCard
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize

MARGINS = (16, 12, 16, 12)


class WorkersCard(SettingsCard):
    """One row a worker, and one to add another."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self._bridge = bridge
        self.rows: dict[str, WorkerRow] = {}
        self.form = WorkerForm()
        self.form.add_wanted.connect(self._add)
        bridge.happened.connect(self._on_event)
        self._fill(bridge.services.workers.workers)

    def _fill(self, workers: tuple[Worker, ...]) -> None:
        before, self.rows = self.rows, {}
        for worker in workers:
            address = str(worker.address)
            row = before.get(address) or self._new_row(address)
            row.show_worker(worker)
            self.rows[address] = row
        self.show_rows((*self.rows.values(), self.form))

    def _new_row(self, address: str) -> WorkerRow:
        row = WorkerRow()
        row.check.clicked.connect(partial(self._check, address))
        row.remove.clicked.connect(partial(self._remove, address))
        return row

    def _add(self, address: str, name: str) -> None:
        self.form.set_busy(busy=True)
        operation = self._bridge.services.workers.add(address, name)
        self._bridge.watch(operation, self._on_added, self.form.show_error)

    def _on_added(self, worker: Worker) -> None:
        del worker  # its row says what came of it
        self.form.clear()

    def _check(self, address: str) -> None:
        self.rows[address].set_busy(busy=True)
        operation = self._bridge.services.workers.check(address)
        self._bridge.watch(operation, self._on_checked, self._failed)

    def _on_checked(self, worker: Worker) -> None:
        row = self.rows.get(str(worker.address))
        if row is not None:
            row.set_busy(busy=False)

    def _remove(self, address: str) -> None:
        operation = self._bridge.services.workers.remove(address)
        self._bridge.watch(operation, on_error=self._failed, owner=self)

    def _failed(self, error: BaseException) -> None:
        self._bridge.navigation.report(error)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, WorkersChanged):
            self._fill(event.workers)


class WorkerRow(QWidget):
    """A worker that is remembered."""

    def __init__(self) -> None:
        super().__init__()
        self._worker: Worker | None = None
        self._busy = False
        self.name = Label(weight=MEDIUM)
        self.chip = Chip()
        self.facts = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self.check = Button(small=True)
        self.remove = Button(small=True)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.name)
        head.addWidget(self.chip)
        head.addStretch(1)
        head.addWidget(self.check)
        head.addWidget(self.remove)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self.facts)
        layout.addWidget(self.problem)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def show_worker(self, worker: Worker) -> None:
        """What is known of it now."""
        self._worker = worker
        self.retranslate()

    def set_busy(self, *, busy: bool) -> None:
        """It is being asked."""
        self._busy = busy
        self.retranslate()

    def retranslate(self) -> None:
        """Set the words."""
        worker = self._worker
        if worker is None:
            return
        address = str(worker.address)
        self.name.setText(worker.name or address)
        self._show_state(worker)
        facts = [address] if worker.name else []
        if worker.facts is not None:
            version = self.tr("RPC protocol {version}").format(version=worker.facts.version_text)
            facts += [worker_memory(worker, language()), version]
        facts.append(link_words(worker, language()))
        self.facts.setText(" · ".join(facts))
        text = " ".join(describe_error(worker.error, language())) if worker.error else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self.problem.set_tone("warn" if worker.is_usable else "bad")
        self.check.setText(self.tr("Checking") if self._busy else self.tr("Check"))
        self.check.setEnabled(not self._busy)
        self.check.setAccessibleName(self.tr("Check the worker {address}").format(address=address))
        self.remove.setText(self.tr("Remove"))
        self.remove.setAccessibleName(
            self.tr("Remove the worker {address}").format(address=address)
        )

    def _show_state(self, worker: Worker) -> None:
        if worker.error is None and worker.facts is not None:
            self.chip.show_verdict(Verdict.OK, self.tr("Ready"))
        elif worker.error is None:
            self.chip.show_verdict(Verdict.UNKNOWN, self.tr("Not asked yet"))
        elif worker.error.code is ErrorCode.WORKER_BUSY:
            self.chip.show_verdict(Verdict.WARN, self.tr("In use"))
        elif worker.error.code is ErrorCode.WORKER_UNREACHABLE:
            self.chip.show_verdict(Verdict.BAD, self.tr("Not reachable"))
        else:
            self.chip.show_verdict(Verdict.BAD, self.tr("Cannot be used"))


class WorkerForm(QWidget):
    """``add_wanted`` fires with an address and the name of its device."""

    add_wanted = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self._failure: BaseException | None = None
        self._busy = False
        self._name = Label(weight=MEDIUM)
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self._warning = Label(size=TextSize.SMALL, tone="warn", wrap=True)
        self.address = Field()
        self.device = Field()
        self.add = Button(icon="plus")
        self.problem = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.address, 1)
        line.addWidget(self.device, 1)
        line.addWidget(self.add)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*MARGINS)
        layout.setSpacing(4)
        for label in (self._name, self._note, self._warning):
            layout.addWidget(label)
        layout.addSpacing(4)
        layout.addLayout(line)
        layout.addWidget(self.problem)
        self.address.textChanged.connect(self._on_text)
        for field in (self.address, self.device):
            field.returnPressed.connect(self._add)
        self.add.clicked.connect(self._add)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self._name.setText(self.tr("Add another machine"))
        self._note.setText(
            self.tr(
                "Run “kimi-desktop worker --address …” there, with that machine’s own address. "
                "Plans then count its devices, with the network in every speed."
            )
        )
        self._warning.setText(
            self.tr(
                "llama.cpp’s RPC has no keys and no encryption: only over a wire or VPN that you "
                "trust."
            )
        )
        self.address.set_label(self.tr("Address of the worker"))
        self.address.setPlaceholderText("192.168.1.20:50052")
        self.device.set_label(self.tr("What its device is"))
        self.device.setPlaceholderText(self.tr("Its GPU, e.g. RTX 4090 (for the speed)"))
        self.add.setText(self.tr("Checking") if self._busy else self.tr("Add"))
        text = " ".join(describe_error(self._failure, language())) if self._failure else ""
        self.problem.setText(text)
        self.problem.setVisible(bool(text))
        self.address.set_error(text)
        self._enable()

    def set_busy(self, *, busy: bool) -> None:
        """The worker is being asked."""
        self._busy = busy
        if busy:
            self._failure = None
        self.retranslate()

    def show_error(self, error: BaseException) -> None:
        """It was not added."""
        self._failure = error
        self.set_busy(busy=False)
        self.address.setFocus(Qt.FocusReason.OtherFocusReason)

    def clear(self) -> None:
        """It was added."""
        self.address.clear()
        self.device.clear()
        self.set_busy(busy=False)

    def _on_text(self) -> None:
        if self._failure is not None and not self._busy:
            self._failure = None
            self.retranslate()
        self._enable()

    def _enable(self) -> None:
        self.add.setEnabled(bool(self.address.text().strip()) and not self._busy)
        for field in (self.address, self.device):
            field.setEnabled(not self._busy)

    def _add(self) -> None:
        if self.add.isEnabled():
            self.add_wanted.emit(self.address.text(), self.device.text())
