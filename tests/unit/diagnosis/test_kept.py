"""What is kept of failures, slow and odd answers: redacted, bounded, and read again as it was."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.types import (
    EngineFacts,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadRemarked,
    LoadSettings,
)
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.types import AnswerFinished, AnswerStats, Message, Role
from kimi_desktop.diagnosis.bundle import LONGEST_LOG
from kimi_desktop.diagnosis.collect import course_facts
from kimi_desktop.diagnosis.failure import Pricing, read_failure
from kimi_desktop.diagnosis.kept import failure_text, kept_failure, odd_text, slowness_text
from kimi_desktop.diagnosis.service import Diagnoses
from kimi_desktop.diagnosis.types import Aspect, FailureRead, OddAnswerSeen
from kimi_desktop.diagnosis.watcher import Surroundings, Watcher
from kimi_desktop.monitor.run_settings import changed_settings
from kimi_desktop.monitor.run_types import Outcome, RunFacts, RunForecast, RunMeasures, RunRecord
from kimi_desktop.planner.types import LoadForecast
from tests.support import scripted_data as data
from tests.support.samples import gpu_sample, sample

KV = "E llama_init_from_model: failed to allocate buffer for kv cache"
SETTINGS = LoadSettings(Path("/m/k.gguf"), n_gpu_layers=62, n_cpu_moe=40, context=131_072)
PRICING = Pricing(lambda *_: LoadForecast(()), lambda settings, _: settings)
GIB = 2**30


def failed(**facts: object) -> EngineStatus:
    known = {"code": 1, "phase": "load", "log": ("I x", KV)} | facts
    return EngineStatus(
        EngineState.FAILED,
        settings=SETTINGS,
        error=BackendError(ErrorCode.ENGINE_EXITED, {"code": 1}),
        facts=EngineFacts(**known),  # type: ignore[arg-type]
        started_at=50.0,
    )


@pytest.fixture
def model():
    found = data.kimi_model(Path("/m"))
    return dataclasses.replace(found, path=SETTINGS.model_path)


def test_a_failure_comes_back_as_it_was(model) -> None:
    reading = read_failure(failed(), model, data.two_gpu_box(), PRICING)
    kept = kept_failure(RunFacts(60.0, failure_text(reading)), 50.0)
    assert kept is not None
    assert kept.reading.diagnosis.cause == reading.diagnosis.cause
    assert kept.log == reading.evidence.log
    assert kept.reading.error is not None
    assert kept.reading.error.code is ErrorCode.ENGINE_EXITED
    assert (kept.figure, kept.odd, kept.at) == (None, None, 60.0)


def test_it_is_redacted_and_bounded(model) -> None:
    log = ("I token hf_PLANTEDplantedPLANTED", "x" * 80, *["I line"] * LONGEST_LOG, KV)
    reading = read_failure(failed(log=log), model, None, PRICING)
    text = failure_text(reading)
    assert "PLANTED" not in text
    assert len(text) < 2 * LONGEST_LOG
    kept = kept_failure(RunFacts(60.0, text), 50.0)
    assert kept is not None
    assert kept.log.endswith(KV)


def test_nested_facts_are_redacted_too(model) -> None:
    around = {
        "kernel": ["hf_PLANTEDplantedPLANTED killed"],
        "libraries": {"python": "at /home/planteduser/x"},
        "last_answers": [{"note": "password=PLANTEDword"}],
    }
    reading = read_failure(failed(), model, None, PRICING, around=around)
    text = failure_text(reading)
    assert reading.evidence.machine["kernel"] == around["kernel"]
    for planted in ("PLANTED", "planteduser"):
        assert planted not in text


def test_a_slow_answer_comes_back_with_its_figures() -> None:
    kept = kept_failure(RunFacts(60.0, slowness_text(data.SLOW, "I the log")), 50.0)
    assert kept is not None
    assert kept.figure == data.SLOW.figure
    assert kept.log == "I the log"
    queue = dataclasses.replace(data.SLOW.figure, aspect=Aspect.QUEUE, expected=None)
    again = slowness_text(dataclasses.replace(data.SLOW, figure=queue), "")
    kept = kept_failure(RunFacts(60.0, again), 50.0)
    assert kept is not None
    assert kept.figure == queue


@pytest.mark.parametrize("text", ["", "[]", "{}x", '{"slow": 3}', '{"odd_answer": "of tomorrow"}'])
def test_what_is_of_another_version_is_no_failure(text: str) -> None:
    assert kept_failure(RunFacts(1.0, text), 1.0) is None


def test_memory_before_at_its_fullest_and_at_the_end() -> None:
    samples = [
        sample(at, ram_used_bytes=ram * GIB, gpus=(gpu_sample(vram_used_bytes=vram * GIB),))
        for at, ram, vram in ((40, 9, 9), (49, 2, 1), (51, 8, 20), (55, 5, 3))
    ]
    rows = course_facts(samples, 50.0)["memory_used_gib"]
    assert rows["ram"] == {"before": 2.0, "most": 8.0, "at_end": 5.0}
    assert rows["gpu:0"] == {"before": 1.0, "most": 20.0, "at_end": 3.0}
    assert course_facts([], 50.0) == {}


class Desk:
    """The service and the watcher on one bus."""

    def __init__(self, model) -> None:
        self.io, self.bus = IoLoop(), EventBus()
        self.heard: list[Event] = []
        self.kept: dict[int, tuple[RunFacts, ...]] = {}
        self.bus.subscribe(self.heard.append)
        running = EngineStatus(EngineState.READY, settings=SETTINGS, started_at=50.0)
        self.watcher = Watcher(
            self.io,
            self.bus,
            Surroundings(
                status=lambda: running,
                models=lambda: (model,),
                machine=lambda: None,
                samples=lambda _seconds: (),
                requests=lambda: (),
                expected=lambda *_: None,
                pricing=PRICING,
            ),
        )
        self.slow_holders = 0.0
        self.diagnoses = Diagnoses(
            self.io,
            self.bus,
            models=lambda: (model,),
            machine=lambda: None,
            pricing=PRICING,
            steps_down=lambda: False,
            start=lambda _settings: None,
            holders=self._holders,
            samples=lambda _seconds: (sample(49.0), sample(55.0)),
            kept=lambda number: self.kept[number],
        )

    def _holders(self):
        time.sleep(self.slow_holders)
        return ()

    def answered(self, error: ChatError | None = None) -> None:
        stats = AnswerStats(7, 3.5, 0.2, None, 40, 8)
        message = Message(1, Role.ASSISTANT, "a private answer", stats=stats)
        self.bus.publish(AnswerFinished(1, message, error))

    def wait(self, kind: type[Event]) -> list[Event]:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if found := [event for event in self.heard if isinstance(event, kind)]:
                return found
            time.sleep(0.005)
        raise AssertionError(kind)


@pytest.fixture
def desk(model) -> Iterator[Desk]:
    made = Desk(model)
    yield made
    made.watcher.close()
    made.diagnoses.close()
    made.io.close()


def test_the_last_answers_and_the_memory_are_evidence(desk: Desk) -> None:
    desk.answered()
    desk.bus.publish(EngineStateChanged(failed()))
    (event,) = desk.wait(FailureRead)
    assert isinstance(event, FailureRead)
    facts = event.reading.evidence.machine
    assert facts["last_answers"] == [
        {
            "tokens": 7,
            "decode_tps": 3.5,
            "first_token_s": 0.2,
            "prompt_tokens": 40,
            "cached_tokens": 8,
        }
    ]
    assert set(facts["memory_used_gib"]) == {"ram"}
    assert facts["hash_state"] == "never proven"
    assert "files" in facts


def test_a_failure_is_read_to_its_end_when_the_app_closes(desk: Desk) -> None:
    desk.slow_holders = 0.3
    desk.bus.publish(EngineStateChanged(failed()))
    desk.diagnoses.close()
    assert [event for event in desk.heard if isinstance(event, FailureRead)]


@pytest.mark.parametrize(
    ("code", "cause"),
    [(ErrorCode.CHAT_TEMPLATE_LEAK, "wrong_chat_template"), (ErrorCode.CHAT_LOOPING, None)],
)
def test_an_odd_answer_is_kept_once_and_without_its_text(
    desk: Desk, code: ErrorCode, cause: str | None
) -> None:
    desk.answered(ChatError(code))
    desk.answered(ChatError(code))
    desk.bus.publish(LoadRemarked((BackendError(ErrorCode.ENGINE_OLD_SYSTEM),)))
    desk.wait(OddAnswerSeen)
    desk.io.pool(lambda: None).result(10)
    (event,) = desk.wait(OddAnswerSeen)
    assert isinstance(event, OddAnswerSeen)
    text = odd_text(event.answer, "I the log")
    assert "private answer" not in text
    kept = kept_failure(RunFacts(1.0, text), 50.0)
    assert kept is not None
    assert (kept.odd, kept.log) == (code, "I the log")
    if cause is not None:
        best = kept.reading.diagnosis.cause
        assert best is not None
        assert best.cause == cause
    assert json.loads(text)["machine"]["last_answers"][0]["tokens"] == 7


def test_what_a_remark_of_a_load_says_is_kept(desk: Desk) -> None:
    remark = BackendError(ErrorCode.ENGINE_FIRST_TEMPLATE, {"text": "<|im_end|>", "cache": "f16"})
    desk.bus.publish(LoadRemarked((remark,)))
    (event,) = desk.wait(OddAnswerSeen)
    assert isinstance(event, OddAnswerSeen)
    assert event.answer.code is ErrorCode.ENGINE_FIRST_TEMPLATE


def test_a_run_is_read_again_with_its_ways_out(desk: Desk, model) -> None:
    reading = read_failure(failed(), model, None, PRICING)
    run = RunRecord(
        id=3,
        started_at=50.0,
        ended_at=60.0,
        model_path=str(SETTINGS.model_path),
        title="Kimi",
        quantization="",
        engine="llama.cpp",
        settings=changed_settings(SETTINGS),
        forecast=RunForecast(),
        measured=RunMeasures(),
        outcome=Outcome.FAILED,
    )
    desk.kept[3] = (RunFacts(60.0, failure_text(reading)), RunFacts(61.0, "not this"))
    (kept,) = desk.diagnoses.of_run(run).result(10)
    assert [way.key for way in kept.reading.ways] == [way.key for way in reading.ways]
    gone = dataclasses.replace(run, model_path="/gone.gguf")
    (kept,) = desk.diagnoses.of_run(gone).result(10)
    assert kept.reading.ways == ()
