"""Switching the gateway on and off, with real processes, and the real engine behind it."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from types import SimpleNamespace

import httpx
import pytest

from kimi_desktop.backends.types import (
    Attachment,
    Endpoint,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.errors import ErrorCode, ServeError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.serve import network
from kimi_desktop.serve import service as serve_service
from kimi_desktop.serve.keys import FILE_NAME, MOST_CLIENTS, ClientKeys
from kimi_desktop.serve.service import ServeService
from kimi_desktop.serve.snippets import curl_line, python_lines
from kimi_desktop.serve.types import Reach, ServeChanged, ServeState, ServeStatus, SnippetKind
from tests.support import scripted_upstream as upstreams
from tests.support.engine_programs import embedded_engine
from tests.support.openai_servers import OpenAiServer
from tests.support.ports import free_port

WAIT_S = 30.0
HI = {"messages": [{"role": "user", "content": "hi"}]}


class Engine:
    """What the gateway sees of an engine: a status, and where it listens."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self.status = EngineStatus(EngineState.STOPPED)
        self.endpoint: Endpoint | None = None

    def start(self, endpoint: Endpoint, model: str) -> None:
        self.endpoint = endpoint
        settings = LoadSettings(Path(f"/models/{model}.gguf"), context=2048)
        self.status = EngineStatus(EngineState.READY, settings)
        self._bus.publish(EngineStateChanged(self.status))

    def attach(self, attachment: Attachment, key: str) -> None:
        self.endpoint = Endpoint(None, None, key, attachment.url)
        self.status = EngineStatus(EngineState.READY, attached=attachment)
        self._bus.publish(EngineStateChanged(self.status))

    def stop(self) -> None:
        self.endpoint = None
        self.status = dataclasses.replace(self.status, state=EngineState.STOPPED)
        self._bus.publish(EngineStateChanged(self.status))


class Statuses:
    """Every status that was published, and a way to wait for one."""

    def __init__(self, bus: EventBus) -> None:
        self._arrived = threading.Condition()
        self.all: list[ServeStatus] = []
        bus.subscribe(self._add)

    def _add(self, event: Event) -> None:
        if isinstance(event, ServeChanged):
            with self._arrived:
                self.all.append(event.status)
                self._arrived.notify_all()

    def wait(self, wanted: Callable[[ServeStatus], bool]) -> ServeStatus:
        def found() -> ServeStatus | None:
            return next((status for status in reversed(self.all) if wanted(status)), None)

        with self._arrived:
            assert self._arrived.wait_for(found, WAIT_S), self.all
            status = found()
            assert status is not None
            return status


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def engine(bus: EventBus) -> Engine:
    return Engine(bus)


@pytest.fixture
def statuses(bus: EventBus) -> Statuses:
    return Statuses(bus)


@pytest.fixture
def store(tmp_path: Path) -> SettingsStore:
    made = SettingsStore(tmp_path / "settings.json")
    made.update(
        lambda s: dataclasses.replace(s, serve=dataclasses.replace(s.serve, port=free_port()))
    )
    return made


@pytest.fixture
def serve(
    tmp_path: Path, io: IoLoop, bus: EventBus, store: SettingsStore, engine: Engine
) -> Iterator[ServeService]:
    service = ServeService(
        io, bus, store, engine, folder=tmp_path, workplace=tmp_path / "run" / "gateway"
    )
    yield service
    service.close()


def ask(status: ServeStatus, key: str | None = None) -> httpx.Response:
    return httpx.post(
        f"{status.url}/chat/completions",
        json=HI,
        headers={"Authorization": f"Bearer {key or status.api_key}"},
        timeout=WAIT_S,
        trust_env=False,
    )


def model_served(
    status: ServeStatus, wanted: str | None, verify: ssl.SSLContext | bool = True
) -> None:
    for _ in range(1000):
        answer = httpx.get(
            f"{status.url}/models",
            headers={"Authorization": f"Bearer {status.api_key}"},
            trust_env=False,
            verify=verify,
        )
        if [entry["id"] for entry in answer.json()["data"]] == ([wanted] if wanted else []):
            return
        threading.Event().wait(0.01)
    raise AssertionError(wanted)


