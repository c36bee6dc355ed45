"""The engine of the scripted services: its state is what the test says."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kimi_desktop.backends.command import EngineBuild, build_command, parse_help
from kimi_desktop.backends.defaults import is_plannable
from kimi_desktop.backends.embedded_flags import help_text
from kimi_desktop.backends.engines.choose import Engines
from kimi_desktop.backends.types import (
    EngineFacts,
    EngineKind,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    Leftover,
    LoadSettings,
)
from kimi_desktop.base.errors import BackendError, KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import EngineSettings
from kimi_desktop.forecasting import forecast_load
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.host_settings import threads_for
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.types import DeviceMemory, ExactCheck, LoadForecast
from tests.support import scripted_data as data
from tests.support.scripted_desk import Desk

if TYPE_CHECKING:
    from tests.support.scripted_services import ScriptedServices


class ScriptedEngine:
    """The engine. ``start`` goes to READY at once unless ``engine.start`` is held."""

    def __init__(self, desk: Desk, bus: EventBus, services: ScriptedServices) -> None:
        self._desk = desk
        self._bus = bus
        self._services = services
        self.status = EngineStatus(EngineState.STOPPED)
        self.leftovers: tuple[Leftover, ...] = ()
        self.log = "llama_model_load: loading\nserver is listening\n"
        self.start_error: KimiError | None = None
        self.gpu_build = True
        self.vllm: Path | None = Path("/opt/vllm/bin/python")
        self.exact_check: ExactCheck | None = None
        self.command_error: KimiError | None = None
        self.problem: BackendError | None = None

    def set_status(self, status: EngineStatus) -> None:
        """Move to another state; a queued message goes out once ready."""
        self.status = status
        self._bus.publish(EngineStateChanged(status))
        if status.state is EngineState.READY:
            self._services.chats.send_queued()

    def set_state(self, state: EngineState, **changes: Any) -> None:
        """The same, with the other fields kept or changed by name."""
        self.set_status(dataclasses.replace(self.status, state=state, **changes))

    def set_ready(self, model: LocalModel) -> None:
        """Loaded and waiting."""
        self.set_status(
            EngineStatus(
                EngineState.READY,
                settings=self.settings_for(model),
                engine_name="llama.cpp b11549",
                pid=4242,
                started_at=data.NOW - 600,
            )
        )

    def set_failed(
        self, model: LocalModel, error: KimiError, facts: EngineFacts | None = None
    ) -> None:
        """It did not start, or it died; ``error`` has all the fields of its sentences."""
        self.set_status(
            EngineStatus(
                EngineState.FAILED,
                settings=self.settings_for(model),
                engine_name="llama.cpp b11549",
                error=error,
                facts=facts,
                log_tail=("load: failed to allocate", "exiting due to model loading error"),
            )
        )

    def settings_for(self, model: LocalModel) -> LoadSettings:
        if is_plannable(model) or model.is_served:
            return self._services.plans.settings_for(model)
        facts = model.facts
        machine = self._services.machine.machine
        has_gpu = bool(machine and machine.gpus)
        return LoadSettings(
            model_path=model.path,
            n_gpu_layers=facts.n_layer + 1 if facts and has_gpu else 0,
            n_cpu_moe=44 if facts and facts.n_expert else 0,
            context=131_072 if facts and facts.n_expert else 4096,
        )

    def forecast(self, settings: LoadSettings, model: LocalModel) -> LoadForecast:
        machine = self._services.machine.machine or self._services.machine.to_find
        if is_plannable(model):
            return forecast_load(settings, model, machine, uses_gpus=self.gpu_build)
        facts = model.facts
        weights = facts.weights_bytes if facts else model.size_bytes
        kv = facts.kv_bytes_per_token * settings.context if facts else 0
        layers = facts.n_layer + 1 if facts else 1
        experts = 1 - settings.n_cpu_moe / layers if facts and facts.n_expert else 1.0
        share = settings.n_gpu_layers / layers * experts if machine.gpus else 0.0
        devices = [
            DeviceMemory(
                device=f"gpu:{gpu.index}",
                name=gpu.name,
                total_bytes=gpu.vram_total_bytes,
                weights_bytes=int(weights * share / len(machine.gpus)),
                kv_bytes=kv // len(machine.gpus) if share else 0,
                compute_bytes=6 * data.GIB,
                overhead_bytes=730 * data.MIB,
                others_bytes=gpu.vram_total_bytes - gpu.vram_free_bytes,
            )
            for gpu in machine.gpus
        ]
        memory = machine.memory
        devices.append(
            DeviceMemory(
                device="host",
                name="RAM",
                total_bytes=memory.usable_total_bytes,
                weights_bytes=int(weights * (1 - share)),
                kv_bytes=0 if share else kv,
                compute_bytes=180 * data.MIB,
                overhead_bytes=110 * data.MIB,
                others_bytes=memory.total_bytes - memory.available_bytes,
            )
        )
        return LoadForecast(tuple(devices))

    def name_of(self, settings: LoadSettings) -> str:
        if settings.kind is EngineKind.VLLM:
            return "vLLM 0.25.1" if settings.binary is not None else ""
        return "llama.cpp b11549" if settings.binary is None else settings.binary.name

    def check(self, settings: LoadSettings, model: LocalModel) -> Operation[ExactCheck | None]:
        found = self.exact_check
        if found is not None and is_plannable(model):
            found = dataclasses.replace(found, devices=self.forecast(settings, model).devices)
        return self._desk.operation("engine.check", found, settings, model)

    def uses_gpus(self, settings: LoadSettings) -> bool:
        return self.gpu_build

    def command_line(self, settings: LoadSettings) -> tuple[str, ...]:
        if self.command_error is not None:
            raise self.command_error
        if settings.kind is EngineKind.VLLM:
            engines = Engines(EngineSettings, None)
            shown = engines.shown(settings)
            return engines.vllm.command(shown, settings, listening=None, n_threads=4)
        machine = self._services.machine.machine
        gpus = machine.gpus if machine is not None and self.gpu_build else ()
        build = EngineBuild(
            EngineKind.LLAMA_SERVER,
            ("llama-server",),
            parse_help(help_text()),
            devices=tuple(f"CUDA{gpu.index}: {gpu.name}" for gpu in gpus),
        )
        threads = threads_for(machine, Wishes())[0] if machine is not None else 4
        return build_command(build, settings, listening=None, n_threads=threads)

    def problem_of(self, settings: LoadSettings) -> BackendError | None:
        del settings
        return self.problem

    def start(self, settings: LoadSettings) -> Operation[EngineStatus]:
        if self.start_error is not None:
            self.set_status(
                EngineStatus(EngineState.FAILED, settings=settings, error=self.start_error)
            )
            return self._desk.failed("engine.start", self.start_error, settings)
        ready = EngineStatus(
            EngineState.READY,
            settings=settings,
            engine_name="llama.cpp b11549",
            pid=4242,
            started_at=data.NOW,
        )
        operation = self._desk.operation("engine.start", ready, settings)
        if operation.done:
            self.set_status(ready)
        else:
            self.set_status(dataclasses.replace(ready, state=EngineState.STARTING, pid=None))
        return operation

    def stop(self) -> Operation[EngineStatus]:
        stopped = EngineStatus(EngineState.STOPPED, settings=self.status.settings)
        operation = self._desk.operation("engine.stop", stopped)
        self.set_status(
            stopped
            if operation.done
            else dataclasses.replace(self.status, state=EngineState.STOPPING)
        )
        return operation

    def find_leftovers(self) -> Operation[tuple[Leftover, ...]]:
        return self._desk.operation("engine.find_leftovers", self.leftovers)

    def end_leftovers(self, leftovers: Sequence[Leftover]) -> Operation[None]:
        self.leftovers = tuple(x for x in self.leftovers if x not in leftovers)
        return self._desk.operation("engine.end_leftovers", None, tuple(leftovers))

    def log_text(self) -> str:
        return self.log
