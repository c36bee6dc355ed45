"""What the service chooses, remembers, shows and forecasts; and the engine over loopback TCP."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends.engines import choose as choosing
from kimi_desktop.backends.placed import settings_of
from kimi_desktop.backends.probe import embedded_build
from kimi_desktop.backends.service import LlamaEngineService
from kimi_desktop.backends.types import (
    ChatRequest,
    EngineKind,
    EngineState,
    LoadSettings,
    Sampling,
)
from kimi_desktop.base.settings import EngineSettings, SettingsStore
from kimi_desktop.forecasting import forecast_load
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.flags import plan_flags
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.types import LoadForecast
from tests.support import scripted_data as data
from tests.support.engine_bench import EngineBench, embedded, engine_bench, scripted
from tests.support.misbehaving_engine import make_binary, script_file

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="POSIX sockets")


@pytest.fixture
def bench() -> Iterator[EngineBench]:
    with engine_bench(machine=data.two_gpu_box()) as made:
        yield made


def choose(bench: EngineBench, engine: EngineSettings) -> None:
    bench.store.update(lambda before: dataclasses.replace(before, engine=engine))


def of(path: Path) -> LocalModel:
    return dataclasses.replace(data.starter_model(path.parent), id=str(path), path=path)


def test_the_settings_of_a_start_are_remembered_for_that_model(
    bench: EngineBench, tiny_kimi: Path
) -> None:
    model = of(tiny_kimi)
    assert bench.service.settings_for(model).context != 1024
    used = embedded(
        tiny_kimi, context=1024, n_cpu_moe=2, cache_type="q8_0", n_batch=256, n_ubatch=128
    )
    bench.service.start(used).result(60)

    again = LlamaEngineService(
        bench.io,
        bench.bus,
        SettingsStore(bench.paths.settings_file),
        bench.paths,
        machine=data.two_gpu_box,
        forecast=lambda *_, **__: LoadForecast(()),
    ).settings_for(model)
    for name in ("context", "n_cpu_moe", "cache_type", "n_batch", "n_ubatch", "n_threads"):
        assert getattr(again, name) == getattr(used, name)
    assert again.kind is EngineKind.EMBEDDED
    other = of(tiny_kimi.with_name("other.gguf"))
    assert bench.service.settings_for(other).context != 1024


def test_a_found_plan_is_started_exactly_as_it_was_found(
    bench: EngineBench, tiny_kimi: Path
) -> None:
    """From the header of the file through the search to the arguments of the running process."""
    [model] = Library(kv_bytes_per_token).scan((tiny_kimi.parent,))
    assert model.facts is not None
    machine = data.two_gpu_box()
    plan = find_plan(shape_of(model.facts), machine, Wishes(uses_gpus=False))
    plain = LoadSettings(tiny_kimi)
    settings = bench.service.settings_for(model)
    assert settings == settings_of(plan, plain, machine)
    assert forecast_load(settings, model, machine, uses_gpus=False) == plan.forecast

    settings = dataclasses.replace(settings, n_threads=1)  # others test at the same time
    status = bench.service.start(settings).result(60)
    assert status.state is EngineState.READY
    assert status.pid is not None
    running = psutil.Process(status.pid).cmdline()
    for name in ("--host", "--api-key-file"):
        at = running.index(name)
        del running[at : at + 2]
    assert tuple(running) == bench.service.command_line(settings)
    flags = plan_flags(dataclasses.replace(plan, n_threads=1), 0)
    start = running.index("-ngl")
    assert tuple(running[start : start + len(flags)]) == flags


def test_damaged_memories_are_passed_over(bench: EngineBench, tiny_kimi: Path) -> None:
    model = of(tiny_kimi)
    usual = bench.service.settings_for(model)
    damaged = {"context": -5, "n_batch": "many", "cache_type": 7, "extra": "--host x", "new": 1}
    choose(bench, EngineSettings(loads={model.id: damaged}))
    assert bench.service.settings_for(model) == usual


def test_a_base_model_is_given_a_template_and_stops(bench: EngineBench, tiny_kimi: Path) -> None:
    model = of(tiny_kimi)
    assert model.facts is not None
    model = dataclasses.replace(model, facts=dataclasses.replace(model.facts, chat_template=None))
    settings = bench.service.settings_for(model)
    assert settings.chat_template is not None
    command = bench.service.command_line(settings)
    assert settings.chat_template in command
    assert command[command.index("-r") + 1] == settings.stop[0]


def test_the_chosen_llama_server_is_used(bench: EngineBench, tmp_path: Path) -> None:
    binary = make_binary(tmp_path / "llama-server")
    choose(bench, EngineSettings(llama_server=str(binary)))
    settings = bench.service.settings_for(of(script_file(tmp_path / "model")))
    assert (settings.kind, settings.binary) == (EngineKind.LLAMA_SERVER, binary)
    assert bench.service.command_line(settings)[0] == str(binary)
    assert bench.service.name_of(settings) == "llama-server"
    bench.service.prepare().result(60)
    assert bench.service.name_of(settings) == "llama.cpp b9876"
    assert bench.service.name_of(LoadSettings(settings.model_path)) == embedded_build().name
    shown = bench.service.command_line(settings)
    assert "--no-webui" in shown
    assert "--offline" not in shown
    assert bench.service.start(settings).result(60).engine_name == "llama.cpp b9876"


def test_a_binary_of_its_choice_that_is_gone_is_said_at_the_start_only(
    bench: EngineBench, tiny_kimi: Path
) -> None:
    choose(bench, EngineSettings(llama_server="/nowhere/llama-server"))
    bench.service.prepare().result(60)
    settings = bench.service.settings_for(of(tiny_kimi))
    assert bench.service.command_line(settings)[0] == "/nowhere/llama-server"


def test_the_command_uses_the_physical_cores(bench: EngineBench, tiny_kimi: Path) -> None:
    command = bench.service.command_line(LoadSettings(tiny_kimi))
    assert command[command.index("-t") + 1] == "32"
    with engine_bench() as unknown:
        command = unknown.service.command_line(LoadSettings(tiny_kimi))
        assert int(command[command.index("-t") + 1]) >= 1


def test_the_forecast_is_asked_with_the_machine_and_empty_without(tiny_kimi: Path) -> None:
    model = of(tiny_kimi)
    with engine_bench() as bench:
        assert bench.service.forecast(LoadSettings(tiny_kimi), model) == LoadForecast(())
    asked = []

    def forecast(*arguments: object, uses_gpus: bool) -> LoadForecast:
        asked.append((*arguments, uses_gpus))
        return LoadForecast((), exact=False)

    with engine_bench(machine=data.two_gpu_box(), forecast=forecast) as bench:
        settings = LoadSettings(tiny_kimi)
        assert bench.service.forecast(settings, model) == LoadForecast((), exact=False)
        uses_gpus = bench.service.uses_gpus(settings)
    assert asked == [(settings, model, data.two_gpu_box(), uses_gpus)]


def test_over_loopback_the_engine_chooses_its_port(
    bench: EngineBench, tiny_kimi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    without = dataclasses.replace(embedded_build(), unix_sockets=False)
    monkeypatch.setattr(choosing, "embedded_build", lambda: without)
    assert bench.service.start(embedded(tiny_kimi)).result(60).state is EngineState.READY
    endpoint = bench.service.endpoint
    assert endpoint is not None
    assert endpoint.socket_path is None
    assert endpoint.port is not None
    assert endpoint.port > 1024

    async def ask() -> str:
        client = bench.service.client()
        assert client is not None
        request = ChatRequest((("user", "code"),), Sampling())
        return "".join([delta.content async for delta in client.stream_chat(request)])

    assert "```python" in bench.io.submit(ask).result(60)


def test_an_engine_that_only_logs_that_it_listens_is_asked_for_its_health(
    bench: EngineBench, tmp_path: Path
) -> None:
    """Builds that tell no progress: ready is what /health says."""
    binary = make_binary(tmp_path / "llama-server")
    model = script_file(tmp_path / "model", start=[{"sleep": 0.2}])
    status = bench.service.start(scripted(model, binary)).result(60)
    assert status.state is EngineState.READY
    assert all(entry.load_fraction is None for entry in bench.statuses)
