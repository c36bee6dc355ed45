"""Plans for server engines: what the window shows, and what a start settles. ``ServerPlans``.

Reading a checkpoint's headers and planning runs in the pool; a start of settings without a plan
makes one. Nothing here starts a program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engines.server_line import grouped
from kimi_desktop.backends.model_code import ModelCode, code_of
from kimi_desktop.backends.types import EngineKind, LoadSettings, VllmSettings
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
from kimi_desktop.planner.vllm_report import (
    needed_sentence,
    server_decisions,
    server_headline,
)
from kimi_desktop.planner.vllm_rules import splits
from kimi_desktop.planner.vllm_search import plan_server
from kimi_desktop.planner.vllm_types import ServerPlan, ServerWishes, Split
from kimi_desktop.planner.vllm_weights import VllmModel, weigh

CPU_CONTEXT = 4_096
"""Of a build without GPUs, when nothing is wished: its cache is in RAM."""
CPU_CACHE_SHARE = 4
"""One part in so many of the free memory."""
MOST_CPU_CACHE_GIB = 4
_CATALOGUE_ENGINES = {EngineKind.VLLM: Engine.VLLM}


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """How a checkpoint would be served here."""

    plan: ServerPlan | None
    """None before the first look at the machine."""
    splits: tuple[Split, ...]
    """All that the model and this machine's GPUs allow."""
    code: ModelCode
    """What it would run of its own; no files = it needs none."""
    min_version: str
    """Of vLLM, by the catalogue; "" = not known."""
    broken_versions: tuple[str, ...]
    model: VllmModel
    machine: Machine | None
    floor: EngineFloor | None


class ServerPlanner:
    """One per program."""

    def __init__(
        self,
        io: IoLoop,
        *,
        machine: Callable[[], Machine | None],
        catalogue: Callable[[], Catalogue],
    ) -> None:
        """Join it.

        Args:
            io: its pool.
            machine: what plans are for; None before the first look.
            catalogue: what is known of published models.
        """
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
        floor = entry.floor(Engine.VLLM) if entry else None
        weighed = weigh(model, row.title)
        plan = plan_server(weighed, machine, wishes) if machine else None
        n_gpu = len(machine.gpus) if machine else 0
        return ServerOffer(
            plan=plan,
            splits=tuple(splits(model.config, n_gpu)) if n_gpu else (),
            code=code_of(row.path) if model.config.needs_code else ModelCode(),
            min_version=(floor.min_version or "") if floor else "",
            broken_versions=floor.broken_versions if floor else (),
            model=weighed,
            machine=machine,
            floor=floor,
        )

    def _settle(
        self, settings: LoadSettings, build: EngineBuild, machine: Machine | None
    ) -> LoadSettings:
        special = settings.server or VllmSettings()
        model = read_folder(settings.model_path)
        special = dataclasses.replace(
            special,
            needs=self._needs(model, special, build.kind),
            trusted_code=self._trusted(model, special),
        )
        if build.devices:
            return self._placed(settings, special, model, machine)
        trained = model.config.context_train or CPU_CONTEXT
        context = min(special.wishes.context or settings.context or CPU_CONTEXT, trained)
        free = machine.memory.available_bytes if machine else 0
        cache = min(max(free // (CPU_CACHE_SHARE * GIB), 1), MOST_CPU_CACHE_GIB)
        special = dataclasses.replace(
            special, server=None, cpu_cache_gib=special.cpu_cache_gib or cache
        )
        return dataclasses.replace(settings, server=special, context=context)

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

    def _needs(self, model: HfModel, special: VllmSettings, kind: EngineKind) -> tuple[str, ...]:
        """What the catalogue says, without what the settings say themselves."""
        entry = self._entry(model)
        floor = entry.floor(_CATALOGUE_ENGINES[kind]) if entry else None
        said = {"--trust-remote-code"}
        if special.reasoning_parser:
            said.add("--reasoning-parser")
        if special.tool_parser:
            said |= {"--tool-call-parser", "--enable-auto-tool-choice"}
        groups = grouped(floor.flags) if floor else []
        return tuple(
            word for flag, values in groups if flag not in said for word in (flag, *values)
        )

    def _entry(self, model: HfModel) -> CatalogueModel | None:
        return self._catalogue().find(model.path.name)
