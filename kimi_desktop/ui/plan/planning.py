"""What the Plan page plans: the model, the user's choices, and what is forecast of them. Qt thread.

Auto: the user's wishes go to the search, which answers from the pool; while a slider moves, only
the newest wish waits. Manual: settings of the user's own are priced at once, nothing in them is
changed; what would make them fit is looked for when the hand rests.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from kimi_desktop.backends.types import (
    EngineOptions,
    LoadSettings,
    PlanChange,
    PlanChoices,
    PricedLoad,
    Remedial,
)
from kimi_desktop.base.errors import KimiError, PlanError, SettingsError
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.latest import LatestOnly
from kimi_desktop.ui.plan import choices as steps

REST_MS = 300
"""After the last move: what helps, or what one change would bring, is looked for."""
KEEP_MS = 1000
"""After the last change: the choices are kept for the next time."""
SIBLINGS_MS = 120
"""After the plan itself: the other quantizations get their verdicts, one by one."""


class Planning(QObject):
    """``changed``: choices or forecast are others. ``sibling_priced``: (model, PricedLoad)."""

    changed = Signal()
    sibling_priced = Signal(object, object)

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.model: LocalModel | None = None
        self.choices = PlanChoices(Wishes())
        self.priced: PricedLoad | None = None
        """The newest forecast; of an older wish while a search runs."""
        self.changes: tuple[PlanChange, ...] = ()
        """What would be if one thing of the planner's plan were another."""
        self.error: KimiError | None = None
        """Why there is no forecast."""
        self._fallback: LoadSettings | None = None
        self._later: Callable[[], None] | None = None
        """What the user did before there was a plan to do it with."""
        self._family: tuple[LocalModel, ...] = ()
        self._search = LatestOnly(bridge, self)
        self._help = LatestOnly(bridge, self)
        self._unpriced: deque[LocalModel] = deque()
        self._rest = self._timer(REST_MS, self._find_help)
        self._keep = self._timer(KEEP_MS, self.keep)
        self._idle = self._timer(SIBLINGS_MS, self._price_sibling)
        self._is_kept = True

    # what it is

    @property
    def is_auto(self) -> bool:
        """The planner owns the placement."""
        return self.choices.settings is None

    @property
    def settings(self) -> LoadSettings | None:
        """What Start would start."""
        if self.choices.settings is not None:
            return self.choices.settings
        return self.priced.settings if self.priced is not None else self._fallback

    @property
    def is_changed(self) -> bool:
        """There is something to take back."""
        return self.model is not None and self.choices != PlanChoices(Wishes(self._profile()))

    # what the user does

    def begin(self, model: LocalModel, family: Sequence[LocalModel]) -> None:
        """Plan a model as it was last planned."""
        self.keep()
        self._take(model, family, self._bridge.services.plans.choices(model))

    def switch(self, model: LocalModel, family: Sequence[LocalModel]) -> None:
        """Another quantization of the same model, with the same choices."""
        settings = self.choices.settings
        if settings is not None:
            settings = dataclasses.replace(settings, model_path=model.path)
        self._take(model, family, dataclasses.replace(self.choices, settings=settings))
        self._keep_soon()

    def follow(self, model: LocalModel, family: Sequence[LocalModel]) -> None:
        """The library was read again: the same model, maybe with other facts or siblings."""
        if model != self.model or tuple(family) != self._family:
            self._take(model, family, self.choices)

    def reset(self) -> None:
        """Leave everything to the planner again."""
        self._choose(PlanChoices(Wishes(self._profile())))

    def set_auto(self) -> None:
        """Back to the planner, with the wishes from before."""
        self._later = None
        if not self.is_auto:
            wishes = dataclasses.replace(self.choices.wishes, tensor_split=None)
            self._choose(PlanChoices(wishes))

    def set_manual(self) -> None:
        """The user owns the placement, which begins where the planner left it."""
        if self.is_auto and self.priced is not None:
            self._choose(PlanChoices(self.choices.wishes, self.priced.settings))
        elif self.is_auto:
            self._later = self.set_manual

    def set_profile(self, profile: Profile) -> None:
        """What plans are good at; of the user's own placement it only judges the reserve."""
        wishes = dataclasses.replace(self.choices.wishes, profile=profile)
        self._choose(dataclasses.replace(self.choices, wishes=wishes))

    def change(self, **fields: Any) -> None:  # noqa: ANN401 - what the field holds
        """Context, cache type, slots, batches, threads, load mode.

        In Auto each is a wish, and None leaves it to the planner; else it is set as it is.
        """
        settings = self.choices.settings
        if settings is None:
            wishes = dataclasses.replace(self.choices.wishes, **fields)
            self._choose(PlanChoices(wishes))
        else:
            self._choose(
                dataclasses.replace(self.choices, settings=dataclasses.replace(settings, **fields))
            )

    def place(self, n_gpu_layers: int | None, n_cpu_moe: int | None) -> None:
        """Layers on GPUs and experts in RAM by hand, which takes the plan from the planner.

        Args:
            n_gpu_layers: None = as they are.
            n_cpu_moe: blocks, from the first; None = as they are.
        """
        settings, model = self.settings, self.model
        if model is None or model.facts is None:
            return
        if settings is None:
            self._later = partial(self.place, n_gpu_layers, n_cpu_moe)
            return
        if n_gpu_layers is None:
            n_gpu_layers = steps.gpu_layers(settings, model.facts)
        if n_cpu_moe is None:
            in_ram = len(self.priced.plan.experts_in_ram) if self.priced else 0
            n_cpu_moe = steps.n_cpu_moe_for(steps.expert_blocks(model.facts), in_ram)
        settings = dataclasses.replace(
            settings, n_gpu_layers=n_gpu_layers, n_cpu_moe=n_cpu_moe, overrides=()
        )
        self._arrange(settings, self.choices.wishes)

    def set_split(self, shares: tuple[float, ...] | None) -> None:
        """How layers are shared out over the GPUs; None leaves it to the planner."""
        wishes = dataclasses.replace(self.choices.wishes, tensor_split=shares)
        if self.choices.settings is None:
            self._choose(PlanChoices(wishes))
        else:
            self._arrange(self.choices.settings, wishes)

    def apply(self, remedy: Remedial, models: Sequence[LocalModel]) -> None:
        """Do what a remedy says.

        Args:
            remedy: one that says something which can be done here.
            models: the family, for one that takes another quantization.
        """
        model = next((each for each in models if each.id == remedy.model_id), self.model)
        wishes = remedy.wishes
        if model is None or wishes is None:
            return
        if not wishes.fixes_layers:
            self._take(model, self._family, PlanChoices(wishes))
            self._keep_soon()
            return
        operation = self._bridge.services.plans.find(model, wishes)
        report = self._bridge.navigation.report
        self._bridge.watch(
            operation, partial(self._on_arranged, self.model, model), report, owner=self
        )

    def set_options(self, options: EngineOptions) -> None:
        """What the engine is told besides the placement; kept for the model at once."""
        if self.model is None:
            return
        try:
            self._bridge.services.plans.set_options(self.model, options)
        except SettingsError as error:
            self._bridge.navigation.report(error)
        own = self.choices.settings
        if own is not None:
            own = dataclasses.replace(own, options=options)
            self.choices = dataclasses.replace(self.choices, settings=own)
        self._work()  # a search that runs already knows older ones

    def refresh(self) -> None:
        """Machine or engine are others: everything is priced again."""
        if self.model is not None:
            self._work()

    def take_engine(self) -> None:
        """Another engine may have been chosen: plans are for that one then."""
        if self.model is None:
            return
        now = self._bridge.services.engine.settings_for(self.model)
        options = now.options if now.server else self._bridge.services.plans.options(self.model)
        engine = {"kind": now.kind, "binary": now.binary, "options": options}
        before = self.settings
        if before is None or all(getattr(before, name) == engine[name] for name in engine):
            return
        own = self.choices.settings
        if own is not None:
            own = dataclasses.replace(own, **engine)  # type: ignore[arg-type]
            self.choices = dataclasses.replace(self.choices, settings=own)
        self._work()

    def keep(self) -> None:
        """Remember the choices, unless they are the user's own and do not fit."""
        self._keep.stop()
        if self.model is None or self._is_kept:
            return
        self._is_kept = True
        fits = self.priced is not None and self.priced.plan.fits
        if self.is_auto or fits:
            try:
                self._bridge.services.plans.remember(self.model, self.choices)
            except SettingsError as error:
                self._bridge.navigation.report(error)

    # inside

    def _arrange(self, settings: LoadSettings, wishes: Wishes) -> None:
        """The user's layers, spread over the GPUs as wished."""
        assert self.model is not None  # callers have one
        try:
            settings = self._bridge.services.plans.arrange(
                settings, self.model, wishes.tensor_split
            )
        except PlanError as error:
            self._bridge.navigation.report(error)
            return
        self._choose(PlanChoices(wishes, settings))

    def _timer(self, after_ms: int, run: Any) -> QTimer:  # noqa: ANN401 - any slot
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(after_ms)
        timer.timeout.connect(run)
        return timer

    def _profile(self) -> Profile:
        return self._bridge.services.plans.profile

    def _take(self, model: LocalModel, family: Sequence[LocalModel], choices: PlanChoices) -> None:
        if model != self.model:
            self.priced = self._later = None
        self.model, self._family, self.choices = model, tuple(family), choices
        self._fallback = None
        self._work()

    def _choose(self, choices: PlanChoices) -> None:
        if choices != self.choices:
            self.choices = choices
            self._keep_soon()
            self._work()

    def _keep_soon(self) -> None:
        self._is_kept = False
        self._keep.start()

    def _work(self) -> None:
        """Search or price, then the other quantizations."""
        model = self.model
        assert model is not None  # callers have one
        self._idle.stop()
        self._rest.stop()
        self.changes = ()
        self._unpriced = deque(each for each in self._family if each.id != model.id)
        plans = self._bridge.services.plans
        if self.choices.settings is None:
            find = partial(plans.find, model, self.choices.wishes, self._family)
            self._search.ask(
                find, partial(self._on_found, model), partial(self._on_not_found, model)
            )
            self.changed.emit()
            return
        try:
            self.priced = plans.price(self.choices.settings, model, self.choices.wishes.profile)
            self.error = None
        except PlanError as error:
            self.priced, self.error = None, error
        else:
            if not self.priced.plan.fits:
                self._rest.start()
        self._idle.start()
        self.changed.emit()

    def _on_found(self, model: LocalModel, priced: PricedLoad) -> None:
        if model is self.model and self.is_auto:
            self.priced, self.error = priced, None
            later, self._later = self._later, None
            if later is not None:
                later()
                return
            self._idle.start()
            self._rest.start()
            self.changed.emit()

    def _on_not_found(self, model: LocalModel, error: BaseException) -> None:
        if not isinstance(error, KimiError):
            self._bridge.navigation.report(error)
        elif model is self.model and self.is_auto:
            self.priced, self.error = None, error
            self._fallback = self._bridge.services.engine.settings_for(model)
            self.changed.emit()

    def _on_arranged(self, asked: LocalModel | None, model: LocalModel, priced: PricedLoad) -> None:
        """Layers as the user wanted them, with one more change that makes them fit."""
        if self.model is asked:
            choices = dataclasses.replace(self.choices, settings=priced.settings)
            self._take(model, self._family, choices)
            self._keep_soon()

    def _find_help(self) -> None:
        model, priced = self.model, self.priced
        if model is None or priced is None or model.facts is None:
            return
        if self.is_auto:
            self._find_changes(model, priced)
            return
        wishes = steps.wishes_of(priced, self.choices.wishes.profile, model.facts)
        plans = self._bridge.services.plans
        self._help.ask(
            partial(plans.find_remedies, priced, model, wishes, self._family),
            partial(self._on_helped, priced),
            self._bridge.navigation.report,
        )

    def _find_changes(self, model: LocalModel, priced: PricedLoad) -> None:
        if priced.plan.fits and not self._search.is_busy:
            wishes = self.choices.wishes
            self._help.ask(
                partial(
                    self._bridge.services.plans.find_changes, priced, model, wishes, self._family
                ),
                partial(self._on_changes, priced),
                self._bridge.navigation.report,
            )

    def _on_changes(self, asked: PricedLoad, changes: tuple[PlanChange, ...]) -> None:
        if self.priced is asked and self.is_auto:
            self.changes = changes
            self.changed.emit()

    def _on_helped(self, asked: PricedLoad, helped: PricedLoad) -> None:
        if self.priced is asked:
            self.priced = helped
            self.changed.emit()

    def _price_sibling(self) -> None:
        """The next of the other quantizations; a search that runs goes first."""
        if not self._unpriced or self.model is None:
            return
        if self._search.is_busy:
            self._idle.start()
            return
        sibling = self._unpriced.popleft()
        plans = self._bridge.services.plans
        settings = self.choices.settings
        if settings is None:
            self._search.ask(
                partial(plans.find, sibling, self.choices.wishes),
                partial(self._on_sibling, self.choices, sibling),
                lambda _: self._price_next(),
            )
            return
        settings = dataclasses.replace(settings, model_path=sibling.path)
        try:
            priced = plans.price(settings, sibling, self.choices.wishes.profile)
        except PlanError:
            pass  # it keeps its row without a verdict
        else:
            self.sibling_priced.emit(sibling, priced)
        self._price_next()

    def _price_next(self) -> None:
        QTimer.singleShot(0, self, self._price_sibling)

    def _on_sibling(self, asked: PlanChoices, sibling: LocalModel, priced: PricedLoad) -> None:
        if asked == self.choices:
            self.sibling_priced.emit(sibling, priced)
            self._price_next()
