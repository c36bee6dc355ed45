"""``kimi-desktop endpoint``, and chat and serve over a server that somebody else runs."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kimi_desktop.backends.attached.terminal import EndpointVerb
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.server_keys import FILE_NAME
from tests.support.attached_bench import NOWHERE, AttachedBench, attached_bench
from tests.support.engine_programs import REPOSITORY
from tests.support.openai_servers import ANSWER, KEY, OpenAiServer
from tests.support.ports import free_port

PATIENCE_S = 60


@pytest.fixture
def bench() -> Iterator[AttachedBench]:
    with attached_bench() as made:
        yield made


class Typed:
    """The verb with what it wrote."""

    def __init__(self, bench: AttachedBench, key: str = "", **options: object) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.asked: list[str] = []
        self._key = key
        self.verb = EndpointVerb(
            bench.servers,
            Language(options.get("language", Language.EN)),
            json_output=bool(options.get("json_output")),
            out=self.out,
            err=self.err,
            read_key=self._read,
        )

    def _read(self, question: str) -> str:
        self.asked.append(question)
        return self._key


def test_from_adding_to_removing(bench: AttachedBench) -> None:
    with OpenAiServer("vllm", key=KEY, context=8192) as server:
        adding = Typed(bench, KEY)
        assert adding.verb.add("Lab", server.url, with_key=True, key_in_file=False) == 0
        assert adding.asked == ["API key of Lab (not shown):"]
        text = adding.out.getvalue()
        assert f"Lab: {server.url} · key in the system's keyring · vLLM 0.32.0 · 1 model" in text
        assert "  kimi-k2.6 · context 8,192\n" in text
        assert KEY not in text + adding.err.getvalue()
        checking = Typed(bench, language=Language.ZH_CN)
        assert checking.verb.check("Lab") == 0
        assert "上下文 8,192" in checking.out.getvalue()
        listing = Typed(bench)
        assert listing.verb.list() == 0
        assert listing.out.getvalue().startswith(f"Lab: {server.url}")
    down = Typed(bench)
    assert down.verb.check("Lab") == 1
    assert "Lab does not answer" in down.err.getvalue()
    Typed(bench).verb.remove("Lab")
    empty = Typed(bench)
    empty.verb.list()
    assert "endpoint add NAME URL" in empty.out.getvalue()


def test_json_lines_hold_everything_but_the_key(bench: AttachedBench) -> None:
    with OpenAiServer("sglang", key=KEY) as server:
        typed = Typed(bench, KEY, json_output=True)
        typed.verb.add("Lab", server.url, with_key=True, key_in_file=False)
    told = json.loads(typed.out.getvalue())
    assert (told["name"], told["program"], told["key"]) == ("Lab", "SGLang", "keyring")
    assert told["models"][0]["context"] == 8192
    assert told["error"] is None
    assert KEY not in typed.out.getvalue()


def test_adding_again_replaces(bench: AttachedBench) -> None:
    with OpenAiServer() as one, OpenAiServer() as other:
        Typed(bench, KEY).verb.add("Lab", one.url, with_key=True, key_in_file=False)
        again = Typed(bench, KEY)
        again.verb.add("Lab", one.url, with_key=False, key_in_file=False)
        assert again.err.getvalue() == ""
        replacing = Typed(bench, json_output=True)
        assert replacing.verb.add("Lab", other.url, with_key=False, key_in_file=False) == 0
        assert json.loads(replacing.out.getvalue())["replaced"] == one.url
        assert replacing.err.getvalue() == (
            f"“Lab” was {one.url} until now; the key for that address is forgotten.\n"
        )
        assert dict(bench.store.settings.other_servers.addresses) == {"Lab": other.url}


def test_one_that_does_not_answer_is_kept_with_a_warning(bench: AttachedBench) -> None:
    """As ``workers add`` does."""
    url = f"http://127.0.0.1:{free_port()}/v1"
    typed = Typed(bench)
    assert typed.verb.add("Lab", url, with_key=False, key_in_file=False) == 0
    assert "Warning: it does not answer now" in typed.err.getvalue()
    assert dict(bench.store.settings.other_servers.addresses) == {"Lab": url}


def test_a_server_that_is_typed_is_not_chosen_for_later(tmp_path: Path) -> None:
    environment = {**os.environ, **NOWHERE, "KIMI_DESKTOP_HOME": str(tmp_path)}

    def run(*arguments: str) -> int:
        words = [sys.executable, "-m", "kimi_desktop", *arguments]
        return subprocess.run(
            words, env=environment, cwd=REPOSITORY, capture_output=True, timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL, check=False,
        ).returncode  # fmt: skip

    with OpenAiServer("vllm") as server:
        assert run("endpoint", "add", "Lab", server.url) == 0
        assert run("endpoint", "add", "dead", f"http://127.0.0.1:{free_port()}/v1") == 0
        assert run("chat", "--endpoint", "dead", "--prompt", "hi") == 1
        assert run("chat", "--endpoint", "Lab", "--prompt", "hi") == 0
    kept = SettingsStore(AppPaths.under(tmp_path).settings_file).settings.other_servers
    assert (kept.chosen, kept.model) == ("", "")
    assert set(kept.addresses) == {"Lab", "dead"}


def test_ollama_is_listed_without_being_added() -> None:
    with OpenAiServer("ollama") as server, attached_bench({"OLLAMA_HOST": server.root}) as bench:
        listing = Typed(bench)
        listing.verb.list()
        checking = Typed(bench)
        checking.verb.check("Ollama")
    assert "· found · Ollama 0.14.1 · 2 models" in listing.out.getvalue()
    assert "  gemma3:270m · Q8_0 · 268.10M · 292 MB\n" in checking.out.getvalue()


def test_unknown_names(bench: AttachedBench) -> None:
    with pytest.raises(BackendError) as caught:
        Typed(bench).verb.check("Nobody")
    assert caught.value.code is ErrorCode.SERVER_UNKNOWN


# the whole program


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kimi_desktop", *words],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
            cwd=REPOSITORY,
            env={
                **os.environ,
                **NOWHERE,
                "KIMI_DESKTOP_HOME": str(tmp_path),
                "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            },
        )

    return run


def test_add_with_a_key_file_then_chat(
    run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        server.orders.pause_s = 0.05
        added = run("endpoint", "add", "Lab", server.url, "--key-file", stdin=f"{KEY}\n")
        assert (added.returncode, added.stderr) == (0, "")
        assert "key in a private file" in added.stdout
        file = AppPaths.under(tmp_path).config / FILE_NAME
        assert KEY in file.read_text(encoding="utf-8")
        if os.name == "posix":
            assert file.stat().st_mode & 0o077 == 0
        chat = run("chat", "--endpoint", "Lab", "--prompt", "hi")
    assert (chat.returncode, chat.stdout) == (0, "".join(ANSWER) + "\n")
    assert "Lab is ready" in chat.stderr
    assert "tok/s" in chat.stderr
    for log in AppPaths.under(tmp_path).logs.rglob("*"):
        assert KEY not in log.read_text(encoding="utf-8")


def test_without_keyring_or_consent_a_key_is_not_kept(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        added = run("endpoint", "add", "Lab", server.url, "--key", stdin=f"{KEY}\n")
        assert added.returncode == 1
        assert "--key-file" in added.stderr
        chat = run("chat", "--endpoint", "Lab", "--prompt", "hi")
    assert chat.returncode == 1
    assert "Lab wants an API key" in chat.stderr


def test_bad_arguments(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert run("endpoint", "add", "Lab").returncode == 2
    assert run("endpoint", "check").returncode == 2
    both = run("serve", "--endpoint", "Lab", "--ctx", "4096")
    assert both.returncode == 2
    assert "Lab has settings of its own" in both.stderr


def test_serve_over_another_server(tmp_path: Path) -> None:
    with OpenAiServer("vllm") as server:
        environment = {**os.environ, **NOWHERE, "KIMI_DESKTOP_HOME": str(tmp_path)}
        words = [sys.executable, "-m", "kimi_desktop"]
        subprocess.run(
            [*words, "endpoint", "add", "Lab", server.url],
            env=environment, cwd=REPOSITORY, check=True, capture_output=True, timeout=PATIENCE_S,
        )  # fmt: skip
        options = ["--endpoint", "Lab", "--port", str(free_port()), "--json"]
        with subprocess.Popen(
            [*words, "serve", "kimi-k2.6", *options],
            env=environment, cwd=REPOSITORY, text=True, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                assert process.stdout is not None
                lines = map(json.loads, process.stdout)
                told = next(line for line in lines if line["event"] == "serving")
                shown = subprocess.run(
                    [*words, "clients", "show"],
                    env=environment, cwd=REPOSITORY, check=True, capture_output=True, text=True,
                    timeout=PATIENCE_S,
                )  # fmt: skip
                key = {"Authorization": f"Bearer {shown.stdout.strip()}"}
                models = httpx.get(f"{told['url']}/models", headers=key, trust_env=False)
                assert [one["id"] for one in models.json()["data"]] == ["kimi-k2.6"]
            finally:
                process.terminate()
                process.wait(PATIENCE_S)
