"""``download`` and ``verify`` as a user types them, against the local hub."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.jobs import JobStore
from kimi_desktop.downloads.queue_types import DownloadState
from tests.support.gguf_files import Typed, header_bytes
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub
from tests.support.transfers import sent_bytes

PATIENCE_S = 90
REPO = "org/Model-GGUF"


def header(number: int, count: int) -> bytes:
    """Of a part without tensors: what a download looks at before its first byte."""
    facts = {
        "general.architecture": "llama",
        "split.no": Typed("H", number - 1),
        "split.count": Typed("H", count),
        "split.tensors.count": Typed("i", 0),
    }
    return header_bytes(facts, [])


FILES = [
    HubFile("Model-Q4_K_M-00001-of-00002.gguf", 20 * MIB + 7, head=header(1, 2)),
    HubFile("Model-Q4_K_M-00002-of-00002.gguf", 18 * MIB, head=header(2, 2)),
    HubFile("Model-Q8_0.gguf", 3 * MIB, head=header(1, 1)),
    HubFile("README.md", content=b"# Model\n", lfs=False),
]


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub(REPO, FILES) as running:
        yield running


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths.under(tmp_path / "a profile 月")


def command(hub: LocalHub, *arguments: str) -> list[str]:
    source = ["--source", hub.endpoint] if arguments[0] == "download" else []
    return [sys.executable, "-m", "kimi_desktop", *arguments, *source]


def environment(hub: LocalHub, paths: AppPaths) -> dict[str, str]:
    home = str(paths.data.parent)
    return {
        **os.environ, "KIMI_DESKTOP_HOME": home, "LC_ALL": "C.UTF-8", "HF_ENDPOINT": hub.endpoint,
        "XDG_CACHE_HOME": home, "HF_HOME": home,
    }  # fmt: skip


def run(hub: LocalHub, paths: AppPaths, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(hub, *arguments),
        env=environment(hub, paths),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def model(paths: AppPaths) -> Path:
    return paths.default_models_folder / REPO


def test_a_quantization_by_its_name(hub: LocalHub, paths: AppPaths) -> None:
    done = run(hub, paths, "download", f"{REPO}:Q4_K_M", "--json")
    assert done.returncode == 0, done.stderr
    told = lines(done.stdout)
    assert told[0]["event"] == "prepared"
    assert (told[0]["commit"], len(told[0]["files"])) == (hub.commit, 2)
    assert {row["topic"] for row in told[0]["rows"]} >= {"space", "licence", "verdict", "loads"}
    assert told[-1]["event"] == "ended"
    assert (told[-1]["state"], told[-1]["done_bytes"]) == ("ready", 38 * MIB + 7)
    for file in FILES[:2]:
        assert (model(paths) / file.path).read_bytes() == file.read(0, file.length)
    assert sorted(path.name for path in model(paths).iterdir() if path.name[0] != ".") == [
        file.path for file in FILES[:2]
    ]
    again = run(hub, paths, "download", f"{REPO}:Q4_K_M")
    assert again.returncode == 0
    assert "every byte proven" in again.stdout
    zh = run(hub, paths, "download", f"{REPO}@main:Q4_K_M", "--lang", "zh_CN")
    assert "每个字节均已校验" in zh.stdout


def test_patterns_and_another_folder(hub: LocalHub, paths: AppPaths, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    done = run(
        hub, paths, "download", REPO, "--include", "*.md", "--include", "*Q8_0*",
        "--to", str(folder),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / REPO / "README.md").read_bytes() == b"# Model\n"
    assert (folder / REPO / "Model-Q8_0.gguf").stat().st_size == 3 * MIB
    assert str(folder) in done.stderr  # it is one of the library's from now on
    listed = run(hub, paths, "models", "--json")
    assert [row["id"] for row in json.loads(listed.stdout)] == [
        str(folder / REPO / "Model-Q8_0.gguf")
    ]
    again = run(hub, paths, "download", f"{REPO}:Q8_0", "--to", str(folder))
    assert "from now on" not in again.stderr


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("org/Nothing", "org/Nothing"),
        (f"{REPO}:Q4_K_X", "Q4_K_M"),  # the nearest name
        ("no repository", "no repository"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(
    hub: LocalHub, paths: AppPaths, wanted: str, said: str
) -> None:
    done = run(hub, paths, "download", wanted)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_failure_in_mid_download(hub: LocalHub, paths: AppPaths) -> None:
    hub.faults.add("/resolve/", Fault(status=403, headers=(("X-Error-Code", "GatedRepo"),)))
    done = run(hub, paths, "download", f"{REPO}:Q8_0", "--json")
    assert done.returncode == 1
    ended, failure = lines(done.stdout)[-2:]
    assert ended["reason"]["code"] == "hubs.gated_no_token"
    assert (failure["event"], failure["error"]) == ("failed", "hubs.gated_no_token")
    assert "licence" in done.stderr


def test_ctrl_c_before_the_first_byte_ends_at_once(hub: LocalHub, paths: AppPaths) -> None:
    hub.faults.add("/api/", Fault(stall_s=PATIENCE_S))
    child = subprocess.Popen(
        command(hub, "download", REPO),
        env=environment(hub, paths),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    try:
        assert hub.endpoint.partition("//")[2] in child.stderr.readline()  # who is asked
        deadline = time.monotonic() + PATIENCE_S
        while not hub.log and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE_S / 3) == 130
    finally:
        child.kill()
        child.communicate()


def test_ctrl_c_keeps_everything(hub: LocalHub, paths: AppPaths) -> None:
    hub.speeds["cdn"] = 2.0 * MIB
    with subprocess.Popen(
        command(hub, "download", f"{REPO}:Q4_K_M", "--json"),
        env=environment(hub, paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line).get("done_bytes", 0) > 2 * MIB:
                break
        worker = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(PATIENCE_S) == 130
    assert lines(rest)[-1]["state"] == "paused"
    assert not any(one.is_running() for one in worker)
    (job,) = JobStore(paths.downloads_file).load()
    assert job.state is DownloadState.PAUSED
    hub.speeds.clear()
    before = sent_bytes(hub)
    done = run(hub, paths, "download", f"{REPO}:Q4_K_M", "--json")
    assert done.returncode == 0
    assert lines(done.stdout)[0]["missing_bytes"] < 38 * MIB
    assert sent_bytes(hub) - before < 37 * MIB


def test_a_bar_in_a_terminal(hub: LocalHub, paths: AppPaths) -> None:
    hub.speeds["cdn"] = 8.0 * MIB
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        command(hub, "download", f"{REPO}:Q4_K_M"),
        env=environment(hub, paths) | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=writer,
    )
    os.close(writer)
    shown = b""
    try:
        while block := os.read(reader, 4096):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(reader)
    assert process.stdout is not None
    with closing(process.stdout):
        process.stdout.read()
    assert process.wait(PATIENCE_S) == 0
    text = shown.decode()
    assert "█" in text
    assert "MB/s" in text
    assert text.endswith("\r\x1b[K")


def test_verify_and_repair(hub: LocalHub, paths: AppPaths) -> None:
    run(hub, paths, "download", f"{REPO}:Q4_K_M")
    good = run(hub, paths, "verify", str(model(paths)))
    assert good.returncode == 0
    assert "All 2 files are as they should be" in good.stdout
    path = model(paths) / FILES[0].path
    with path.open("r+b") as file:
        file.seek(17 * MIB)
        file.write(b"flipped")
    bad = run(hub, paths, "verify", str(path), "--json")
    assert bad.returncode == 1
    report, failure = lines(bad.stdout)[-2:]
    assert failure["event"] == "failed"
    assert (report["event"], report["good"]) == ("report", False)
    assert report["parts"][0]["bad_ranges"] == [[16 * MIB, 20 * MIB + 7]]
    told = run(hub, paths, "verify", str(path), "--lang", "zh_CN")
    assert "内容已改变" in told.stdout
    assert "--repair" in told.stderr
    hub.log.clear()
    repaired = run(hub, paths, "verify", str(model(paths)), "--repair")
    assert repaired.returncode == 0, repaired.stderr
    assert sent_bytes(hub) == 4 * MIB + 7
    assert path.read_bytes() == FILES[0].read(0, FILES[0].length)


def test_verify_nothing(hub: LocalHub, paths: AppPaths, tmp_path: Path) -> None:
    done = run(hub, paths, "verify", str(tmp_path / "none"))
    assert done.returncode == 1
    assert "none" in done.stderr
    assert run(hub, paths, "verify").returncode == 2


def test_ctrl_c_while_verifying(hub: LocalHub, paths: AppPaths, tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    with path.open("wb") as file:
        file.truncate(60 * 2**30)  # sparse: a minute of hashing
    process = subprocess.Popen(
        command(hub, "verify", str(path), "--json"),
        env=environment(hub, paths),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "progress"
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    with closing(process.stdout):
        process.stdout.read()
    assert process.wait(PATIENCE_S) == 130
    assert time.monotonic() - began < 30
