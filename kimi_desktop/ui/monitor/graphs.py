"""A graph as data: its curves, its axis, the words of its readings. Qt thread (``translate``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import format_tokens_per_s
from kimi_desktop.ui.monitor.scale import Quantity, Scale, scale_for
from kimi_desktop.ui.monitor.strokes import Stroke, stroke_of

NONE = "–"

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What a curve is made from."""

    name: str
    values: Values
    """One per sample, in the quantity's base unit; the last one is the newest reading alone."""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a graph, a value per sample."""

    name: str
    values: Values
    now: str
    """The newest reading with its unit, an en dash when it is not known."""
    stroke: Stroke
    hint: str = ""
    """The GPU's full name, or what the curve's name means."""


@dataclass(frozen=True, slots=True)
class Graph:
    """One graph of the page."""

    key: str
    title: str
    quantity: Quantity
    curves: tuple[Curve, ...]
    largest: float | None
    """Of all values, None when nothing is known of the whole stretch."""
    top: float | None = None
    """What can be reached at most, where that is known."""
    note: str = ""
    """A muted line below the keys: the total, the limit."""
    empty: str = ""
    """The sentence that stands in the graph while it has nothing to draw."""

    @property
    def is_empty(self) -> bool:
        """There is nothing to draw."""
        return self.largest is None

    def scale(self, intervals: int = 2) -> Scale:
        """The axis that holds every reading."""
        return scale_for(self.quantity, self.largest or 0.0, intervals=intervals, top=self.top)


@dataclass(frozen=True, slots=True)
class Figures:
    """Readings in words of one language."""

    language: Language

    def text(self, value: float | None, scale: Scale) -> str:
        """A reading with its unit, in that of its axis."""
        if value is None:
            return NONE
        if scale.quantity is Quantity.TOKENS:
            return self.rate(value)
        number = scale.number(value)
        if scale.quantity is Quantity.CORES:
            text = QCoreApplication.translate("Graphs", "{count} cores")
            return text.format(count=number)
        return f"{number}%" if scale.quantity is Quantity.PERCENT else f"{number} {scale.unit}"

    def rate(self, tokens_per_s: float) -> str:
        """Tokens per second."""
        return format_tokens_per_s(tokens_per_s, self.language)


@dataclass(frozen=True, slots=True)
class Frame:
    """What a graph says besides its curves."""

    key: str
    title: str
    quantity: Quantity
    top: float | None = None
    note: str = ""
    empty: str = ""


def graph_of(frame: Frame, lines: Sequence[Line], figures: Figures) -> Graph:
    """The graph with its newest readings, which are said but not drawn.

    Of a long stretch the last sample is the mean of what its step has seen so far, which is not
    what people expect to read as the present.
    """
    known = [value for line in lines for value in line.values if value is not None]
    largest = max(known, default=None)
    scale = scale_for(frame.quantity, largest or 0.0, top=frame.top)
    return Graph(
        frame.key,
        frame.title,
        frame.quantity,
        tuple(
            Curve(
                line.name,
                line.values[:-1],
                figures.text(line.values[-1], scale),
                stroke_of(place),
                line.hint,
            )
            for place, line in enumerate(lines)
        ),
        largest,
        frame.top,
        frame.note,
        frame.empty,
    )
