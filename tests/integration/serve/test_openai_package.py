"""The openai package against the gateway and the real engine, as people use it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus, LoadSettings
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.serve.service import ServeService
from kimi_desktop.serve.snippets import openai_lines
from tests.support.engine_bench import wait_until
from tests.support.engine_programs import embedded_engine
from tests.support.heard import WAIT_S
from tests.support.ports import free_port
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="Unix sockets")

MODEL = "tiny-kimi.q8_0"
HI = [{"role": "user", "content": "hi"}]


@dataclasses.dataclass
class Served:
    service: ServeService

    @property
    def url(self) -> str:
        return self.service.status.url

    def client(self, key: str = "") -> openai.OpenAI:
        return openai.OpenAI(
            base_url=self.url,
            api_key=key or self.service.status.api_key,
            max_retries=0,
            timeout=WAIT_S,
            http_client=openai.DefaultHttpxClient(trust_env=False),
        )


@contextlib.contextmanager
def serving(model: Path, folder: Path, *flags: str) -> Iterator[Served]:
    bus, io = EventBus(), IoLoop()
    store = SettingsStore(folder / "settings.json")
    store.update(
        lambda s: dataclasses.replace(s, serve=dataclasses.replace(s.serve, port=free_port()))
    )

    class Engine:
        status = EngineStatus(EngineState.STOPPED)
        endpoint = None

    engine = Engine()
    service = ServeService(io, bus, store, engine, folder=folder, workplace=folder / "work")
    with embedded_engine(model, *flags) as program:
        engine.endpoint = program.endpoint
        loaded = LoadSettings(Path(f"/models/{MODEL}.gguf"), context=2048)
        engine.status = EngineStatus(EngineState.READY, loaded)
        bus.publish(EngineStateChanged(engine.status))
        service.switch_on().result(WAIT_S)
        served = Served(service)
        with served.client() as client:
            wait_until(lambda: bool(list(client.models.list())))
        yield served
        service.close()
        io.close()


@pytest.fixture(scope="module")
def served(tiny_kimi: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tiny_kimi, tmp_path_factory.mktemp("serve")) as it:
        yield it


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    with served.client() as made:
        yield made


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).id == MODEL
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-4")
    assert caught.value.code == "model_not_found"


def test_an_answer_at_once_and_streamed(client: openai.OpenAI) -> None:
    fast = {"chat_template_kwargs": {"thinking": False}}
    whole = client.chat.completions.create(model=MODEL, messages=HI, extra_body=fast)
    assert whole.choices[0].message.content == said("hello_fast")
    assert whole.choices[0].finish_reason == "stop"
    text, usage = "", None
    for chunk in client.chat.completions.create(
        model=MODEL,
        messages=HI,
        stream=True,
        stream_options={"include_usage": True},
        extra_body=fast,
    ):
        usage = chunk.usage or usage
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
    assert text == said("hello_fast")
    assert usage is not None
    assert usage.completion_tokens == whole.usage.completion_tokens


def test_the_lines_of_the_page(served: Served) -> None:
    lines = openai_lines(served.url, served.service.status.api_key, MODEL)
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(
        [sys.executable, "-c", lines],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**environment, "PYTHONIOENCODING": "utf-8"},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "🌙" in done.stdout


def test_a_tool_is_called(client: openai.OpenAI) -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    asked = [{"role": "user", "content": "weather"}]
    answer = client.chat.completions.create(model=MODEL, messages=asked, tools=[tool])
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, "Paris" in call.function.arguments) == ("get_weather", True)
    assert answer.choices[0].finish_reason == "tool_calls"


def test_plain_completions(client: openai.OpenAI) -> None:
    one = client.completions.create(model=MODEL, prompt="Once", max_tokens=8, temperature=0)
    listed = client.completions.create(model=MODEL, prompt=["Once"], max_tokens=8, temperature=0)
    assert one.usage.completion_tokens > 0
    assert listed.choices[0].text == one.choices[0].text
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model=MODEL, prompt=["Once", "Twice"])


def test_wrong_and_revoked_keys(served: Served) -> None:
    with served.client("kd-wrong") as stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()
    (entry,) = served.service.add_client("editor").result(WAIT_S).clients
    with served.client(entry.key) as editor:

        def is_let_in() -> bool:
            try:
                editor.chat.completions.create(model=MODEL, messages=HI, max_tokens=1)
            except openai.AuthenticationError:
                return False
            return True

        wait_until(is_let_in)
        served.service.revoke_client("editor").result(WAIT_S)
        wait_until(lambda: not is_let_in())


def test_embeddings_are_refused_by_an_engine_that_answers_with_text(
    client: openai.OpenAI,
) -> None:
    with pytest.raises(openai.APIStatusError, match="--embeddings"):
        client.embeddings.create(model=MODEL, input="hi")


def test_embeddings(tiny_kimi: Path, tmp_path: Path) -> None:
    with (
        serving(tiny_kimi, tmp_path, "--embeddings", "--pooling", "mean") as served,
        served.client() as client,
    ):
        found = client.embeddings.create(model=MODEL, input=["hi", "count"]).data
        assert [row.index for row in found] == [0, 1]
        assert len(found[0].embedding) == len(found[1].embedding) > 0
        assert found[0].embedding != found[1].embedding
        plain = client.embeddings.create(model=MODEL, input="hi", encoding_format="float").data
        assert plain[0].embedding == pytest.approx(found[0].embedding, abs=1e-3)
