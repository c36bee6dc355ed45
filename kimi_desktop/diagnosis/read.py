"""A log, a case or a bundle from another computer, as evidence. Reads files; any thread.

A pasted log comes without a machine: engine, phase and exit are read from its own words.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from kimi_desktop.base.errors import DiagnosisError, ErrorCode
from kimi_desktop.diagnosis.case import evidence_of
from kimi_desktop.diagnosis.log_text import MOST_CHARACTERS, decode_ends, decode_log
from kimi_desktop.diagnosis.types import EngineExit, Evidence

MOST_JSON_BYTES = 32 * 2**20
_BEFORE_JSON = b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"
"""Marks of encodings, halves of UTF-16, and blanks; ``json`` reads all of them."""
BUNDLE = "kimi_desktop_diagnosis"
"""The key by which a bundle is known; its value is the bundle's version."""
BUNDLE_VERSION = 1

_ENGINES = (
    ("vllm", re.compile(r"vllm|EngineCore|APIServer pid", re.IGNORECASE)),
    ("sglang", re.compile(r"sglang|mem-fraction-static", re.IGNORECASE)),
    ("ollama", re.compile(r"ollama|\[GIN\]", re.IGNORECASE)),
    (
        "llama.cpp",
        re.compile(r"llama_|ggml_|gguf_|llama-server|llama_server|load_tensors", re.IGNORECASE),
    ),
)
_EXIT = re.compile(
    r"^\[?(?:process )?exit(?:ed)?(?:s)? (?:with )?(?:status|code):? (-?\d+)\]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}
_READY = re.compile(
    r"server is listening|listening on http|Application startup complete|model loaded",
    re.IGNORECASE,
)
_LOADING = re.compile(
    r"load_model|loading model|llama_model_load|load_tensors|Loading (?:safetensors )?checkpoint"
    r"|Worker(?:_\w+)? pid|gguf_init",
    re.IGNORECASE,
)


def read_evidence(file: Path) -> Evidence:
    """What ``file`` holds: a bundle or a case (JSON), else a log in any encoding.

    Raises:
        DiagnosisError: DIAGNOSIS_NO_LOG, the file cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return evidence_from(stream, file.stat().st_size)
    except OSError as error:
        raise DiagnosisError(
            ErrorCode.DIAGNOSIS_NO_LOG, {"path": str(file), "detail": error.strerror or str(error)}
        ) from error


def evidence_from(stream: BinaryIO, size_bytes: int | None = None) -> Evidence:
    """The same from an open stream; of a long log its beginning and its end.

    Args:
        stream: bytes.
        size_bytes: where the end is, for a file; None reads on to it (a pipe).
    """
    half = MOST_CHARACTERS // 2
    if size_bytes is not None and size_bytes > 2 * half:
        head = stream.read(half)
        stream.seek(size_bytes - half)
        return from_log(decode_ends(head, stream.read(half), size_bytes - half))
    raw = stream.read(2 * half)
    tail, n_read = b"", len(raw)
    while rest := stream.read(half):
        tail = (tail + rest)[-half:]
        n_read += len(rest)
    if raw.lstrip(_BEFORE_JSON)[:1] == b"{" and len(raw) + len(tail) <= MOST_JSON_BYTES:
        found = _from_json(raw + tail)
        if found is not None:
            return found
    if n_read <= MOST_CHARACTERS:
        return from_log(decode_log(raw + tail))
    end = (raw + tail)[-half:]
    return from_log(decode_ends(raw[:half], end, n_read - len(end)))


def from_log(text: str) -> Evidence:
    """A log alone: what it says of its engine, how far it came and how it ended."""
    sample = text[:200_000] + text[-200_000:]
    engine = next((name for name, pattern in _ENGINES if pattern.search(sample)), "")
    end = EngineExit()
    if found := _EXIT.findall(text[-20_000:]):
        code = int(found[-1])
        number = -code if code < 0 else code - 128
        signal = _SIGNALS.get(number)
        end = EngineExit(signal=signal) if signal else EngineExit(code=code)
    return Evidence(log=text, exit=end, engine=engine, phase=_phase(sample))


def _phase(sample: str) -> str:
    if _READY.search(sample):
        return "serve"
    return "load" if _LOADING.search(sample) else "start"


def _from_json(raw: bytes) -> Evidence | None:
    try:
        data: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not ({"log", "exit", BUNDLE} & set(data)):
        return None
    case = {
        name: value
        for name, value in data.items()
        if isinstance(value, dict if name in ("exit", "machine", "settings") else str)
    }
    found = evidence_of(case)
    if not found.engine and found.log:
        told = from_log(found.log)
        found = replace(found, engine=told.engine, phase=found.phase or told.phase)
    return found