def test_on_off_and_the_key_is_kept(
    serve: ServeService, statuses: Statuses, store: SettingsStore, tmp_path: Path
) -> None:
    assert serve.status == ServeStatus(ServeState.OFF)
    on = serve.switch_on().result(WAIT_S)
    assert on.state is ServeState.ON
    assert on.url == f"http://127.0.0.1:{store.settings.serve.port}/v1"
    assert on.api_key.startswith("kd-")
    assert [s.state for s in statuses.all] == [ServeState.STARTING, ServeState.ON]
    assert serve.switch_on().result(WAIT_S) == on
    off = serve.switch_off().result(WAIT_S)
    assert (off.state, off.url, off.api_key) == (ServeState.OFF, "", on.api_key)
    with pytest.raises(httpx.ConnectError):
        ask(on)
    assert serve.switch_on().result(WAIT_S) == on
    assert ClientKeys(tmp_path / FILE_NAME).keys.own == on.api_key
    assert on.api_key not in (tmp_path / "settings.json").read_text(encoding="utf-8")


def test_a_new_key_closes_the_door_to_the_old_one(serve: ServeService) -> None:
    before = serve.switch_on().result(WAIT_S)
    after = serve.renew_key().result(WAIT_S)
    assert after.api_key != before.api_key
    assert (after.state, after.url) == (before.state, before.url)
    for _ in range(1000):
        if ask(after).status_code == 503:  # the key is right, there is no engine
            break
        threading.Event().wait(0.01)
    assert ask(after, before.api_key).status_code == 401


def test_the_address_stays_while_engines_come_and_go(
    serve: ServeService, statuses: Statuses, engine: Engine
) -> None:
    on = serve.switch_on().result(WAIT_S)
    assert ask(on).status_code == 503
    for name in ("first", "second-00001-of-00003"):
        with upstreams.in_thread(upstreams.well_behaved) as upstream:
            engine.start(Endpoint(None, upstream.port, f"key of {name}"), name)
            model_served(on, name.partition("-")[0])
            assert ask(on).json()["choices"][0]["message"]["content"] == "Hello there"
            assert upstream.calls[0].headers["authorization"] == f"Bearer key of {name}"
            assert upstream.calls[0].json["max_tokens"] == 2048
            engine.stop()
            model_served(on, None)
    assert statuses.wait(lambda status: status.served == 2).running == 0
    assert serve.status.url == on.url


def test_the_lines_to_try_it_with_are_there_while_they_would_work(
    serve: ServeService, statuses: Statuses, engine: Engine
) -> None:
    assert serve.snippets() == ()
    on = serve.switch_on().result(WAIT_S)
    assert on.model == ""
    assert serve.snippets() == ()
    engine.start(Endpoint(None, 1, "engine's key"), "tiny-kimi-00001-of-00003")
    assert statuses.wait(lambda status: status.model == "tiny-kimi").state is ServeState.ON
    lines = {snippet.kind: snippet.text for snippet in serve.snippets()}
    assert set(lines) == set(SnippetKind)
    assert lines[SnippetKind.CURL] == curl_line(on.url, on.api_key, "tiny-kimi")
    assert lines[SnippetKind.PYTHON] == python_lines(on.url, on.api_key, "tiny-kimi")
    renewed = serve.renew_key().result(WAIT_S)
    assert all(renewed.api_key in snippet.text for snippet in serve.snippets())
    assert not any(on.api_key in repr(snippet) for snippet in serve.snippets())
    engine.stop()
    statuses.wait(lambda status: status == dataclasses.replace(renewed, model=""))
    assert serve.snippets() == ()


def test_a_model_of_another_server_is_served_by_its_name(
    serve: ServeService, engine: Engine
) -> None:
    on = serve.switch_on().result(WAIT_S)
    with OpenAiServer("vllm", key="sk-other") as server:
        engine.attach(Attachment("Lab", server.url, "kimi-k2.6"), "sk-other")
        model_served(on, "kimi-k2.6")
        assert ask(on).status_code == 200
        assert server.asked[0].key == "sk-other"
        engine.stop()
        model_served(on, None)


def test_an_engine_that_runs_already_is_found(serve: ServeService, engine: Engine) -> None:
    with upstreams.in_thread(upstreams.well_behaved) as upstream:
        engine.start(Endpoint(None, upstream.port, "k"), "tiny")
        on = serve.switch_on().result(WAIT_S)
        model_served(on, "tiny")


