"""Plans for server engines: what the window shows, and what a start settles. ``ServerPlans``.

Reading a checkpoint's headers and planning runs in the pool; a start of settings without a plan
makes one. Nothing here starts a program.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.model_code import ModelCode, code_of
from kimi_desktop.backends.nodes.checks import check_here, check_nodes
from kimi_desktop.backends.nodes.offer import NodesOffer, NodesWish, offer_nodes
from kimi_desktop.backends.nodes.types import NodeFacts, typed_nodes
from kimi_desktop.backends.sandbox import find_sandbox
from kimi_desktop.backends.server_facts import BuildFacts, facts_of, lacking
from kimi_desktop.backends.server_needs import asked_flags, needed_beside, parsers_of
from kimi_desktop.backends.types import (
    SERVER_ENGINES,
    EngineKind,
    LoadSettings,
    VllmSettings,
)
from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.units import GIB
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue_types import Catalogue, CatalogueModel, Engine, EngineFloor
from kimi_desktop.models.hf_folder import HfModel, read_folder
from kimi_desktop.models.types import LocalModel
from kimi_desktop.models.will_load import version_findings
from kimi_desktop.planner.vllm_choices import SplitChoices, problem_of, split_choices
from kimi_desktop.planner.vllm_nodes import PROGRAM
from kimi_desktop.planner.vllm_presets import OfferedPreset, presets_for
from kimi_desktop.planner.vllm_report import (
    needed_sentence,
    problem_sentence,
    server_decisions,
    server_headline,
)
from kimi_desktop.planner.vllm_search import plan_server
from kimi_desktop.planner.vllm_types import (
    CacheFormat,
    ServerPlan,
    ServerSettings,
    ServerWishes,
)
from kimi_desktop.planner.vllm_weights import VllmModel, weigh

CPU_CONTEXT = 4_096
"""Of a build without GPUs, when nothing is wished: its cache is in RAM."""
CPU_CACHE_SHARE = 4
"""One part in so many of the free memory."""
MOST_CPU_CACHE_GIB = 4
_CATALOGUE_ENGINES = {EngineKind.VLLM: Engine.VLLM, EngineKind.SGLANG: Engine.SGLANG}
_KINDS = {engine: kind for kind, engine in SERVER_ENGINES.items()}


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """How a checkpoint would be served here."""

    plan: ServerPlan | None
    """None before the first look at the machine."""
    code: ModelCode
    """What it would run of its own; no files = it needs none."""
    min_version: str
    """Of the engine, by the catalogue; "" = not known."""
    broken_versions: tuple[str, ...]
    model: VllmModel
    machine: Machine | None
    floor: EngineFloor | None
    choices: SplitChoices | None = None
    """Value by value; None without GPUs."""
    presets: tuple[OfferedPreset, ...] = ()
    tool_parser: str = ""
    """By the catalogue, or by the kind of model."""
    reasoning_parser: str = ""
    flags: tuple[str, ...] = ()
    """That the model asks for besides, with their values."""
    has_sandbox: bool = False
    """Its own code could run shut in on this system."""


def nodes_of(
    model: LocalModel, offer: ServerOffer, wishes: ServerWishes, nodes: str, *, trusts_code: bool
) -> NodesOffer | None:
    """See ``ServerPlanner.for_nodes``."""
    if offer.machine is None:
        return None
    wish = NodesWish(
        offer.model, str(model.path), offer.machine, wishes, offer.flags, nodes, trusts_code
    )
    return offer_nodes(wish)


class ServerPlanner:
    """One per program."""

    def __init__(
        self,
        io: IoLoop,
        *,
        machine: Callable[[], Machine | None],
        catalogue: Callable[[], Catalogue],
        probe: Callable[[LoadSettings], Awaitable[EngineBuild]] | None = None,
    ) -> None:
        """Join it.

        Args:
            io: its pool.
            machine: what plans are for; None before the first look.
            catalogue: what is known of published models.
            probe: asks the build of some settings, on the IO thread.
        """
        self._probe = probe
        self._io = io
        self._machine = machine
        self._catalogue = catalogue

    def find(self, model: LocalModel, wishes: ServerWishes) -> Operation[ServerOffer]:
        """Plan a checkpoint of the library.

        Raises (from the operation):
            ModelError: a file of it is damaged or missing.
            PlanError: a wish that no engine can fulfil.
        """
        return self._io.pool(self._find, model, wishes, self._machine())

    def ask(self, settings: LoadSettings) -> Operation[BuildFacts | None]:
        """What the engine of these settings can do; up to half a minute the first time.

        Raises (from the operation):
            BackendError: it is not there, too old, or does not run.
            ModelError: a file of the model is damaged or missing.
        """
        return self._io.submit(lambda: self._ask(settings))

    async def _ask(self, settings: LoadSettings) -> BuildFacts | None:
        if self._probe is None:
            return None
        build = await self._probe(settings)
        return facts_of(build, await self._io.in_pool(self._asked_flags, settings))

    def _asked_flags(self, settings: LoadSettings) -> tuple[str, ...]:
        model = read_folder(settings.model_path)
        return asked_flags(self._floor(self._entry(model), settings.kind), model)

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

        Args:
            model: of the library.
            offer: from ``find``.
            wishes: of the user.
            nodes: "10.0.0.1 10.0.0.2=gpu2", as it was typed.
            trusts_code: the model's own code may run.

        Raises (from the operation):
            BackendError: the machines are not named right.
            PlanError: it cannot be dealt out to so many.
        """
        return self._io.pool(nodes_of, model, offer, wishes, nodes, trusts_code=trusts_code)

    def check_nodes(self, model: LocalModel, nodes: str) -> Operation[tuple[NodeFacts, ...]]:
        """Ask the machines over ssh whether they can serve the model together.

        Args:
            model: of the library; its folder must be the same on all.
            nodes: as it was typed.

        Raises (from the operation):
            BackendError: the first thing that is wrong.
        """
        return self._io.submit(lambda: self._check_nodes(str(model.path), nodes))

    async def _check_nodes(self, place: str, text: str) -> tuple[NodeFacts, ...]:
        nodes = typed_nodes(text)
        await self._io.in_pool(check_here, nodes)
        return await check_nodes(nodes, PROGRAM, place)

    def words(
        self, offer: ServerOffer, build: str, language: Language, *, on_cpu: bool = False
    ) -> tuple[str, ...]:
        """The offer in sentences, the weightiest first.

        Args:
            offer: from ``find``.
            build: the engine that would run it ("vLLM 0.22.0"), as far as it is known.
            language: of the sentences.
            on_cpu: the engine was built without GPUs: what is planned for them says nothing.
        """
        lines: list[str] = []
        for found in version_findings(build, offer.floor):
            key = f"loads.{found.kind.value}"
            params = {"build": build, **found.params}
            lines += [message(key, language, **params), message(f"{key}.next", language, **params)]
        plan, machine = offer.plan, offer.machine
        if on_cpu:
            return (*lines, message("vllm.on_cpu", language))
        if plan is None or machine is None:
            return tuple(lines)
        lines.append(server_headline(plan, language))
        if machine.gpus and (problem := problem_sentence(plan.forecast, language)):
            lines.append(problem)
        if needed := needed_sentence(plan, offer.model, machine, language):
            lines.append(needed)
        for decision in server_decisions(plan, offer.model, machine):
            lines.append(message(f"vllm.{decision.key}", language, **decision.params))
        return tuple(lines)

    async def settled(self, settings: LoadSettings, build: EngineBuild) -> LoadSettings:
        """The same settings with all that was left to the start. On the IO thread.

        Raises:
            ModelError: a file of the model is damaged or missing.
            BackendError: ENGINE_NEEDS_CONSENT, it would run code that nobody has allowed;
                ENGINE_NO_PLAN, it does not fit this machine.
            PlanError: a wish that no engine can fulfil.
        """
        return await self._io.in_pool(self._settle, settings, build, self._machine())

    def _find(self, row: LocalModel, wishes: ServerWishes, machine: Machine | None) -> ServerOffer:
        model = read_folder(row.path)
        entry = self._entry(model)
        floor = self._floor(entry, _KINDS[wishes.engine])
        weighed = weigh(model, row.title)
        plan = plan_server(weighed, machine, wishes) if machine else None
        flags = asked_flags(floor, model)
        tool, reasoning = parsers_of(flags)
        return ServerOffer(
            plan=plan,
            code=code_of(row.path) if model.config.needs_code else ModelCode(),
            min_version=(floor.min_version or "") if floor else "",
            broken_versions=floor.broken_versions if floor else (),
            model=weighed,
            machine=machine,
            floor=floor,
            choices=choices_of_plan(weighed, machine, plan),
            presets=offered_presets(weighed, machine, wishes, entry.id if entry else ""),
            tool_parser=tool,
            reasoning_parser=reasoning,
            flags=flags,
            has_sandbox=bool(find_sandbox()),
        )

    def _settle(
        self, settings: LoadSettings, build: EngineBuild, machine: Machine | None
    ) -> LoadSettings:
        special = settings.server or VllmSettings()
        model = read_folder(settings.model_path)
        floor = self._floor(self._entry(model), build.kind)
        special = dataclasses.replace(
            special,
            needs=needed_beside(asked_flags(floor, model), special),
            trusted_code=self._trusted(model, special),
        )
        if build.devices:
            return self._placed(settings, special, model, machine)
        return _on_cpu(settings, special, model.config.context_train, machine)

    def _placed(
        self,
        settings: LoadSettings,
        special: VllmSettings,
        model: HfModel,
        machine: Machine | None,
    ) -> LoadSettings:
        if special.server is not None or machine is None:
            return dataclasses.replace(settings, server=special)
        plan = plan_server(weigh(model), machine, special.wishes)
        if not plan.fits:
            raise BackendError(ErrorCode.ENGINE_NO_PLAN, {"name": settings.model_path.name})
        found = plan.forecast
        return dataclasses.replace(
            settings,
            server=dataclasses.replace(special, server=found.settings),
            context=found.settings.context,
            gpus=found.gpus,
        )

    def _trusted(self, model: HfModel, special: VllmSettings) -> str:
        if not model.config.needs_code:
            return ""
        code = code_of(model.path)
        if code.files and code.digest != special.trusted_code:
            raise BackendError(
                ErrorCode.ENGINE_NEEDS_CONSENT,
                {"count": len(code.files), "first": code.files[0].name},
            )
        return code.digest

    def lacking(self, settings: LoadSettings, build: EngineBuild) -> tuple[str, ...]:
        """What the catalogue asks for and this build does not have."""
        return lacking(build, settings.server.needs if settings.server else ())

    def planned(
        self, settings: LoadSettings, offer: ServerOffer, *, on_cpu: bool = False
    ) -> LoadSettings:
        """The same settings as a start would settle them by this offer, for showing.

        Args:
            settings: what was chosen.
            offer: from ``find`` with the wishes of these settings.
            on_cpu: the engine was built without GPUs.
        """
        special = settings.server or VllmSettings()
        special = dataclasses.replace(special, needs=needed_beside(offer.flags, special))
        if on_cpu:
            trained = offer.model.config.context_train
            return _on_cpu(settings, special, trained, offer.machine)
        if offer.plan is not None:
            special = dataclasses.replace(special, server=offer.plan.forecast.settings)
        return dataclasses.replace(settings, server=special)

    def _floor(self, entry: CatalogueModel | None, kind: EngineKind) -> EngineFloor | None:
        return entry.floor(_CATALOGUE_ENGINES[kind]) if entry else None

    def _entry(self, model: HfModel) -> CatalogueModel | None:
        return self._catalogue().find(model.path.name)


