"""What the machine did during a run, thinned out to be kept. Pure.

A sample stands for five seconds in the first hour and for half a minute after it: a night is some
thousand rows of about 300 bytes.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from kimi_desktop.monitor.history import Row, Stretch
from kimi_desktop.monitor.types import GpuSample, Phase, Sample

FINE_STEP_S = 5.0
COARSE_STEP_S = 30.0
FINE_FOR_S = 3600.0


class RunSamples:
    """Collects one run's samples; ``take`` gives what is complete."""

    def __init__(self, started_at: float) -> None:
        """``started_at``: time.time()."""
        self._started_at = started_at
        self._open: tuple[float, Stretch] | None = None
        self._done: list[Row] = []

    def add(self, sample: Sample) -> None:
        """The newest one."""
        fine = sample.at - self._started_at < FINE_FOR_S
        step_s = FINE_STEP_S if fine else COARSE_STEP_S
        if self._open is not None:
            open_step_s, stretch = self._open
            if open_step_s == step_s and stretch.at // step_s == sample.at // step_s:
                stretch.add(sample)
                return
            self._done.append(Row(stretch.sample(), open_step_s))
        self._open = (step_s, Stretch(sample))

    @property
    def waiting(self) -> int:
        """Rows that ``take`` would give now."""
        return len(self._done)

    def take(self, *, to_the_end: bool = False) -> tuple[Row, ...]:
        """The rows that were not taken yet; ``to_the_end`` with the one that is still open."""
        if to_the_end and self._open is not None:
            step_s, stretch = self._open
            self._done.append(Row(stretch.sample(), step_s))
            self._open = None
        rows, self._done = tuple(self._done), []
        return rows


def row_text(row: Row) -> str:
    """One row as JSON; what is not known is left out."""
    kept = _known(dataclasses.asdict(row.sample))
    kept["gpus"] = [_known(gpu) for gpu in kept.get("gpus", ())]
    return json.dumps({"step_s": row.step_s, **kept}, separators=(",", ":"))


def row_of(text: str) -> Row | None:
    """The reverse; None for what this version does not understand."""
    try:
        raw = json.loads(text)
        step_s = float(raw.pop("step_s"))
        gpus = tuple(
            GpuSample(**_filled(GpuSample, gpu) | {"throttled": tuple(gpu.get("throttled", ()))})
            for gpu in raw.pop("gpus", ())
        )
        values = _filled(Sample, raw) | {"phase": Phase(raw["phase"]), "gpus": gpus}
        return Row(Sample(**values), step_s)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _filled(kind: type, known: Mapping[str, Any]) -> dict[str, Any]:
    """With None for what was left out."""
    optional = {
        field.name: None
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING
    }
    return optional | dict(known)
