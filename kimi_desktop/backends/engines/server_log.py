"""Reads how far a server engine has come out of its log, by a table of its lines. Pure.

The share of each phase is what it took on a machine with GPUs and a large model, roughly: reading
weights is most of it. A line that is missing is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.backends.types import LoadPhase, LoadStep


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that says what is done now."""

    pattern: re.Pattern[str]
    fraction: float
    phase: LoadPhase


@dataclass(frozen=True, slots=True)
class Counted:
    """A progress bar; the groups of its pattern are done and total."""

    pattern: re.Pattern[str]
    phase: LoadPhase
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class LogTable:
    """The lines of one engine."""

    ready: re.Pattern[str]
    counted: tuple[Counted, ...]
    marks: tuple[Mark, ...]


def marks_of(rows: Sequence[tuple[str, float, LoadPhase]]) -> tuple[Mark, ...]:
    """Patterns with the fraction and the phase that they tell."""
    return tuple(Mark(re.compile(pattern), fraction, phase) for pattern, fraction, phase in rows)


class ServerReader:
    """See ``LoadReader``. Everything is in the log, whichever stream it came by."""

    def __init__(self, table: LogTable) -> None:
        self._table = table
        self.is_ready = False
        self.step: LoadStep | None = LoadStep(LoadPhase.PROGRAM)
        self._fraction = 0.0

    def take_output(self, line: str) -> None:
        """Its stdout is log."""
        self.take_log(line)

    def take_log(self, line: str) -> None:
        """A line, or a state of a progress bar."""
        for row in self._table.counted:
            if match := row.pattern.search(line):
                self._count(match, row)
                return
        if self._table.ready.search(line):
            self.is_ready = True
            self._reach(1.0, LoadStep(LoadPhase.WARM_UP))
            return
        for mark in self._table.marks:
            if mark.pattern.search(line):
                self._reach(mark.fraction, LoadStep(mark.phase))
                return

    def fraction(self) -> float | None:
        """0 ... 1."""
        return self._fraction

    def _count(self, match: re.Match[str], row: Counted) -> None:
        done, total = int(match[1]), int(match[2])
        share = min(done / total, 1.0) if total else 1.0
        fraction = row.begin + (row.end - row.begin) * share
        self._reach(fraction, LoadStep(row.phase, done, total))

    def _reach(self, fraction: float, step: LoadStep) -> None:
        """A second worker's line of an earlier phase changes nothing."""
        if fraction >= self._fraction:
            self._fraction, self.step = fraction, step
