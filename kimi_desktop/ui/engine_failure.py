"""Why the engine did not start or has ended, in place, with the ways out. Qt thread.

The Chat page puts it where the answer would be; on other pages the engine's state in the top bar
opens it. It hides itself unless the engine has failed.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QEvent, QTime, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.backends.types import (
    Attachment,
    EngineState,
    EngineStateChanged,
    EngineStatus,
)
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import Language, cause_sentences, describe_error, message
from kimi_desktop.base.units import format_count, format_gib
from kimi_desktop.diagnosis.types import (
    Beyond,
    FailureRead,
    FailureReading,
    SystemWay,
)
from kimi_desktop.machine.holders import Holder
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.diagnostics import diagnostics_text
from kimi_desktop.ui.language import language
from kimi_desktop.ui.way_out import way_fix
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.memory_bar import MemoryBar
from kimi_desktop.ui.widgets.message_bar import FailurePanel, Fix

EVIDENCE_LINES = 4
MOST_FIXES = 3
DIRECT = frozenset({Beyond.END_PROGRAM, Beyond.VERIFY})
"""These cure the cause itself; they come before settings that give something up."""
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
        ErrorCode.ENGINE_MISSING_LIBRARY,
        ErrorCode.ENGINE_OLD_SYSTEM,
        ErrorCode.ENGINE_BAD_ARGUMENT,
    }
)


class EngineFailurePanel(QWidget):
    """Follows the engine. ``shown_changed`` tells whether there is something to see."""

    shown_changed = Signal(bool)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None, *, here: str = "") -> None:
        """``here`` is the page it stands on: a way out that leads there is left out."""
        super().__init__(parent)
        self._bridge = bridge
        self._here = here
        self._failed_at = ""
        self.panel = FailurePanel()
        self.panel.log_wanted.connect(bridge.navigation.show_log)
        self.panel.diagnostics_wanted.connect(self._copy_diagnostics)
        self.panel.step_down_chosen.connect(self._choose_step_down)
        self._memory = QWidget()
        self._memory_words = Label(size=TextSize.SMALL, tone="muted")
        self._bar = MemoryBar()
        inside = QVBoxLayout(self._memory)
        inside.setContentsMargins(0, 0, 0, 4)
        inside.setSpacing(4)
        inside.addWidget(self._memory_words)
        inside.addWidget(self._bar)
        self.panel.add_picture(self._memory)
        self._memory.hide()
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
        if isinstance(event, FailureRead):
            self._follow(self._bridge.services.engine.status)
            if (way := event.stepped_down) is not None:
                spoken = language()
                text = message(f"diagnosis.way.{way.key}", spoken, **way.params)
                told = message("diagnosis.stepped_down", spoken, text=text)
                self._bridge.navigation.tell(told)
        elif isinstance(event, EngineStateChanged):
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
        reading = self._reading(status) if status.attached is None else None
        best = reading.diagnosis.cause if reading is not None else None
        cause, advice = describe_error(error, language())
        if best is not None:
            cause, why, helps = cause_sentences(best.cause, language())
            advice = ("" if language() is Language.ZH_CN else " ").join((why, helps))
        if not self._failed_at:
            self._failed_at = QTime.currentTime().toString("HH:mm:ss")
        self.panel.show_cause(cause, advice, self._failed_at)
        self.panel.log_button().setVisible(status.attached is None)
        if best is not None and best.line_number is not None:
            title = self.tr("Evidence, line {number} of the engine's log")
            number = format_count(best.line_number + 1)
            self.panel.show_evidence((best.line,), title.format(number=number))
        else:
            self.panel.show_evidence(
                status.log_tail[-EVIDENCE_LINES:], self.tr("Evidence: the end of the engine's log")
            )
        steps = self._bridge.settings.engine.step_down
        self.panel.show_step_down(steps if reading is not None and reading.ways else None)
        ways: list[Fix] = []
        model = self._model()
        if reading is not None:
            first = [way for way in reading.beyond if way.kind in DIRECT]
            rest = [way for way in reading.beyond if way.kind not in DIRECT]
            ways += [self._beyond(way) for way in first if way.kind is not Beyond.VERIFY or model]
            ways += [way_fix(self._bridge, way) for way in reading.ways]
            ways += [self._beyond(way) for way in rest]
        self.panel.show_fixes([*ways, *self._fixes(error.code)][:MOST_FIXES])
        self._show_devices(reading.devices if reading is not None else ())
        self._shown = True

    def _reading(self, status: EngineStatus) -> FailureReading | None:
        """Of this failure; None while it is being read, or of another one."""
        latest = self._bridge.services.diagnosis.latest
        same = latest is not None and latest.started_at == status.started_at
        return latest if same else None

    def _beyond(self, way: SystemWay) -> Fix:
        """A way out that is no setting."""
        go, spoken, holder = self._bridge.navigation, language(), way.holder
        key = f"diagnosis.beyond.{way.kind.value}"
        if holder is not None:
            size = "?" if holder.vram_bytes is None else format_gib(holder.vram_bytes)
            title = message(key, spoken, name=holder.name, pid=holder.pid, gpu=holder.gpu)
            detail = message(f"{key}.detail", spoken, size=size)
            return Fix(title, detail, self.tr("End it…"), lambda: self._ask_to_end(title, holder))
        if way.kind is Beyond.LINE:
            return Fix(
                message(key, spoken), way.line, self.tr("Copy"), lambda: self._copy_line(way.line)
            )
        action, run = {
            Beyond.VERIFY: (self.tr("Verify"), self._verify),
            Beyond.OTHER_FILE: (self.tr("Choose"), lambda: go.show_page("models")),
            Beyond.ENGINE: (self.tr("Open Settings"), lambda: go.open_settings("builds")),
        }[way.kind]
        return Fix(message(key, spoken), message(f"{key}.detail", spoken), action, run)

    def _model(self) -> LocalModel | None:
        """What was to be loaded, as the library has it."""
        services = self._bridge.services
        settings = services.engine.status.settings
        models = services.models.models
        return next((m for m in models if settings and m.path == settings.model_path), None)

    def _verify(self) -> None:
        if (model := self._model()) is not None:
            self._bridge.navigation.verify(model.id)

    def _ask_to_end(self, question: str, holder: Holder) -> None:
        from kimi_desktop.ui.window_overlays import Question  # noqa: PLC0415 - built when asked

        detail = self.tr("What is not saved in it is lost. Afterwards the engine starts again.")

        def make(window: QWidget) -> QWidget:
            return Question(
                window,
                question=f"{question}?",
                detail=detail,
                confirm=self.tr("End it"),
                on_confirm=lambda: self._end(holder),
            )

        self._bridge.navigation.open_overlay(make)

    def _end(self, holder: Holder) -> None:
        self._bridge.watch(
            self._bridge.services.diagnosis.end_program(holder),
            lambda _: self._restart(),
            self._bridge.navigation.report,
        )

    def _copy_line(self, line: str) -> None:
        QGuiApplication.clipboard().setText(line)
        self._bridge.navigation.tell(self.tr("Copied."))

    def _show_devices(self, devices: tuple[DeviceMemory, ...]) -> None:
        """The memory that was full, as the planner expected it."""
        self._memory.setVisible(bool(devices))
        for device in devices:
            name = self.tr("RAM") if device.device == "host" else device.name
            text = self.tr("{device}: {used} of {total} as planned").format(
                device=name,
                used=format_gib(device.used_bytes),
                total=format_gib(device.total_bytes),
            )
            self._memory_words.setText(text)
            self._bar.show_device(device)

    def _server_fixes(self, attached: Attachment) -> list[Fix]:
        """Of a server that somebody else runs."""
        go = self._bridge.navigation
        return [
            Fix(
                self.tr("Attach once more"),
                self.tr("Messages that wait are sent when it answers."),
                self.tr("Attach"),
                lambda: go.attach(attached.server, attached.model),
            ),
            Fix(
                self.tr("Look at its address and key"),
                self.tr("Settings, Other servers: check it and see what it reports."),
                self.tr("Open Settings"),
                lambda: go.open_settings("servers"),
            ),
            Fix(
                self.tr("Take another model"),
                self.tr("One of the library, or of another server."),
                self.tr("Choose a model"),
                go.open_picker,
            ),
        ]

    def _fixes(self, code: ErrorCode) -> list[Fix]:
        go = self._bridge.navigation
        if (attached := self._bridge.services.engine.status.attached) is not None:
            return self._server_fixes(attached)
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
            fixes = [other, again]
        elif code in OTHER_BINARY:
            fixes = [binary, again]
        elif code is ErrorCode.ENGINE_OUT_OF_MEMORY:
            fixes = [lighter, other, again]
        else:
            fixes = [again, lighter, other]
        return [fix for fix in fixes if fix is not lighter or self._here != "plan"]

    def _restart(self) -> None:
        self._bridge.navigation.start_engine(self._bridge.services.engine.status.settings)

    def _choose_step_down(self, wanted: bool) -> None:
        self._bridge.save_settings(
            lambda before: dataclasses.replace(
                before, engine=dataclasses.replace(before.engine, step_down=wanted)
            )
        )

    def _copy_diagnostics(self) -> None:
        services = self._bridge.services
        text = services.diagnosis.bundle_text() or diagnostics_text(
            services.engine.status, services.machine.machine, services.engine.log_text()
        )
        QGuiApplication.clipboard().setText(text)
        self._bridge.navigation.tell(
            self.tr("Diagnostics copied. Keys, names and home folders are removed.")
        )
