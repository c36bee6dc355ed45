"""Reads the text format of /metrics pages. Pure."""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)")


def samples_of(text: str) -> dict[str, tuple[float, ...]]:
    """Values by name, one for each set of labels; comments and histograms' buckets left out."""
    found: dict[str, list[float]] = defaultdict(list)
    for line in text.splitlines():
        match = _SAMPLE.match(line)
        if match and not match[1].endswith(("_bucket", "_created")):
            with contextlib.suppress(ValueError):
                value = float(match[3])
                found[match[1]].append(value)
    return {name: tuple(values) for name, values in found.items()}


def total(samples: dict[str, tuple[float, ...]], *names: str) -> float | None:
    """The sum over all labels of the first name that is there."""
    for name in names:
        if values := samples.get(name):
            return sum(values)
    return None


def highest(samples: dict[str, tuple[float, ...]], *names: str) -> float | None:
    """The largest value over all labels of the first name that is there."""
    for name in names:
        if values := samples.get(name):
            return max(values)
    return None
