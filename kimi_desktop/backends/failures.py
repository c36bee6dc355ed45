"""Why an engine ended, as an error with a code: from its exit, its log and what the system counted.

Pure. Order matters: what the system says (a signal, the OOM killer) comes before what the log says,
and of the log the first specific line wins; the last ones are echoes ("failed to load model").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.backends.end_facts import signal_name
from kimi_desktop.backends.probe import WRONG_CPU_EXITS
from kimi_desktop.base.errors import BackendError, ErrorCode

LONGEST_DETAIL = 300
RECENT_LINES = 50
KILL_NUMBER = 9
"""Of SIGKILL, on Linux and macOS; Windows has no signals and no such exit code."""

_PORT = re.compile(r"couldn't bind|address already in use|another server listens", re.IGNORECASE)
_ARGUMENT = re.compile(
    r"^error: (?:invalid argument: .*|unknown argument.*|argument .*|--?\w.*|no model.*)"
    r"|error while handling argument.*|unknown value for .*|the argument has been removed.*",
    re.IGNORECASE,
)
_MEMORY = re.compile(
    r"out of memory|failed to allocate|unable to allocate|cannot allocate memory|bad_alloc"
    r"|ErrorOutOfDeviceMemory|allocation of size .* failed|allocating .* failed",
    re.IGNORECASE,
)
_WORKER = re.compile(
    r"Remote RPC server crashed or returned malformed response|RPC handshake failed"
    r"|RPC transport initialization failed|RPC server version mismatch"
    r"|Failed to connect to \d+\.\d+\.\d+\.\d+:\d+"
)
_MODEL = re.compile(
    r"invalid magic|gguf_init|failed to read|failed to open|unknown model architecture"
    r"|not within the file bounds|missing tensor|wrong shape|wrong number of tensors"
    r"|key not found in model|error loading model|failed to load GGUF|corrupted|invalid split"
    r"|unknown .*tokenizer|unsupported .*type|failed to load model",
    re.IGNORECASE,
)
_Reason = tuple[re.Pattern[str], ErrorCode]
_PREFIX = re.compile(r"^[\d.]+ [EWI] (?:\w+ +)?")
_ERROR_LINE = re.compile(r"^[\d.]+ E ")


@dataclass(frozen=True, slots=True)
class EngineEnd:
    """What is known about the end of an engine that nobody asked to end."""

    code: int | None
    """Exit code, negative for a signal; None when even its supervisor is gone."""
    was_ready: bool
    lines: Sequence[str]
    """Its log, keys removed."""
    oom_kills: int
    """How often the system killed a process for its memory since the start."""
    program: str
    model: str


def explain(end: EngineEnd) -> BackendError:
    """The error that a person reads."""
    if end.code in WRONG_CPU_EXITS:
        return BackendError(ErrorCode.ENGINE_WRONG_CPU, {"path": end.program})
    code = -KILL_NUMBER if end.code is None else end.code
    killed = code == -KILL_NUMBER
    if killed and end.oom_kills > 0:
        return BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": "RAM, SIGKILL"})
    if not killed and (told := _from_log(end)) is not None:
        return told
    if code < 0:
        when = ErrorCode.ENGINE_KILLED if end.was_ready else ErrorCode.ENGINE_KILLED_LOADING
        return BackendError(when, {"signal": signal_name(code)})
    if end.was_ready:
        return BackendError(ErrorCode.ENGINE_EXITED, {"code": code})
    return not_started(end, _last_words(end))


def not_started(end: EngineEnd, detail: str) -> BackendError:
    """It ended before it was ready; only one that said something has words in its log."""
    spoke = any(line.strip() for line in end.lines)
    code = ErrorCode.ENGINE_START_FAILED if spoke else ErrorCode.ENGINE_SAID_NOTHING
    return BackendError(code, {"detail": detail})


_RECENT: tuple[_Reason, ...] = (
    (_MEMORY, ErrorCode.ENGINE_OUT_OF_MEMORY),
    (_WORKER, ErrorCode.WORKER_LOST),
)
_STARTING: tuple[_Reason, ...] = (
    (_PORT, ErrorCode.ENGINE_PORT_TAKEN),
    (_ARGUMENT, ErrorCode.ENGINE_BAD_ARGUMENT),
    *_RECENT,
    (_MODEL, ErrorCode.ENGINE_BAD_MODEL),
)
"""The weightiest first."""


def _from_log(end: EngineEnd) -> BackendError | None:
    # What the start said does not explain a later end.
    lines, reasons = (
        (end.lines[-RECENT_LINES:], _RECENT) if end.was_ready else (end.lines, _STARTING)
    )
    for pattern, code in reasons:
        if line := _first(lines, pattern):
            model = {"path": end.model} if code is ErrorCode.ENGINE_BAD_MODEL else {}
            return BackendError(code, {**model, "detail": line})
    return None


def _first(lines: Sequence[str], pattern: re.Pattern[str]) -> str | None:
    for line in lines:
        if pattern.search(line):
            return _short(line)
    return None


def _last_words(end: EngineEnd) -> str:
    errors = [line for line in end.lines if _ERROR_LINE.match(line)]
    said = errors[:1] or [line for line in end.lines if line.strip()][-1:]
    return " · ".join([*(_short(line) for line in said), f"exit {end.code}"])


def _short(line: str) -> str:
    line = _PREFIX.sub("", line).strip()
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"
