"""The worker's protocol, in this process: an order and commands in, JSON lines out."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.downloads import worker
from kimi_desktop.downloads.worker import STOPPED_EXIT, Worker
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub
from tests.support.transfers import PIECE, WAIT_S, assert_whole, spec_of

MODEL = HubFile("model.gguf", 8 * PIECE)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", [MODEL]) as running:
        yield running


class Running:
    """A worker whose lifeline is a pipe."""

    def __init__(self, order: dict[str, Any]) -> None:
        reader, writer = os.pipe()
        self._orders = os.fdopen(reader, encoding="utf-8")
        self._commands = os.fdopen(writer, "w", encoding="utf-8")
        self.out = io.StringIO()
        self.left: list[int] = []
        self._code: list[int] = []
        self.say(order)
        one = Worker(self._orders, self.out, self.left.append)
        self._thread = threading.Thread(target=lambda: self._code.append(one.main()))
        self._thread.start()

    def say(self, facts: dict[str, Any]) -> None:
        self._commands.write(json.dumps(facts) + "\n")
        self._commands.flush()

    def let_go(self) -> None:
        if not self._commands.closed:
            self._commands.close()

    def end(self) -> tuple[int, dict[str, Any]]:
        """Its exit code and its last word."""
        self._thread.join(WAIT_S)
        self.let_go()
        while not self.left:  # its listening thread ends, too
            time.sleep(0.01)
        self._orders.close()
        return self._code[0], self.told[-1]

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.getvalue().splitlines()]

    def until_done(self, count: int) -> None:
        while not any(facts.get("done", 0) >= count for facts in self.told):
            time.sleep(0.01)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "GRACE_S", 0.01)


def order_of(hub: LocalHub, folder: Path, **options: object) -> dict[str, Any]:
    spec = spec_of(hub, folder, ["hub", "modelscope"])
    return {"spec": spec.to_json(), "options": {"piece_bytes": PIECE, **options}}


def test_to_the_end(hub: LocalHub, tmp_path: Path) -> None:
    running = Running(order_of(hub, tmp_path))
    assert running.end() == (0, {"event": "done"})
    assert_whole(hub, tmp_path)


def test_a_failure_is_told(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add("/resolve/|FilePath", Fault(status=404))
    code, last = Running(order_of(hub, tmp_path)).end()
    assert (code, last["event"], last["code"]) == (1, "failed", "downloads.not_found")


def test_without_its_lifeline_it_stops(hub: LocalHub, tmp_path: Path) -> None:
    hub.speeds["cdn"] = 50_000.0
    hub.speeds["modelscope"] = 50_000.0
    running = Running(order_of(hub, tmp_path))
    running.until_done(1)
    running.let_go()
    assert running.end() == (STOPPED_EXIT, {"event": "stopped"})
    assert not (tmp_path / MODEL.path).exists()


def test_commands_reach_the_transfer(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add("xet-bridge", Fault(stall_s=60.0, stall_after=2 * PIECE))
    running = Running(order_of(hub, tmp_path, bytes_per_s=100_000.0, most_connections=1))
    running.until_done(1)
    hub.faults.clear()
    running.say({"do": "limit", "bytes_per_s": None})
    running.say({"do": "prefer", "endpoint": hub.modelscope})
    running.say({"do": "wake"})
    assert running.end()[0] == 0
    assert hub.requests("modelscope")
    assert_whole(hub, tmp_path)


def test_verifying(hub: LocalHub, tmp_path: Path) -> None:
    Running(order_of(hub, tmp_path)).end()
    code, last = Running({"verify": str(tmp_path)}).end()
    assert (code, last["event"], last["report"]["good"]) == (0, "done", True)
    code, last = Running({"verify": str(tmp_path / "none")}).end()
    assert (code, last["event"], last["code"]) == (1, "failed", "imports.not_there")


def test_verifying_stops_without_its_lifeline(tmp_path: Path) -> None:
    with (tmp_path / "large.gguf").open("wb") as file:
        file.truncate(60 * 2**30)  # sparse: a minute of hashing
    running = Running({"verify": str(tmp_path)})
    while not running.told:
        time.sleep(0.01)
    running.let_go()
    assert running.end() == (STOPPED_EXIT, {"event": "stopped"})


def test_nobody_listens(hub: LocalHub) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    Worker(io.StringIO(), Gone()).tell({"event": "progress"})
