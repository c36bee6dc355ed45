"""From a failed engine to a cause with priced ways out; what was tried is not offered again."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import (
    EngineFacts,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.errors import BackendError, ErrorCode, PlanError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.diagnosis.beyond import full_devices, ways_beyond
from kimi_desktop.diagnosis.failure import MOST_WAYS, Pricing, read_failure
from kimi_desktop.diagnosis.ladder import ModelBounds, ladder
from kimi_desktop.diagnosis.service import Diagnoses
from kimi_desktop.diagnosis.types import Beyond, FailureRead, Finding, Fix
from kimi_desktop.machine.holders import Holder
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from tests.support import scripted_data as data

KV = "E llama_init_from_model: failed to allocate buffer for kv cache"
MOE = ModelBounds(n_layer=61, has_experts=True)
SETTINGS = LoadSettings(Path("/m/k.gguf"), n_gpu_layers=62, n_cpu_moe=40, context=131_072)


def forecast(settings: LoadSettings, model: object) -> LoadForecast:
    """Bytes that follow the settings, so that every step frees something."""
    del model
    per_token = 2 if settings.cache_type == "f16" else 1
    return LoadForecast(
        (
            DeviceMemory(
                device="gpu:0",
                name="GPU",
                total_bytes=10**9,
                weights_bytes=(61 - settings.n_cpu_moe) * 1000 + settings.n_gpu_layers,
                kv_bytes=settings.context * per_token,
                compute_bytes=settings.n_ubatch,
                overhead_bytes=0,
                others_bytes=0,
            ),
        )
    )


PRICING = Pricing(forecast, lambda settings, _model: settings)


def failed(settings: LoadSettings = SETTINGS, line: str = KV, at: float = 1.0) -> EngineStatus:
    return EngineStatus(
        EngineState.FAILED,
        settings=settings,
        error=BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": line}),
        facts=EngineFacts(code=1, phase="load", log=("I x", line)),
        started_at=at,
    )


@pytest.fixture
def model():
    found = data.kimi_model(Path("/m"))
    return dataclasses.replace(found, path=SETTINGS.model_path)


def test_the_steps_for_a_kv_cache_in_their_order(model) -> None:
    reading = read_failure(failed(), model, None, PRICING)
    best = reading.diagnosis.cause
    assert best is not None
    assert best.cause == "kv_cache_oom"
    assert [way.key for way in reading.ways] == ["cache", "experts", "context"]
    assert len(reading.ways) <= MOST_WAYS
    assert reading.ways[0].freed == (("gpu:0", 131_072),)
    assert [way.needs_consent for way in reading.ways] == [False, False, True]


def test_what_was_tried_is_not_offered_again(model) -> None:
    first = read_failure(failed(), model, None, PRICING).ways[0]
    again = read_failure(failed(), model, None, PRICING, {(first.key, first.settings)})
    assert first.key not in [way.key for way in again.ways]


def test_a_step_that_cannot_be_spread_is_left_out(model) -> None:
    def refuse(settings: LoadSettings, _model: object) -> LoadSettings:
        raise PlanError(ErrorCode.PLAN_NO_HEADER, {"name": str(settings.model_path)})

    reading = read_failure(failed(), model, None, Pricing(forecast, refuse))
    assert [way.key for way in reading.ways] == ["cache", "context"]


def test_without_a_model_there_is_a_cause_and_no_way() -> None:
    reading = read_failure(failed(), None, None, PRICING)
    assert reading.diagnosis.cause is not None
    assert reading.ways == ()


def test_an_unknown_failure_is_unknown(model) -> None:
    reading = read_failure(failed(line="I nothing"), model, None, PRICING)
    assert reading.diagnosis.cause is None
    assert reading.ways == ()


def test_machine_and_settings_are_evidence(model) -> None:
    reading = read_failure(failed(), model, data.two_gpu_box(), PRICING)
    assert reading.evidence.machine["gpu_count"] == 2
    assert reading.evidence.settings["ctx"] == 131_072


CAUSES = (
    "vram_oom_weights", "kv_cache_oom", "compute_buffer_oom", "vram_oom_at_runtime",
    "vram_taken_by_other", "ram_oom_killed", "memory_cap_container_or_wsl",
)  # fmt: skip
ANY_SETTINGS = st.builds(
    LoadSettings,
    model_path=st.just(Path("/m/k.gguf")),
    n_gpu_layers=st.integers(0, 62),
    n_cpu_moe=st.integers(0, 61),
    context=st.integers(256, 262_144),
    n_ubatch=st.sampled_from([32, 128, 512, 4096]),
    cache_type=st.sampled_from(["f16", "q8_0", "q4_0"]),
)


@given(st.sampled_from(CAUSES), ANY_SETTINGS, st.booleans())
def test_the_ladder_ends(cause: str, settings: LoadSettings, has_experts: bool) -> None:
    """Taking the first step again and again only ever goes down, and comes to an end."""
    bounds = ModelBounds(61, has_experts)
    for _ in range(200):
        step = next(ladder(cause, settings, bounds), None)
        if step is None:
            return
        assert step.settings != settings
        assert step.settings.context <= settings.context
        assert step.settings.n_gpu_layers <= settings.n_gpu_layers
        assert step.settings.n_cpu_moe >= settings.n_cpu_moe
        assert step.settings.n_ubatch <= settings.n_ubatch
        settings = step.settings
    raise AssertionError("a loop")


@pytest.mark.parametrize(
    ("cause", "changes", "keys"),
    [
        ("kv_quant_needs_flash_attn", {"cache_type": "q8_0"}, ["cache"]),
        ("kv_quant_needs_flash_attn", {}, []),
        ("prompt_exceeds_context", {}, ["context"]),
        ("bad_argument", {"extra": ("--nope",)}, ["extra"]),
        ("bad_argument", {}, []),
        ("disk_full", {}, []),
    ],
)
def test_other_causes(cause: str, changes: dict[str, object], keys: list[str]) -> None:
    settings = dataclasses.replace(SETTINGS, **changes)  # type: ignore[arg-type]
    assert [step.key for step in ladder(cause, settings, MOE)] == keys


def joined(
    io: IoLoop, bus: EventBus, model: LocalModel, started: list[LoadSettings] | None = None
) -> Diagnoses:
    """A service; with a list it steps down by itself and notes what it starts."""
    starts: list[LoadSettings] = [] if started is None else started
    return Diagnoses(
        io,
        bus,
        models=lambda: [model],
        machine=lambda: None,
        pricing=PRICING,
        steps_down=lambda: started is not None,
        start=starts.append,
    )


def test_it_steps_down_by_itself_to_the_end_of_the_ladder_and_never_below(model) -> None:
    """An engine that always fails: every step once, the context never."""
    bus, io = EventBus(), IoLoop()
    started: list[LoadSettings] = []
    ended = threading.Event()

    def fails_again(event: Event) -> None:
        if isinstance(event, FailureRead) and event.stepped_down is None:
            ended.set()
        elif isinstance(event, FailureRead) and event.stepped_down is not None:
            status = failed(event.stepped_down.settings, at=len(started) + 2.0)
            io.pool(bus.publish, EngineStateChanged(status))

    bus.subscribe(fails_again)
    service = joined(io, bus, model, started)
    try:
        bus.publish(EngineStateChanged(failed()))
        assert ended.wait(30)
    finally:
        service.close()
        io.close()
    assert len(started) == len(set(started)) > 3
    assert {settings.context for settings in started} == {SETTINGS.context}
    assert started[-1].n_gpu_layers == 0


def test_the_service_reads_every_failure_and_forgets_at_a_good_start(model) -> None:
    bus, io = EventBus(), IoLoop()
    heard: list[Event] = []
    bus.subscribe(heard.append)
    service = joined(io, bus, model)

    def wait_for_reading(count: int) -> None:
        deadline = time.monotonic() + 20
        while sum(isinstance(event, FailureRead) for event in heard) < count:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    try:
        bus.publish(EngineStateChanged(failed()))
        wait_for_reading(1)
        latest = service.latest
        assert latest is not None
        assert '"kimi_desktop_diagnosis"' in service.bundle_text()
        service.note_tried(latest.ways[0])
        bus.publish(EngineStateChanged(failed(at=2.0)))
        wait_for_reading(2)
        assert service.latest is not None
        assert latest.ways[0].key not in [way.key for way in service.latest.ways]
        bus.publish(EngineStateChanged(EngineStatus(EngineState.READY)))
        assert service.latest is None
        assert service.bundle_text() == ""
        bus.publish(EngineStateChanged(failed(at=3.0)))
        wait_for_reading(3)
        assert service.latest.ways[0].key == latest.ways[0].key
        bus.publish(EngineStateChanged(EngineStatus(EngineState.STARTING)))
        assert service.latest is None
    finally:
        service.close()
        io.close()


HOLDER = Holder(4242, 1.0, "python3.11", 0, 40 * 2**30)


def reading_of(cause: str, model, machine=None, **more):
    """The reading of a failure whose log names ``cause``'s line in the corpus."""
    lines = {
        "vram_taken_by_other": "E cudaMalloc failed: out of memory",
        "file_truncated": "E gguf_init_from_file_ptr: tensor 'x' data is not within the file"
        " bounds, model is corrupted or incomplete",
        "engine_too_old_for_model": "E llama_model_load: error loading model architecture: unknown"
        " model architecture: 'kimi9'",
    }
    return read_failure(failed(line=lines[cause]), model, machine, PRICING, **more)


