"""The Plan page: choices at the left, the answer at the right, priced again on every move. Qt.

What is planned is in ``planning``; here it is shown, and what the window tells is passed on.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from kimi_desktop.backends.rpc.types import WorkersChanged
from kimi_desktop.backends.types import EngineStateChanged, PricedLoad, Remedial
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.machine.types import MachineProbed
from kimi_desktop.models.types import LibraryChanged, LocalModel
from kimi_desktop.planner.plan_types import Profile
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.engine_words import ALIVE
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_picker import select_model
from kimi_desktop.ui.plan import choices
from kimi_desktop.ui.plan.answer_panel import Answer, AnswerPanel
from kimi_desktop.ui.plan.checking import Checking
from kimi_desktop.ui.plan.choice_panel import ChoicePanel
from kimi_desktop.ui.plan.choices import Family
from kimi_desktop.ui.plan.placement_box import AUTO
from kimi_desktop.ui.plan.planning import Planning
from kimi_desktop.ui.plan.served_side import ServedSide
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
        self._families: tuple[Family, ...] = ()
        self.planning = Planning(bridge, self)
        self.checking = Checking(bridge, self)
        self.served = ServedSide(bridge, self)
        self.choices = ChoicePanel(self.served.form)
        self.answer = AnswerPanel()
        self.failure = EngineFailurePanel(bridge, here="plan")
        self.empty = EmptyState("plan")
        self._left = _Scrolled(self.choices)
        self._right = _Scrolled(self.answer)
        self._served_right = _Scrolled(self.served.panel)
        self._answers = QStackedWidget()
        self._stack = QStackedWidget()
        self._arrange()
        self._connect()
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
        self._want_check()

    def hideEvent(self, event: QHideEvent) -> None:
        """What was chosen holds for the next start, wherever it is pressed."""
        super().hideEvent(event)
        self.planning.keep()
        self.served.planning.keep()
        self.checking.drop()

    def retranslate(self) -> None:
        """Set the words."""
        self.choices.retranslate()
        self.answer.retranslate()
        self._show_empty()
        self._show_plan()
        self.planning.refresh()
        self._show_served()

    # what happened

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MachineProbed | WorkersChanged):
            self._take_machine()
        elif isinstance(event, LibraryChanged):
            self._take_library()
        elif isinstance(event, EngineStateChanged):
            self._show_failure()
            self._show_answer()
        elif isinstance(event, SettingsChanged):
            self._take_engine()

    def _take_machine(self) -> None:
        self._show_empty()
        self.planning.refresh()
        self.served.planning.refresh()

    def _take_library(self) -> None:
        """Keep the plan when its model is still there, else begin with the chosen model."""
        found = choices.families(self._bridge.services.models.models)
        self._families = found
        self.choices.show_families(found)
        models = {model.id: model for family in found for model in family.models}
        planned = self.served.model or self.planning.model
        if planned is not None and planned.is_served and planned.id in models:
            self.served.follow(models[planned.id])
        elif planned is not None and planned.id in models:
            model = models[planned.id]
            self.planning.follow(model, self._family_of(model))
        elif models:
            selected = models.get(self._bridge.settings.models.selected)
            self._begin(selected or next(iter(models.values())))
        self._show_empty()

    def _take_engine(self) -> None:
        """The user may have chosen another llama-server: the plan is for that one then."""
        self.planning.take_engine()
        self.served.planning.take_engine()

    def _on_plan_wanted(self, model_id: str) -> None:
        if model := self._find(model_id):
            self._begin(model)

    def _begin(self, model: LocalModel) -> None:
        """Plan it as it was last planned, by the planner of its format."""
        if model.is_served:
            self.served.begin(model)
            self._show_served()
            self._show_empty()
        else:
            self.served.leave()
            self._answers.setCurrentWidget(self._right)
            self.planning.begin(model, self._family_of(model))

    # what the user does

    def _on_model_chosen(self, model_id: str) -> None:
        """Another quantization keeps the plan; another model brings its own."""
        planned, model = self.served.model or self.planning.model, self._find(model_id)
        if model is None:
            return
        if planned is not None and choices.family_key(planned) == choices.family_key(model):
            self.planning.switch(model, self._family_of(model))
        else:
            self._begin(model)

    def _on_reset(self) -> None:
        if self.served.model is not None:
            self.served.planning.reset()
        else:
            self.planning.reset()

    def _on_mode(self, mode: str) -> None:
        if mode == AUTO:
            self.planning.set_auto()
        else:
            self.planning.set_manual()

    def _on_field(self, name: str, value: Any) -> None:  # noqa: ANN401 - what the field holds
        if name == "tensor_split":
            self.planning.set_split(value)
        else:
            self.planning.change(**{name: value})

    def _on_change(self, remedy: Remedial) -> None:
        model = self.planning.model
        if remedy.offer_id:
            self._bridge.navigation.show_page("models")
            return
        if model is not None:
            self.planning.apply(remedy, self._family_of(model))
            self._right.verticalScrollBar().setValue(0)

    def _on_start(self) -> None:
        model, settings = self.planning.model, self.planning.settings
        if model is not None and settings is not None:
            self.planning.keep()
            select_model(self._bridge, model)
            self._bridge.navigation.start_engine(settings)
            self._show_answer()

    def _on_empty_button(self) -> None:
        if self._families:
            operation = self._bridge.services.machine.probe()
            self._bridge.watch(operation, on_error=self._bridge.navigation.report)
        else:
            self._bridge.navigation.show_page("models")

    # inside

    def _arrange(self) -> None:
        self.answer.failure.addWidget(self.failure)
        right = Surface(tone="panel", edges="l")
        inside = QVBoxLayout(right)
        inside.setContentsMargins(1, 0, 0, 0)
        self._answers.addWidget(self._right)
        self._answers.addWidget(self._served_right)
        inside.addWidget(self._answers)
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

    def _connect(self) -> None:
        panel, planning = self.choices, self.planning
        panel.model_chosen.connect(self._on_model_chosen)
        panel.reset_wanted.connect(self._on_reset)
        panel.profile_chosen.connect(lambda key: planning.set_profile(Profile(key)))
        panel.field_changed.connect(self._on_field)
        panel.options.changed.connect(planning.set_options)
        panel.placement.mode_chosen.connect(self._on_mode)
        panel.placement.placed.connect(planning.place)
        go = self._bridge.navigation
        panel.engine_choice_wanted.connect(lambda: go.show_page("settings"))
        planning.changed.connect(self._show_plan)
        self.served.planning.changed.connect(self._show_served)
        planning.sibling_priced.connect(self._on_sibling)
        self.checking.found.connect(self.answer.show_check)
        self.answer.start_wanted.connect(self._on_start)
        self.answer.change_wanted.connect(self._on_change)
        self.empty.button.clicked.connect(self._on_empty_button)
        self.failure.shown_changed.connect(lambda _: self._show_failure())
        self._bridge.happened.connect(self._on_event)
        go.plan_wanted.connect(self._on_plan_wanted)

    def _find(self, model_id: str) -> LocalModel | None:
        models = (model for family in self._families for model in family.models)
        return next((model for model in models if model.id == model_id), None)

    def _family_of(self, model: LocalModel) -> tuple[LocalModel, ...]:
        return next((family.models for family in self._families if model in family.models), ())

    def _show_empty(self) -> None:
        """Without a model or a look at the machine there is nothing to plan."""
        if self.planning.model is None and self.served.model is None:
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

    def _show_plan(self) -> None:
        """Both sides, after every change."""
        planning, services = self.planning, self._bridge.services
        model, settings = planning.model, planning.settings
        if model is None or self.served.model is not None:
            return
        self._show_empty()
        own = services.machine.machine
        machine = own and services.workers.join(own)
        is_helped = machine != own
        self.choices.show_plan(
            model,
            planning.choices,
            planning.priced,
            machine,
            uses_gpus=is_helped or settings is None or services.engine.uses_gpus(settings),
        )
        if settings is not None:
            self.choices.show_engine(services.engine.name_of(settings))
            problem = services.engine.problem_of(settings)
            words = " ".join(describe_error(problem, language())) if problem else ""
            # Not those of the settings: a search for the new ones may still run.
            self.choices.options.show_options(services.plans.options(model), words)
        self.choices.quantizations.show_notes(lambda each: services.plans.quality(each, language()))
        self.choices.set_changed(changed=planning.is_changed)
        if planning.priced is not None:
            self.choices.quantizations.show_priced(model, planning.priced)
        self._show_failure()
        self._show_answer()
        self._want_check()

    def _show_served(self) -> None:
        """A checkpoint: its choices and its answer show themselves."""
        model, planning = self.served.model, self.served.planning
        if model is None:
            return
        self._answers.setCurrentWidget(self._served_right)
        self.choices.show_served(model, planning.build)
        self.choices.set_changed(changed=planning.is_changed)

    def _want_check(self) -> None:
        """Only what is looked at is asked about."""
        planning = self.planning
        if (
            self.served.model is None
            and planning.model is not None
            and planning.priced is not None
            and self.isVisible()
        ):
            self.checking.want(planning.settings, planning.model)

    def _show_answer(self) -> None:
        planning, services = self.planning, self._bridge.services
        model, settings, priced = planning.model, planning.settings, planning.priced
        if model is None:
            return
        command: tuple[str, ...] = ()
        error: KimiError | None = None
        if settings is not None:
            try:
                command = services.engine.command_line(settings)
            except KimiError as met:
                error = met
        status = services.engine.status
        running = settings is not None and status.settings == settings and status.state in ALIVE
        words = services.plans.words(priced, language()) if priced is not None else None
        self.answer.show_answer(
            Answer(
                model.id,
                priced,
                words,
                services.plans.change_words(planning.changes, priced, language()) if priced else (),
                planning.error,
                command,
                error,
                running,
            )
        )

    def _show_failure(self) -> None:
        """A failure of the model that is planned; of others the top bar tells."""
        model, status = self.planning.model, self._bridge.services.engine.status
        is_ours = (
            model is not None
            and status.settings is not None
            and status.settings.model_path == model.path
        )
        self.failure.setVisible(self.failure.is_failure and is_ours)

    def _on_sibling(self, model: LocalModel, priced: PricedLoad) -> None:
        self.choices.quantizations.show_priced(model, priced)


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
