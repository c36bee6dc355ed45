"""Plans for the library's models: searched, priced, remembered. ``ui.bridge.PlanService`` for real.

Pricing is arithmetic of about 1 ms and is done by whoever asks; a search (2 to 35 ms) runs in the
pool. What a search has found is remembered as the planner's own, so that a start of it leaves the
planner in charge of that model.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache

from kimi_desktop.backends.defaults import default_settings, is_plannable, usual_plan
from kimi_desktop.backends.placed import gpus_of, launch_of_settings, settings_of
from kimi_desktop.backends.plan_changes import Planned, plan_changes
from kimi_desktop.backends.plan_siblings import quality_of, siblings_of
from kimi_desktop.backends.plan_words import change_words, plan_words
from kimi_desktop.backends.remembered import (
    PLACES,
    auto_entry_of,
    changes_of,
    entry_of,
    is_auto,
    options_entry_of,
    options_of,
    wishes_of,
)
from kimi_desktop.backends.remembered_server import server_entry_of, server_settings_of
from kimi_desktop.backends.types import (
    EngineOptions,
    LoadSettings,
    PlanChange,
    PlanChoices,
    PlanWords,
    PricedLoad,
    Remedial,
)
from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.as_is import plan_as_is
from kimi_desktop.planner.host_settings import threads_for
from kimi_desktop.planner.limits import speed_limits
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import (
    Alternative,
    Plan,
    Profile,
    Remedy,
    SpeedRule,
    Wishes,
)
from kimi_desktop.planner.profiles import RULES
from kimi_desktop.planner.rpc import own_gpus, rpc_devices
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import plan_input, speed_rule
from kimi_desktop.planner.speed_types import SpeedInput
from kimi_desktop.planner.tiers import at_rest
from kimi_desktop.planner.types import ModelShape

PROMPT_TOKENS = 2_048
OTHER_PROMPTS = (200, 32_768)
FOUND_KEPT = 64


class LoadPlanner:
    """Thread-safe where it is asked; owns nothing but what searches have found."""

    def __init__(
        self,
        io: IoLoop,
        store: SettingsStore,
        *,
        machine: Callable[[], Machine | None],
        begin: Callable[[LocalModel], LoadSettings],
        uses_gpus: Callable[[LoadSettings], bool],
        factors: Callable[[], Factors | None] = lambda: None,
    ) -> None:
        """Join it to the engine.

        Args:
            io: its pool.
            store: where choices are kept.
            machine: what plans are for; None before the first look.
            begin: file, engine and template of a model.
            uses_gpus: the engine of some settings was built for GPUs.
            factors: of speed, as learned on this machine.
        """
        self._factors = factors
        self._io = io
        self._store = store
        self._machine = machine
        self._begin = begin
        self._uses_gpus = uses_gpus
        self._found: OrderedDict[LoadSettings, Wishes] = OrderedDict()
        self._lock = threading.Lock()

    # what was chosen

    @property
    def profile(self) -> Profile:
        """Of models for which none was chosen."""
        try:
            return Profile(self._store.settings.engine.profile)
        except ValueError:
            return Profile.SAFE

    def choices(self, model: LocalModel) -> PlanChoices:
        """What the user chose for this model, else Auto without any wish."""
        entry = self._entry(model)
        wishes = self._wishes(entry)
        return PlanChoices(wishes, None if is_auto(entry) else self.settings_for(model))

    def remember(self, model: LocalModel, choices: PlanChoices) -> None:
        """Keep it for the next time.

        Raises:
            SettingsError: it holds, but was not saved.
        """
        settings = choices.settings
        if settings is None:
            self._keep(model.id, auto_entry_of(choices.wishes, self.profile))
        elif settings.server is not None:
            self._keep(model.id, server_entry_of(settings.server))
        else:
            self._keep(model.id, entry_of(settings))

    def options(self, model: LocalModel) -> EngineOptions:
        """What llama.cpp is told of this model besides a placement."""
        return options_of(self._store.settings.engine.options.get(model.id, {}))

    def set_options(self, model: LocalModel, options: EngineOptions) -> None:
        """Keep them for this model.

        Raises:
            SettingsError: they hold, but were not saved.
        """
        entry = options_entry_of(options)

        def change(before: Settings) -> Settings:
            others = {key: kept for key, kept in before.engine.options.items() if key != model.id}
            kept = {**others, model.id: entry} if entry else others
            engine = dataclasses.replace(before.engine, options=kept)
            return dataclasses.replace(before, engine=engine)

        self._store.update(change)

    def note_start(self, settings: LoadSettings) -> None:
        """These are started: what a search found stays the planner's, all else is the user's.

        Raises:
            SettingsError: it holds, but was not saved.
        """
        if settings.server is not None:
            self._keep(str(settings.model_path), server_entry_of(settings.server))
            return
        with self._lock:
            wishes = self._found.get(settings)
        entry = entry_of(settings) if wishes is None else auto_entry_of(wishes, self.profile)
        self._keep(str(settings.model_path), entry)

    def settings_for(self, model: LocalModel) -> LoadSettings:
        """What the user last chose for this model, else what the planner finds for this machine."""
        machine = self._machine()
        begin = self._begin_with(model)
        entry = self._entry(model)
        if begin.server is not None:
            kept_server = server_settings_of(entry)
            wishes_here = dataclasses.replace(kept_server.wishes, engine=begin.server.wishes.engine)
            server = dataclasses.replace(kept_server, wishes=wishes_here)
            return dataclasses.replace(begin, server=server)
        kept = {}
        if not is_auto(entry):
            own = own_gpus(machine) if machine else 0
            kept = changes_of(entry, own, rpc_devices(machine) if machine else ())
        if kept and not PLACES.isdisjoint(kept):
            return dataclasses.replace(begin, **kept)
        wishes = self._for_engine(self._wishes(entry), begin)
        found = default_settings(begin, model, machine, wishes, self._factors())
        if kept:
            return dataclasses.replace(found, **kept)
        self._note_found(found, wishes)
        return found

    # plans

    def find(
        self, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel] | None = None
    ) -> Operation[PricedLoad]:
        """Search the best plan.

        Args:
            model: what to load.
            wishes: of the user.
            others: models of the same family, offered when this one does not fit; None = it is
                not asked what would help then.

        Raises (from the operation):
            PlanError: a wish that no engine can fulfil; no header, or no look at the machine yet.
        """
        begin = self._begin_with(model)
        machine = self._machine()
        wanted = self._for_engine(wishes, begin)
        return self._io.pool(self._search, model, wanted, others, begin, machine)

    def find_remedies(
        self, priced: PricedLoad, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel]
    ) -> Operation[PricedLoad]:
        """The same load of the user's own, with what would make it fit.

        Args:
            priced: from ``price``; it does not fit.
            model: what to load.
            wishes: the user's settings as wishes, the layers included.
            others: models of the same family.
        """
        machine = self._machine()
        wanted = self._for_engine(wishes, priced.settings)
        return self._io.pool(self._search_remedies, priced, model, wanted, tuple(others), machine)

    def find_changes(
        self, priced: PricedLoad, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel]
    ) -> Operation[tuple[PlanChange, ...]]:
        """What would be if one thing of a plan that fits were another.

        Args:
            priced: from ``find``, with ``wishes``.
            model: what is planned.
            wishes: of the user.
            others: models of the same family.
        """
        machine = self._machine()
        wanted = self._for_engine(wishes, priced.settings)
        return self._io.pool(self._search_changes, priced, model, wanted, tuple(others), machine)

    def price(self, settings: LoadSettings, model: LocalModel, profile: Profile) -> PricedLoad:
        """What is forecast of settings as they are.

        Args:
            settings: the user's own.
            model: what to load.
            profile: says how much of every device should stay free.

        Raises:
            PlanError: no header, or no look at the machine yet.
        """
        shape, machine = self._known(model, self._machine())
        plan = self._as_is(settings, shape, machine, profile)
        return self._priced(shape, machine, settings, plan)

    def work_of(self, settings: LoadSettings, model: LocalModel, kept_tokens: int) -> SpeedInput:
        """What the engine reads and computes with these settings: what a run is learned from.

        Args:
            settings: of the running engine.
            model: what it has loaded.
            kept_tokens: in the cache, on average.

        Raises:
            PlanError: no header, or no look at the machine yet.
        """
        shape, machine = self._known(model, self._machine())
        resting = at_rest(machine)  # by now the model itself is among what is used
        plan = self._as_is(settings, shape, resting, self.profile)
        return plan_input(shape, plan, resting, kept_tokens=kept_tokens)

    def _as_is(
        self, settings: LoadSettings, shape: ModelShape, machine: Machine, profile: Profile
    ) -> Plan:
        launch = launch_of_settings(settings, threads_for(machine, Wishes())[0])
        return plan_as_is(
            shape,
            machine,
            launch,
            gpus_of(settings, machine, uses_gpus=self._uses_gpus(settings)),
            rule=self._rule(shape, machine),
            reserve_share=RULES[profile].reserve_share,
        )

    def arrange(
        self,
        settings: LoadSettings,
        model: LocalModel,
        split: tuple[float, ...] | None = None,
    ) -> LoadSettings:
        """The same layers on GPUs and experts in RAM, spread anew over the GPUs.

        Args:
            settings: of the user's own.
            model: with its facts.
            split: a share for each GPU of the machine; None = as the planner would.

        Raises:
            PlanError: no header, or no look at the machine yet; more layers than there are.
        """
        shape, machine = self._known(model, self._machine())
        wishes = Wishes(
            context=settings.context,
            cache_type=settings.cache_type,
            n_parallel=settings.n_parallel,
            n_gpu_layers=settings.n_gpu_layers,
            n_cpu_moe=settings.n_cpu_moe,
            tensor_split=split,
            n_batch=settings.n_batch,
            n_ubatch=settings.n_ubatch,
        )
        wanted = self._for_engine(wishes, settings)
        rule = self._rule(shape, machine)
        plan = find_plan(shape, machine, wanted, rule=rule, with_remedies=False)
        found = settings_of(plan, settings, machine)
        places = {name: getattr(found, name) for name in PLACES}
        return dataclasses.replace(settings, **places)

    def quality(self, model: LocalModel, language: Language) -> str:
        """What its quantization does to the answers, as far as the catalogue knows; else ""."""
        quality = quality_of(model)
        return message(f"forecast.quality.{quality}", language) if quality else ""

    def change_words(
        self, changes: Sequence[PlanChange], priced: PricedLoad, language: Language
    ) -> tuple[Remedial, ...]:
        """What changes of a plan would bring, in words."""
        return tuple(change_words(each, priced, language) for each in changes)

    def words(self, priced: PricedLoad, language: Language) -> PlanWords:
        """A priced load in words."""
        return plan_words(priced, language)

    # inside

    def _begin_with(self, model: LocalModel) -> LoadSettings:
        begin = self._begin(model)
        if begin.server is not None:
            return begin
        return dataclasses.replace(begin, options=self.options(model))

    def _wishes(self, entry: dict[str, int | str]) -> Wishes:
        """Those that are kept; shares are for the GPUs that there were."""
        wishes, machine = wishes_of(entry, self.profile), self._machine()
        split = wishes.tensor_split
        if split and (not any(split) or (machine and len(split) != len(machine.gpus))):
            wishes = dataclasses.replace(wishes, tensor_split=None)
        return wishes

    def _entry(self, model: LocalModel) -> dict[str, int | str]:
        return dict(self._store.settings.engine.loads.get(model.id, {}))

    def _keep(self, model_id: str, entry: dict[str, int | str]) -> None:
        def change(before: Settings) -> Settings:
            loads = {**before.engine.loads, model_id: entry}
            engine = dataclasses.replace(before.engine, loads=loads)
            return dataclasses.replace(before, engine=engine)

        if self._store.settings.engine.loads.get(model_id) != entry:
            self._store.update(change)

    def _for_engine(self, wishes: Wishes, settings: LoadSettings) -> Wishes:
        return dataclasses.replace(wishes, uses_gpus=self._uses_gpus(settings))

    def _known(self, model: LocalModel, machine: Machine | None) -> tuple[ModelShape, Machine]:
        if machine is None or not is_plannable(model):
            raise PlanError(ErrorCode.PLAN_NO_HEADER, {"name": model.title})
        assert model.facts is not None  # a plannable model has them
        return shape_of(model.facts), machine

    def _rule(self, shape: ModelShape, machine: Machine) -> SpeedRule:
        return _rule(shape, machine, self._factors())

    def _search(
        self,
        model: LocalModel,
        wishes: Wishes,
        others: Sequence[LocalModel] | None,
        begin: LoadSettings,
        machine: Machine | None,
    ) -> PricedLoad:
        shape, known = self._known(model, machine)
        siblings = siblings_of(model, others or ())
        helps = others is not None
        rule = self._rule(shape, known)
        plan = find_plan(shape, known, wishes, rule=rule, siblings=siblings, with_remedies=helps)
        settings = settings_of(plan, begin, known)
        if not wishes.fixes_layers:
            self._note_found(settings, wishes)
        return self._priced(shape, known, settings, plan)

    def _search_remedies(
        self,
        priced: PricedLoad,
        model: LocalModel,
        wishes: Wishes,
        others: Sequence[LocalModel],
        machine: Machine | None,
    ) -> PricedLoad:
        shape, known = self._known(model, machine)
        rule = self._rule(shape, known)
        plan = find_plan(shape, known, wishes, rule=rule, siblings=siblings_of(model, others))
        found = plan.alternatives
        if plan.fits:  # the same layers, spread better over the GPUs
            seconds = plan.seconds_per_token
            found = (Alternative(Remedy.SPREAD, {}, seconds, wishes), *found)
        return dataclasses.replace(
            priced, plan=dataclasses.replace(priced.plan, alternatives=found)
        )

    def _search_changes(
        self,
        priced: PricedLoad,
        model: LocalModel,
        wishes: Wishes,
        others: Sequence[LocalModel],
        machine: Machine | None,
    ) -> tuple[PlanChange, ...]:
        shape, known = self._known(model, machine)
        siblings = [
            Planned(each, shape_of(each.facts), quality_of(each))
            for each in others
            if each.id != model.id and each.facts is not None and is_plannable(each)
        ]
        factors = self._factors()

        def search(target: ModelShape, other: Wishes) -> Plan:
            return usual_plan(target, known, other, factors)

        return plan_changes(Planned(model, shape), priced.plan, wishes, siblings, search)

    def _priced(
        self, shape: ModelShape, machine: Machine, settings: LoadSettings, plan: Plan
    ) -> PricedLoad:
        setup, factors = plan_input(shape, plan, machine), self._factors()
        speed = forecast_speed(setup, PROMPT_TOKENS, factors=factors)
        others = tuple(
            (tokens, forecast_speed(setup, tokens, factors=factors).first_token_s)
            for tokens in OTHER_PROMPTS
        )
        return PricedLoad(settings, plan, speed, others, speed_limits(setup, speed))

    def _note_found(self, settings: LoadSettings, wishes: Wishes) -> None:
        with self._lock:
            self._found[settings] = wishes
            self._found.move_to_end(settings)
            while len(self._found) > FOUND_KEPT:
                self._found.popitem(last=False)


@lru_cache(maxsize=8)
def _rule(shape: ModelShape, machine: Machine, factors: Factors | None) -> SpeedRule:
    """Worked out once for all moves of a slider."""
    return speed_rule(shape, machine, factors=factors)
