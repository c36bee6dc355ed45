"""Conversations in the app as it is wired: its engine, its supervisor, its database."""

from __future__ import annotations

import dataclasses
import math
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends.types import EngineState, LoadSettings
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.chat.types import AnswerFinished, Finish, QueueChanged, Role, TokensArrived
from kimi_desktop.core import Core
from kimi_desktop.learning import kept_tokens
from kimi_desktop.planner import speed_learn
from kimi_desktop.planner.plan_types import Profile
from kimi_desktop.planner.speed import forecast_speed
from tests.support.engine_programs import short_folder
from tests.support.heard import WAIT_S, Heard
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="signals")

ROOMY = 262_144


@pytest.fixture
def home() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def core(home: Path) -> Iterator[Core]:
    made = Core(AppPaths.under(home))
    made.start()
    yield made
    made.close()


@pytest.fixture
def load(core: Core, home: Path, tiny_kimi: Path) -> LoadSettings:
    folder = home / "models"
    folder.mkdir()
    shutil.copy(tiny_kimi, folder)
    (model,) = core.models.add_folder(folder).result(WAIT_S)
    core.store.update(
        lambda s: dataclasses.replace(s, chat=dataclasses.replace(s.chat, max_tokens=ROOMY))
    )
    return dataclasses.replace(core.engine.settings_for(model), context=ROOMY, n_threads=1)


def test_a_message_sent_before_the_engine_is_ready_and_an_engine_that_is_killed(
    core: Core, load: LoadSettings, home: Path
) -> None:
    heard = Heard(core.bus)
    chat = core.chats.new_chat()
    core.chats.send(chat, "hi")
    assert heard.all(QueueChanged) == [QueueChanged(chat, "hi")]
    core.engine.start(load).result(WAIT_S)
    assert heard.wait(AnswerFinished).message.text == said("hello_fast")

    told = len(heard.all(TokensArrived))
    core.chats.send(chat, "forever")
    heard.wait(TokensArrived, told + 3)
    assert core.engine.status.state is EngineState.GENERATING
    assert core.engine.status.pid is not None
    psutil.Process(core.engine.status.pid).send_signal(signal.SIGKILL)
    finished = heard.wait(AnswerFinished, 2)
    assert finished.message.finish is Finish.FAILED
    assert finished.message.text.startswith("Round")
    assert finished.error is not None
    assert finished.error.code is ErrorCode.ENGINE_KILLED
    assert core.engine.status.state is EngineState.FAILED

    core.chats.edit(chat, finished_question(core, chat), "code")
    core.engine.start(load).result(WAIT_S)
    assert heard.wait(AnswerFinished, 3).message.text == said("code")
    core.close()

    again = Core(AppPaths.under(home))
    try:
        texts = [message.text for message in again.chats.messages(chat)]
        assert texts == ["hi", said("hello_fast"), "code", said("code")]
        versions = [message.versions for message in again.chats.messages(chat)]
        assert versions == [1, 1, 2, 1]
    finally:
        again.close()


def finished_question(core: Core, chat: int) -> int:
    """The last question of the chat."""
    return [m.id for m in core.chats.messages(chat) if m.role is Role.USER][-1]


def test_an_answer_corrects_the_forecast_of_its_machine(
    core: Core, load: LoadSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed_learn, "LEAST_BYTES", 0)  # the tiny Kimi reads a few megabytes
    heard = Heard(core.bus)
    core.machine.probe().result(WAIT_S)
    chat = core.chats.new_chat()
    core.chats.send(chat, "count")
    core.engine.start(load).result(WAIT_S)
    stats = heard.wait(AnswerFinished).message.stats
    assert stats is not None
    assert stats.tokens > 100
    until = time.monotonic() + WAIT_S
    while core.learned.factors() is None and time.monotonic() < until:
        time.sleep(0.02)
    learned = core.learned.factors()
    assert learned is not None
    assert learned.runs == 1
    (model,) = core.models.models
    setup = core.plans.work_of(load, model, kept_tokens(stats))
    before = forecast_speed(setup).decode_tps.likely
    after = forecast_speed(setup, factors=learned).decode_tps.likely
    truth = stats.decode_tokens_per_s
    assert abs(math.log(after / truth)) < abs(math.log(before / truth))
    assert core.plans.price(load, model, Profile.SAFE).speed.decode_tps.likely != before
