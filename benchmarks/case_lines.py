"""Cases that anyone wrote, one JSON object per line: a bad line is told and the next one runs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import Language, describe_error

Row = Mapping[str, Any]
_MOST_SHOWN = 60


class BadCaseError(ValueError):
    """A field of a case does not say what it should."""


def run_lines(path: Path, work: Callable[[Row], None]) -> int:
    """Give every line to ``work``; what fails is an object with ``error`` on stdout.

    Returns:
        How many lines failed.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        print(f"{path} cannot be read: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    failed = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row: Row = {}
        try:
            row = _object(line)
            work(row)
        except (KimiError, ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
            failed += 1
            name = row.get("id", f"line {number}")
            print(json.dumps({"id": name, "error": _words(error)}, ensure_ascii=False))
            print(f"{name}: {_words(error)}", file=sys.stderr)
    return failed


def number(row: Row, key: str, default: float | None, least: float = 0.0) -> float | None:
    """A finite number that is not smaller than ``least``; null and nothing are the default."""
    value = row.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _bad(key, value, "a number")
    if value < least:
        raise _bad(key, value, f"{least:g} or more")
    return value


def whole(row: Row, key: str, default: int, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number of a range; null and nothing are the default."""
    found = maybe_whole(row, key, least, most)
    return default if found is None else found


def maybe_whole(row: Row, key: str, least: int = 0, most: int = 2**31 - 1) -> int | None:
    """The same, and null and nothing are None."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _bad(key, value, f"a whole number from {least:,} to {most:,}")
    return value


def switch(row: Row, key: str, *, default: bool) -> bool:
    """True or false; null and nothing are the default."""
    value = row.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _bad(key, value, "true or false")
    return value


def word(
    row: Row,
    key: str,
    default: str | None,
    known: Collection[str] | None = None,
    *,
    empty: bool = False,
) -> str:
    """A text, if need be one of the known ones; null and nothing are the default."""
    value = row.get(key)
    if value is None:
        value = default
    is_text = isinstance(value, str) and (empty or value != "")
    if not is_text or (known is not None and value not in known):
        raise _bad(key, value, f"one of {', '.join(known)}" if known else "a text")
    return str(value)


def maybe_text(row: Row, key: str) -> str | None:
    """A text; null and nothing are None."""
    return None if row.get(key) is None else word(row, key, None, empty=True)


def numbers(row: Row, key: str) -> tuple[float, ...]:
    """A list of numbers, none negative; null and nothing are none."""
    value = row.get(key) or ()
    if not isinstance(value, list | tuple):
        raise _bad(key, value, "a list of numbers")
    return tuple(number({key: item}, key, 0.0) or 0.0 for item in value)


def _object(line: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadCaseError(f"not JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadCaseError("not a JSON object")
    return row


def _bad(key: str, value: object, wanted: str) -> BadCaseError:
    shown = json.dumps(value, ensure_ascii=False, default=str)[:_MOST_SHOWN]
    return BadCaseError(f"{key} is {shown}, not {wanted}")


def _words(error: Exception) -> str:
    if isinstance(error, KimiError):
        return " ".join(describe_error(error, Language.EN))
    if isinstance(error, BadCaseError):
        return str(error)
    return f"{type(error).__name__}: {error}"
