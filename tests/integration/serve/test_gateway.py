"""The gateway as a process, between real clients and an engine that misbehaves."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from kimi_desktop.serve.policy import MAX_FAILED_KEYS
from tests.support import scripted_upstream as upstreams
from tests.support.engine_programs import REPOSITORY, short_folder
from tests.support.openai_servers import OpenAiServer
from tests.support.scripted_upstream import Upstream

KEY = "kd-test-key"
ENGINE_KEY = "engine-secret"
SERVER_KEY = "sk-of-a-server-0123456789"
HI = {"messages": [{"role": "user", "content": "hi"}]}
WAIT_S = 30.0


@dataclass
class GatewayProcess:
    process: subprocess.Popen[str]
    events: list[dict[str, Any]] = field(default_factory=list)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    def listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self.arrived:
                self.events.append(json.loads(line))
                self.arrived.notify_all()

    def order(self, **order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def wait(self, kind: str, **fields: Any) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            wanted = {"event": kind, **fields}.items()
            return next((event for event in self.events if wanted <= event.items()), None)

        with self.arrived:
            assert self.arrived.wait_for(found, WAIT_S), self.events
            event = found()
            assert event is not None
            return event

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            return next((event for event in reversed(self.events) if wanted(event)), None)

        with self.arrived:
            assert self.arrived.wait_for(found, WAIT_S), self.events
            event = found()
            assert event is not None
            return event

    @property
    def port(self) -> int:
        return int(self.wait("listening")["port"])

    def client(self, key: str | None = KEY) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=WAIT_S,
            trust_env=False,
        )

    def target(self, upstream: Upstream | None, model: str = "tiny", **more: Any) -> None:
        target: dict[str, Any] | None = None
        if upstream is not None:
            path = upstream.socket_path
            target = {
                "socket_path": str(path) if path else None,
                "port": upstream.port,
                "api_key": ENGINE_KEY,
                "model": model,
                **more,
            }
        self.order(target=target)
        with self.client() as client:  # orders are carried out one after another
            for _ in range(500):
                models = client.get("/v1/models").json()["data"]
                if [entry["id"] for entry in models] == ([model] if target else []):
                    return
                threading.Event().wait(0.01)
        raise AssertionError("the target was not taken")


@contextlib.contextmanager
def gateway_process(port: int = 0, address: str = "", **more: str) -> Iterator[GatewayProcess]:
    with subprocess.Popen(
        [sys.executable, "-m", "kimi_desktop.serve.gateway"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as process:
        made = GatewayProcess(process)
        listener = threading.Thread(target=made.listen, daemon=True)
        listener.start()
        try:
            made.order(port=port, address=address, clients={"default": KEY, **more})
            yield made
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(WAIT_S) in (0, 1)
        finally:
            process.kill()
            listener.join(WAIT_S)


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    with gateway_process() as it:
        it.wait("listening")
        yield it


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with gateway.client() as made:
        yield made


@contextlib.contextmanager
def engine(gateway: GatewayProcess, behave: Any, **more: Any) -> Iterator[Upstream]:
    with short_folder() as folder:
        path = folder / "e.sock" if sys.platform != "win32" else None
        with upstreams.in_thread(behave, path) as upstream:
            gateway.target(upstream, **more)
            yield upstream
            gateway.target(None)


def events(response: httpx.Response) -> list[str]:
    return [line[6:] for line in response.iter_lines() if line.startswith("data: ")]


def test_an_answer_at_once(gateway: GatewayProcess, client: httpx.Client) -> None:
    with engine(gateway, upstreams.well_behaved) as upstream:
        answer = client.post("/v1/chat/completions", json={**HI, "id_slot": 1, "model": "gpt-4"})
        assert answer.status_code == 200
        assert answer.json()["choices"][0]["message"]["content"] == "Hello there"
        (call,) = upstream.calls
        assert (call.method, call.path) == ("POST", "/v1/chat/completions")
        assert call.headers["authorization"] == f"Bearer {ENGINE_KEY}"
        assert call.json == {**HI, "model": "tiny", "max_tokens": 32768}


def test_a_streamed_answer(gateway: GatewayProcess, client: httpx.Client) -> None:
    with engine(gateway, upstreams.well_behaved, max_tokens=2048) as upstream:
        body = {**HI, "stream": True, "stream_options": {"include_usage": True}}
        with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers
            *deltas, end = events(answer)
        texts = [json.loads(delta)["choices"][0]["delta"]["content"] for delta in deltas]
        assert (texts, end) == (["Hello ", "there"], "[DONE]")
        assert upstream.calls[0].json["stream_options"] == {"include_usage": True}
        assert upstream.calls[0].json["max_tokens"] == 2048


def test_only_six_addresses_exist(gateway: GatewayProcess, client: httpx.Client) -> None:
    with engine(gateway, upstreams.well_behaved) as upstream:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.get("/v1/models").json()["data"][0]["id"] == "tiny"
        assert client.get("/v1/models/tiny").json()["id"] == "tiny"
        assert client.post("/v1/models/tiny", json=HI).status_code == 405
        assert client.get("/v1/models/other").status_code == 404
        for path in ("/", "/props", "/slots", "/metrics", "/v1", "/v1/", "/tokenize"):
            assert client.get(path).status_code == 404
            assert client.post(path, json=HI).status_code == 404
        for path in ("/completion", "/v1/rerank", "/v1/audio/speech", "/v1/chat/completions/"):
            assert client.post(path, json=HI).status_code == 404
        wrong = client.get("/v1/chat/completions")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
        assert client.request("OPTIONS", "/v1/chat/completions").status_code == 405
        assert client.request("HEAD", "/health").status_code == 405
        assert upstream.calls == []


def test_without_the_key_nothing_but_health(gateway: GatewayProcess) -> None:
    with engine(gateway, upstreams.well_behaved) as upstream:
        for key in (None, "kd-wrong", ENGINE_KEY):
            with gateway.client(key) as client:
                assert client.get("/health").status_code == 200
                assert client.get("/v1/models").status_code == 401
                refused = client.post("/v1/chat/completions", json=HI)
                assert refused.status_code == 401
                assert refused.json()["error"]["code"] == "invalid_api_key"
        assert upstream.calls == []


def test_a_page_that_found_its_way_is_refused(
    gateway: GatewayProcess, client: httpx.Client
) -> None:
    for headers in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{gateway.port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ):
        for method, path in (("GET", "/health"), ("OPTIONS", "/v1/models"), ("GET", "/v1/models")):
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == 403
            assert "access-control-allow-origin" not in answer.headers
    assert client.get("/health", headers={"Host": f"localhost:{gateway.port}"}).status_code == 503


def test_without_an_engine_it_says_so(gateway: GatewayProcess, client: httpx.Client) -> None:
    gateway.target(None)
    assert client.get("/health").json() == {"status": "no model"}
    assert client.get("/v1/models").json() == {"object": "list", "data": []}
    answer = client.post("/v1/chat/completions", json=HI)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "no_model")
    assert answer.headers["retry-after"]


def test_an_engine_that_is_gone_is_no_engine(gateway: GatewayProcess, client: httpx.Client) -> None:
    with engine(gateway, upstreams.well_behaved) as upstream:
        if upstream.socket_path is not None:
            upstream.socket_path.unlink()
        answer = client.post("/v1/chat/completions", json=HI)
        assert answer.status_code == 503


def test_bad_requests_never_reach_the_engine(gateway: GatewayProcess, client: httpx.Client) -> None:
    with engine(gateway, upstreams.well_behaved) as upstream:
        for body in (b"", b"{", b"[]", b'{"messages": []}'):
            answer = client.post("/v1/chat/completions", content=body)
            assert answer.status_code == 400
            assert answer.json()["error"]["type"] == "invalid_request_error"
        assert upstream.calls == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("behave", [upstreams.hang_up, upstreams.garbage])
def test_an_engine_that_does_not_answer(
    gateway: GatewayProcess, client: httpx.Client, behave: Any, stream: bool
) -> None:
    with engine(gateway, behave):
        answer = client.post("/v1/chat/completions", json={**HI, "stream": stream})
        assert answer.status_code == 502
        assert answer.json()["error"]["type"] == "server_error"


def test_an_engine_that_breaks_off(gateway: GatewayProcess, client: httpx.Client) -> None:
    with engine(gateway, upstreams.break_in_the_middle):
        assert client.post("/v1/chat/completions", json=HI).status_code == 502
        answer = client.post("/v1/chat/completions", json={**HI, "stream": True})
        half, error = events(answer)
        assert json.loads(half)["choices"][0]["delta"]["content"] == "half "
        assert json.loads(error)["error"]["type"] == "server_error"


def test_a_refusal_of_the_engine_is_passed_on(
    gateway: GatewayProcess, client: httpx.Client
) -> None:
    with engine(gateway, upstreams.refuse):
        for stream in (False, True):
            answer = client.post("/v1/chat/completions", json={**HI, "stream": stream})
            assert answer.status_code == 400
            assert answer.json()["error"]["n_ctx"] == 4096


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_ends_the_work_of_the_engine(stream: bool) -> None:
    behave = upstreams.stream_forever if stream else upstreams.silence
    with gateway_process() as gateway, engine(gateway, behave) as upstream:
        with socket.create_connection(("127.0.0.1", gateway.port)) as plain:
            body = json.dumps({**HI, "stream": stream}).encode()
            plain.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\n"
                + f"Host: 127.0.0.1:{gateway.port}\r\nAuthorization: Bearer {KEY}\r\n".encode()
                + f"Content-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            if stream:
                assert plain.recv(1000)
            gateway.wait("requests", running=1)
        assert upstream.dropped.wait(WAIT_S)
        gateway.wait("requests", running=0, served=1)


def asks(client: httpx.Client, path: str = "/v1/chat/completions") -> threading.Thread:
    thread = threading.Thread(target=client.post, args=(path,), kwargs={"json": HI})
    thread.start()
    return thread


def test_counts_are_told() -> None:
    with gateway_process() as gateway, gateway.client() as client:
        with engine(gateway, upstreams.well_behaved):
            for _ in range(3):
                client.post("/v1/chat/completions", json=HI)
            told = gateway.wait("requests", running=0, served=3)
            assert [row["status"] for row in told["done"]] == [200] * 3
            assert {row["client"] for row in told["done"]} == {"default"}
        with engine(gateway, upstreams.silence, slots=2) as upstream:
            threads = [asks(client) for _ in range(2)]
            gateway.wait("requests", running=2)
            assert len(upstream.calls) == 2
            gateway.target(None)  # what still ran ends with its engine
            for thread in threads:
                thread.join(WAIT_S)
            gateway.wait("requests", running=0, served=5)


def test_the_engine_gets_no_more_at_once_than_it_has_slots() -> None:
    """The others wait in the order in which they came, are seen, and may go away for nothing."""
    with gateway_process(editor="kd-editor") as gateway, gateway.client("kd-editor") as client:
        with engine(gateway, upstreams.silence) as upstream:
            first = asks(client)
            gateway.wait("requests", running=1)
            impatient = httpx.Client(
                base_url=f"http://127.0.0.1:{gateway.port}",
                headers={"Authorization": f"Bearer {KEY}"},
                timeout=0.5,
                trust_env=False,
            )
            with impatient, pytest.raises(httpx.ReadTimeout):
                impatient.post("/v1/chat/completions", json=HI)
            with gateway.arrived:
                seen = [event for event in gateway.events if event["event"] == "requests"]
            rows = [[(row["client"], row["waits"]) for row in event["here"]] for event in seen]
            assert [("editor", False), ("default", True)] in rows
            assert len(upstream.calls) == 1
            gateway.target(None)
            first.join(WAIT_S)
        told = gateway.wait("requests", running=0, served=1)
        assert {row["status"] for row in told["done"]} >= {499}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", {"prompt": "Once", "n_discard": -1}),
        ("/v1/embeddings", {"input": ["a"], "slot_id": 3}),
    ],
)
def test_other_calls_reach_the_engine_cleaned(path: str, body: dict[str, Any]) -> None:
    with (
        gateway_process() as gateway,
        gateway.client() as client,
        engine(gateway, upstreams.well_behaved) as upstream,
    ):
        client.post(path, json=body)
        call = upstream.calls[0]
        assert call.path == path
        assert not {"n_discard", "slot_id"} & set(call.json)


def test_it_listens_in_the_local_network_only_where_it_was_told_to() -> None:
    """127.0.0.2 stands for the address in the local network: also a machine's own, never ours."""
    with gateway_process(address="127.0.0.2") as gateway:
        port = gateway.port
        key = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(trust_env=False, headers=key, timeout=WAIT_S) as client:
            for host in ("127.0.0.1", "127.0.0.2"):
                assert client.get(f"http://{host}:{port}/v1/models").status_code == 200
            named = {"Host": f"127.0.0.3:{port}"}
            refused = client.get(f"http://127.0.0.2:{port}/v1/models", headers=named)
            assert refused.status_code == 403
            with pytest.raises(httpx.ConnectError):
                client.get(f"http://127.0.0.3:{port}/v1/models")
    with gateway_process() as gateway, pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.2:{gateway.port}/health", trust_env=False)