def test_a_taken_port_is_an_error_with_numbers(
    serve: ServeService, store: SettingsStore, statuses: Statuses
) -> None:
    port = store.settings.serve.port
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        with pytest.raises(ServeError) as caught:
            serve.switch_on().result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_PORT_TAKEN
    assert caught.value.params["port"] == port
    assert caught.value.params["free_port"] not in (0, port)
    assert serve.status.state is ServeState.FAILED
    assert serve.status.error is caught.value
    assert serve.switch_on().result(WAIT_S).state is ServeState.ON


def test_a_gateway_that_dies_is_said_and_starts_again(
    serve: ServeService, statuses: Statuses, engine: Engine
) -> None:
    with upstreams.in_thread(upstreams.well_behaved) as upstream:
        engine.start(Endpoint(None, upstream.port, "k"), "tiny")
        serve.switch_on().result(WAIT_S)
        pid = serve._process.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM)
        failed = statuses.wait(lambda status: status.state is ServeState.FAILED)
        assert failed.error is not None
        assert failed.error.code is ErrorCode.SERVE_FAILED
        on = serve.switch_on().result(WAIT_S)
        model_served(on, "tiny")


@pytest.mark.parametrize(
    "program",
    [
        "",  # ends at once
        "raise SystemExit('cannot start')",
        "print('nonsense'); print('[]'); print('{}')",
        "import json; print(json.dumps({'event': 'failed', 'reason': 'x', 'detail': 'y'}))",
    ],
)
def test_a_gateway_that_does_not_start(
    io: IoLoop, bus: EventBus, store: SettingsStore, engine: Engine, tmp_path: Path, program: str
) -> None:
    serve = ServeService(
        io,
        bus,
        store,
        engine,
        command=(sys.executable, "-c", program),
        folder=tmp_path,
        workplace=tmp_path / "work",
    )
    with pytest.raises(ServeError) as caught:
        serve.switch_on().result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_FAILED
    assert serve.status.state is ServeState.FAILED
    serve.close()


def test_a_program_that_is_missing(
    io: IoLoop, bus: EventBus, store: SettingsStore, engine: Engine, tmp_path: Path
) -> None:
    serve = ServeService(
        io,
        bus,
        store,
        engine,
        command=("/nowhere/python",),
        folder=tmp_path,
        workplace=tmp_path / "work",
    )
    with pytest.raises(ServeError) as caught:
        serve.switch_on().result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_FAILED
    serve.close()


