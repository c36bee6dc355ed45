"""A placed model with round figures, for the speed forecast."""

from __future__ import annotations

from kimi_desktop.planner.speed_types import (
    FileWork,
    GpuSpeed,
    HostSpeed,
    PromptWork,
    SpeedInput,
    TokenWork,
)

GB = 10**9


def hybrid(**changes: object) -> SpeedInput:
    """10 GB per token from 500 GB/s of RAM, 10 GB from a GPU of 1,000 GB/s, 50 layers."""
    values: dict[str, object] = {
        "host": HostSpeed(specified_bytes_per_s=625 * GB, cores=32),
        "gpus": (GpuSpeed(1000 * GB, flops=100e12, pcie_bytes_per_s=50 * GB),),
        "work": TokenWork(
            host_bytes=10 * GB,
            gpu_bytes=(10 * GB,),
            host_flops=40e9,
            gpu_flops=20e9,
            n_layer=50,
        ),
        "prompt": PromptWork(n_ubatch=512, staged_bytes=400 * GB),
        "file": FileWork(
            file_bytes=420 * GB,
            gpu_bytes=20 * GB,
            read_bytes_per_token=12 * GB,
            disk_bytes_per_s=6.0 * GB,
        ),
    }
    return SpeedInput(**(values | changes))  # type: ignore[arg-type]
