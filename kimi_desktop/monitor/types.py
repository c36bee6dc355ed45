"""Samples as frozen data. One a second."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.events import Event


class Phase(StrEnum):
    """What the engine was doing."""

    IDLE = "idle"
    LOAD = "load"
    PREFILL = "prefill"
    DECODE = "decode"


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU at one moment; None where the driver does not say."""

    index: int
    name: str
    vram_total_bytes: int
    vram_used_bytes: int
    load_percent: int | None
    power_w: float | None
    power_limit_w: float | None
    temperature_c: int | None
    engine_vram_bytes: int | None
    """Held by our engine's process tree."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The machine at one moment."""

    at: float
    """time.time()"""
    phase: Phase
    tokens_per_s: float | None
    """Decode; None when nothing is being generated."""
    prefill_tokens_per_s: float | None
    ram_total_bytes: int
    ram_used_bytes: int
    engine_rss_bytes: int | None
    """Of the engine's tree, with its mapped file pages."""
    engine_anonymous_bytes: int | None
    """The same without file pages (None where the system does not tell)."""
    engine_read_bytes_per_s: float | None
    """What the engine's tree reads from disk."""
    engine_cpu_percent: float | None
    gpus: tuple[GpuSample, ...]


@dataclass(frozen=True, slots=True)
class SampleTaken(Event):
    """One more sample."""

    sample: Sample
