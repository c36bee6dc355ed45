"""Why a server engine ended: its last line is an echo, the reason stands above it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kimi_desktop.backends.end_facts import signal_name
from kimi_desktop.backends.failures import KILL_NUMBER, LONGEST_DETAIL, EngineEnd, not_started
from kimi_desktop.backends.probe import WRONG_CPU_EXITS
from kimi_desktop.base.errors import BackendError, ErrorCode

RECENT_LINES = 200

_PREFIX = re.compile(
    r"^\s*(?:\([\w-]+ pid=\d+\)\s*)?(?:\[[^\]]*\]\s*)?"
    r"(?:(?:ERROR|CRITICAL|WARNING|INFO) [\d-]+ [\d:]+ (?:\[[^\]]*\] ?)?)?"
)
_ECHO = re.compile(
    r"Engine core initialization failed|further information visit|EngineDeadError"
    r"|[Ss]igquit|SIGQUIT"
    r"|^\W*(?:raise|return) "
)
"""Lines that repeat a reason, and the source in a traceback."""
_SAID = re.compile(r"^(?:[\w.]+(?:Error|Exception)|Value error|libgomp): |: error: ")
_WORKER = re.compile(
    r"(?:died unexpectedly|died during initialization) \(exit code: (-?\d+)\)"
    r"|crashed with exit code (-?\d+)"
)

_PORT = re.compile(r"Address already in use|address already in use")
_ARGUMENT = re.compile(
    r": error: (?:argument|unrecognized|the following)|invalid (?:tool call|reasoning) parser"
    r"|Reasoning parser '.*' not found|requires --tool-call-parser|Unknown quantization method"
    r"|Quantization method specified|User-specified max_model_len|must be divisible by tensor"
    r"|Invalid data-parallel launch options|max_num_batched_tokens \(|appears path-like"
    r"|larger than the number of available GPUs|Not enough allowed NUMA nodes"
)
_MEMORY = re.compile(
    r"out of memory|No available memory for the cache blocks|on startup is less than desired"
    r"|KV cache is needed|less than requested memory for kv|annot allocate memory|MemoryError"
    r"|Not enough memory|Please increase mem.fraction"
)
_MODEL = re.compile(
    r"SafetensorError|not a valid JSON file|Weight files referenced in index|any model weights"
    r"|weights were not initialized|are not supported for now|does not recognize this architecture"
    r"|must match the size of tensor|Invalid repository ID|HFValidationError"
    r"|contains custom code|list index out of range|Failed to find a kernel"
)
_KINDS = (
    (_PORT, ErrorCode.ENGINE_PORT_TAKEN),
    (_MEMORY, ErrorCode.ENGINE_OUT_OF_MEMORY),
    (_ARGUMENT, ErrorCode.ENGINE_BAD_ARGUMENT),
    (_MODEL, ErrorCode.ENGINE_BAD_MODEL),
)


def explain_server(end: EngineEnd) -> BackendError:
    """The error that a person reads. An end with status 0 that nobody asked for is a failure."""
    if end.code in WRONG_CPU_EXITS:
        return BackendError(ErrorCode.ENGINE_WRONG_CPU, {"path": end.program})
    code = -KILL_NUMBER if end.code is None else end.code
    worker = _worker_code(end.lines)
    killed = -KILL_NUMBER in (code, worker)
    if killed and end.oom_kills > 0:
        return BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": "RAM, SIGKILL"})
    for pattern, error in _KINDS if code != -KILL_NUMBER and not end.was_ready else ():
        if line := _first(end.lines, pattern):
            return BackendError(error, {"detail": line, "path": end.model})
    if code < 0 or worker < 0:
        when = ErrorCode.ENGINE_KILLED if end.was_ready else ErrorCode.ENGINE_KILLED_LOADING
        return BackendError(when, {"signal": signal_name(min(code, worker))})
    return _plain_end(end, code)


def _plain_end(end: EngineEnd, code: int) -> BackendError:
    """It ended by itself and no line names the kind of reason."""
    if not end.was_ready:
        detail = " · ".join(filter(None, [_reason(end.lines), f"exit {code}"]))
        return not_started(end, detail)
    if line := _first(end.lines[-RECENT_LINES:], _MEMORY):
        return BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": line})
    return BackendError(ErrorCode.ENGINE_EXITED, {"code": code})


def _worker_code(lines: Sequence[str]) -> int:
    for line in lines:
        if match := _WORKER.search(line):
            return int(match[1] or match[2])
    return 0


def _first(lines: Sequence[str], pattern: re.Pattern[str]) -> str:
    for line in lines:
        said = _PREFIX.sub("", line).strip()
        if pattern.search(said) and not _ECHO.search(said) and "WARNING" not in line:
            return _short(said)
    return ""


def _reason(lines: Sequence[str]) -> str:
    """The first thing that an error says, else the last line that says anything."""
    return _first(lines, _SAID) or _short(next((x for x in reversed(lines) if x.strip()), ""))


def _short(line: str) -> str:
    line = _PREFIX.sub("", line).strip()
    return line if len(line) <= LONGEST_DETAIL else line[: LONGEST_DETAIL - 1] + "…"
