"""What is planned for one checkpoint: choices, the newest answer, what the engine can do. Qt."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from kimi_desktop.backends.server_facts import BuildFacts
from kimi_desktop.backends.server_planner import ServerOffer
from kimi_desktop.backends.types import EngineKind, LoadSettings, PlanChoices, VllmSettings
from kimi_desktop.base.errors import KimiError, SettingsError
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.vllm_types import ServerWishes
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.latest import LatestOnly
from kimi_desktop.ui.model_picker import select_model

KEEP_MS = 1000
"""After the last change: the choices are kept for the next time."""


class ServerPlanning(QObject):
    """``changed``: choices, answer or engine are others."""

    changed = Signal()

    def __init__(
        self, bridge: Bridge, parent: QObject | None = None, *, keeps: bool = False
    ) -> None:
        """``keeps``: choices are remembered as they are made, not only by a start."""
        super().__init__(parent)
        self._bridge = bridge
        self._keeps = keeps
        self.model: LocalModel | None = None
        self.settings: LoadSettings | None = None
        """The engine, and what was chosen for it."""
        self.offer: ServerOffer | None = None
        """The newest answer; of an older wish while a plan is made."""
        self.error: KimiError | None = None
        """Why there is no answer."""
        self.facts: BuildFacts | None = None
        """What the engine can do, once it was asked."""
        self.engine_error: KimiError | None = None
        self.allowed = False
        """The model's own code may run."""
        self._plans = LatestOnly(bridge, self)
        self._engine = LatestOnly(bridge, self)
        self._keep = QTimer(self)
        self._keep.setSingleShot(True)
        self._keep.setInterval(KEEP_MS)
        self._keep.timeout.connect(self.keep)

    # what it is

    @property
    def special(self) -> VllmSettings:
        """What was chosen."""
        settings = self.settings
        return (settings.server if settings is not None else None) or VllmSettings()

    @property
    def wishes(self) -> ServerWishes:
        """The part of it that is planned with."""
        return self.special.wishes

    @property
    def build(self) -> str:
        """The engine's name; "" when it is not installed."""
        settings = self.settings
        return self._bridge.services.engine.name_of(settings) if settings is not None else ""

    @property
    def engine_title(self) -> str:
        """Which kind of engine serves it."""
        return engine_title(self.settings)

    @property
    def on_cpu(self) -> bool:
        """The engine was built without GPUs."""
        settings, engine = self.settings, self._bridge.services.engine
        return bool(self.build) and settings is not None and not engine.uses_gpus(settings)

    @property
    def is_changed(self) -> bool:
        """There is something to take back."""
        kept = self._untouched()
        return self.model is not None and self.special != kept

    @property
    def can_start(self) -> bool:
        """It fits, its code was allowed and there is an engine."""
        offer = self.offer
        if offer is None or not self.build or self.engine_error is not None:
            return False
        fits = self.on_cpu or (offer.plan is not None and offer.plan.fits)
        return fits and (not offer.code.files or self.allowed)

    def words(self) -> tuple[str, ...]:
        """The answer in sentences."""
        if self.offer is None:
            return ()
        return self._bridge.services.servers.words(
            self.offer, self.build, language(), on_cpu=self.on_cpu
        )

    def command(self) -> tuple[str, ...]:
        """What would be run, without key and address; empty where that cannot be said."""
        offer, settings = self.offer, self.settings
        if offer is None or settings is None or not self.build:
            return ()
        services = self._bridge.services
        try:
            shown = self._allowing(services.servers.planned(settings, offer, on_cpu=self.on_cpu))
            return services.engine.command_line(shown)
        except KimiError:
            return ()

    # what the user does

    def begin(self, model: LocalModel) -> None:
        """Plan a model as it was last served."""
        self.keep()
        self.model, self.offer, self.error = model, None, None
        self.settings = self._bridge.services.engine.settings_for(model)
        self._ask_engine()
        self.refresh()

    def take_engine(self) -> None:
        """Another Python may have been chosen: the plan is for that one then."""
        if self.model is None or self.settings is None:
            return
        now = self._bridge.services.engine.settings_for(self.model)
        if now.binary != self.settings.binary:
            self.settings = dataclasses.replace(self.settings, binary=now.binary)
            self._ask_engine()
            self.refresh()

    def wish(self, **fields: Any) -> None:  # noqa: ANN401 - what the field holds
        """Wishes by name; the plan follows."""
        self.take(dataclasses.replace(self.wishes, **fields))

    def take(self, wishes: ServerWishes) -> None:
        """All wishes at once."""
        if wishes != self.wishes:
            self._choose(dataclasses.replace(self.special, wishes=wishes))
            self.refresh()

    def put(self, **fields: Any) -> None:  # noqa: ANN401 - what the field holds
        """Settings that no plan depends on: name, parsers, cache in RAM."""
        self._choose(dataclasses.replace(self.special, **fields))
        self.changed.emit()

    def reset(self) -> None:
        """Leave everything to the planner again; consent stays."""
        self._choose(self._untouched())
        self.refresh()

    def allow(self, allowed: bool) -> None:
        """Let the model's own code run, or not."""
        self.allowed = allowed
        self.changed.emit()

    def refresh(self) -> None:
        """Plan as things are."""
        model = self.model
        if model is None:
            return
        find = partial(self._bridge.services.servers.find, model, self.wishes)
        self._plans.ask(find, partial(self._on_offer, model), partial(self._on_failed, model))
        self.changed.emit()

    def start(self) -> None:
        """Start it as it is chosen, with consent to exactly the code that was shown."""
        model, settings = self.model, self.settings
        if model is not None and settings is not None and self.can_start:
            self._keep.stop()  # a start remembers
            select_model(self._bridge, model)
            self._bridge.navigation.start_engine(self._allowing(settings))

    def keep(self) -> None:
        """Remember what was chosen since the last time."""
        if self._keep.isActive() and self.model is not None:
            self._keep.stop()
            try:
                self._bridge.services.plans.remember(
                    self.model, PlanChoices(Wishes(), self.settings)
                )
            except SettingsError as error:
                self._bridge.navigation.report(error)

    # inside

    def _untouched(self) -> VllmSettings:
        """Nothing chosen but the engine and consent."""
        wishes = ServerWishes(engine=self.wishes.engine)
        special = self.special
        return VllmSettings(
            wishes=wishes, trusted_code=special.trusted_code, sandbox=special.sandbox
        )

    def _ask_engine(self) -> None:
        self.facts, self.engine_error = None, None
        settings = self.settings
        if settings is not None and settings.binary is not None:
            self._engine.ask(
                partial(self._bridge.services.servers.ask, settings),
                partial(self._on_facts, settings),
                partial(self._on_no_engine, settings),
            )

    def _choose(self, special: VllmSettings) -> None:
        assert self.settings is not None  # controls are shown for a model
        self.settings = dataclasses.replace(self.settings, server=special)
        if self._keeps:
            self._keep.start()

    def _allowing(self, settings: LoadSettings) -> LoadSettings:
        digest = self.offer.code.digest if self.offer is not None and self.allowed else ""
        special = dataclasses.replace(settings.server or VllmSettings(), trusted_code=digest)
        return dataclasses.replace(settings, server=special)

    def _on_offer(self, model: LocalModel, offer: ServerOffer) -> None:
        if model is not self.model:
            return
        before = self.offer.code.digest if self.offer is not None else None
        if before != offer.code.digest:  # consent is for the code that was shown
            self.allowed = bool(offer.code.digest) and (
                offer.code.digest == self.special.trusted_code
            )
        self.offer, self.error = offer, None
        self.changed.emit()

    def _on_failed(self, model: LocalModel, error: BaseException) -> None:
        if not isinstance(error, KimiError):
            self._bridge.navigation.report(error)
        elif model is self.model:
            self.offer, self.error = None, error
            self.changed.emit()

    def _on_facts(self, asked: LoadSettings, facts: BuildFacts | None) -> None:
        if self._is_of(asked):
            self.facts = facts
            self.changed.emit()

    def _on_no_engine(self, asked: LoadSettings, error: BaseException) -> None:
        if not isinstance(error, KimiError):
            self._bridge.navigation.report(error)
        elif self._is_of(asked):
            self.engine_error = error
            self.changed.emit()

    def _is_of(self, asked: LoadSettings) -> bool:
        now = self.settings
        return now is not None and (now.model_path, now.binary) == (asked.model_path, asked.binary)


def engine_title(settings: LoadSettings | None) -> str:
    """Of a server engine, whether it is installed or not."""
    is_sglang = settings is not None and settings.kind is EngineKind.SGLANG
    return "SGLang" if is_sglang else "vLLM"
