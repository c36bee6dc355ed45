"""Builds the services and joins the features, for the window and the terminal alike. No Qt.

What one feature needs of another comes together here and nowhere else: the engine's forecast from
the planner, the monitor's phases from the chat, the gateway's target from the engine.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from kimi_desktop.backends.attached.service import OtherServers
from kimi_desktop.backends.engine_checks import EngineChecks
from kimi_desktop.backends.engines.llama_cpp_python import does_without
from kimi_desktop.backends.exact_check import check_exactly
from kimi_desktop.backends.install.service import EngineInstalls
from kimi_desktop.backends.install.types import LLAMA_CPP_PYTHON
from kimi_desktop.backends.learned import LearnedSpeeds
from kimi_desktop.backends.placed import gpus_of, placement_of
from kimi_desktop.backends.read_back import differences, read_loaded
from kimi_desktop.backends.rpc.workers import Workers
from kimi_desktop.backends.service import LlamaEngineService
from kimi_desktop.backends.types import (
    EngineState,
    EngineStateChanged,
    LoadRemarked,
    LoadSettings,
)
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.chat.presets import answer_settings
from kimi_desktop.chat.sanity import SanityCheck
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.types import (
    AnswerFinished,
    AnswerStats,
    PrefillProgressed,
    TokensArrived,
)
from kimi_desktop.diagnosis.failure import Pricing
from kimi_desktop.diagnosis.kept import failure_text, odd_text, slowness_text
from kimi_desktop.diagnosis.service import Diagnoses
from kimi_desktop.diagnosis.types import FailureRead, Finding, OddAnswerSeen, SlownessSeen
from kimi_desktop.diagnosis.watcher import Surroundings, Watcher
from kimi_desktop.downloads.discover import Discover
from kimi_desktop.downloads.engine_builds.service import EngineBuilds
from kimi_desktop.downloads.engine_builds.types import BuildsChanged
from kimi_desktop.downloads.first_chat import FirstChat, prepare_first_chat
from kimi_desktop.downloads.header_verdict import header_verdict
from kimi_desktop.downloads.hubs.accounts import Accounts
from kimi_desktop.downloads.hubs.hub import HubClient
from kimi_desktop.downloads.hubs.tokens import TokenStore
from kimi_desktop.downloads.imports.service import Imports
from kimi_desktop.downloads.jobs import kept_jobs
from kimi_desktop.downloads.keeping.service import Keeper
from kimi_desktop.downloads.keeping.types import Trash
from kimi_desktop.downloads.load_verdict import load_verdict
from kimi_desktop.downloads.newer import NewerVersions
from kimi_desktop.downloads.preflight import Judge
from kimi_desktop.downloads.preparing import preparing
from kimi_desktop.downloads.queue_types import DownloadFinished, DownloadState
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.service import Downloads
from kimi_desktop.downloads.verify.service import VerifyService
from kimi_desktop.forecasting import forecast_load, without_engine
from kimi_desktop.learning import LEAST_PROMPT
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.holders import holders_of
from kimi_desktop.machine.service import MachineService
from kimi_desktop.machine.types import Machine, MachineProbed
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.service import LocalModels
from kimi_desktop.models.types import LocalModel
from kimi_desktop.monitor.experiments import Experiments
from kimi_desktop.monitor.notebook import Notebook
from kimi_desktop.monitor.run_types import RunFacts
from kimi_desktop.monitor.service import MonitorService
from kimi_desktop.monitor.types import Sample
from kimi_desktop.outlook import Outlook
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.tiers import machine_verdict
from kimi_desktop.planner.types import ExactCheck, LoadForecast
from kimi_desktop.serve.service import ServeService
from kimi_desktop.server_keys import StoredServerKeys

log = logging.getLogger(__name__)

IDLE = (EngineState.STOPPED, EngineState.FAILED)
FRESH_S = 3.0
"""A sample is of the same moment as a look at the machine when it is no older."""


class Core:
    """All services of one profile (``ui.bridge.Services``). Build, ``start``, ``close`` once each.

    Building touches the settings and the chat database only; everything slower is in ``start``.
    """

    def __init__(self, paths: AppPaths, *, trash: Trash | None = None) -> None:
        """``trash``: the system's; only the window has one."""
        self.paths = paths
        self.bus = EventBus()
        self.store = SettingsStore(paths.settings_file)
        self.io = IoLoop()
        self._gpus = GpuReader()
        self.tokens = TokenStore(paths.config)
        client = HubClient(self.tokens.value_of)
        self.hubs = Accounts(self.io, self.store, self.tokens, client)
        self._remote = RemoteModels(kv_bytes_per_token, client, self.hubs.hubs)
        self.downloads = Downloads(
            self.io,
            self.bus,
            paths.downloads_file,
            self.store,
            token_of=self.tokens.value_of,
            prepare=preparing(
                self.tokens.value_of,
                hubs=self.hubs.hubs,
                judges=self._judges,
                jobs=lambda: kept_jobs(paths.downloads_file),
            ),
        )
        self.newer = NewerVersions(
            self.io,
            self.bus,
            paths.newer_file,
            client,
            self.hubs.hubs,
            wanted=lambda: self.store.settings.hubs.looks_for_newer,
        )
        self.verify = VerifyService(self.io, self.bus, self.downloads)
        self.models = LocalModels(
            io=self.io,
            bus=self.bus,
            store=self.store,
            paths=paths,
            kv_rule=kv_bytes_per_token,
            fetcher=FirstChat(
                self.io,
                self.downloads,
                lambda folder: prepare_first_chat(folder, self.tokens.value_of, self.hubs.hubs),
            ),
        )
        self.learned = LearnedSpeeds(paths.learned_file, lambda: self.machine.machine)
        self.machine = MachineService(
            self.io,
            self.bus,
            lambda: (self.paths.data, *self.models.folders),
            self._gpus,
            judge=lambda machine, language: machine_verdict(
                machine, language, self.learned.factors()
            ),
            measured_file=paths.measured_file,
            model_files=self._model_files,
        )
        self.discover = Discover(
            self.io,
            lambda: self.machine.machine,
            self._remote,
            gpu_engine=self._has_gpu_engine,
            factors=self.learned.factors,
        )
        self.engine = LlamaEngineService(
            self.io,
            self.bus,
            self.store,
            paths,
            machine=self.machine_for_loads,
            forecast=forecast_load,
            checker=self._check_exactly,
            factors=self.learned.factors,
        )
        self.workers = Workers(
            self.io,
            self.bus,
            self.store,
            build=self.engine.engines.chosen_build,
            takes_workers=self.engine.takes_workers,
        )
        self.builds = EngineBuilds(
            self.io,
            self.bus,
            self.store,
            paths.engine_builds_folder,
            self.downloads,
            in_use=self._is_running,
        )
        self.installs = EngineInstalls(
            self.io,
            self.bus,
            self.store,
            paths.vllm_folder,
            prove=self.engine.engines.vllm.probe,
            in_use=self._is_running,
        )
        self.python_installs = EngineInstalls(
            self.io,
            self.bus,
            self.store,
            paths.llama_python_folder,
            prove=self.engine.engines.python.probe,
            kind=LLAMA_CPP_PYTHON,
            in_use=self._is_running,
        )
        self.other_servers = OtherServers(
            self.io, self.bus, self.store, StoredServerKeys(paths.config), self.engine
        )
        self.plans = self.engine.plans
        self.outlook = Outlook(self.models, self.plans, self.learned)
        self.servers = self.engine.servers
        self.checks = EngineChecks(
            self.io, build=self.engine.engines.chosen_build, catalogue=shipped_catalogue
        )
        self.chats = ChatService(
            self.io,
            self.bus,
            paths.database_file,
            self.engine,
            lambda: answer_settings(self.store.settings.chat, self.engine.status.settings),
        )
        self.imports = Imports(
            self.io, self.bus, lambda: self.models.folders[0], self.models.look_again
        )
        self.keeper = Keeper(
            self.io,
            self.bus,
            self.store,
            self.models,
            in_use=self._is_loaded,
            renamed=self.chats.rename_model,
            trash=trash,
        )
        self._engine_then: Sample | None = None
        """What our engine held when the machine was last looked at."""
        self.monitor = MonitorService(self.io, self.bus, self._gpus, metrics=self.engine.metrics)
        self.notebook = Notebook(self.io, self.bus, paths.runs_file, intent=self.outlook.intent)
        self.diagnosis = Diagnoses(
            self.io,
            self.bus,
            models=lambda: self.models.models,
            machine=self.machine_for_loads,
            pricing=Pricing(self.engine.forecast, self.plans.arrange),
            steps_down=lambda: self.store.settings.engine.step_down,
            start=self.engine.start,
            holders=lambda: holders_of(self._gpus.sample()),
            samples=self.monitor.history,
            kept=self.notebook.facts_now,
        )
        self.experiments = Experiments(self.io, self.bus, self.engine, self.notebook)
        self.sanity = SanityCheck(
            self.io,
            self.bus,
            client=self.engine.client,
            wanted=lambda: (
                self.store.settings.engine.first_question and not self.experiments.is_running
            ),
        )
        self._read_back_of: float | None = None
        """When the engine was started whose log was read back last."""
        self.serve = ServeService(
            self.io,
            self.bus,
            self.store,
            self.engine,
            folder=paths.config,
            workplace=paths.runtime / "gateway",
        )
        self.watcher = Watcher(
            self.io,
            self.bus,
            Surroundings(
                status=lambda: self.engine.status,
                models=lambda: self.models.models,
                machine=lambda: self.machine.machine,
                samples=self.monitor.history,
                requests=lambda: self.serve.status.live,
                expected=self.outlook.expected,
                pricing=Pricing(self.engine.forecast, self.plans.arrange),
            ),
        )
        self._leave_bus = self.bus.subscribe(self._join)
        self._leave_loads = self.bus.subscribe(self._after_load)
        self._closing = threading.Lock()
        self._closed = False

    def _judges(self) -> list[Judge]:
        """Who looks at a download before it may start: the engine, and the planner."""
        judges = [load_verdict(self._remote, self.checks)]
        if (machine := self.machine.machine) is not None:
            judges.append(header_verdict(self._remote, machine, self.learned.factors()))
        return judges

    def machine_for_loads(self) -> Machine | None:
        """The machine as a start would find it, which ends an engine that runs first.

        With the devices that other machines lend, where the engine can use them.
        """
        machine = self.machine.machine
        if machine is None:
            return None
        return self.workers.join(without_engine(machine, self._engine_then))

    def start(self) -> None:
        """Look at the machine and the models, begin sampling. Returns at once."""
        self.chats.start()
        self.engine.prepare()
        self.machine.probe()
        self.workers.refresh()
        self.models.scan()
        self.downloads.start()
        self.monitor.start()

    def close(self) -> None:
        """End the gateway, the engine and every task, then the stores. Idempotent; blocks."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self.diagnosis.close()  # the last failure is still read, and kept with its run
            self._leave_bus()
            self._leave_loads()
            self.watcher.close()
            for name, end in (
                ("imports", self.imports.close),
                ("sanity", self.sanity.close),
                ("keeper", self.keeper.close),
                ("downloads", self.downloads.close),
                ("chats", self.chats.close),
                ("serve", self.serve.close),
                ("engine", self.engine.close),
                ("monitor", self.monitor.close),
                ("notebook", self.notebook.close),
                ("io", self.io.close),
                ("gpus", self._gpus.close),
            ):
                try:
                    end()
                except Exception:  # the others must end all the same
                    log.exception("%s did not end well", name)

    def _model_files(self) -> tuple[Path, ...]:
        """The files that a disk can be measured with, the largest first."""
        models = sorted(self.models.models, key=lambda model: -model.size_bytes)
        return tuple(model.path for model in models)

    def _is_loaded(self, model: LocalModel) -> bool:
        """The engine has it, or is about to."""
        status = self.engine.status
        if status.settings is None or status.state in IDLE:
            return False
        return status.settings.model_path == model.path

    def _is_running(self, program: Path) -> bool:
        """The engine is this llama-server."""
        status = self.engine.status
        return status.state not in IDLE and (
            status.settings is not None and status.settings.binary == program
        )

    def _has_gpu_engine(self) -> bool:
        """What a start would start uses the GPUs."""
        kind, binary = self.engine.engines.chosen()
        return self.engine.uses_gpus(LoadSettings(Path(), kind=kind, binary=binary))

    async def _check_exactly(
        self, settings: LoadSettings, model: LocalModel, machine: Machine, forecast: LoadForecast
    ) -> ExactCheck | None:
        """llama.cpp's own word on a forecast, on the GPUs that the chosen engine uses."""
        gpus = gpus_of(settings, machine, uses_gpus=self.engine.uses_gpus(settings))
        if any(machine.gpus[number].link is not None for number in gpus):
            return None  # the dry run knows no workers
        placement = placement_of(settings)
        return await check_exactly(model.path, placement, machine, gpus, forecast)

    def _join(self, event: Event) -> None:
        """The chat tells monitor and planner what the engine does; the monitor what it holds."""
        if isinstance(event, MachineProbed):
            self._on_machine()
        elif isinstance(event, PrefillProgressed):
            self.monitor.note_prefill(event.done_tokens, event.total_tokens)
        elif isinstance(event, TokensArrived):
            self.monitor.note_tokens_per_s(event.stats.decode_tokens_per_s)
        elif isinstance(event, AnswerFinished):
            self.monitor.note_tokens_per_s(None)
            stats = event.message.stats
            if event.error is None and stats is not None:
                self.io.pool(self._after_answer, event, stats, self.engine.status.settings)
        elif isinstance(event, DownloadFinished):
            if event.status.state is DownloadState.READY:
                self.models.scan()
        elif isinstance(event, BuildsChanged):
            self.engine.prepare()  # ask the chosen one what it can do
        elif isinstance(event, FailureRead):
            best = event.reading.diagnosis.cause
            self.monitor.note_mark(best.cause if best is not None else "unknown")
            self._keep(event.reading.started_at, best, failure_text(event.reading))
        elif isinstance(event, SlownessSeen):
            best = event.slowness.finding
            self.monitor.note_mark(best.cause if best is not None else "")
            text = slowness_text(event.slowness, self.engine.log_text())
            self._keep(event.slowness.started_at, best, text)
        elif isinstance(event, OddAnswerSeen):
            best = event.answer.diagnosis.cause
            if best is not None:
                self.monitor.note_mark(best.cause)
            text = odd_text(event.answer, self.engine.log_text())
            self._keep(event.answer.started_at, best, text)

    def _keep(self, started_at: float | None, best: Finding | None, text: str) -> None:
        """What was seen, with the run."""
        cause = best.cause if best is not None else ""
        self.notebook.note_cause(started_at, cause, RunFacts(time.time(), text))

    def _on_machine(self) -> None:
        """Loads are planned for the machine as it is without the engine that runs now."""
        latest = self.monitor.history(FRESH_S)
        self._engine_then = latest[-1] if latest else None
        if self.engine.status.state in IDLE:  # else they are busy with our own engine
            self.workers.refresh()

    def _after_load(self, event: Event) -> None:
        """Once a start: what the log says was loaded, beside the plan."""
        if not isinstance(event, EngineStateChanged):
            return
        status = event.status
        if status.state is EngineState.READY and status.started_at != self._read_back_of:
            self._read_back_of = status.started_at
            if status.settings is not None and status.settings.server is None:
                self.io.pool(self._read_back, status.settings)

    def _read_back(self, settings: LoadSettings) -> None:
        model = self.outlook.model_of(settings)
        forecast = self.engine.forecast(settings, model) if model else LoadForecast(())
        loaded = read_loaded(self.engine.log_text().splitlines())
        found = (*does_without(settings), *differences(loaded, settings, forecast))
        if found:
            self.bus.publish(LoadRemarked(found))

    def _after_answer(
        self, event: AnswerFinished, stats: AnswerStats, settings: LoadSettings | None
    ) -> None:
        """Noted, compared with its forecast, and learned from unless something held it up."""
        self._note_answer(stats)
        if not self.watcher.judge_answer(event):
            self.outlook.learn(stats, settings)

    def _note_answer(self, stats: AnswerStats) -> None:
        fresh = stats.prompt_tokens - stats.cached_tokens
        first = stats.first_token_s
        prefill = fresh / first if first and fresh >= LEAST_PROMPT else None
        self.notebook.note_answer(stats.tokens, stats.decode_tokens_per_s, prefill, first)
