"""Samples for tests."""

from __future__ import annotations

from kimi_desktop.monitor.types import GpuSample, Phase, Sample

GIB = 2**30


def gpu_sample(index: int = 0, **changes: object) -> GpuSample:
    values: dict[str, object] = {
        "index": index,
        "name": "NVIDIA H200",
        "vram_total_bytes": 140 * GIB,
        "vram_used_bytes": 80 * GIB,
        "load_percent": 34,
        "power_w": 212.5,
        "power_limit_w": 700.0,
        "temperature_c": 57,
        "engine_vram_bytes": 79 * GIB,
    }
    return GpuSample(**(values | changes))  # type: ignore[arg-type]


def sample(at: float = 1000.0, **changes: object) -> Sample:
    values: dict[str, object] = {
        "at": at,
        "phase": Phase.IDLE,
        "tokens_per_s": None,
        "prefill_tokens_per_s": None,
        "ram_total_bytes": 64 * GIB,
        "ram_used_bytes": 20 * GIB,
        "engine_rss_bytes": None,
        "engine_anonymous_bytes": None,
        "engine_read_bytes_per_s": None,
        "engine_cpu_percent": None,
        "gpus": (),
    }
    return Sample(**(values | changes))  # type: ignore[arg-type]
