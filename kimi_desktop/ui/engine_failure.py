"""Why the engine did not start or has ended, in place, with the ways out. Qt thread.

The Chat page puts it where the answer would be; on other pages the engine's state in the top bar
opens it. It hides itself unless the engine has failed.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QTime, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.diagnostics import diagnostics_text
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.message_bar import FailurePanel, Fix

EVIDENCE_LINES = 4
OTHER_MODEL = frozenset(
    {
        ErrorCode.ENGINE_BAD_MODEL,
        ErrorCode.MODEL_BAD_HEADER,
        ErrorCode.MODEL_NOT_FOUND,
        ErrorCode.MODEL_NOT_GGUF,
        ErrorCode.MODEL_PART_MISSING,
        ErrorCode.MODEL_UNREADABLE,
        ErrorCode.MODEL_UNSUPPORTED,
    }
)
OTHER_BINARY = frozenset(
    {
        ErrorCode.ENGINE_NOT_FOUND,
        ErrorCode.ENGINE_NOT_EXECUTABLE,
        ErrorCode.ENGINE_WRONG_CPU,
        ErrorCode.ENGINE_BAD_ARGUMENT,
    }
)


class EngineFailurePanel(QWidget):
    """Follows the engine. ``shown_changed`` tells whether there is something to see."""

    shown_changed = Signal(bool)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._failed_at = ""
        self.panel = FailurePanel()
        self.panel.log_wanted.connect(bridge.navigation.show_log)
        self.panel.diagnostics_wanted.connect(self._copy_diagnostics)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.panel)
        self._shown = False
        bridge.happened.connect(self._on_event)
        self._fill(bridge.services.engine.status)
        if not self._shown:
            self.hide()  # to show it here would make a window of its own, as it has no parent yet

    @property
    def is_failure(self) -> bool:
        """The engine has failed."""
        return self._bridge.services.engine.status.state is EngineState.FAILED

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self._fill(self._bridge.services.engine.status)
        super().changeEvent(event)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            if event.status.state is EngineState.FAILED:
                self._failed_at = ""
            self._follow(event.status)

    def _follow(self, status: EngineStatus) -> None:
        before = self._shown
        self._fill(status)
        if self._shown != before:
            self.setVisible(self._shown)
            self.shown_changed.emit(self._shown)

    def _fill(self, status: EngineStatus) -> None:
        error = status.error
        if status.state is not EngineState.FAILED or error is None:
            self._shown = False
            return
        cause, advice = describe_error(error, language())
        if not self._failed_at:
            self._failed_at = QTime.currentTime().toString("HH:mm:ss")
        self.panel.show_cause(cause, advice, self._failed_at)
        self.panel.show_evidence(
            status.log_tail[-EVIDENCE_LINES:], self.tr("Evidence: the end of the engine's log")
        )
        self.panel.show_fixes(self._fixes(error.code))
        self._shown = True

    def _fixes(self, code: ErrorCode) -> list[Fix]:
        go = self._bridge.navigation
        again = Fix(
            self.tr("Start it once more"),
            self.tr("With the same settings. Messages that wait are sent when it is ready."),
            self.tr("Restart"),
            self._restart,
        )
        other = Fix(
            self.tr("Take another model"),
            self.tr("The library shows what can be started."),
            self.tr("Choose a model"),
            go.open_picker,
        )
        lighter = Fix(
            self.tr("Load less"),
            self.tr("A shorter context or fewer layers on the GPU need less memory."),
            self.tr("Change settings"),
            lambda: go.show_page("plan"),
        )
        binary = Fix(
            self.tr("Use the engine that comes with the app"),
            self.tr("Or name another llama-server in Settings."),
            self.tr("Open Settings"),
            lambda: go.show_page("settings"),
        )
        if code in OTHER_MODEL:
            return [other, again]
        if code in OTHER_BINARY:
            return [binary, again]
        if code is ErrorCode.ENGINE_OUT_OF_MEMORY:
            return [lighter, other, again]
        return [again, lighter, other]

    def _restart(self) -> None:
        self._bridge.navigation.start_engine(self._bridge.services.engine.status.settings)

    def _copy_diagnostics(self) -> None:
        services = self._bridge.services
        text = diagnostics_text(
            services.engine.status, services.machine.machine, services.engine.log_text()
        )
        QGuiApplication.clipboard().setText(text)
        self._bridge.navigation.tell(
            self.tr("Diagnostics copied. Keys, names and home folders are removed.")
        )
