"""The session's samples at three resolutions, each in bounded memory. Any thread (one lock).

Ten minutes by the second, 75 minutes by 5 seconds, and the whole session in at most ``SESSION_MAX``
steps whose length doubles whenever they are full. Rates and loads of a step are means; memory,
temperature and the engine's requests are peaks, since what ran out or overheated did so at the
peak.
"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kimi_desktop.monitor.types import GpuSample, Phase, Sample

FINE_MAX = 600
MIDDLE_STEP_S = 5.0
MIDDLE_MAX = 900
SESSION_STEP_S = 10.0
SESSION_MAX = 1440
# A sample comes a little early or late; "the last 5 minutes" are 300 samples all the same.
EDGE_S = 0.5

SAMPLE_MEANS = (
    "tokens_per_s",
    "prefill_tokens_per_s",
    "engine_read_bytes_per_s",
    "engine_cpu_percent",
    "engine_prompt_tokens_per_s",
    "engine_generated_tokens_per_s",
    "prefix_hit_percent",
)
SAMPLE_PEAKS = (
    "ram_used_bytes",
    "engine_rss_bytes",
    "engine_anonymous_bytes",
    "swap_used_bytes",
    "page_cache_bytes",
    "requests_running",
    "requests_waiting",
    "kv_cache_percent",
)
GPU_MEANS = ("load_percent", "power_w", "pcie_received_bytes_per_s", "pcie_sent_bytes_per_s")
GPU_PEAKS = ("vram_used_bytes", "engine_vram_bytes", "temperature_c")
WHOLE_NUMBERS = frozenset({"load_percent"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the export."""

    sample: Sample
    step_s: float
    """How long a stretch the sample stands for."""