def test_a_new_key_replaces_the_old_one_at_once() -> None:
    with gateway_process() as gateway:
        gateway.target(None)
        gateway.order(clients={"default": "kd-second"})
        with gateway.client("kd-second") as second:
            for _ in range(500):
                if second.get("/v1/models").status_code == 200:
                    break
                threading.Event().wait(0.01)
            else:
                raise AssertionError("the new key does not work")
        with gateway.client(KEY) as first:
            assert first.get("/v1/models").status_code == 401


def test_too_many_wrong_keys_close_the_door_for_them_alone() -> None:
    with gateway_process() as gateway:
        with gateway.client("guess") as stranger:
            statuses = [stranger.get("/v1/models").status_code for _ in range(12)]
        assert statuses == [401] * 10 + [429] * 2
        with gateway.client() as owner:
            assert owner.get("/v1/models").status_code == 200


def test_a_taken_port_is_said_with_a_free_one() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with gateway_process(port) as gateway:
            failed = gateway.wait("failed", reason="port_taken")
            assert failed["free_port"] not in (0, port)
            assert gateway.process.wait(WAIT_S) == 1


def test_it_listens_on_this_machine_alone() -> None:
    with gateway_process() as gateway:
        gateway.wait("listening")
        listening = {
            connection.laddr.ip
            for connection in psutil.Process(gateway.process.pid).net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }
        assert listening == {"127.0.0.1"}


