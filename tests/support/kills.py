"""Kills the downloader again and again, and looks after each time at what it left."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.child import worker_command, worker_environment
from kimi_desktop.downloads.types import DownloadSpec
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.transfers import spec_of

PIECE = MIB
"""Smaller than in the app, so that a short life finishes some."""
CONNECTIONS = 4


def many_files(count: int, size_bytes: int = 8 * MIB) -> list[HubFile]:
    """A set in parts; none of them a whole number of pieces."""
    names = (f"model-{n:05}-of-{count:05}.gguf" for n in range(1, count + 1))
    return [HubFile(name, size_bytes + 1000 + n) for n, name in enumerate(names)]


@dataclass
class Kills:
    """One model, downloaded in many short lives.

    Raises AssertionError as soon as a file has its final name and is not what it should be.
    """

    hub: LocalHub
    folder: Path
    bytes_per_s: float
    seed: int = 1
    kills: int = 0
    most_lost_bytes: int = 0
    """Written and reported before a kill, and not there after it."""
    lost_bytes: int = 0
    _checked: set[str] = field(default_factory=set)
    _random: random.Random = field(init=False)
    _spec: DownloadSpec = field(init=False)
    _done_bytes: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._spec = spec_of(self.hub, self.folder)

    def kill_once(self) -> bool:
        """Start it, kill it at a random moment; whether it was done before."""
        life_s = self._random.uniform(0.0, 1.2)
        with self._start() as process:
            assert process.stdout is not None
            begun = process.stdout.readline()  # what it found, about a quarter of a second in
            assert begun, "it did not start"
            self._note_first(begun)
            time.sleep(life_s)
            process.kill()
            last = [line for line in process.stdout.read().splitlines() if line.endswith("}")]
            process.wait()
        self.kills += 1
        for line in [begun, *last]:
            facts = _facts(line)
            if facts.get("event") == "progress":
                self._done_bytes = facts["done"]
        self.check()
        return bool(last) and _facts(last[-1]).get("event") == "done"

    def finish(self) -> None:
        """Let it come to its end."""
        with self._start() as process:
            assert process.stdout is not None
            self._note_first(process.stdout.readline())
            last = _facts(process.stdout.read().splitlines()[-1])
            assert last.get("event") == "done", last
            # Its lifeline is still ours: it ends by itself.
            assert process.wait() == 0
        self.check()

    def check(self) -> None:
        """No bad file has its final name."""
        for file in self.hub.files:
            path = self.folder / file.path
            if file.path in self._checked or not path.exists():
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            assert digest == file.sha256, f"{file.path} is bad after {self.kills} kills"
            self._checked.add(file.path)

    @property
    def n_proven(self) -> int:
        """Files that have their final name."""
        return len(self._checked)

    def _note_first(self, line: str) -> None:
        facts = _facts(line)
        if facts.get("event") == "progress":
            lost = max(self._done_bytes - facts["done"], 0)
            self.lost_bytes += lost
            self.most_lost_bytes = max(self.most_lost_bytes, lost)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            worker_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=worker_environment(),
            text=True,
        )
        options = {
            "piece_bytes": PIECE,
            "most_connections": CONNECTIONS,
            "bytes_per_s": self.bytes_per_s,
        }
        assert process.stdin is not None
        order = {"spec": self._spec.to_json(), "options": options}
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return process


def _facts(line: str) -> dict[str, Any]:
    """A line as it came; the last one may be torn."""
    try:
        facts = json.loads(line)
    except ValueError:
        return {}
    return facts if isinstance(facts, dict) else {}