class History:
    """Add samples in order of their time; read them back thinned out."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fine: deque[Sample] = deque(maxlen=FINE_MAX)
        self._middle: deque[Stretch] = deque(maxlen=MIDDLE_MAX)
        self._session: list[Stretch] = []
        self._session_step_s = SESSION_STEP_S

    def add(self, sample: Sample) -> None:
        """Add the newest sample."""
        with self._lock:
            self._fine.append(sample)
            _extend(self._middle, sample, MIDDLE_STEP_S)
            _extend(self._session, sample, self._session_step_s)
            while len(self._session) > SESSION_MAX:
                self._session_step_s *= 2
                self._session = _pairs(self._session, self._session_step_s)
                for step in self._session:
                    step.sample()

    def shift(self, seconds: float) -> None:
        """The clock was set back or forth: move all times along, so that their order holds."""
        with self._lock:
            self._fine = deque(
                (dataclasses.replace(sample, at=sample.at + seconds) for sample in self._fine),
                maxlen=FINE_MAX,
            )
            for step in itertools.chain(self._middle, self._session):
                step.shift(seconds)

    def last(self, seconds: float) -> tuple[Sample, ...]:
        """The samples of the last ``seconds`` before the newest one, oldest first.

        Up to 10 minutes one a second, up to 75 minutes one in 5 seconds, beyond that the session's
        steps: never more than ``SESSION_MAX``.
        """
        with self._lock:
            if not self._fine:
                return ()
            since = self._fine[-1].at - seconds + EDGE_S
            if seconds <= FINE_MAX:
                return tuple(sample for sample in self._fine if sample.at >= since)
            steps: Iterable[Stretch] = self._session
            if seconds <= MIDDLE_MAX * MIDDLE_STEP_S:
                steps = self._middle
            return tuple(step.sample() for step in steps if step.at >= since)

    def rows(self) -> tuple[Row, ...]:
        """Everything, each stretch at the finest resolution there is, oldest first."""
        with self._lock:
            fine_from = self._fine[0].at if self._fine else float("inf")
            middle = [step for step in self._middle if step.at < fine_from]
            middle_from = middle[0].at - MIDDLE_STEP_S if middle else fine_from
            session = [step for step in self._session if step.at < middle_from]
            return (
                *(Row(step.sample(), self._session_step_s) for step in session),
                *(Row(step.sample(), MIDDLE_STEP_S) for step in middle),
                *(Row(sample, 1.0) for sample in self._fine),
            )


@dataclass(slots=True)
class _Sums:
    """Means and peaks of some optional fields. A field that was never known stays None."""

    means: dict[str, tuple[float, int]] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def read(self, source: object, means: Sequence[str], peaks: Sequence[str]) -> None:
        for name in means:
            if (value := getattr(source, name)) is not None:
                total, count = self.means.get(name, (0.0, 0))
                self.means[name] = (total + value, count + 1)
        for name in peaks:
            if (value := getattr(source, name)) is not None:
                self.peaks[name] = max(value, self.peaks.get(name, value))

    def merge(self, other: _Sums) -> None:
        for name, (value, count) in other.means.items():
            total, before = self.means.get(name, (0.0, 0))
            self.means[name] = (total + value, before + count)
        for name, peak in other.peaks.items():
            self.peaks[name] = max(peak, self.peaks.get(name, peak))

    def values(self, means: Sequence[str], peaks: Sequence[str]) -> dict[str, Any]:
        values: dict[str, Any] = {name: self.peaks.get(name) for name in peaks}
        for name in means:
            total, count = self.means.get(name, (0.0, 0))
            mean = total / count if count else None
            values[name] = round(mean) if mean is not None and name in WHOLE_NUMBERS else mean
        return values


class Stretch:
    """A stretch of samples as one; ``at`` is the time of the newest."""

    def __init__(self, sample: Sample) -> None:
        """It begins with ``sample``."""
        self.at = sample.at
        self._newest = sample
        self._phases = Counter([sample.phase])
        self._sums = _Sums()
        self._gpus: dict[int, tuple[GpuSample, _Sums]] = {}
        self._merged: Sample | None = None
        self._read(sample)

    def add(self, sample: Sample) -> None:
        """One more, later than the others."""
        self._phases[sample.phase] += 1
        self._newest, self.at, self._merged = sample, sample.at, None
        self._read(sample)

    def merge(self, later: Stretch) -> None:
        """A whole stretch more."""
        self._phases.update(later._phases)
        self._newest, self.at, self._merged = later._newest, later.at, None
        self._sums.merge(later._sums)
        for index, (gpu, sums) in later._gpus.items():
            joined = self._gpus[index][1] if index in self._gpus else _Sums()
            joined.merge(sums)
            self._gpus[index] = (gpu, joined)

    def shift(self, seconds: float) -> None:
        """The clock was set."""
        self.at += seconds
        self._merged = None

    def sample(self) -> Sample:
        """The stretch as one sample (made once)."""
        if self._merged is None:
            self._merged = dataclasses.replace(
                self._newest,
                at=self.at,
                phase=self._phase(),
                gpus=tuple(
                    dataclasses.replace(gpu, **sums.values(GPU_MEANS, GPU_PEAKS))
                    for _, (gpu, sums) in sorted(self._gpus.items())
                ),
                **self._sums.values(SAMPLE_MEANS, SAMPLE_PEAKS),
            )
        return self._merged

    def _read(self, sample: Sample) -> None:
        self._sums.read(sample, SAMPLE_MEANS, SAMPLE_PEAKS)
        for gpu in sample.gpus:
            sums = self._gpus[gpu.index][1] if gpu.index in self._gpus else _Sums()
            sums.read(gpu, GPU_MEANS, GPU_PEAKS)
            self._gpus[gpu.index] = (gpu, sums)

    def _phase(self) -> Phase:
        """The most frequent one at work; idle only when nothing else happened."""
        busy = [entry for entry in self._phases.most_common() if entry[0] is not Phase.IDLE]
        return busy[0][0] if busy else Phase.IDLE


def _extend(steps: deque[Stretch] | list[Stretch], sample: Sample, step_s: float) -> None:
    """Into the open step, or a new one when the sample lies beyond it."""
    if steps and sample.at // step_s == steps[-1].at // step_s:
        steps[-1].add(sample)
        return
    if steps:
        steps[-1].sample()  # made now, so that the reader (the window) need not
    steps.append(Stretch(sample))


def _pairs(steps: Iterable[Stretch], step_s: float) -> list[Stretch]:
    """Steps of half the length joined to those of ``step_s``."""
    joined: list[Stretch] = []
    for step in steps:
        if joined and joined[-1].at // step_s == step.at // step_s:
            joined[-1].merge(step)
        else:
            joined.append(step)
    return joined
