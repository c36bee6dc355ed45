"""The verbs as a user types them: real processes, exit codes, both languages, JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path
from shutil import which
from typing import Any

import psutil
import pytest

import kimi_desktop
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.diagnosis.bundle import bundle_text
from kimi_desktop.diagnosis.kept import slowness_text
from kimi_desktop.diagnosis.types import Diagnosis, Evidence
from kimi_desktop.downloads.jobs import Job, JobStore
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from kimi_desktop.monitor.run_types import Outcome, RunFacts, RunForecast, RunMeasures, RunRecord
from kimi_desktop.monitor.runs import RunStore
from kimi_desktop.serve.qr import QUIET, qr_lines
from tests.support import scripted_data as data

PATIENCE_S = 90
RUN = RunRecord(
    id=0,
    started_at=100.0,
    ended_at=200.0,
    model_path="/m/k.gguf",
    title="Kimi",
    quantization="Q4",
    engine="llama.cpp b1",
    settings={},
    forecast=RunForecast(),
    measured=RunMeasures(decode_tps=18.4),
    outcome=Outcome.STOPPED,
)


@pytest.fixture
def profile(tmp_path: Path, tiny_kimi: Path) -> AppPaths:
    """A profile with the tiny model in its models folder."""
    paths = AppPaths.under(tmp_path / "a profile 月")
    paths.default_models_folder.mkdir(parents=True)
    (paths.default_models_folder / tiny_kimi.name).hardlink_to(tiny_kimi)
    return paths


def environment(paths: AppPaths) -> dict[str, str]:
    return {**os.environ, "KIMI_DESKTOP_HOME": str(paths.data.parent), "LC_ALL": "C.UTF-8"}


def run(paths: AppPaths, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kimi_desktop", *arguments],
        env=environment(paths),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def free_port() -> int:
    """Others may use the default one."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def test_doctor(profile: AppPaths) -> None:
    done = run(profile, "doctor", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["memory"]["total_gib"] > 0
    assert "内存" in run(profile, "doctor", "--lang", "zh_CN").stdout


def test_diagnose(profile: AppPaths, tmp_path: Path) -> None:
    log = tmp_path / "an engine's log 月.txt"
    line = "E llama_init_from_model: V cache quantization requires flash_attn"
    log.write_text(f"I srv load_model: loading model\n{line}\n", encoding="utf-8")
    done = run(profile, "diagnose", str(log), "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["cause"], told["evidence_line"]) == (
        0,
        "kv_quant_needs_flash_attn",
        line,
    )
    shown = run(profile, "diagnose", str(log), "--lang", "zh_CN").stdout
    assert line in shown
    assert "Flash Attention" in shown
    missing = run(profile, "diagnose", str(tmp_path / "none.log"))
    assert missing.returncode == 1
    assert "none.log" in missing.stderr
    assert "Traceback" not in missing.stderr


def test_a_failed_run_is_listed_and_diagnosed_by_its_number(
    profile: AppPaths, tmp_path: Path
) -> None:
    nothing = run(profile, "diagnose")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "No run has failed." in nothing.stderr
    assert "No model was started" in run(profile, "runs").stdout
    with closing(RunStore(profile.runs_file)) as store:
        good = store.add(RUN)
        failed = store.add(dataclasses.replace(RUN, outcome=Outcome.FAILED, title="Kimi\x1b[31m"))
        line = "E llama_init_from_model: V cache quantization requires flash_attn"
        bundle = bundle_text(Evidence(log=f"I x\n{line}", engine="llama.cpp"), Diagnosis((), ()))
        store.add_facts(failed, RunFacts(101.0, bundle))
        store.add_facts(good, RunFacts(102.0, slowness_text(data.SLOW, "")))
    listed = run(profile, "runs")
    assert "\x1b" not in listed.stdout
    assert "Kimi" in listed.stdout
    rows = json.loads(run(profile, "runs", "--json").stdout)
    assert [(row["id"], row["outcome"]) for row in rows] == [(failed, "failed"), (good, "stopped")]
    assert len(json.loads(run(profile, "runs", "--json", "--limit", "1").stdout)) == 1
    for wanted in ([], [str(failed)], [f"run:{failed}"]):
        told = json.loads(run(profile, "diagnose", *wanted, "--json").stdout)
        assert (told["cause"], told["run"]["id"]) == ("kv_quant_needs_flash_attn", failed)
        assert (told["kind"], told["evidence_line"]) == ("failure", line)
    slow = run(profile, "diagnose", str(good), "--lang", "zh_CN")
    assert "2.0 词元/秒" in slow.stdout
    missing = run(profile, "diagnose", "99", "--json")
    assert (missing.returncode, json.loads(missing.stdout)["error"]) == (1, "diagnosis.no_run")
    assert "no run 99" in missing.stderr


def test_a_file_named_like_a_run_wins(
    profile: AppPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("1").write_text("E llama: No space left on device\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(Path(kimi_desktop.__file__).parents[1]))
    told = json.loads(run(profile, "diagnose", "1", "--json").stdout)
    assert told["cause"] == "disk_full"
    assert "no run 1" in run(profile, "diagnose", "run:1").stderr


def test_a_run_without_facts_says_so(profile: AppPaths) -> None:
    with closing(RunStore(profile.runs_file)) as store:
        number = store.add(RUN)
    done = run(profile, "diagnose", str(number))
    assert done.returncode == 1
    assert "Stopped" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_engine_that_is_killed_is_a_run_to_diagnose(profile: AppPaths) -> None:
    server = subprocess.Popen(
        [sys.executable, "-m", "kimi_desktop", "serve", "tiny", "--port", str(free_port())],
        env=environment(profile),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith("Ctrl+C"):
            break
    engines = [
        child
        for child in psutil.Process(server.pid).children(recursive=True)
        if "kimi_desktop.backends.embedded" in child.cmdline()
    ]
    engines[-1].kill()
    assert server.wait(PATIENCE_S) == 1
    server.communicate()
    told = json.loads(run(profile, "diagnose", "--json").stdout)
    assert (told["cause"], told["kind"]) == ("killed_from_outside", "failure")
    assert told["run"]["outcome"] == "failed"
    with closing(RunStore(profile.runs_file, is_owner=False)) as store:
        (facts,) = store.facts(told["run"]["id"])
    kept = json.loads(facts.text)
    assert kept["exit"]["signal"] == "SIGKILL"
    assert "load_model" in kept["log"]
    for name in ("before", "at_end", "libraries", "planned_gib", "memory_used_gib", "files"):
        assert kept["machine"][name]


def test_bench_value_by_value_and_users(profile: AppPaths) -> None:
    done = run(profile, "bench", "tiny", "--vary", "threads=1,2", "--json")
    points = [json.loads(line) for line in done.stdout.splitlines()]
    assert [point["label"] for point in points] == ["threads=1", "threads=2"]
    assert all(point["decode_tps"] > 0 and point["load_s"] > 0 for point in points)
    nothing = run(profile, "bench", "tiny", "--users", "1", "--compare")
    assert nothing.returncode == 1
    assert "with another engine" in nothing.stderr
    with closing(RunStore(profile.runs_file, is_owner=False)) as store:
        store.add_experiment(data.experiments("Tiny Kimi")[0])
    done = run(profile, "bench", "tiny", "--users", "1,3", "--compare", "--lang", "zh_CN")
    assert done.returncode == 0
    _, engines, head, *rows = done.stdout.splitlines()
    assert engines.split()[::2] == ["llama.cpp", "vLLM"]
    assert head.split() == ["用户数", *["合计", "每用户", "首字延迟"] * 2]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "4", "8", "16", "32"]
    assert rows[0].count("词元/秒") == 4
    assert rows[1].split()[1:4] == ["–", "–", "–"]
    done = run(profile, "bench", "tiny", "--users", "2", "--compare", "vllm", "--json")
    (point,) = (json.loads(line) for line in done.stdout.splitlines())
    assert point["engine"].startswith("llama.cpp")
    assert (point["beside"]["engine"], point["beside"]["value"]) == ("vLLM 0.24.0", "2")
    assert point["first_token_s"] > 0
    with closing(sqlite3.connect(profile.runs_file)) as book:
        rows = book.execute("SELECT outcome, settings FROM runs").fetchall()
    assert [outcome for outcome, _ in rows] == ["stopped"] * 4
    assert json.loads(rows[0][1])["n_threads"] == 1


@pytest.mark.parametrize(
    "flags", [["--vary", "colour=1"], ["--vary", "threads="], ["--users", "0"]]
)
def test_bench_with_nonsense(profile: AppPaths, flags: list[str]) -> None:
    done = run(profile, "bench", "tiny", *flags)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_models(profile: AppPaths) -> None:
    (profile.default_models_folder / "cut.gguf").write_bytes(b"GGUF\x03\x00")
    done = run(profile, "models", "--json")
    by_state = {row["state"]: row for row in json.loads(done.stdout)}
    assert by_state["ready"]["title"] == "Tiny Kimi"
    assert by_state["broken"]["problem"]["code"].startswith("models.")
    shown = run(profile, "models", "--lang", "zh_CN").stdout
    assert "就绪" in shown
    assert "已损坏" in shown


def test_what_is_still_coming_is_listed_and_no_model(profile: AppPaths) -> None:
    folder = profile.default_models_folder / "org" / "Big"
    files = tuple(FileJob(f"big-{n}.gguf", 500 * 10**6, "ab" * 32, None, ()) for n in (1, 2))
    spec = DownloadSpec("org/Big Q4_K_M", str(folder), files, "mit", "c" * 40)
    store = JobStore(profile.downloads_file)
    paused = Job("one", spec, DownloadState.PAUSED, done_bytes=210 * 10**6)
    store.save([paused, Job("two", spec, DownloadState.READY)])
    store.close()
    shown = run(profile, "models").stdout
    assert "Not whole yet: org/Big Q4_K_M, Paused, 210 MB of 1.0 GB (21 %)" in shown
    assert shown.count("org/Big") == 1
    rows = json.loads(run(profile, "models", "--json").stdout)
    (row,) = [row for row in rows if row["title"] == "org/Big Q4_K_M"]
    assert (row["state"], row["download"]["done_bytes"]) == ("partial", 210 * 10**6)


def test_plan(profile: AppPaths) -> None:
    done = run(profile, "plan", "tiny", "--json", "--ctx", "1024")
    found = json.loads(done.stdout)
    assert (done.returncode, found["context"]) == (0, 1024)
    assert found["flags"][-2:] == ["--fit", "off"]
    text = run(profile, "plan", "tiny").stdout
    assert "llama-server -m" in text
    assert "tiny-kimi" in text


def test_a_plan_for_another_machine(profile: AppPaths, tmp_path: Path) -> None:
    machine = json.loads(run(profile, "doctor", "--json").stdout)
    file = tmp_path / "other.json"
    file.write_text(json.dumps({**machine, "memory": {**machine["memory"], "colour": "red"}}))
    done = run(profile, "plan", "tiny", "--machine", str(file))
    assert done.returncode == 1
    assert "colour" in done.stderr


def test_one_answer(profile: AppPaths) -> None:
    done = run(profile, "chat", "tiny", "--prompt", "code please")
    assert done.returncode == 0
    assert "print(6 * 7)" in done.stdout
    assert "tok/s" in done.stderr


def test_a_file_anywhere_can_be_named(profile: AppPaths, tiny_kimi: Path) -> None:
    done = run(profile, "chat", str(tiny_kimi), "--prompt", "code please", "--json")
    assert done.returncode == 0
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert events[0] == "loading"
    assert "text" in events


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["chat", "nothing like it", "--prompt", "hi"], 1, "tiny-kimi"),
        (["plan", "tiny", "--ctx", "0"], 1, "--ctx 0"),
        (["chat", "--no-such-flag"], 2, "--no-such-flag"),
        (["dance"], 2, "dance"),
        (["doctor", "--lang", "fr"], 2, "fr"),
        (["serve", "--port", "0"], 2, "port"),
    ],
)
def test_bad_input(profile: AppPaths, arguments: list[str], code: int, words: str) -> None:
    done = run(profile, *arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_no_model_at_all(tmp_path: Path) -> None:
    done = run(AppPaths.under(tmp_path / "empty"), "chat", "--prompt", "hi")
    assert done.returncode == 1
    assert "no model" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Unix signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_serve_until_it_is_told_to_end(profile: AppPaths, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "kimi_desktop",
            "serve",
            "tiny",
            "--json",
            "--ctx",
            "512",
            "--port",
            str(free_port()),
        ],
        env=environment(profile),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "serving":
                break
        key = run(profile, "clients", "show").stdout.strip()
        assert key.startswith("kd-")
        assert key not in json.dumps(event)
        request = urllib.request.Request(
            f"{event['url']}/models", headers={"Authorization": f"Bearer {key}"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            assert json.load(answer)["data"]
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 130
    finally:
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait()
    left = [*profile.runtime.glob("*.sock"), *profile.runtime.glob("*.json")]
    assert left == []


def test_a_taken_port_is_said_before_the_model_is_loaded(profile: AppPaths) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run(profile, "serve", "tiny", "--port", port, "--json")
    assert done.returncode == 1
    assert port in done.stderr
    assert "loading" not in done.stdout


def test_an_address_of_another_machine_is_refused(profile: AppPaths) -> None:
    done = run(profile, "serve", "tiny", "--lan", "203.0.113.9")
    assert done.returncode == 1
    assert "203.0.113.9" in done.stderr


def test_serve_as_a_unit_of_systemd(profile: AppPaths, tmp_path: Path) -> None:
    home = {**environment(profile), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    flags = ["--port", "8123", "--ctx", "4096", "--unit", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop", "serve", "a 50% $model", *flags],
        env=home,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    told = json.loads(done.stdout)
    text = Path(told["unit"]).read_text(encoding="utf-8")
    assert Path(told["unit"]).parent == tmp_path / "config" / "systemd" / "user"
    assert '"serve" "a 50%% $$model" "--port" "8123" "--ctx" "4096"\n' in text
    assert "Restart=on-failure" in text


LAN = """
import sys
from kimi_desktop import serve_verb
from kimi_desktop.cli import main
from kimi_desktop.serve import service
for module in (serve_verb, service):
    module.lan_addresses = lambda: ("127.0.0.2",)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="127.0.0.2 stands for a local network's address"
)
def test_an_open_network_is_told_and_not_remembered(profile: AppPaths) -> None:
    def served(*flags: str) -> tuple[str, str]:
        """What it tells, and its log; no terminal is there."""
        words = ["serve", "tiny", "--ctx", "512", "--port", str(free_port()), *flags]
        with subprocess.Popen(
            [sys.executable, "-c", LAN, *words],
            env=environment(profile),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            told = ""
            for line in process.stdout:
                told += line
                if "Ctrl+C" in line:
                    break
            process.send_signal(signal.SIGINT)
            progress = process.stderr.read()
            assert process.wait(PATIENCE_S) == 130
            return told, progress

    opened, progress = served("--lan")
    assert "http://127.0.0.2:" in opened
    assert "OPEN TO THE LOCAL NETWORK at 127.0.0.2" in opened
    assert "not encrypted" in opened
    key = run(profile, "clients", "show").stdout.strip()
    assert key not in opened + progress
    assert "kimi-desktop clients show" in opened
    assert "Loading" in progress
    plain, _ = served()
    assert "http://127.0.0.1:" in plain
    assert "OPEN" not in plain
    assert key not in profile.settings_file.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.2 and a pseudo terminal")
def test_a_terminal_is_shown_the_key_and_the_code(profile: AppPaths) -> None:
    ours, theirs = os.openpty()
    words = ["serve", "tiny", "--ctx", "512", "--port", str(free_port()), "--lan", "--tls"]
    with subprocess.Popen(
        [sys.executable, "-c", LAN, *words],
        env={**environment(profile), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        key = run(profile, "clients", "show").stdout.strip()
        shown = b""
        while shown.count("█".encode() * 20) < 2:  # the code has begun
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(ours, 4096):
                shown += more
        assert process.wait(PATIENCE_S) == 130
        os.close(ours)
    text = shown.decode()
    (address,) = re.findall(r"https://127\.0\.0\.2:\d+/v1", text)
    assert f"Key: {key}" in text
    assert "not encrypted" not in text
    assert qr_lines(address)[QUIET // 2 + 1] in text


def written_unit(home: Path, config: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop", "serve", *words, "--unit", "--json"],
        env={**os.environ, "KIMI_DESKTOP_HOME": str(home), "XDG_CONFIG_HOME": str(config)},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_unit_serves_the_profile_that_it_was_written_from(tmp_path: Path) -> None:
    home = tmp_path / '50% "my" $HOME \\ 月'
    told = written_unit(home, tmp_path, "model")
    text = Path(told["unit"]).read_text(encoding="utf-8")
    inside = str(home).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    assert f'\nEnvironment="KIMI_DESKTOP_HOME={inside}"\n' in text
    assert "--lan" not in text


@pytest.mark.skipif(which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    told = written_unit(tmp_path / '50% "my" $HOME \\ 月', tmp_path, 'a 50% $m "q"')
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", told["unit"]],
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_another_unit_is_kept_and_said(tmp_path: Path) -> None:
    assert written_unit(tmp_path, tmp_path, "one")["previous"] is None
    assert written_unit(tmp_path, tmp_path, "one")["previous"] is None  # the same again
    told = written_unit(tmp_path, tmp_path, "two")
    assert '"one"' in Path(told["previous"]).read_text(encoding="utf-8")
    assert '"two"' in Path(told["unit"]).read_text(encoding="utf-8")


def test_programs_and_their_keys(profile: AppPaths) -> None:
    """What a machine without a window has for it."""
    own = run(profile, "clients", "show").stdout.strip()
    added = json.loads(run(profile, "clients", "add", " my  editor", "--json").stdout)
    assert (added["event"], added["name"]) == ("added", "my editor")
    assert run(profile, "clients", "show", "my editor").stdout.strip() == added["key"] != own
    listed = run(profile, "clients")
    assert listed.stdout.splitlines() == ["default: your own key", "my editor"]
    for arguments in (("add", "my editor"), ("revoke", "nobody"), ("show", "nobody")):
        assert run(profile, "clients", *arguments).returncode == 1
    assert run(profile, "clients", "add").returncode == 2
    assert run(profile, "clients", "revoke", "my editor").returncode == 0
    assert json.loads(run(profile, "clients", "--json").stdout) == {
        "clients": [{"name": "default"}]
    }
    assert run(profile, "clients", "renew").returncode == 0
    assert run(profile, "clients", "show").stdout.strip() != own
    file = profile.config / "serve-keys.json"
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600


def test_a_model_of_the_library_can_be_named_by_its_path(profile: AppPaths) -> None:
    (file,) = profile.default_models_folder.glob("*.gguf")
    done = run(profile, "chat", str(file), "--prompt", "code please")
    assert (done.returncode, "print(6 * 7)" in done.stdout) == (0, True)


def test_a_data_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run(AppPaths.under(tmp_path / "file"), "chat", "--prompt", "hi")
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
