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
    pcie_received_bytes_per_s: float | None = None
    pcie_sent_bytes_per_s: float | None = None
    throttled: tuple[str, ...] = ()
    """Why its clocks were held down, in the driver's order."""


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
    """By everybody, the engine's mapped file pages (its weights) included."""
    engine_rss_bytes: int | None
    """Of the engine's tree, with its mapped file pages."""
    engine_anonymous_bytes: int | None
    """The same without file pages (None where the system does not tell)."""
    engine_read_bytes_per_s: float | None
    """What the engine's tree reads from disk."""
    engine_cpu_percent: float | None
    """100 = one core fully busy."""
    gpus: tuple[GpuSample, ...]
    swap_used_bytes: int | None = None
    page_cache_bytes: int | None = None
    """Files in memory, mapped weights included."""
    requests_running: float | None = None
    """In the engine, by its own count, whoever sent them."""
    requests_waiting: float | None = None
    kv_cache_percent: float | None = None
    """Of its cache in use."""
    engine_prompt_tokens_per_s: float | None = None
    """By its own counters, over all requests."""
    engine_generated_tokens_per_s: float | None = None
    prefix_hit_percent: float | None = None
    """Of the prompt tokens of this moment, found in the prefix cache."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment that something was said about."""

    at: float
    """time.time()"""
    cause: str
    """An id of ``base/messages/causes``; "" = slower than forecast, without a reason."""


@dataclass(frozen=True, slots=True)
class SampleTaken(Event):
    """One more sample."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class MemorySplit:
    """One device's memory in three parts that add up to its total."""

    total_bytes: int
    others_bytes: int
    engine_bytes: int
    spare_bytes: int


def split_memory(total_bytes: int, used_bytes: int, engine_bytes: int | None) -> MemorySplit:
    """Divide what is used between our engine and the rest; readings that disagree are clipped."""
    used = min(max(used_bytes, 0), total_bytes)
    engine = min(max(engine_bytes or 0, 0), used)
    return MemorySplit(total_bytes, used - engine, engine, total_bytes - used)


def ram_split(sample: Sample) -> MemorySplit:
    """RAM: used by others, held by our engine (mapped weights included), spare."""
    return split_memory(sample.ram_total_bytes, sample.ram_used_bytes, sample.engine_rss_bytes)


def vram_split(gpu: GpuSample) -> MemorySplit:
    """VRAM of one GPU: used by others, held by our engine, spare."""
    return split_memory(gpu.vram_total_bytes, gpu.vram_used_bytes, gpu.engine_vram_bytes)
