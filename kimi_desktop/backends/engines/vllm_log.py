"""Reads how far vLLM has come out of its log. Pure.

The share of each phase is what it took on a machine with GPUs and a large model, roughly: reading
weights is most of it. The lines are those of 0.18 to 0.33; one that is missing is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kimi_desktop.backends.types import LoadPhase, LoadStep

WEIGHTS_FROM, WEIGHTS_TO = 0.15, 0.75
GRAPHS_FROM, GRAPHS_TO = 0.87, 0.95

_SHARDS = re.compile(r"Loading [\w ]*checkpoint shards:\s*\d+% Completed \| (\d+)/(\d+)")
_GRAPHS = re.compile(r"Capturing CUDA graphs?.*?\|\s*(\d+)/(\d+)")
_READY = re.compile(r"Application startup complete")


@dataclass(frozen=True, slots=True)
class _Mark:
    pattern: re.Pattern[str]
    fraction: float
    phase: LoadPhase


_MARKS = tuple(
    _Mark(re.compile(pattern), fraction, phase)
    for pattern, fraction, phase in (
        (r"non-default args: ", 0.03, LoadPhase.CONFIG),
        (r"Resolved architecture: ", 0.06, LoadPhase.CONFIG),
        (r"Initializing a V1 LLM engine", 0.12, LoadPhase.CONFIG),
        (r"Starting to load model ", WEIGHTS_FROM, LoadPhase.WEIGHTS),
        (r"Loading weights took |Model loading took ", WEIGHTS_TO, LoadPhase.COMPILE),
        (
            r"Warming up model for the compilation|Dynamo bytecode transform|Compiling a graph"
            r"|Using cache directory: .* for vLLM's torch\.compile",
            0.78,
            LoadPhase.COMPILE,
        ),
        (r"torch\.compile takes |torch\.compile took |Warming up done", 0.84, LoadPhase.CACHE),
        (r"Available KV cache memory: |for KV cache on node", 0.85, LoadPhase.CACHE),
        (r"\w+ KV cache size: [\d,]+ tokens", 0.86, LoadPhase.CACHE),
        (r"Graph capturing finished", GRAPHS_TO, LoadPhase.WARM_UP),
        (r"init engine \(profile", 0.97, LoadPhase.WARM_UP),
        (r"Starting vLLM server on ", 0.99, LoadPhase.WARM_UP),
    )
)


class VllmReader:
    """See ``LoadReader``. Everything is in the log, whichever stream it came by."""

    def __init__(self) -> None:
        self.is_ready = False
        self.step: LoadStep | None = LoadStep(LoadPhase.PROGRAM)
        self._fraction = 0.0

    def take_output(self, line: str) -> None:
        """Its stdout is log."""
        self.take_log(line)

    def take_log(self, line: str) -> None:
        """A line, or a state of a progress bar."""
        if match := _SHARDS.search(line):
            self._count(match, LoadPhase.WEIGHTS, WEIGHTS_FROM, WEIGHTS_TO)
        elif match := _GRAPHS.search(line):
            self._count(match, LoadPhase.GRAPHS, GRAPHS_FROM, GRAPHS_TO)
        elif _READY.search(line):
            self.is_ready = True
            self._reach(1.0, LoadStep(LoadPhase.WARM_UP))
        else:
            for mark in _MARKS:
                if mark.pattern.search(line):
                    self._reach(mark.fraction, LoadStep(mark.phase))
                    return

    def fraction(self) -> float | None:
        """0 ... 1."""
        return self._fraction

    def _count(self, match: re.Match[str], phase: LoadPhase, begin: float, end: float) -> None:
        done, total = int(match[1]), int(match[2])
        share = min(done / total, 1.0) if total else 1.0
        self._reach(begin + (end - begin) * share, LoadStep(phase, done, total))

    def _reach(self, fraction: float, step: LoadStep) -> None:
        """A second worker's line of an earlier phase changes nothing."""
        if fraction >= self._fraction:
            self._fraction, self.step = fraction, step
