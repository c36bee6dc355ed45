"""The session's samples as CSV, for spreadsheets and scripts. Pool threads."""

from __future__ import annotations

import csv
import errno
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, MonitorError
from kimi_desktop.base.files import write_atomically
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.types import GpuSample

SAMPLE_COLUMNS = (
    "tokens_per_s",
    "prefill_tokens_per_s",
    "ram_total_bytes",
    "ram_used_bytes",
    "engine_rss_bytes",
    "engine_anonymous_bytes",
    "engine_read_bytes_per_s",
    "engine_cpu_percent",
    "swap_used_bytes",
    "page_cache_bytes",
    "requests_running",
    "requests_waiting",
    "kv_cache_percent",
    "engine_prompt_tokens_per_s",
    "engine_generated_tokens_per_s",
    "prefix_hit_percent",
)
GPU_COLUMNS = (
    "vram_total_bytes",
    "vram_used_bytes",
    "engine_vram_bytes",
    "load_percent",
    "power_w",
    "temperature_c",
    "pcie_received_bytes_per_s",
    "pcie_sent_bytes_per_s",
)


def export_csv(rows: Sequence[Row], file: Path) -> Path:
    """Write the rows; returns the file.

    Raises:
        MonitorError: the disk is full, or the folder cannot be written; an older file is kept.
    """
    try:
        write_atomically(file, to_csv(rows))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise MonitorError(
                ErrorCode.EXPORT_DISK_FULL, {"path": str(file)}, cause=error
            ) from error
        raise MonitorError(
            ErrorCode.EXPORT_FAILED,
            {"path": str(file), "detail": error.strerror or str(error)},
            cause=error,
        ) from error
    return file


def to_csv(rows: Sequence[Row]) -> str:
    """The table as text: UTC times, plain numbers, empty where a reading is not known."""
    indices = sorted({gpu.index for row in rows for gpu in row.sample.gpus})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    gpu_columns = [f"gpu{index}_{name}" for index in indices for name in GPU_COLUMNS]
    writer.writerow(["time", "step_s", "phase", *SAMPLE_COLUMNS, *gpu_columns])
    for row in rows:
        sample = row.sample
        time = datetime.fromtimestamp(sample.at, UTC).isoformat(timespec="milliseconds")
        gpus = {gpu.index: gpu for gpu in sample.gpus}
        values: list[object] = [getattr(sample, name) for name in SAMPLE_COLUMNS]
        for index in indices:
            values += _gpu_values(gpus.get(index))
        writer.writerow([time, f"{row.step_s:g}", sample.phase.value, *map(_number, values)])
    return out.getvalue()


def _gpu_values(gpu: GpuSample | None) -> list[object]:
    return [None if gpu is None else getattr(gpu, name) for name in GPU_COLUMNS]


def _number(value: object) -> object:
    """Rates to three decimals; None becomes an empty cell."""
    return round(value, 3) if isinstance(value, float) else value