def test_a_file_that_is_cut_is_verified(model) -> None:
    reading = reading_of("file_truncated", model)
    assert reading.diagnosis.cause.cause == "file_truncated"
    assert [way.kind for way in reading.beyond] == [Beyond.VERIFY]
    assert reading.devices == ()


def test_an_old_engine_is_replaced(model) -> None:
    reading = reading_of("engine_too_old_for_model", model)
    assert [way.kind for way in reading.beyond] == [Beyond.ENGINE]


def test_who_holds_the_card_is_evidence_and_a_way_out(model) -> None:
    full = dataclasses.replace(data.two_gpu_box())
    gpus = tuple(dataclasses.replace(gpu, vram_free_bytes=100) for gpu in full.gpus)
    machine = dataclasses.replace(full, gpus=gpus)
    reading = reading_of("vram_taken_by_other", model, machine, holders=(HOLDER,))
    facts = reading.evidence.machine
    assert facts["gpu_processes"] == ["GPU 0: python3.11 (4242) 40.0 GiB"]
    assert facts["vram_free_gib"] <= facts["vram_needed_gib"]


def test_the_ways_beyond_by_what_a_cause_needs() -> None:
    def kinds(cause: str, action: str, setting: str = "", rule: str = "files.toml #1"):
        best = Finding(cause, 0.9, None, "", Fix(action, "x", setting, "a line"), rule)
        return [way.kind for way in ways_beyond(best, None, LoadForecast(()), (HOLDER,))]

    assert kinds("vram_taken_by_other", "end_process") == [Beyond.END_PROGRAM]
    assert kinds("not_a_model_file", "download") == [Beyond.OTHER_FILE]
    assert kinds("shm_too_small", "limit", "shm_size") == [Beyond.LINE]
    assert kinds("mmap_thrash", "set", "quantization") == [Beyond.OTHER_FILE]
    assert kinds("kv_cache_oom", "set", "ctx") == []


