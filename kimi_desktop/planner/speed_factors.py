"""The efficiency factors of the speed model: data that ships, and that finished runs correct.

``assets/speed/factors.json`` is written by ``benchmarks/speed.py --fit --write``. The file is read
once, on any thread.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from kimi_desktop.base.assets import asset


@dataclass(frozen=True, slots=True)
class Factors:
    """Shares of what the hardware could do, and fixed times per token. All positive."""

    # shares of a bandwidth
    gpu: float
    gpu_tensor: float
    """GPUs that share every layer."""
    unified: float
    ram: float
    ram_specified: float
    """What a measurement finds of the data sheet's bandwidth."""
    ram_trust: float
    """Weight of a measurement against the data sheet, 0 ... 1 (exponent of a mean)."""
    sockets_specified: float
    """More than one socket, bandwidth from the data sheet."""
    sockets_measured: float
    """The same, bandwidth measured over all sockets."""
    i_quant: float
    ktransformers: float
    core_gb_s: float
    """Weights that one core can work through, GB/s."""
    # milliseconds per token
    host_layer_ms: float
    """A layer with a part on the processors."""
    gpu_layer_ms: float
    unified_layer_ms: float
    tensor_layer_ms: float
    recurrent_layer_ms: float
    """On top, for a layer with a recurrent state, in llama.cpp."""
    hop_ms: float
    """From one GPU to the next."""
    node_ms: float
    """From one machine to the next."""
    # prompts, disk
    gpu_compute: float
    """Share of the data sheet's matrix arithmetic."""
    unified_compute: float
    """The same of a chip with shared memory."""
    core_gflops: float
    """Matrix arithmetic of one core on quantized weights."""
    amx: float
    """The same with AMX, times."""
    pcie: float
    disk_load: float
    """Reading a file from its beginning to its end."""
    disk_random: float
    """Reading the experts that are missing, through the page cache."""
    runs: int = 0
    """Finished runs of this machine that these factors have learned from."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far off a forecast may be: standard deviations of its logarithm."""

    decode: float
    assumed: float
    """On top (squares add up), when a bandwidth is assumed."""
    estimate: float
    """On top, when sizes are guessed."""
    prefill: float
    load: float
    disk: float
    learned: float
    """What remains of ``decode`` and ``prefill`` after many runs on this machine."""
    low_width: float
    """Standard deviations from the likely figure down to the low one."""
    high_width: float


@dataclass(frozen=True, slots=True)
class SpeedData:
    """What ships."""

    factors: Factors
    spread: Spread


FACTOR_NAMES = tuple(field.name for field in fields(Factors) if field.name != "runs")


def read_speed_data(path: Path) -> SpeedData:
    """Factors and spread from a file.

    Raises:
        ValueError: a name is missing, unknown, or no positive number.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    return SpeedData(
        Factors(**_numbers(data["factors"], FACTOR_NAMES, path), runs=0),
        Spread(**_numbers(data["spread"], tuple(field.name for field in fields(Spread)), path)),
    )


@cache
def shipped_speed_data() -> SpeedData:
    """``assets/speed/factors.json``."""
    return read_speed_data(asset("speed/factors.json"))


def factors_from(values: Mapping[str, float], shipped: Factors) -> Factors:
    """Factors that were kept from earlier runs; what is missing or absurd is as shipped."""
    kept: dict[str, float] = {name: getattr(shipped, name) for name in FACTOR_NAMES}
    for name in FACTOR_NAMES:
        value = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
            kept[name] = min(max(value, kept[name] / 4), kept[name] * 4)
    runs = values.get("runs", 0)
    count = max(int(runs), 0) if isinstance(runs, int | float) and math.isfinite(runs) else 0
    return replace(shipped, **kept, runs=count)


def _numbers(values: Mapping[str, object], names: tuple[str, ...], path: Path) -> dict[str, float]:
    wrong = [*(set(values) ^ set(names))]
    numbers: dict[str, float] = {}
    for name in names:
        value = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            numbers[name] = float(value)
        else:
            wrong.append(name)
    if wrong:
        raise ValueError(f"{path}: {', '.join(sorted(set(wrong)))}")
    return numbers
