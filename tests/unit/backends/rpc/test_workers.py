"""Workers that the user has added: kept, asked, joined to the machine."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.rpc.types import PROCESSOR_SHARE, WorkersChanged
from kimi_desktop.backends.rpc.workers import Workers
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import SettingsStore
from tests.support.planned_machines import machine
from tests.support.rpc_worker import GIB, ScriptedWorker, serving

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="a script as a program")


class Site:
    """Workers with a scripted engine."""

    def __init__(self, home: Path, io: IoLoop) -> None:
        self.home = home
        self.io = io
        self.said = "Available devices:\n  RPC0: 127.0.0.1 (24576 MiB, 20480 MiB free)"
        self.flags = {"--rpc": "SERVERS", "--list-devices": ""}
        self.takes = True
        self.heard: list[WorkersChanged] = []
        self.bus = EventBus()
        self.bus.subscribe(self._on_event)

    def workers(self) -> Workers:
        store = SettingsStore(self.home / "settings.json")
        return Workers(
            self.io, self.bus, store, build=self._build, takes_workers=lambda: self.takes
        )

    async def _build(self) -> EngineBuild:
        program = self.home / "llama-server"
        program.write_text(f'#!/bin/sh\necho "$@" >>"{self.home}/asked"\necho "{self.said}"\n')
        program.chmod(0o755)
        return EngineBuild(EngineKind.LLAMA_SERVER, (str(program),), self.flags, "llama.cpp b1")

    def _on_event(self, event: object) -> None:
        if isinstance(event, WorkersChanged):
            self.heard.append(event)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    io = IoLoop()
    yield Site(tmp_path, io)
    io.close()


def code_of(error: BackendError | None) -> ErrorCode | None:
    return error.code if error is not None else None


def test_a_worker_is_added_checked_kept_and_joins_the_machine(site: Site) -> None:
    with serving(ScriptedWorker(devices=((20 * GIB, 24 * GIB), (9 * GIB, 9 * GIB)))) as port:
        added = site.workers().add(f"127.0.0.1:{port}", " RTX\n4090 ").result()
    assert added.error is None
    assert added.bytes_per_s is not None
    assert (site.home / "asked").read_text().split() == [
        "--rpc",
        f"127.0.0.1:{port}",
        "--list-devices",
    ]
    kept = json.loads((site.home / "settings.json").read_text())["engine"]["workers"]
    assert kept[f"127.0.0.1:{port}"]["name"] == "RTX 4090"
    assert kept[f"127.0.0.1:{port}"]["bytes_per_s"] == round(added.bytes_per_s)

    again = site.workers()  # the app was started anew
    here = machine(24)
    assert again.join(here) is here  # not asked yet
    with serving(ScriptedWorker(devices=((18 * GIB, 24 * GIB), (9 * GIB, 9 * GIB))), port):
        again.refresh().result()
    joined = again.join(here)
    card, processor = joined.gpus[1:]
    assert card.name == "RTX 4090"
    assert card.vram_free_bytes == 18 * GIB
    assert card.link is not None
    assert card.link.bytes_per_s == pytest.approx(added.bytes_per_s, rel=0.01)
    assert not card.link.is_processor
    assert processor.link is not None
    assert processor.link.is_processor
    assert processor.vram_free_bytes == int(9 * GIB * PROCESSOR_SHARE)
    site.takes = False
    assert again.join(here) is here


def test_one_that_is_gone_does_not_join(site: Site) -> None:
    workers = site.workers()
    with serving(ScriptedWorker()) as port:
        workers.add(f"127.0.0.1:{port}").result()
    assert len(workers.join(machine(24)).gpus) == 2
    told = len(site.heard)
    (gone,) = workers.refresh().result()
    assert code_of(gone.error) is ErrorCode.WORKER_UNREACHABLE
    assert len(site.heard) == told + 1
    assert len(workers.join(machine(24)).gpus) == 1
    workers.refresh().result()
    assert len(site.heard) == told + 1  # nothing new


def test_one_in_use_holds_what_it_said_before(site: Site) -> None:
    workers = site.workers()
    with serving(ScriptedWorker()) as port:
        added = workers.add(f"127.0.0.1:{port}").result()
    busy = BackendError(ErrorCode.WORKER_BUSY, {"address": str(added.address)})
    assert dataclasses.replace(added, error=busy).is_usable
    assert not dataclasses.replace(added, error=busy, facts=None).is_usable


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("RPC server version mismatch: 6.1.0", ErrorCode.WORKER_OTHER_VERSION),
        ("error: RPC not supported in this build", ErrorCode.WORKER_NO_ENGINE),
        ("GGML_ASSERT(false)", ErrorCode.WORKER_ENDED),
    ],
)
def test_the_engine_greets_the_worker_itself(site: Site, said: str, code: ErrorCode) -> None:
    site.said = said
    workers = site.workers()
    with serving(ScriptedWorker()) as port:
        assert code_of(workers.add(f"127.0.0.1:{port}").result().error) is code
    assert len(workers.join(machine(24)).gpus) == 1


def test_an_engine_without_rpc_is_not_asked(site: Site) -> None:
    site.flags = {"--list-devices": ""}
    with serving(ScriptedWorker()) as port:
        added = site.workers().add(f"127.0.0.1:{port}").result()
    assert code_of(added.error) is ErrorCode.WORKER_NO_ENGINE
    assert not (site.home / "asked").exists()


def test_removing(site: Site) -> None:
    workers = site.workers()
    workers.add("127.0.0.1:1").result()
    with pytest.raises(BackendError) as caught:
        workers.remove("10.9.9.9:1").result()
    assert caught.value.code is ErrorCode.WORKER_UNKNOWN
    workers.remove("127.0.0.1:1").result()
    assert workers.workers == ()
    assert site.workers().workers == ()


@pytest.mark.parametrize("text", ["8.8.8.8:50052", "worker.example:1", "10.0.0.1:0", ""])
def test_addresses_that_are_refused_are_not_kept(site: Site, text: str) -> None:
    with pytest.raises(BackendError):
        site.workers().add(text).result()
    assert site.workers().workers == ()


def test_an_edited_file(site: Site) -> None:
    entries = {
        "1.1.1.1:5": {"name": "public"},
        "10.0.0.1:5": {"name": 5, "latency_us": -1, "bytes_per_s": "fast"},
        "10.0.0.2:5": {"name": "good", "latency_us": 250, "bytes_per_s": 10**9},
    }
    (site.home / "settings.json").write_text(json.dumps({"engine": {"workers": entries}}))
    odd, good = site.workers().workers
    assert (odd.latency_s, odd.bytes_per_s) == (None, None)
    assert (good.name, good.latency_s, good.bytes_per_s) == ("good", 0.00025, 1e9)
