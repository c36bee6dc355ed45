"""How a checkpoint would be served: verdict, memory of every GPU, command line, reasons. Qt."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.ui.language import language
from kimi_desktop.ui.server_plan.code_consent import CodeConsent
from kimi_desktop.ui.server_plan.planning import ServerPlanning
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Heading
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.command_view import CommandView
from kimi_desktop.ui.widgets.device_list import DeviceList
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.reasons import Reasons

COPIED_MS = 1500


class ServerAnswer(QWidget):
    """Shows a ``ServerPlanning`` and follows it."""

    def __init__(self, planning: ServerPlanning, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._planning = planning
        self.chip, self.estimate = Chip(), Chip()
        self.head = QHBoxLayout()
        """The verdict at the left; what holds the answer may add to the right."""
        self.notes = QVBoxLayout()
        """Below it: where a page puts what went wrong."""
        self.engine = Label(tone="warn", wrap=True)
        self.sentence = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self.detail = Label(tone="muted", wrap=True)
        self.devices = DeviceList()
        self.consent = CodeConsent()
        self._command_title = Heading()
        self.copy = Button(icon="copy", small=True)
        self.command = CommandView()
        self._command = QWidget()
        self.reasons = Reasons()
        self._copied = QTimer(self)
        self._copied.setSingleShot(True)
        self._copied.setInterval(COPIED_MS)
        self._arrange()
        self.consent.allowed.connect(planning.allow)
        self.consent.shut_in.connect(lambda is_on: planning.put(sandbox=is_on))
        self.copy.clicked.connect(self._on_copy)
        self._copied.timeout.connect(self._show_copy)
        planning.changed.connect(self.show_plan)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.estimate.show_verdict(Verdict.UNKNOWN, self.tr("Estimate"))
        self._command_title.setText(self.tr("Command line"))
        self.command.set_label(self.tr("Command line"))
        self.reasons.retranslate()
        self._show_copy()
        self.show_plan()

    def show_plan(self) -> None:
        """Everything, after every change."""
        planning = self._planning
        offer, error = planning.offer, planning.error
        self._show_engine()
        words = planning.words()
        self._show_verdict()
        cause, advice = describe_error(error, language()) if error is not None else ("", "")
        waiting = planning.model is not None and offer is None and error is None
        first, second = (*words, "", "")[:2]
        _set(self.sentence, cause or (self.tr("Planning…") if waiting else first))
        _set(self.detail, advice or second)
        plan = offer.plan if offer is not None and not planning.on_cpu else None
        self.devices.setVisible(plan is not None)
        if plan is not None:
            self.devices.show_devices(plan.forecast.devices)
        if offer is not None:
            self.consent.show_code(
                offer.code,
                is_allowed=planning.allowed,
                has_sandbox=offer.has_sandbox,
                is_shut_in=planning.special.sandbox,
            )
        else:
            self.consent.hide()
        command = planning.command()
        self._command.setVisible(bool(command))
        self.command.show_command(command)
        self.reasons.show_reasons(words[2:])

    def _show_engine(self) -> None:
        """What is wrong with the engine, or that there is none."""
        planning = self._planning
        text = ""
        if planning.engine_error is not None:
            text = " ".join(describe_error(planning.engine_error, language()))
        elif planning.model is not None and not planning.build:
            text = self._missing(planning.engine_title)
        _set(self.engine, text)

    def _missing(self, engine: str) -> str:
        """The app installs vLLM itself."""
        if engine == "vLLM":
            return self.tr("vLLM was not found. Install it, or name a Python: Settings, Engine.")
        words = self.tr("{engine} was not found. Point at a Python that has it: Settings, Engine.")
        return words.format(engine=engine)

    def _show_verdict(self) -> None:
        planning = self._planning
        plan = planning.offer.plan if planning.offer is not None else None
        known = plan is not None and not planning.on_cpu
        self.estimate.setVisible(known and plan is not None and not plan.forecast.exact)
        if plan is None or not known:
            self.chip.show_verdict(Verdict.UNKNOWN, self.tr("No forecast"))
        elif plan.fits:
            self.chip.show_verdict(Verdict.OK, self.tr("Fits"))
        else:
            self.chip.show_verdict(Verdict.BAD, self.tr("Does not fit"))

    def _arrange(self) -> None:
        self.head.setSpacing(8)
        self.head.addWidget(self.chip)
        self.head.addWidget(self.estimate)
        self.head.addStretch(1)
        command_head = QHBoxLayout()
        command_head.addWidget(self._command_title)
        command_head.addStretch(1)
        command_head.addWidget(self.copy)
        command = QVBoxLayout(self._command)
        command.setContentsMargins(0, 0, 0, 0)
        command.setSpacing(8)
        command.addLayout(command_head)
        command.addWidget(self.command)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(self.head)
        layout.addLayout(self.notes)
        layout.addWidget(self.engine)
        layout.addWidget(self.sentence)
        layout.addWidget(self.detail)
        layout.addWidget(self.consent)
        layout.addSpacing(4)
        layout.addWidget(self.devices)
        layout.addWidget(self._command)
        layout.addWidget(self.reasons)
        layout.addStretch(1)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command.line())
        self._copied.start()
        self._show_copy()

    def _show_copy(self) -> None:
        done = self._copied.isActive()
        self.copy.set_icon("check" if done else "copy")
        self.copy.setText(self.tr("Copied") if done else self.tr("Copy"))


def _set(label: Label, text: str) -> None:
    """A label that takes no room when it says nothing."""
    if label.text() != text:
        label.setText(text)
    label.setVisible(bool(text))
