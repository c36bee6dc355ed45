"""The embedded engine as a program: flags, security, what it says when it cannot start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.engine_programs import (
    KEY,
    REPOSITORY,
    RunningProgram,
    embedded_engine,
    short_folder,
)
from tests.support.tiny_kimi import make_tiny_kimi

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="Unix sockets")


SMALL = ("--fit", "off", "-t", "1", "-np", "1", "-c", "512")
PROGRAM = (sys.executable, "-m", "kimi_desktop.backends.embedded")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def engine(tiny_kimi: Path) -> Iterator[RunningProgram]:
    placement = ["-ot", r"blk\.1\.attn_output=CPU", "-ncmoe", "2", "-ngl", "0", "-ts", "1,1"]
    with embedded_engine(tiny_kimi, *placement, "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "on") as it:
        yield it


def request(engine: RunningProgram, method: str, path: str, **options: object) -> httpx.Response:
    transport = httpx.HTTPTransport(uds=str(engine.endpoint.socket_path))
    with httpx.Client(transport=transport, base_url="http://localhost", timeout=30) as client:
        return client.request(method, path, **options)  # type: ignore[arg-type]


def test_help_version_and_devices_need_no_model() -> None:
    assert "--n-cpu-moe N" in run("--help").stdout
    version = run("--version")
    assert version.stdout.startswith("version: ")
    assert int(version.stdout.split()[1]) > 9000
    assert run("--list-devices").stdout.startswith("Available devices:")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "no model"),
        (("-m", "x", "--rpc", "a:1"), "invalid argument: --rpc"),
        (("-m", "x", "-c", "32k"), "expected a whole number"),
        (("-m", "x", "--port", "88080"), "0 ... 65535"),
        (("-m", "x", "-ctk", "q9"), "invalid choice: 'q9'"),
        (("-m", "x", "-fa"), "expected one argument"),
        (("-m", "x", "--host", "0.0.0.0"), "reachable for others"),
        (("-m", "x", "--api-key-file", "/nowhere"), "No such file"),
        (("-m", "x", "-ot", "a=NoSuchBuffer"), "unknown buffer type"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_loaded(
    arguments: tuple[str, ...], says: str
) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert says in done.stderr


def test_models_that_cannot_be_loaded_end_it_with_the_reason(
    tmp_path: Path, tiny_kimi: Path
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_kimi.read_bytes()[:500_000])
    text = tmp_path / "text.gguf"
    text.write_text("<!DOCTYPE html>", encoding="utf-8")
    for model in (tmp_path / "none.gguf", cut, text):
        with short_folder() as folder:
            done = run("-m", str(model), "--host", str(folder / "e.sock"), "--fit", "off")
        assert done.returncode == 1
        assert " E " in done.stderr


def test_the_key_guards_what_the_socket_offers(engine: RunningProgram) -> None:
    right = {"Authorization": f"Bearer {KEY}"}
    for path in ("/v1/models", "/metrics", "/props"):
        assert request(engine, "GET", path).status_code == 401
        assert request(engine, "GET", path, headers=right).status_code == 200
    assert request(engine, "GET", "/health").status_code == 200
    assert request(engine, "GET", "/slots", headers=right).status_code == 501
    assert request(engine, "GET", "/", headers=right).status_code == 404


def test_no_web_page_may_read_it(engine: RunningProgram) -> None:
    for origin in ("http://localhost:3000", "https://evil.example", "null"):
        reply = request(
            engine,
            "OPTIONS",
            "/v1/chat/completions",
            headers={"Origin": origin, "Access-Control-Request-Method": "POST"},
        )
        assert reply.headers["access-control-allow-origin"] not in (origin, "*")
        assert reply.headers["access-control-allow-credentials"] == "false"


def test_only_its_owner_may_open_the_socket(engine: RunningProgram) -> None:
    path = engine.endpoint.socket_path
    assert path is not None
    assert path.stat().st_mode & 0o077 == 0


def test_the_key_is_not_on_the_command_line(engine: RunningProgram) -> None:
    line = Path(f"/proc/{engine.process.pid}/cmdline")
    if not line.exists():
        pytest.skip("no /proc")
    assert KEY.encode() not in line.read_bytes()


def test_a_socket_that_a_crash_left_behind_is_replaced(tiny_kimi: Path) -> None:
    with short_folder() as folder:
        socket = folder / "e.sock"
        for _ in range(2):
            with started(tiny_kimi, socket) as (process, _where):
                process.send_signal(signal.SIGKILL)
            assert socket.exists()


def test_a_living_server_and_a_plain_file_are_not_replaced(tiny_kimi: Path) -> None:
    with short_folder() as folder:
        with started(tiny_kimi, folder / "e.sock"):
            second = run("-m", str(tiny_kimi), "--host", str(folder / "e.sock"))
            assert second.returncode == 2
            assert "another server listens" in second.stderr
        (folder / "plain.sock").write_text("mine", encoding="utf-8")
        third = run("-m", str(tiny_kimi), "--host", str(folder / "plain.sock"))
        assert third.returncode == 2
        assert (folder / "plain.sock").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_once(tiny_kimi: Path, number: signal.Signals) -> None:
    with short_folder() as folder, started(tiny_kimi, folder / "e.sock") as (process, _where):
        process.send_signal(number)
        assert process.wait(timeout=60) == -number


def test_it_ends_when_its_stdin_closes(tiny_kimi: Path) -> None:
    """How the supervisor asks on Windows, and the last net on macOS; llama.cpp's own doing."""
    with (
        short_folder() as folder,
        subprocess.Popen(
            [*PROGRAM, "-m", str(tiny_kimi), "--host", str(folder / "e.sock"), *SMALL],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "LLAMA_SERVER_ROUTER_PORT": "1"},
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert any('"state":"ready"' in line for line in process.stdout)
        process.stdin.close()
        assert process.wait(60) == 1


def test_tcp_with_a_port_of_the_engines_own_choice(tiny_kimi: Path) -> None:
    with started(tiny_kimi, None) as (_process, where):
        assert where.startswith("http://127.0.0.1:")
        assert httpx.get(f"{where}/health", timeout=30, trust_env=False).status_code == 200


def test_a_split_model_and_a_template_from_a_file(tmp_path: Path) -> None:
    first = make_tiny_kimi(tmp_path / "tiny.gguf", split=3, template=None)
    template = tmp_path / "template.jinja"
    template.write_text(
        "{{ messages[-1].content }}<|route_code|><|im_assistant|>assistant<|im_middle|>"
        "<think></think>",
        encoding="utf-8",
    )
    with embedded_engine(first, "--chat-template-file", str(template)) as engine:
        reply = request(
            engine,
            "POST",
            "/v1/chat/completions",
            headers={"Authorization": f"Bearer {KEY}"},
            json={"messages": [{"role": "user", "content": "hi"}], "max_tokens": 60},
        )
    assert "```python" in reply.json()["choices"][0]["message"]["content"]


def test_reverse_prompts_end_an_answer_that_names_no_stop(tiny_kimi: Path) -> None:
    with embedded_engine(tiny_kimi, "-r", " 5,", "-r", "unused") as engine:
        reply = request(
            engine,
            "POST",
            "/v1/chat/completions",
            headers={"Authorization": f"Bearer {KEY}"},
            json={"messages": [{"role": "user", "content": "count"}], "max_tokens": 60},
        )
    assert reply.json()["choices"][0]["message"]["content"] == " 1, 2, 3, 4,"


@contextlib.contextmanager
def started(model: Path, socket: Path | None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and where it says that it listens."""
    where = ["--host", str(socket)] if socket is not None else ["--port", "0"]
    with subprocess.Popen(
        [*PROGRAM, "-m", str(model), *where, *SMALL],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as process:
        try:
            assert process.stderr is not None
            lines = (line for line in process.stderr if line.startswith("embedded: "))
            yield process, next(lines).strip().rpartition("listening on ")[2]
        finally:
            process.kill()
