"""Evidence, causes and fixes as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import ErrorCode, KimiError, Param
from kimi_desktop.base.events import Event
from kimi_desktop.machine.holders import Holder
from kimi_desktop.planner.speed_types import Band
from kimi_desktop.planner.types import DeviceMemory

CONFIDENT = 0.8
"""From here on a cause is named as the cause."""
UNKNOWN_BELOW = 0.5
"""Below this nothing is named: "unknown, here is the log" beats a wrong name."""

Fact = str | float | bool | None


@dataclass(frozen=True, slots=True)
class EngineExit:
    """How the process ended, as far as anybody knows. All empty: the report does not say."""

    code: int | None = None
    signal: str | None = None
    """"SIGKILL"."""
    is_alive: bool = False
    """The process still runs."""
    spawn_errno: str | None = None
    """"ENOEXEC": it could not be started."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a diagnosis may look at."""

    log: str = ""
    """Of the engine, stdout and stderr as they came; lines in round brackets are what a person
    saw."""
    exit: EngineExit = EngineExit()
    engine: str = ""
    """"llama.cpp", "vllm", "sglang", "ollama", ..."""
    engine_version: str = ""
    phase: str = ""
    """"start", "load", "serve", "generate", "perf" or "quality"; "" = unknown."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Facts that a launcher can read: memory, files, ports, process state."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for."""


@dataclass(frozen=True, slots=True)
class Fix:
    """The first thing to change."""

    action: str
    """"set" changes a setting; "download", "memory", "driver", ... are done outside the plan."""
    direction: str
    """"up", "down", "on", "off", "correct", "other", "replace", ..."""
    setting: str = ""
    value: str = ""
    """In words or as a number."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause that the evidence speaks for."""

    cause: str
    confidence: float
    """0 ... 1"""
    line_number: int | None
    """0-based index of the log line that proves it; None when facts alone do."""
    line: str
    """That line, or the facts in words."""
    fix: Fix
    rule: str
    """Which rule: file and position, for people who mend rules."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that was found, the most likely first."""

    findings: tuple[Finding, ...]
    decoys: tuple[int, ...]
    """Log lines that look like the cause and are not."""

    @property
    def cause(self) -> Finding | None:
        """The one to show; None = unknown."""
        best = self.findings[0] if self.findings else None
        return best if best is not None and best.confidence >= UNKNOWN_BELOW else None


@dataclass(frozen=True, slots=True)
class WayOut:
    """A change of the load settings that cures the cause, already priced."""

    key: str
    """"ubatch", "cache", "experts", "layers", "context", "parallel", "threads" or "extra": its
    words are ``diagnosis.way.KEY``."""
    params: Mapping[str, Param]
    settings: LoadSettings
    freed: tuple[tuple[str, int], ...] = ()
    """(device, bytes that it frees there), the GPUs first."""
    needs_consent: bool = False
    """It gives up something that the user asked for."""


class Beyond(StrEnum):
    """A way out that is no load setting; its words are ``diagnosis.beyond.VALUE``."""

    END_PROGRAM = "end_program"
    VERIFY = "verify"
    OTHER_FILE = "other_file"
    ENGINE = "engine"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class SystemWay:
    """Something to do outside the load settings."""

    kind: Beyond
    line: str = ""
    """For LINE: what to type or write, with this machine's numbers."""
    holder: Holder | None = None
    """For END_PROGRAM."""


@dataclass(frozen=True, slots=True)
class FailureReading:
    """One failure, read."""

    diagnosis: Diagnosis
    evidence: Evidence
    ways: tuple[WayOut, ...]
    """At most three, the gentlest first; what was tried since the last good start is left out."""
    started_at: float | None
    """Of the engine that failed: which failure this is."""
    beyond: tuple[SystemWay, ...] = ()
    """What no load setting cures."""
    devices: tuple[DeviceMemory, ...] = ()
    """What the planner expected of the devices that were full; none when memory was not it."""
    error: KimiError | None = None
    """What the engine's service made of it: told where no cause is known."""


@dataclass(frozen=True, slots=True)
class FailureRead(Event):
    """A failed engine has been diagnosed."""

    reading: FailureReading
    stepped_down: WayOut | None = None
    """This way is being taken by itself."""


class Aspect(StrEnum):
    """Which figure is outside its forecast."""

    DECODE = "decode"
    """Tokens per second of an answer."""
    PREFILL = "prefill"
    """Tokens per second of a prompt."""
    FIRST_TOKEN = "first_token"
    """Seconds to the first token of a later turn, whose beginning should be in the cache."""
    LOAD = "load"
    """Seconds of a load."""
    QUEUE = "queue"
    """Seconds that the oldest request has waited for its turn."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure beside its forecast."""

    aspect: Aspect
    measured: float
    """Tokens per second, or seconds."""
    expected: Band | None
    """None for a queue: there should be none."""


@dataclass(frozen=True, slots=True)
class Slowness:
    """A running engine does less than was forecast."""

    figure: Figure
    finding: Finding | None
    """None: no reason was found."""
    evidence: Evidence
    started_at: float | None
    """Of the engine: which run it is."""
    ways: tuple[WayOut, ...] = ()


@dataclass(frozen=True, slots=True)
class SlownessSeen(Event):
    """Something is slower than forecast; told once a run for each figure and reason."""

    slowness: Slowness
    at: float
    """time.time()"""


@dataclass(frozen=True, slots=True)
class OddAnswer:
    """A running engine wrote an answer that is none."""

    code: ErrorCode
    """What is odd about it."""
    diagnosis: Diagnosis
    evidence: Evidence
    """Without the answer's text, which is nobody else's business."""
    started_at: float | None
    """Of the engine: which run it is."""


@dataclass(frozen=True, slots=True)
class OddAnswerSeen(Event):
    """An answer was empty, endless, gibberish or full of template tokens; once a run for each."""

    answer: OddAnswer
    at: float
    """time.time()"""


@dataclass(frozen=True, slots=True)
class KeptFailure:
    """What the notebook kept of a failure, a slow answer or an odd one, read again."""

    at: float
    """time.time()"""
    reading: FailureReading
    bundle: str
    """To be posted; private things were removed when it was kept."""
    log: str
    """To be shown; the lines of the diagnosis count in it where there was a failure."""
    figure: Figure | None = None
    """Of what was slow."""
    odd: ErrorCode | None = None
    """What was odd about an answer."""
