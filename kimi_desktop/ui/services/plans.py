"""Plans: what would be held where, by llama.cpp and by server engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kimi_desktop.backends.nodes.offer import NodesOffer
from kimi_desktop.backends.nodes.types import NodeFacts
from kimi_desktop.backends.server_facts import BuildFacts
from kimi_desktop.backends.server_planner import ServerOffer
from kimi_desktop.backends.types import (
    EngineOptions,
    LoadSettings,
    PlanChange,
    PlanChoices,
    PlanWords,
    PricedLoad,
    Remedial,
)
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.vllm_types import ServerWishes


class ServerPlanService(Protocol):
    """Plans for checkpoints, which server engines load."""

    def find(self, model: LocalModel, wishes: ServerWishes) -> Operation[ServerOffer]:
        """How it would be served here.

        Raises (from the operation):
            ModelError: a file of it is damaged or missing.
            PlanError: a wish that no engine can fulfil.
        """

    def words(
        self, offer: ServerOffer, build: str, language: Language, *, on_cpu: bool = False
    ) -> tuple[str, ...]:
        """The offer in sentences, the weightiest first."""

    def ask(self, settings: LoadSettings) -> Operation[BuildFacts | None]:
        """What the engine of these settings can do; up to half a minute the first time.

        Raises (from the operation):
            BackendError: it is not there, too old, or does not run.
            ModelError: a file of the model is damaged or missing.
        """

    def planned(
        self, settings: LoadSettings, offer: ServerOffer, *, on_cpu: bool = False
    ) -> LoadSettings:
        """The same settings as a start would settle them by this offer, for showing."""

    def for_nodes(
        self,
        model: LocalModel,
        offer: ServerOffer,
        wishes: ServerWishes,
        nodes: str,
        *,
        trusts_code: bool,
    ) -> Operation[NodesOffer | None]:
        """The same on several machines like this one; None without a GPU.

        Raises (from the operation):
            BackendError: the machines are not named right.
            PlanError: it cannot be dealt out to so many.
        """

    def check_nodes(self, model: LocalModel, nodes: str) -> Operation[tuple[NodeFacts, ...]]:
        """Ask the machines over ssh whether they can serve the model together.

        Raises (from the operation):
            BackendError: the first thing that is wrong.
        """


class PlanService(Protocol):
    """Plans for the library's models. Pricing takes about 1 ms, a search runs in the pool."""

    @property
    def profile(self) -> Profile:
        """Of models for which none was chosen."""

    def choices(self, model: LocalModel) -> PlanChoices:
        """What the user chose for this model, else Auto without any wish."""

    def remember(self, model: LocalModel, choices: PlanChoices) -> None:
        """Keep it for the next time.

        Raises:
            SettingsError: it holds, but was not saved.
        """

    def find(
        self, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel] | None = None
    ) -> Operation[PricedLoad]:
        """Search the best plan.

        ``others`` of the family are offered when the model does not fit; None asks for no help.

        Raises (from the operation):
            PlanError: a wish that no engine can fulfil; no header, or no look at the machine yet.
        """

    def find_remedies(
        self, priced: PricedLoad, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel]
    ) -> Operation[PricedLoad]:
        """The same load of the user's own, with what would make it fit.

        ``wishes`` are the user's settings as wishes, the layers included.
        """

    def find_changes(
        self, priced: PricedLoad, model: LocalModel, wishes: Wishes, others: Sequence[LocalModel]
    ) -> Operation[tuple[PlanChange, ...]]:
        """What would be if one thing of a found plan that fits were another."""

    def change_words(
        self, changes: Sequence[PlanChange], priced: PricedLoad, language: Language
    ) -> tuple[Remedial, ...]:
        """What changes of a plan would bring, in words."""

    def price(self, settings: LoadSettings, model: LocalModel, profile: Profile) -> PricedLoad:
        """What is forecast of settings as they are; the profile says what should stay free.

        Raises:
            PlanError: no header, or no look at the machine yet.
        """

    def arrange(
        self,
        settings: LoadSettings,
        model: LocalModel,
        split: tuple[float, ...] | None = None,
    ) -> LoadSettings:
        """The same layers on GPUs and experts in RAM, spread anew over the GPUs.

        ``split`` has a share for each GPU of the machine, None leaves it to the planner.

        Raises:
            PlanError: no header, or no look at the machine yet; more layers than there are.
        """

    def options(self, model: LocalModel) -> EngineOptions:
        """What llama.cpp is told of this model besides a placement."""

    def set_options(self, model: LocalModel, options: EngineOptions) -> None:
        """Keep them for this model.

        Raises:
            SettingsError: they hold, but were not saved.
        """

    def quality(self, model: LocalModel, language: Language) -> str:
        """What its quantization does to the answers, as far as the catalogue knows; else ""."""

    def words(self, priced: PricedLoad, language: Language) -> PlanWords:
        """A priced load in words."""
