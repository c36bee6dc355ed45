"""The verb ``bench``: one setting value by value, or more and more users at once. No Qt.

Users at once are a table that grows row by row, with an earlier measurement of another engine
beside it where that is wanted.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from typing import Any

from kimi_desktop.base.errors import ErrorCode, MonitorError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.terminal import json_text, one_line, pad, printable
from kimi_desktop.base.units import format_latency, format_tokens_per_s
from kimi_desktop.core import Core
from kimi_desktop.monitor.experiment_types import (
    Experiment,
    ExperimentProgressed,
    ExperimentWish,
    Point,
    Variable,
)
from kimi_desktop.monitor.users import other_engine
from kimi_desktop.terminal import find_model, running_core

COUNT_COLUMNS, FIGURE_COLUMNS = 8, 16
NONE = "–"


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure."""

    variable: Variable
    values: tuple[str, ...]
    compare: str | None = None
    """Part of an engine's name whose users at once stand beside; "" = any other engine's, None =
    none."""


def bench(
    paths: AppPaths,
    language: Language,
    *,
    wanted: str | None,
    options: BenchOptions,
    json_output: bool,
) -> int:
    """Measure value by value, or more and more users at once. Returns the exit code.

    Raises:
        KimiError: no such model, a value that cannot be, or nothing to compare with.
    """
    with running_core(paths, language) as core:
        model = find_model(core, wanted)
        settings = core.engine.settings_for(model)
        wish = ExperimentWish(settings, model.title, options.variable, options.values)
        beside = None
        if options.compare is not None:
            name = core.engine.name_of(settings)
            beside = _earlier(core, wish, name, options.compare, language)
        report = _Report(language, options, beside, json_output=json_output)
        report.begin(model.title)

        def follow(event: Event) -> None:
            if isinstance(event, ExperimentProgressed):
                report.show(event.experiment)

        leave = core.bus.subscribe(follow)
        operation = core.experiments.run(wish)
        try:
            found = operation.result()
        except KeyboardInterrupt:
            operation.cancel()  # the engine ends with the services
            raise
        finally:
            leave()
        report.show(found)
        report.end()
    return 0 if any(point.error is None for point in found.points) else 1


def _earlier(
    core: Core, wish: ExperimentWish, engine: str, compare: str, language: Language
) -> Experiment:
    shown = Experiment(0, 0.0, wish.title, engine, wish.variable, ())
    found = other_engine(shown, core.notebook.experiments().result(), compare)
    if found is None:
        told = compare or message("cli.bench.another_engine", language)
        raise MonitorError(ErrorCode.NO_EARLIER_BENCH, {"engine": told})
    return found


class _Report:
    """Writes points as they come."""

    def __init__(
        self,
        language: Language,
        options: BenchOptions,
        beside: Experiment | None,
        *,
        json_output: bool,
    ) -> None:
        self._language = language
        self._variable, self._values = options.variable, frozenset(options.values)
        self._beside = beside
        self._others = {point.value: point for point in beside.points} if beside else {}
        self._json = json_output
        self._shown = 0

    def begin(self, title: str) -> None:
        """What every prompt is like."""
        if not self._json:
            self._write(message("cli.bench.head", self._language, model=title))

    def show(self, found: Experiment) -> None:
        """The points that are new."""
        new = found.points[self._shown :]
        if new and not self._shown and not self._json and self._variable is Variable.USERS:
            self._head(found)
        for point in new:
            if self._json:
                self._write(json_text(self._object(point, found)))
            elif self._variable is Variable.USERS:
                self._earlier_rows(below=int(point.value))
                self._write(self._row(point.value, point, self._others.pop(point.value, None)))
            else:
                self._write(self._line(point))
        self._shown = len(found.points)

    def end(self) -> None:
        """Numbers of users that were measured earlier only."""
        if not self._json:
            self._earlier_rows()

    def _earlier_rows(self, below: int = sys.maxsize) -> None:
        for count in sorted(self._others, key=int):
            if int(count) < below and count not in self._values:
                self._write(self._row(count, None, self._others.pop(count)))

    def _head(self, found: Experiment) -> None:
        each = [found] if self._beside is None else [found, self._beside]
        names = [
            one.engine if one.title == found.title else f"{one.engine} {one.title}" for one in each
        ]
        wide = 3 * FIGURE_COLUMNS
        self._write(" " * COUNT_COLUMNS + "".join(pad(one_line(name), wide) for name in names))
        words = message("cli.bench.columns", self._language).split("|")
        cells = "".join(pad(word, FIGURE_COLUMNS) for word in words[1:] * len(each))
        self._write(pad(words[0], COUNT_COLUMNS) + cells)

    def _row(self, count: str, point: Point | None, other: Point | None) -> str:
        cells = [self._cells(point), *([self._cells(other)] if self._beside is not None else [])]
        return pad(count, COUNT_COLUMNS) + "".join(cells)

    def _cells(self, point: Point | None) -> str:
        if point is not None and point.error is not None:
            return pad(describe_error(point.error, self._language)[0], 3 * FIGURE_COLUMNS)
        point = point or Point("")
        first = point.first_token_s
        texts = [
            NONE if rate is None else format_tokens_per_s(rate, self._language)
            for rate in (point.total_tps, point.decode_tps)
        ]
        texts.append(NONE if first is None else format_latency(first, self._language))
        return "".join(pad(text, FIGURE_COLUMNS) for text in texts)

    def _object(self, point: Point, found: Experiment) -> dict[str, Any]:
        values = _values(point, self._language)
        told = {"label": f"{self._variable.value}={values.pop('value')}", **values}
        told["engine"] = found.engine
        if self._beside is not None:
            other = self._others.get(point.value)
            beside = _values(other, self._language) if other is not None else {}
            told["beside"] = {**beside, "engine": self._beside.engine, "at": self._beside.at}
        return told

    def _line(self, point: Point) -> str:
        label = f"{self._variable.value}={point.value}"
        if point.error is not None:
            return f"{label:<16}{describe_error(point.error, self._language)[0]}"
        parts = [
            message(f"cli.bench.{name}", self._language, value=f"{value:.1f}")
            for name, value in (
                ("prefill", point.prefill_tps),
                ("decode", point.decode_tps),
                ("first", point.first_token_s),
                ("load", point.load_s),
            )
            if value is not None
        ]
        return f"{label:<16}" + "  ".join(parts)

    def _write(self, line: str) -> None:
        sys.stdout.write(printable(line).rstrip() + "\n")
        sys.stdout.flush()


def _values(point: Point, language: Language) -> dict[str, Any]:
    values = dataclasses.asdict(dataclasses.replace(point, error=None))
    error = "" if point.error is None else describe_error(point.error, language)[0]
    return {**values, "error": error}
