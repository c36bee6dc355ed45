"""What finished runs taught about the speed of this machine, kept between starts.

One small file under the data folder, by the machine's fingerprint. Thread-safe; reading and writing
it takes a fraction of a millisecond, so whoever asks does it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kimi_desktop.base.files import write_atomically
from kimi_desktop.machine.measured import fingerprint
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.speed_factors import Factors, factors_from, shipped_speed_data
from kimi_desktop.planner.speed_learn import is_telling, kept_values, learn
from kimi_desktop.planner.speed_types import FinishedRun

log = logging.getLogger(__name__)

SCHEMA = 1
MAX_BYTES = 2**20


class LearnedSpeeds:
    """The factors of this machine."""

    def __init__(self, file: Path, machine: Callable[[], Machine | None]) -> None:
        """``machine``: the last look at it; None before the first."""
        self._file = file
        self._machine = machine
        self._lock = threading.Lock()
        self._known: dict[str, Factors] = {}

    def factors(self) -> Factors | None:
        """As learned here; None while nothing was, or nobody has looked at the machine yet."""
        machine = self._machine()
        if machine is None:
            return None
        with self._lock:
            found = self._of(_name(machine))
        return found if found.runs else None

    def learn(self, run: FinishedRun) -> Factors | None:
        """Correct the factors by one run and keep them; None when it tells nothing.

        A run of a small model tells nothing about large ones: see ``speed_learn.is_telling``.
        """
        machine = self._machine()
        if machine is None or not is_telling(run):
            return None
        name = _name(machine)
        with self._lock:
            before = self._of(name)
            after = learn(before, run)
            if after is before:
                return None
            self._known[name] = after
            self._keep(name, after)
        return after

    def _of(self, name: str) -> Factors:
        if name not in self._known:
            entry = _load(self._file).get(name)
            values = entry if isinstance(entry, dict) else {}
            self._known[name] = factors_from(values, shipped_speed_data().factors)
        return self._known[name]

    def _keep(self, name: str, factors: Factors) -> None:
        data = _load(self._file)
        data[name] = kept_values(factors)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            content = json.dumps({"schema": SCHEMA, "machines": data}, indent=1)
            write_atomically(self._file, content + "\n")
        except OSError as error:  # it holds until the app ends
            log.warning("learned speeds were not kept: %s", error)


def _name(machine: Machine) -> str:
    """Processors, memory and GPUs: another card wants factors of its own."""
    cards = sorted(gpu.name for gpu in machine.gpus)
    parts = "\n".join((fingerprint(machine), *cards))
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def _load(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            data = json.loads(opened.read(MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log.warning("learned speeds cannot be read: %s", error)
        return {}
    machines = data.get("machines") if isinstance(data, dict) else None
    return dict(machines) if isinstance(machines, dict) else {}