def test_a_gateway_that_says_nothing_or_does_not_end(
    io: IoLoop,
    bus: EventBus,
    store: SettingsStore,
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kimi_desktop.serve.process.START_TIMEOUT_S", 0.2)
    monkeypatch.setattr("kimi_desktop.serve.process.END_GRACE_S", 0.2)
    program = "import time; time.sleep(600)"
    serve = ServeService(
        io,
        bus,
        store,
        engine,
        command=(sys.executable, "-c", program),
        folder=tmp_path,
        workplace=tmp_path / "work",
    )
    with pytest.raises(ServeError):
        serve.switch_on().result(WAIT_S)
    assert serve._process.pid is None
    serve.close()


def test_a_key_that_cannot_be_kept_holds_until_the_end(
    io: IoLoop, bus: EventBus, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    store = SettingsStore(tmp_path / "settings.json")
    serve = ServeService(io, bus, store, engine, folder=file, workplace=tmp_path / "work")
    key = serve.renew_key().result(WAIT_S).api_key
    assert key == serve.status.api_key != ""
    serve.close()


# what the page shows, as it is shown, against the real engine


@pytest.fixture(scope="module")
def real(tiny_kimi: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServeStatus]:
    if sys.platform == "win32":
        pytest.skip("Unix sockets")
    bus, io = EventBus(), IoLoop()
    engine = Engine(bus)
    folder = tmp_path_factory.mktemp("serve")
    store = SettingsStore(folder / "settings.json")
    store.update(
        lambda s: dataclasses.replace(s, serve=dataclasses.replace(s.serve, port=free_port()))
    )
    serve = ServeService(io, bus, store, engine, folder=folder, workplace=folder / "work")
    with embedded_engine(tiny_kimi) as program:
        engine.start(program.endpoint, "tiny-kimi.q8_0")
        on = serve.switch_on().result(WAIT_S)
        model_served(on, "tiny-kimi.q8_0")
        yield on
        serve.close()
        io.close()


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not (which("curl") and which("bash")), reason="needs curl and bash")
def test_the_curl_line_of_the_page_works(real: ServeStatus) -> None:
    line = curl_line(real.url, real.api_key, "tiny-kimi.q8_0")
    out = run("bash", "-c", line.replace("curl ", "curl --silent --show-error --noproxy '*' ", 1))
    assert out.count("data: ") > 5
    assert "🌙" in out
    assert out.rstrip().endswith("data: [DONE]")


def test_the_python_lines_of_the_page_work(real: ServeStatus) -> None:
    out = run(sys.executable, "-I", "-c", python_lines(real.url, real.api_key, "tiny-kimi.q8_0"))
    assert "🌙" in out


def test_ten_lines_of_httpx_work(real: ServeStatus) -> None:
    with (
        httpx.Client(base_url=real.url, timeout=WAIT_S, trust_env=False) as client,
        client.stream(
            "POST",
            "/chat/completions",
            json={"model": "x", "stream": True, "messages": [{"role": "user", "content": "count"}]},
            headers={"Authorization": f"Bearer {real.api_key}"},
        ) as answer,
    ):
        lines = [line for line in answer.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    assert len(lines) > 100


def test_a_stream_that_is_dropped_leaves_the_engine_free(real: ServeStatus) -> None:
    headers = {"Authorization": f"Bearer {real.api_key}"}
    endless = {"stream": True, "messages": [{"role": "user", "content": "forever"}]}
    with httpx.Client(
        base_url=real.url, headers=headers, timeout=WAIT_S, trust_env=False
    ) as client:
        with client.stream("POST", "/chat/completions", json=endless) as answer:
            next(answer.iter_lines())
        # One slot: this answer comes only when the endless one has ended.
        after = client.post("/chat/completions", json=HI)
    assert "🌙" in after.json()["choices"][0]["message"]["content"]


def status_with(url: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"{url}/models", headers=headers, trust_env=False).status_code


def test_a_program_gets_a_key_of_its_own_and_loses_it(serve: ServeService, tmp_path: Path) -> None:
    status = serve.switch_on().result(WAIT_S)
    (client,) = serve.add_client("  my   editor ").result(WAIT_S).clients
    assert client.name == "my editor"
    assert ClientKeys(tmp_path / FILE_NAME).keys.clients == {"my editor": client.key}
    assert client.key not in (tmp_path / "settings.json").read_text(encoding="utf-8")
    assert client.key not in repr(serve.status)
    wait_until(lambda: status_with(status.url, client.key) == 200)
    for name in ("", "my editor", "default", " "):
        with pytest.raises(ServeError) as caught:
            serve.add_client(name).result(WAIT_S)
        assert caught.value.code is ErrorCode.SERVE_CLIENT_NAME
    assert serve.revoke_client("my editor").result(WAIT_S).clients == ()
    wait_until(lambda: status_with(status.url, client.key) == 401)
    assert status_with(status.url, serve.status.api_key) == 200


def test_keys_for_programs_are_bounded(serve: ServeService) -> None:
    for number in range(MOST_CLIENTS):
        serve.add_client(f"program {number}").result(WAIT_S)
    with pytest.raises(ServeError) as caught:
        serve.add_client("one more").result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_CLIENTS_FULL


@pytest.fixture
def lan(monkeypatch: pytest.MonkeyPatch) -> str:
    """127.0.0.2 stands for this machine's address in a local network."""
    monkeypatch.setattr(serve_service, "lan_addresses", lambda: ("127.0.0.2",))
    return "127.0.0.2"


def test_the_local_network_is_served_encrypted(
    serve: ServeService, lan: str, tmp_path: Path
) -> None:
    assert serve.set_encrypted(encrypted=True).result(WAIT_S).certificate is None
    assert serve.set_address(lan).result(WAIT_S).state is ServeState.OFF
    status = serve.switch_on().result(WAIT_S)
    assert status.url.startswith(f"https://{lan}:")
    assert status.certificate is not None
    trusting = ssl.create_default_context(cafile=status.certificate)
    models = f"{status.url}/models"
    headers = {"Authorization": f"Bearer {status.api_key}"}
    answer = httpx.get(models, headers=headers, verify=trusting, trust_env=False)
    assert answer.status_code == 200
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(models, headers=headers, trust_env=False)
    with pytest.raises(httpx.RemoteProtocolError):  # nothing is told to who speaks in the clear
        status_with(status.url.replace("https", "http"), status.api_key)
    here = status.url.replace(f"https://{lan}", "http://127.0.0.1")
    assert status_with(here, status.api_key) == 200
    copy = serve.save_certificate(tmp_path / "copy.pem").result(WAIT_S)
    assert copy.read_bytes() == status.certificate.read_bytes()
    with pytest.raises(ServeError) as caught:
        serve.save_certificate(tmp_path / "nowhere" / "copy.pem").result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_NOT_SAVED
    again = serve.switch_off().result(WAIT_S)
    assert (again.certificate, again.fingerprint) == (None, "")
    assert serve.switch_on().result(WAIT_S).fingerprint == status.fingerprint
    plain = serve.set_encrypted(encrypted=False).result(WAIT_S)
    assert plain.url.startswith("http://")
    assert plain.certificate is None


def test_a_certificate_that_cannot_be_kept_is_a_failure(
    serve: ServeService, lan: str, tmp_path: Path
) -> None:
    (tmp_path / "serve-key.pem").mkdir()
    serve.set_encrypted(encrypted=True).result(WAIT_S)
    serve.set_address(lan).result(WAIT_S)
    with pytest.raises(ServeError) as caught:
        serve.switch_on().result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_FAILED


@pytest.mark.skipif(which("curl") is None, reason="needs curl")
def test_the_lines_run_against_an_encrypted_endpoint(
    serve: ServeService, engine: Engine, lan: str, tmp_path: Path
) -> None:
    serve.set_encrypted(encrypted=True).result(WAIT_S)
    serve.set_address(lan).result(WAIT_S)
    on = serve.switch_on().result(WAIT_S)
    serve.save_certificate(tmp_path / "kimi-desktop.pem").result(WAIT_S)
    with upstreams.in_thread(upstreams.well_behaved) as upstream:
        engine.start(Endpoint(None, upstream.port, "key"), "tiny")
        model_served(on, "tiny", verify=ssl.create_default_context(cafile=str(on.certificate)))
        lines = {snippet.kind: snippet.text for snippet in serve.snippets()}
        programs = {
            SnippetKind.CURL: ["sh", "-c", lines[SnippetKind.CURL]],
            SnippetKind.PYTHON: [sys.executable, "-c", lines[SnippetKind.PYTHON]],
            SnippetKind.OPENAI: [sys.executable, "-c", lines[SnippetKind.OPENAI]],
        }
        for kind, program in programs.items():
            done = subprocess.run(
                program, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
            )
            assert "Hello" in done.stdout, (kind, done.stderr)
        engine.stop()


def test_the_local_network_is_served_at_one_address_and_left_with_it(
    serve: ServeService, statuses: Statuses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """127.0.0.2 stands for this machine's address in a local network."""
    here = ["127.0.0.2"]
    monkeypatch.setattr(serve_service, "lan_addresses", lambda: tuple(here))
    monkeypatch.setattr(serve_service, "ADDRESS_EVERY_S", 0.05)
    serve.switch_on().result(WAIT_S)
    status = serve.set_address("127.0.0.2").result(WAIT_S)
    assert status.url.startswith("http://127.0.0.2:")
    assert status.address == "127.0.0.2"
    assert status_with(status.url, status.api_key) == 200
    here.clear()
    failed = statuses.wait(lambda status: status.state is ServeState.FAILED)
    assert isinstance(failed.error, ServeError)
    assert failed.error.code is ErrorCode.SERVE_NETWORK_CHANGED
    with pytest.raises(httpx.ConnectError):
        status_with(status.url, status.api_key)
    again = serve.switch_on().result(WAIT_S)  # another network is not opened by itself
    assert (again.address, again.url.startswith("http://127.0.0.1:")) == ("", True)
    serve.set_address("").result(WAIT_S)
    with pytest.raises(ServeError) as caught:
        serve.set_address("127.0.0.2").result(WAIT_S)
    assert caught.value.code is ErrorCode.SERVE_NO_ADDRESS


def test_an_open_network_is_not_remembered(
    io: IoLoop, bus: EventBus, store: SettingsStore, engine: Engine, lan: str, tmp_path: Path
) -> None:
    def run(**how: object) -> ServeStatus:
        serve = ServeService(io, bus, store, engine, folder=tmp_path, workplace=tmp_path / "work")
        try:
            if "address" in how:
                serve.set_address(str(how["address"])).result(WAIT_S)
            reach = how.get("reach")
            assert reach is None or isinstance(reach, Reach)
            return serve.switch_on(reach).result(WAIT_S)
        finally:
            serve.close()

    assert run(address=lan).address == lan
    assert run().url.startswith("http://127.0.0.1:")
    typed = run(reach=Reach(free_port(), lan, encrypted=True))
    assert typed.url.startswith(f"https://{lan}:")
    plain = run()
    assert plain.url == f"http://127.0.0.1:{store.settings.serve.port}/v1"
    assert (plain.address, plain.certificate) == ("", None)


def test_another_program_with_this_profile_gives_and_takes_keys(
    serve: ServeService, statuses: Statuses, tmp_path: Path
) -> None:
    """The verb ``clients`` beside a window or a service."""
    status = serve.switch_on().result(WAIT_S)
    others = ClientKeys(tmp_path / FILE_NAME)
    others.add("editor")
    key = others.keys.clients["editor"]
    statuses.wait(lambda status: [client.key for client in status.clients] == [key])
    wait_until(lambda: status_with(status.url, key) == 200)
    serve.add_client("phone").result(WAIT_S)
    others.revoke("editor")
    assert list(others.keys.clients) == ["phone"]  # what was added meanwhile is not lost
    statuses.wait(lambda status: [client.name for client in status.clients] == ["phone"])
    wait_until(lambda: status_with(status.url, key) == 401)
    others.renew()
    statuses.wait(lambda now: now.api_key == others.keys.own != status.api_key)


def test_refused_requests_are_counted(serve: ServeService, statuses: Statuses) -> None:
    status = serve.switch_on().result(WAIT_S)
    for key in ("wrong", "wrong too"):
        status_with(status.url, key)
    told = statuses.wait(lambda status: sum(row.count for row in status.refused) == 2)
    assert {(row.status, row.peer) for row in told.refused} == {(401, "127.0.0.1")}
    assert told.served == 0


def test_requests_are_listed_with_their_program(
    serve: ServeService, engine: Engine, statuses: Statuses
) -> None:
    with upstreams.in_thread(upstreams.well_behaved, None) as upstream:
        engine.start(Endpoint(None, upstream.port, "k"), "tiny")
        status = serve.switch_on().result(WAIT_S)
        key = serve.add_client("editor").result(WAIT_S).clients[0].key
        headers = {"Authorization": f"Bearer {key}"}
        url = f"{status.url}/chat/completions"
        wait_until(lambda: status_with(status.url, key) == 200)
        httpx.post(url, json=HI, headers=headers, trust_env=False)
        told = statuses.wait(lambda status: bool(status.done))
        assert (told.done[0].client, told.done[0].status) == ("editor", 200)
        assert told.live == ()
        engine.stop()


def test_addresses_of_local_networks_are_private_and_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def link(address: str, family: int = socket.AF_INET) -> SimpleNamespace:
        return SimpleNamespace(family=family, address=address)

    up, down = SimpleNamespace(isup=True), SimpleNamespace(isup=False)
    found = {
        "docker0": [link("172.17.0.1")],
        "lo": [link("127.0.0.1")],
        "eth0": [link("192.168.1.5"), link("fe80::1", socket.AF_INET6)],
        "eth1": [link("8.8.4.4")],
        "eth2": [link("10.0.0.7")],
        "wlan0": [link("169.254.3.4"), link("nonsense")],
    }
    states = dict.fromkeys(found, up) | {"eth2": down}
    monkeypatch.setattr(network.psutil, "net_if_addrs", lambda: found)
    monkeypatch.setattr(network.psutil, "net_if_stats", lambda: states)
    assert network.lan_addresses() == ("192.168.1.5", "172.17.0.1")


def wait_until(done: Callable[[], bool]) -> None:
    for _ in range(500):
        if done():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen")


@pytest.mark.skipif("not os.path.isdir('/proc/self')", reason="reads another process's folder")
def test_the_gateway_works_in_an_empty_private_folder(serve: ServeService, tmp_path: Path) -> None:
    serve.switch_on().result(WAIT_S)
    folder = Path(f"/proc/{serve._process.pid}/cwd").resolve()
    assert folder == tmp_path / "run" / "gateway"
    assert (list(folder.iterdir()), folder.stat().st_mode & 0o777) == ([], 0o700)
    serve.switch_off().result(WAIT_S)
    assert not folder.exists()