@pytest.mark.parametrize(
    ("source", "line"), [("wsl", "[wsl2]\nmemory=11GB"), ("cgroup", "MemoryMax=11G")]
)
def test_a_limit_is_raised_to_what_the_load_needs(source: str, line: str) -> None:
    machine = data.cpu_only_box()
    memory = dataclasses.replace(machine.memory, limit_bytes=2**33, limit_source=source)
    machine = dataclasses.replace(machine, memory=memory)
    host = DeviceMemory("host", "RAM", 2**33, 10 * 2**30, 0, 0, 0, 0)
    fix = Fix("limit", "up", "memory_limit", "as it may be")
    best = Finding("memory_cap_container_or_wsl", 0.9, None, "", fix, "memory.toml #1")
    (way,) = ways_beyond(best, machine, LoadForecast((host,)), ())
    assert line in way.line


def test_the_fullest_card_is_shown() -> None:
    row = DeviceMemory("gpu:0", "A", 100, 50, 0, 0, 0, 0)
    full = dataclasses.replace(row, device="gpu:1", weights_bytes=200)
    host = dataclasses.replace(row, device="host")
    best = Finding("kv_cache_oom", 0.9, None, "", Fix("set", "down"), "memory.toml #1")
    forecast = LoadForecast((row, full, host))
    assert full_devices(best, forecast) == (full,)
    killed = dataclasses.replace(best, cause="ram_oom_killed")
    assert full_devices(killed, forecast) == (host,)