def test_it_ends_with_an_app_that_is_killed(tmp_path: Path) -> None:
    """The app's place is taken by a process that starts the gateway and is killed."""
    program = (
        "import json, subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-m', 'kimi_desktop.serve.gateway'],\n"
        "    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "p.stdin.write(json.dumps({'port': 0, 'clients': {'a': 'k'}}) + '\\n'); p.stdin.flush()\n"
        "print(p.pid, json.loads(p.stdout.readline())['port'], flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as app:
        assert app.stdout is not None
        pid, port = map(int, app.stdout.readline().split())
        socket.create_connection(("127.0.0.1", port)).close()
        app.kill()
    for _ in range(3000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        if Path(f"/proc/{pid}/stat").is_file() and " Z " in Path(f"/proc/{pid}/stat").read_text():
            break
        threading.Event().wait(0.01)
    else:
        raise AssertionError("the gateway outlived the app")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_no_key_stands_in_the_arguments_or_the_environment() -> None:
    with gateway_process() as gateway:
        gateway.wait("listening")
        folder = Path(f"/proc/{gateway.process.pid}")
        if not folder.is_dir():
            pytest.skip("no /proc here")
        shown = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        assert KEY.encode() not in shown


def test_the_access_log_holds_no_key_and_no_text() -> None:
    with gateway_process() as gateway, gateway.client() as client:
        with engine(gateway, upstreams.well_behaved):
            client.post("/v1/chat/completions", json=HI)
        assert gateway.process.stdin is not None
        gateway.process.stdin.close()
        assert gateway.process.wait(WAIT_S) == 0
        assert gateway.process.stderr is not None
        text = gateway.process.stderr.read()
        assert "POST /v1/chat/completions 200" in text
        for secret in (KEY, ENGINE_KEY, "hi there", "Hello there", '"hi"'):
            assert secret not in text
        assert "Traceback" not in text


def test_what_is_refused_is_in_the_access_log_without_what_was_written() -> None:
    secret = "kd-a-key-in-the-wrong-place"
    with gateway_process() as gateway, gateway.client() as client:
        wrong = {"Authorization": f"Bearer {secret}"}
        assert client.get("/v1/models", headers=wrong).status_code == 401
        assert client.get("/v1/models", headers={"Host": "evil.example"}).status_code == 403
        assert client.get(f"/{secret}").status_code == 404
        assert client.post("/v1/chat/completions", content=b"x" * (21 * 2**20)).status_code == 413
        with engine(gateway, upstreams.well_behaved):
            assert client.post("/v1/chat/completions", content=secret).status_code == 400
        with socket.create_connection(("127.0.0.1", gateway.port), WAIT_S) as raw:
            raw.sendall(f"{secret}\r\n\r\n".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
        for _ in range(MAX_FAILED_KEYS):
            last = client.get(f"/v1/models/{secret}", headers=wrong)
        assert last.status_code == 429
        reasons = {400, 401, 403, 404, 413, 429}
        gateway.wait_for(
            lambda event: {row["status"] for row in event.get("refused", [])} == reasons
        )
        assert gateway.process.stdin is not None
        gateway.process.stdin.close()
        assert gateway.process.wait(WAIT_S) == 0
        assert gateway.process.stderr is not None
        text = gateway.process.stderr.read()
    for line in (
        "refused: GET /v1/models 401, from 127.0.0.1",
        "refused: GET /v1/models 403, from 127.0.0.1",
        "refused: GET another address 404, from 127.0.0.1",
        "refused: POST /v1/chat/completions 413, from 127.0.0.1",
        "refused: POST /v1/chat/completions 400, from 127.0.0.1",
        "refused: no HTTP 400, from 127.0.0.1",
        "refused: GET /v1/models/… 429, from 127.0.0.1",
    ):
        assert line in text
    assert secret not in text


@contextlib.contextmanager
def other_server(gateway: GatewayProcess, **options: Any) -> Iterator[OpenAiServer]:
    with OpenAiServer("openai", key=SERVER_KEY, **options) as server:
        url = {"url": server.url, "api_key": SERVER_KEY, "model": "kimi-k2.6", "slots": 8}
        gateway.order(target=url)
        with gateway.client() as client:
            while not client.get("/v1/models").json()["data"]:
                threading.Event().wait(0.01)
        yield server
        gateway.target(None)


def test_a_server_of_others_gets_our_key_and_only_what_the_client_asked_for(
    gateway: GatewayProcess, client: httpx.Client
) -> None:
    with other_server(gateway) as server:
        assert client.get("/v1/models").json()["data"][0]["id"] == "kimi-k2.6"
        answer = client.post("/v1/chat/completions", json={**HI, "stream": True})
        assert answer.status_code == 200
        assert events(answer)[-1] == "[DONE]"
        limited = {**HI, "stream": True, "max_completion_tokens": 5, "model": "gpt-4"}
        client.post("/v1/chat/completions", json=limited)
        free, bound = server.chats()
    assert {one.key for one in server.asked} == {SERVER_KEY}
    assert set(free) == {"messages", "model", "stream"}
    assert (bound["max_completion_tokens"], bound["model"]) == (5, "kimi-k2.6")
    assert "max_tokens" not in bound


def test_no_client_sees_the_key_for_a_server_of_others(
    gateway: GatewayProcess, client: httpx.Client
) -> None:
    with other_server(gateway) as server:
        server.key = "sk-changed"
        refused = client.post("/v1/chat/completions", json=HI)
        assert refused.status_code == 502
        assert SERVER_KEY not in refused.text
        server.key = SERVER_KEY
        server.orders.refuse = (400, json.dumps({"error": {"message": f"bad {SERVER_KEY}"}}))
        bad = client.post("/v1/chat/completions", json=HI)
        assert bad.status_code == 400
        assert "bad" in bad.text
        assert SERVER_KEY not in bad.text


def test_a_server_of_others_that_is_gone(gateway: GatewayProcess, client: httpx.Client) -> None:
    with other_server(gateway) as server:
        server.stop()
        assert client.post("/v1/chat/completions", json=HI).status_code == 503
