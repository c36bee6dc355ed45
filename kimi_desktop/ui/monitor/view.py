"""The stretch of time that all graphs share, and where on them a moment lies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.monitor.types import Sample
from kimi_desktop.ui.monitor.timeline import Span, breaks, gap_s, nearest, phase_spans

LABEL = 136
AXIS = 56
GAP = 8
PLOT_LEFT = LABEL + GAP + AXIS + GAP
"""Where the plots begin, px from a graph's left edge."""


@dataclass(frozen=True, slots=True)
class View:
    """Samples, the window of time around them, and its place in a plot ``width`` px wide."""

    samples: tuple[Sample, ...]
    times: tuple[float, ...]
    start: float
    end: float
    width: int
    xs: tuple[float, ...]
    """Where each sample lies, in px from the plot's left edge."""
    breaks: tuple[int, ...]
    """Samples that have a gap before them."""
    reach_s: float
    """How far from a moment the sample may be that stands for it."""
    spans: tuple[Span, ...]

    def x(self, at: float) -> float:
        """How far from the left edge of a plot, in px."""
        return (at - self.start) / (self.end - self.start) * self.width

    def inside(self, at: float) -> float:
        """The same, kept inside the plot."""
        return min(max(self.x(at), 0.0), float(self.width))

    def at(self, x: float) -> float:
        """The time at ``x`` px."""
        return self.start + x / self.width * (self.end - self.start)

    def index_at(self, at: float) -> int | None:
        """The sample that stands for a moment, None in a gap and outside."""
        return nearest(self.times, at, self.reach_s)

    def shown(self) -> range:
        """The samples inside the window: one before it may be there for the lines."""
        first = next((i for i, at in enumerate(self.times) if at >= self.start), len(self.times))
        return range(first, len(self.times))


def view_of(samples: Sequence[Sample], start: float, end: float, width: int) -> View:
    """Lay out samples, oldest first and none after ``end``. There is at least one."""
    times = tuple([sample.at for sample in samples])
    longest_s = gap_s(times)
    per_s = width / (end - start)
    return View(
        samples=tuple(samples),
        times=times,
        start=start,
        end=end,
        width=width,
        xs=tuple([(at - start) * per_s for at in times]),
        breaks=breaks(times, longest_s),
        reach_s=longest_s / 2,
        spans=phase_spans(samples, longest_s),
    )