def _on_cpu(
    settings: LoadSettings, special: VllmSettings, trained: int, machine: Machine | None
) -> LoadSettings:
    """For a build without GPUs: no split, a short context, a part of the free memory as cache."""
    wishes = special.wishes
    trained = trained or CPU_CONTEXT
    context = min(wishes.context or settings.context or CPU_CONTEXT, trained)
    free = machine.memory.available_bytes if machine else 0
    cache = min(max(free // (CPU_CACHE_SHARE * GIB), 1), MOST_CPU_CACHE_GIB)
    server = ServerSettings(
        engine=wishes.engine,
        context=context,
        cache=wishes.cache or CacheFormat.AUTO,
        n_sequences=wishes.n_sequences,
        n_batched_tokens=wishes.n_batched_tokens,
        eager=wishes.eager,
        text_only=wishes.text_only,
    )
    kept = special.cpu_cache_gib or cache
    special = dataclasses.replace(special, server=server, cpu_cache_gib=kept)
    return dataclasses.replace(settings, server=special, context=context)


def choices_of_plan(
    model: VllmModel, machine: Machine | None, plan: ServerPlan | None
) -> SplitChoices | None:
    """Value by value beside what is planned."""
    if machine is None or plan is None or not machine.gpus:
        return None
    return split_choices(model, machine, plan.wishes, plan.forecast.settings.split)


def offered_presets(
    model: VllmModel, machine: Machine | None, wishes: ServerWishes, model_id: str
) -> tuple[OfferedPreset, ...]:
    """The presets of a model of the catalogue, each with what speaks against it here."""
    n_gpu = len(machine.gpus) if machine else 0
    if machine is None or not n_gpu:
        return ()
    raw = json.loads((asset("engines") / "vllm-presets.json").read_text(encoding="utf-8"))
    found = []
    for preset in presets_for(raw, model_id):
        wanted = preset.wishes(wishes, n_gpu)
        split = wanted.split
        problem = problem_of(model, machine, wanted, split) if split is not None else None
        found.append(OfferedPreset(preset, wanted, problem))
    return tuple(found)
