"""The Plan page: choices at the left, the answer at the right, priced again on every move. Qt.

A forecast takes about a quarter of a millisecond once the model's tables are warm and some 3 ms
the first time, so the chosen plan is priced at once and the other quantizations one by one while
the window is idle.
"""

from __future__ import annotations

import dataclasses
from collections import deque

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event
from kimi_desktop.machine.types import MachineProbed
from kimi_desktop.models.types import LibraryChanged, LocalModel
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.engine_words import ALIVE
from kimi_desktop.ui.model_picker import select_model
from kimi_desktop.ui.plan import choices
from kimi_desktop.ui.plan.answer_panel import AnswerPanel, Priced
from kimi_desktop.ui.plan.choice_panel import ChoicePanel, Plan
from kimi_desktop.ui.plan.verdict import judge
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.message_bar import EmptyState

LEFT_WIDTH = 528
LEAST_LEFT = 416
LEFT_SHARE = 0.46


class PlanPage(QWidget):
    """See the module."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._base: Plan | None = None
        """The same model as it was last loaded: what Reset goes back to."""
        self._unpriced: deque[LocalModel] = deque()
        self._idle = QTimer(self)
        self._idle.setInterval(0)
        self.choices = ChoicePanel()
        self.answer = AnswerPanel()
        self.empty = EmptyState("plan")
        self._left = _Scrolled(self.choices)
        self._stack = QStackedWidget()
        self._arrange()
        self._idle.timeout.connect(self._price_one_more)
        self.choices.plan_changed.connect(self._on_plan_changed)
        self.choices.model_chosen.connect(self._on_model_chosen)
        self.choices.reset_wanted.connect(self._on_reset)
        self.choices.engine_choice_wanted.connect(lambda: bridge.navigation.show_page("settings"))
        self.answer.start_wanted.connect(self._on_start)
        self.empty.button.clicked.connect(self._on_empty_button)
        bridge.happened.connect(self._on_event)
        bridge.navigation.plan_wanted.connect(self._on_plan_wanted)
        self.retranslate()
        self._take_machine()
        self._take_library()

    # Qt

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The left column gives way before the answer does."""
        super().resizeEvent(event)
        self._left.setFixedWidth(max(LEAST_LEFT, min(LEFT_WIDTH, round(self.width() * LEFT_SHARE))))

    def showEvent(self, event: QShowEvent) -> None:
        """A plan needs to know the machine."""
        super().showEvent(event)
        self._show_empty()

    def retranslate(self) -> None:
        """Set the words."""
        self.choices.retranslate()
        self.answer.retranslate()
        self._show_empty()
        self._price()

    # what happened

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MachineProbed):
            self._take_machine()
        elif isinstance(event, LibraryChanged):
            self._take_library()
        elif isinstance(event, EngineStateChanged):
            self._price_chosen()
        elif isinstance(event, SettingsChanged):
            self._take_engine()

    def _take_machine(self) -> None:
        machine = self._bridge.services.machine.machine
        self.choices.show_machine(machine)
        self.answer.show_machine(machine)
        self._show_empty()
        self._price()

    def _take_library(self) -> None:
        """Keep the plan when its model is still there, else begin with the chosen model."""
        services = self._bridge.services
        found = choices.families(services.models.models)
        self.choices.show_families(found)
        models = {model.id: model for family in found for model in family.models}
        plan = self.choices.plan
        if plan is not None and plan.model.id in models:
            model = models[plan.model.id]
            if model != plan.model:
                self._show(Plan(model, choices.for_model(plan.settings, model)))
            else:
                self._show(plan)
        elif models:
            selected = models.get(self._bridge.settings.models.selected)
            self._begin(selected or next(iter(models.values())))
        self._show_empty()

    def _take_engine(self) -> None:
        """The user may have chosen another llama-server: the plan is for that one then."""
        plan = self.choices.plan
        if plan is None:
            return
        last = self._last_of(plan.model)
        engine = (last.settings.kind, last.settings.binary)
        if engine != (plan.settings.kind, plan.settings.binary):
            self._base = last
            kind, binary = engine
            self._show(
                Plan(plan.model, dataclasses.replace(plan.settings, kind=kind, binary=binary))
            )

    def _on_plan_wanted(self, model_id: str) -> None:
        for family in choices.families(self._bridge.services.models.models):
            for model in family.models:
                if model.id == model_id:
                    self._begin(model)

    # what the user does

    def _on_model_chosen(self, model_id: str) -> None:
        """Another quantization keeps the plan; another model brings its own."""
        plan = self.choices.plan
        for family in choices.families(self._bridge.services.models.models):
            for model in family.models:
                if model.id != model_id:
                    continue
                if plan is not None and plan.model.family == family.name:
                    self._show(Plan(model, choices.for_model(plan.settings, model)))
                else:
                    self._begin(model)

    def _on_plan_changed(self) -> None:
        self._price()

    def _on_reset(self) -> None:
        if self._base is not None:
            self._show(self._base)

    def _on_start(self) -> None:
        plan = self.choices.plan
        if plan is not None:
            self._base = plan  # what was loaded last is what Reset goes back to
            select_model(self._bridge, plan.model)
            self._bridge.navigation.start_engine(plan.settings)
            self._price_chosen()

    def _on_empty_button(self) -> None:
        if choices.families(self._bridge.services.models.models):
            operation = self._bridge.services.machine.probe()
            self._bridge.watch(operation, on_error=self._bridge.navigation.report)
        else:
            self._bridge.navigation.show_page("models")

    # inside

    def _arrange(self) -> None:
        right = Surface(tone="panel", edges="l")
        inside = QVBoxLayout(right)
        inside.setContentsMargins(1, 0, 0, 0)
        inside.addWidget(_Scrolled(self.answer))
        both = QWidget()
        across = QHBoxLayout(both)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(0)
        across.addWidget(self._left)
        across.addWidget(right, 1)
        self._stack.addWidget(both)
        self._stack.addWidget(self.empty)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)

    def _show_empty(self) -> None:
        """Without a model or a look at the machine there is nothing to plan."""
        if self.choices.plan is None:
            self.empty.set_texts(
                self.tr("No model to plan with yet."), self.tr("Open the models library")
            )
        elif self._bridge.services.machine.machine is None:
            self.empty.set_texts(
                self.tr("A plan needs to know this machine: its memory and its GPUs."),
                self.tr("Look at the machine"),
            )
        else:
            self._stack.setCurrentIndex(0)
            return
        self._stack.setCurrentIndex(1)

    def _begin(self, model: LocalModel) -> None:
        """Plan a model anew, with what it was last loaded with."""
        self._show(self._last_of(model))

    def _last_of(self, model: LocalModel) -> Plan:
        assert model.facts is not None  # families have only such models
        settings = self._bridge.services.engine.settings_for(model)
        return Plan(model, choices.in_range(settings, model.facts))

    def _show(self, plan: Plan) -> None:
        if self._base is None or self._base.model != plan.model:
            self._base = self._last_of(plan.model)
        uses_gpus = self._bridge.services.engine.uses_gpus(plan.settings)
        self.choices.show_plan(plan, uses_gpus=uses_gpus)
        self._show_empty()
        self._price()

    def _price(self) -> None:
        """The chosen plan now, the other quantizations when there is time."""
        self._price_chosen()
        plan = self.choices.plan
        others = [m for m in self.choices.quantizations.models() if plan and m is not plan.model]
        self._unpriced = deque(others)
        if others:
            self._idle.start()

    def _price_chosen(self) -> None:
        plan = self.choices.plan
        machine = self._bridge.services.machine.machine
        if plan is None or machine is None or plan.model.facts is None:
            return
        engine = self._bridge.services.engine
        forecast = engine.forecast(plan.settings, plan.model)
        status = engine.status
        command: tuple[str, ...] = ()
        error: KimiError | None = None
        try:
            command = engine.command_line(plan.settings)
        except KimiError as met:
            error = met
        priced = Priced(
            plan,
            forecast,
            judge(forecast, plan.settings, plan.model.facts, machine.memory_bytes),
            command,
            error,
            is_running=status.state in ALIVE and status.settings == plan.settings,
        )
        self.answer.show_priced(priced)
        self.choices.quantizations.show_forecast(plan.model, forecast)
        self.choices.set_changed(changed=self._base is not None and plan != self._base)

    def _price_one_more(self) -> None:
        plan = self.choices.plan
        if not self._unpriced or plan is None or self._bridge.services.machine.machine is None:
            self._idle.stop()
            return
        model = self._unpriced.popleft()
        settings = choices.for_model(plan.settings, model)
        forecast = self._bridge.services.engine.forecast(settings, model)
        self.choices.quantizations.show_forecast(model, forecast)


class _Scrolled(QScrollArea):
    """Scrolls up and down when it must, never sideways."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # setWidget switches it on
