"""``kimi-desktop engines``: shown, asked, installed for real out of tiny wheels, interrupted."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends.install.service import MARK
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.cli import main
from kimi_desktop.engines_verb import EnginesVerb, asked
from kimi_desktop.machine.accelerators import Accelerators
from tests.support.engine_bench import wait_until
from tests.support.wheels import make_source, make_wheel

PYTHON = "{}.{}".format(*sys.version_info)


class Typed(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self) -> bool:
        return True


class Profile:
    def __init__(self, home: Path) -> None:
        self.paths = AppPaths.under(home / "profile")
        self.paths.make()
        self.wheels, self.rules = home / "wheels", home / "rules"
        self.wheels.mkdir()
        self.out, self.errors = io.StringIO(), io.StringIO()
        self.offer("vllm", "vLLM", make_wheel(self.wheels, "helper", "2.0"))
        self.offer("llama-cpp-python", "llama-cpp-python",
                   make_wheel(self.wheels, "helper", "2.0"))  # fmt: skip

    def offer(self, engine: str, title: str, package: tuple[str, int]) -> None:
        digest, size = package
        (self.rules / engine).mkdir(parents=True, exist_ok=True)
        line = f"helper==2.0 --hash=sha256:{digest} # {size}\n"
        (self.rules / engine / "list.txt").write_text(line)
        entry = {"id": "2.0-cpu", "version": "2.0", "system": "linux", "arch": "x64",
                 "accelerator": "cpu", "list": "list.txt", "installed_per_byte": 3}  # fmt: skip
        rules = {"title": title, "licence": "MIT", "pythons": [PYTHON], "installs": [entry]}
        (self.rules / f"{engine}-installs.json").write_text(json.dumps(rules))

    def verb(self, *, json_output: bool = False, system: str = "linux") -> EnginesVerb:
        here = Accelerators(system, "x64")
        self.out, self.errors = io.StringIO(), io.StringIO()
        return EnginesVerb(
            self.paths, Language.EN, json_output=json_output, out=self.out,
            progress_out=self.errors,
            options={"rules": lambda: self.rules, "look_at": lambda: here},
        )  # fmt: skip


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    made = Profile(tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.wheels))
    monkeypatch.setattr("kimi_desktop.backends.install.tools._find_uv", lambda *_: ())
    proof = "kimi_desktop.backends.engines.vllm.Vllm.probe"

    async def runs(*_: object) -> None:
        """A package of nothing is no vLLM: the proof is the service's own test."""

    monkeypatch.setattr(proof, runs)
    return made


def test_the_size_is_shown_and_the_engine_used_from_then_on(profile: Profile) -> None:
    agrees = asked(Language.EN, yes=False, answers=Typed("y\n"), out=io.StringIO())
    with profile.verb() as verb:
        assert verb.install("vllm", agrees) == 0
    size = next(profile.wheels.iterdir()).stat().st_size
    first, last = profile.out.getvalue().splitlines()
    assert first.startswith(f"vLLM 2.0 (CPU only): {size:,} B to fetch")
    assert "licence MIT" in first
    folder = profile.paths.vllm_folder / "2.0-cpu"
    assert last == f"vLLM 2.0 is installed in {folder} and used from now on."
    assert "Fetching packages" in profile.errors.getvalue()
    settings = SettingsStore(profile.paths.settings_file).settings
    assert settings.engine.vllm_python == str(folder)
    with profile.verb() as verb:
        assert verb.list() == 0
    assert f"in {folder} (in use)" in profile.out.getvalue()
    assert "llama-cpp-python 2.0 (CPU only)" in profile.out.getvalue()


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        (Typed("\n"), 1, "Nothing was installed."),
        (Typed("n\n"), 1, "Nothing was installed."),
        (io.StringIO("y\n"), 2, "say --yes"),  # no terminal: nobody is asked
    ],
)
def test_nothing_is_fetched_without_a_yes(
    profile: Profile, answers: io.StringIO, code: int, words: str
) -> None:
    agrees = asked(Language.EN, yes=False, answers=answers, out=io.StringIO())
    with profile.verb() as verb:
        assert verb.install("vllm", agrees) == code
    assert words in profile.errors.getvalue()
    assert not profile.paths.vllm_folder.exists()


def test_json_lines_tell_offer_progress_and_end(profile: Profile) -> None:
    with profile.verb(json_output=True) as verb:
        assert verb.install("vllm", lambda: True) == 0
    lines = [json.loads(line) for line in profile.out.getvalue().splitlines()]
    assert [lines[0]["event"], lines[-1]["event"]] == ["offer", "installed"]
    assert {line["event"] for line in lines[1:-1]} == {"progress"}
    assert {"preparing", "proving"} <= {line.get("phase") for line in lines}
    assert lines[0]["size_bytes"] > 0
    assert lines[-1]["in_use"] is True


def test_what_ctrl_c_stops_goes_on_later(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    monkeypatch.setenv("KD_TOLD", str(told))
    next(profile.wheels.glob("helper*")).unlink()
    profile.offer("vllm", "vLLM", make_source(profile.wheels, "helper", "2.0"))
    seen: list[str] = []

    def compiling(event: object) -> None:
        """The user presses Ctrl+C while a package is compiled."""
        phase = getattr(getattr(event, "phase", None), "value", "")
        if phase == "compiling" and not seen:
            seen.append(phase)
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

    with profile.verb() as verb:
        verb._bus.subscribe(compiling)
        with pytest.raises(KeyboardInterrupt):
            verb.install("vllm", lambda: True)
    assert seen == ["compiling"]
    assert "kimi-desktop engines install vllm goes on" in profile.errors.getvalue()
    wait_until(lambda: not psutil.Process().children(recursive=True))
    mark = profile.paths.vllm_folder / "2.0-cpu" / MARK
    assert json.loads(mark.read_text())["is_whole"] is False
    with profile.verb() as verb:
        verb.list()
    assert "begun in" in profile.out.getvalue()
    told.touch()
    with profile.verb() as verb:
        assert verb.install("vllm", lambda: True) == 0
    assert json.loads(mark.read_text())["is_whole"] is True


def test_a_system_that_nothing_is_for(profile: Profile) -> None:
    with profile.verb(system="windows") as verb:
        with pytest.raises(BackendError) as failed:
            verb.install("vllm", lambda: True)
        assert failed.value.code is ErrorCode.INSTALL_NONE_HERE
        assert verb.list() == 0
    assert "runs in WSL" in profile.out.getvalue()


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path / "profile"))
    assert main(["engines", "install"]) == 2
    assert "vllm, llama-cpp-python or llama.cpp" in capsys.readouterr().err
    assert main(["engines", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(row["engine"] in ("vllm", "llama-cpp-python") for row in rows)
    with pytest.raises(SystemExit):
        main(["engines", "install", "sglang"])
