"""What the headers of a set say about its parts, where nothing says what their hashes should be.

Blocking: reads the headers. A GGUF part names its number and the count of its set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kimi_desktop.base.errors import ErrorCode, ModelError, Param
from kimi_desktop.downloads.verify.expected import Expected
from kimi_desktop.downloads.verify.types import PartState, PartVerdict
from kimi_desktop.models.gguf import GgufHeader, read_file

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)


def judge_structure(
    parts: Sequence[PartVerdict], files: Sequence[Expected]
) -> tuple[PartVerdict, ...]:
    """The same verdicts, those of unproven GGUF files by their headers."""
    sets: dict[str, dict[str, GgufHeader | ModelError]] = {}
    for part, file in zip(parts, files, strict=True):
        if part.state is PartState.UNPROVEN and file.target.lower().endswith(".gguf"):
            sets.setdefault(_set_of(file.target), {})[file.target] = _header(file)
    return tuple(
        _judged(part, sets[_set_of(part.target)])
        if part.target in sets.get(_set_of(part.target), {})
        else part
        for part in parts
    )


def _judged(part: PartVerdict, headers: Mapping[str, GgufHeader | ModelError]) -> PartVerdict:
    """One part among those of its set."""
    header = headers[part.target]
    if isinstance(header, ModelError):
        short = header.code in (ErrorCode.MODEL_CUT, ErrorCode.MODEL_TOO_SHORT)
        state = PartState.SHORT if short else PartState.FOREIGN
        return replace(part, state=state, detail=header.code.value)
    number = _number(part.target)
    if number is None:
        return part
    models = Counter(_model_of(one) for one in headers.values() if isinstance(one, GgufHeader))
    if _model_of(header) != models.most_common(1)[0][0]:
        return replace(part, state=PartState.FOREIGN)
    own = header.number("split.no")
    if own is not None and own + 1 != number:
        return replace(part, state=PartState.SWAPPED, other=_renumbered(part.target, own + 1))
    return part


def _header(file: Expected) -> GgufHeader | ModelError:
    try:
        header = read_file(file.path)
    except ModelError as error:
        return error
    if header.size_bytes < header.expected_bytes:
        params: dict[str, Param] = {
            "path": str(file.path),
            "size": header.size_bytes,
            "expected": header.expected_bytes,
        }
        return ModelError(ErrorCode.MODEL_TOO_SHORT, params)
    return header


def _model_of(header: GgufHeader) -> tuple[object, ...]:
    """What all parts of a set have in common."""
    return header.number("split.count"), header.number("split.tensors.count")


def _set_of(target: str) -> str:
    match = _PART.fullmatch(target)
    return f"{match[1]} {match[3]}" if match else target


def _renumbered(target: str, number: int) -> str:
    """The name that a part of this number has in the same set."""
    match = _PART.fullmatch(target)
    assert match is not None
    return f"{match[1]}-{number:05}-of-{match[3]}{target[match.end(3) :]}"


def _number(target: str) -> int | None:
    match = _PART.fullmatch(target)
    return int(match[2]) if match else None
