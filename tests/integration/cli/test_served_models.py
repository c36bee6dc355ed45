"""``chat`` and ``serve`` with a Hugging Face folder: a scripted vLLM on PATH, real processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.scripted_vllm import Environment, make_environment
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

pytestmark = pytest.mark.skipif(os.name == "nt", reason="vLLM does not run on Windows")
PATIENCE_S = 90


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_hf_kimi(tmp_path_factory.mktemp("hf") / "tiny kimi 月")


@pytest.fixture
def vllm(tmp_path: Path) -> Environment:
    return make_environment(tmp_path / "env")


def command(tmp_path: Path, vllm: Environment, *words: str) -> tuple[list[str], dict[str, str]]:
    path = f"{vllm.program.parent}{os.pathsep}{os.environ['PATH']}"
    home = {"KIMI_DESKTOP_HOME": str(tmp_path / "home"), "LC_ALL": "C.UTF-8", "PATH": path}
    return [sys.executable, "-m", "kimi_desktop", *words], os.environ | home


def run(tmp_path: Path, vllm: Environment, *words: str) -> subprocess.CompletedProcess[str]:
    line, environment = command(tmp_path, vllm, *words)
    return subprocess.run(
        line, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def test_a_folder_is_chatted_with(tmp_path: Path, vllm: Environment, checkpoint: Path) -> None:
    done = run(tmp_path, vllm, "chat", str(checkpoint), "--prompt", "hi", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, lines[-1]["text"]) == (0, "Hello"), done.stderr
    assert vllm.starts[-1]["argv"][:2] == ["serve", str(checkpoint)]


def test_a_folder_is_served(tmp_path: Path, vllm: Environment, checkpoint: Path) -> None:
    words = ("serve", str(checkpoint), "--ctx", "1024", "--json", "--port", str(free_port()))
    line, environment = command(tmp_path, vllm, *words)
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        events = (json.loads(text)["event"] for text in served.stdout)
        assert "serving" in events
        served.send_signal(signal.SIGINT)
    argv = vllm.starts[-1]["argv"]
    assert argv[argv.index("--max-model-len") + 1] == "1024"


def test_its_own_code_runs_only_as_it_was_allowed(
    tmp_path: Path, vllm: Environment, checkpoint: Path
) -> None:
    own = tmp_path / "own"
    shutil.copytree(checkpoint, own)
    config = json.loads((own / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "configuration_own.OwnConfig"}
    (own / "config.json").write_text(json.dumps(config))
    (own / "configuration_own.py").write_text("class OwnConfig: ...\n")
    asked = ("chat", str(own), "--prompt", "hi")
    refused = run(tmp_path, vllm, *asked)
    assert refused.returncode != 0
    assert "--trust-remote-code" in refused.stderr
    allowed = run(tmp_path, vllm, *asked, "--trust-remote-code")
    assert allowed.returncode == 0, allowed.stderr
    assert "configuration_own.py" in allowed.stderr
    assert "--trust-remote-code" in vllm.starts[-1]["argv"]
    assert run(tmp_path, vllm, *asked).returncode == 0
    (own / "configuration_own.py").write_text("class OwnConfig: pass\n")
    assert run(tmp_path, vllm, *asked).returncode != 0


@pytest.mark.parametrize(
    ("words", "said"), [(("--profile", "safe"), "--profile"), (("--unit",), "")]
)
def test_what_does_not_go_together_is_said(
    tmp_path: Path, vllm: Environment, checkpoint: Path, words: tuple[str, ...], said: str
) -> None:
    more = ("--trust-remote-code",) if "--unit" in words else ()
    done = run(tmp_path, vllm, "serve", str(checkpoint), *words, *more)
    assert done.returncode != 0
    assert said in done.stderr
    assert not (vllm.folder / "starts.jsonl").exists()
