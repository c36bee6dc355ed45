"""Memory forecasts against measured allocations.

    python benchmarks/planner.py --cases CASES.jsonl --models DIR

A line of CASES has ``id``, ``model``, ``mix`` and ``case`` (llama-server's settings), and for the
error figures ``buffers``; the model's file is ``DIR/MODEL.MIX.gguf``. Prints one JSON object per
case on stdout (``id`` and the predicted ``buffers`` in bytes, in the same shape), and on stderr a
summary per architecture, the time of one forecast and of one placement search, and what a remote
header costs (a 14-part set on a hub of its own on loopback).
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.case_lines import (
    BadCaseError,
    Row,
    maybe_whole,
    number,
    numbers,
    run_lines,
    switch,
    whole,
    word,
)
from benchmarks.remote_header import read_remotely
from kimi_desktop.machine.machine_file import read_machine_file
from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.models.gguf import read_file
from kimi_desktop.planner.cache import cache_by_device, kv_bytes_per_token
from kimi_desktop.planner.compute import compute_by_device
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.types import ALL_LAYERS, EVERY_BLOCK, HOST, ModelShape, Placement
from kimi_desktop.planner.weights import layer_devices, weights_by_device
from tests.support.measured import DATA

MOST_BATCH = 2**20
MOST_GPUS = 64
MOST_SLOTS = 256
SEARCH_MACHINE = "server-8-unequal"
SEARCH_RUNS = 5
REMOTE_MODEL, REMOTE_PARTS = "kimi-k2.6.q4_x", 14
FLASH = {"on": True, "off": False, "auto": None}


@dataclass
class Figures:
    """Errors of one architecture."""

    cases: int = 0
    exact_weights: int = 0
    exact_cache: int = 0
    compute: list[float] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)


def device_number(name: str) -> int:
    number = name.removeprefix("CUDA")
    if name == "CPU":
        return HOST
    if not name.startswith("CUDA") or not number.isdecimal():
        raise BadCaseError(f"{name!r} is no device: CPU, CUDA0, CUDA1, ...")
    return int(number)


def overrides_of(case: Row) -> tuple[tuple[str, int], ...]:
    if case.get("ot") is None:
        return ()
    found = []
    for item in filter(None, word(case, "ot", None).split(",")):
        pattern, equals, device = item.rpartition("=")
        try:
            re.compile(pattern)
        except re.error as error:
            raise BadCaseError(f"ot: {pattern!r} is no pattern: {error}") from None
        if not equals:
            raise BadCaseError(f"ot is {item!r}, not PATTERN=DEVICE")
        found.append((pattern, device_number(device)))
    return tuple(found)


def cache_type(case: Row, key: str) -> str:
    return word({key: str(case.get(key) or "f16").upper()}, key, None, TYPES_BY_NAME)


def placement_of(case: Row) -> Placement:
    """llama-server's settings as the planner has them; what a line leaves out is the default."""
    every = case.get("n_cpu_moe") == "all"
    return Placement(
        context=whole(case, "ctx", 4096),
        n_gpu_layers=whole(case, "ngl", ALL_LAYERS, ALL_LAYERS),
        n_cpu_moe=EVERY_BLOCK if every else whole(case, "n_cpu_moe", 0),
        overrides=overrides_of(case),
        tensor_split=numbers(case, "tensor_split"),
        cache_type_k=cache_type(case, "type_k"),
        cache_type_v=cache_type(case, "type_v"),
        n_batch=whole(case, "batch", 2048, 1, MOST_BATCH),
        n_ubatch=whole(case, "ubatch", 512, 1, MOST_BATCH),
        n_parallel=whole(case, "parallel", 1, 1, MOST_SLOTS),
        n_state_snapshots=whole(case, "rs_seq", 0, 0, MOST_SLOTS),
        kv_unified=switch(case, "kv_unified", default=False),
        flash_attention=FLASH[word(case, "fa", "auto", FLASH)],
        offload_kv=switch(case, "offload_kqv", default=True),
        offload_ops=switch(case, "op_offload", default=True),
        full_window=switch(case, "swa_full", default=False),
        load_nextn=switch(case, "load_mtp", default=False),
        repack=switch(case, "extra_bufts", default=True),
        n_outputs=maybe_whole(case, "n_outputs", 1),
    )


def split_of(case: Row) -> tuple[float, ...]:
    count = whole(case, "gpus", 1, 0, MOST_GPUS)
    shares = numbers(case, "tensor_split")
    vram = case.get("vram_gib")
    if not shares and isinstance(vram, list):
        shares = numbers(case, "vram_gib")
    elif not shares:
        number(case, "vram_gib", None)
        return (1.0,) * count
    if len(shares) < count or (count and not sum(shares[:count])):
        raise BadCaseError(f"{len(shares)} shares for {count} GPUs, or all of them 0")
    return shares[:count]


def predict(shape: ModelShape, case: Row) -> list[dict[str, Any]]:
    """The buffers in llama.cpp's names."""
    placement, split = placement_of(case), split_of(case)
    if not placement.context:  # as many as the model was trained for
        placement = dataclasses.replace(placement, context=shape.geometry.context_train)
    devices = layer_devices(shape.geometry.n_layer, placement.n_gpu_layers, split)
    weights = weights_by_device(shape, placement, split)
    cache = cache_by_device(shape.geometry, placement, devices)
    compute = compute_by_device(shape, placement, split, devices).bytes

    def row(buft: str, device: str | None, host: bool, *sizes: int) -> dict[str, Any]:
        model, context, graph = sizes
        return {"buft": buft, "device": device, "host": host, "model": model, "context": context,
                "compute": graph}  # fmt: skip

    rows = [
        row(f"CUDA{n}", f"CUDA{n}", False, weights.bytes[n], cache.get(n, 0), compute[n])
        for n in range(len(split))
    ]
    on_host = (weights.bytes[HOST], cache.get(HOST, 0), compute[HOST])
    if split:
        rows.append(row("CUDA_Host", "CUDA0", True, on_host[0], 0, on_host[2]))
        if on_host[1]:
            rows.append(row("CPU", None, True, 0, on_host[1], 0))
    else:
        repacked = weights.repacked_bytes
        rows.append(row("CPU", None, True, on_host[0] - repacked, *on_host[1:]))
        if repacked:
            rows.append(row("CPU_REPACK", "CPU", False, repacked, 0, 0))
    return rows


def by_device(buffers: Iterable[Mapping[str, Any]], kind: str) -> dict[int, int]:
    sizes: collections.Counter[int] = collections.Counter()
    for buffer in buffers:
        on_host = buffer["host"] or buffer["device"] in (None, "CPU")
        sizes[HOST if on_host else device_number(buffer["device"])] += buffer[kind]
    return {device: size for device, size in sizes.items() if size}


def compare(figures: Figures, predicted: list[dict[str, Any]], truth: list[Any]) -> None:
    figures.cases += 1
    figures.exact_weights += by_device(predicted, "model") == by_device(truth, "model")
    figures.exact_cache += by_device(predicted, "context") == by_device(truth, "context")
    guess, real = by_device(predicted, "compute"), by_device(truth, "compute")
    for device in guess.keys() | real.keys():
        size = real.get(device, 0)
        figures.compute.append(abs(guess.get(device, 0) - size) / max(size, 1))
    kinds = ("model", "context", "compute")
    whole = sum(sum(by_device(truth, kind).values()) for kind in kinds)
    ours = sum(sum(by_device(predicted, kind).values()) for kind in kinds)
    figures.totals.append((ours - whole) / whole)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else 0.0


def summary(name: str, figures: Figures) -> str:
    return (
        f"{name:14} cases {figures.cases:4}  weights exact {figures.exact_weights:4}  "
        f"cache exact {figures.exact_cache:4}  compute error median "
        f"{percentile(figures.compute, 0.5):7.3%}  p95 {percentile(figures.compute, 0.95):7.2%}  "
        f"lowest total {min(figures.totals, default=0.0):+7.2%}"
    )


def load(folder: Path, name: str) -> ModelShape:
    path = folder / f"{name}.gguf"
    first = sorted(folder.glob(f"{name}-*-of-*.gguf")) if not path.exists() else [path]
    return shape_of(facts_of([read_file(file) for file in first or [path]], path.name,
                             kv_bytes_per_token))  # fmt: skip


class Run:
    """All cases of a file."""

    def __init__(self, models: Path) -> None:
        self.per_arch: dict[str, Figures] = collections.defaultdict(Figures)
        self.everything = Figures()
        self.spent_s: list[float] = []
        self.shapes: dict[str, ModelShape] = {}
        self._models = models

    def show(self, case: Row) -> None:
        """The line of one case."""
        name = f"{word(case, 'model', None)}.{word(case, 'mix', None)}"
        settings = case.get("case") or {}
        if not isinstance(settings, dict):
            raise BadCaseError("case is not a JSON object")
        if name not in self.shapes:
            self.shapes[name] = load(self._models, name)
        shape = self.shapes[name]
        began = time.perf_counter()
        buffers = predict(shape, settings)
        self.spent_s.append(time.perf_counter() - began)
        if "buffers" in case:
            for figures in (self.per_arch[shape.geometry.architecture], self.everything):
                compare(figures, buffers, case["buffers"])
        print(json.dumps({"id": case.get("id"), "buffers": buffers}))


def search_times(shapes: Iterable[ModelShape]) -> list[float]:
    """Milliseconds of processor time of one search for each model on eight unequal GPUs."""
    machine = read_machine_file(DATA / "machines" / f"{SEARCH_MACHINE}.json")
    found = []
    for shape in shapes:
        times = []
        for _ in range(SEARCH_RUNS):
            began = time.process_time()
            find_plan(shape, machine)
            times.append((time.process_time() - began) * 1e3)
        found.append(sorted(times)[SEARCH_RUNS // 2])
    return found


def remote_cost() -> str:
    found = read_remotely(REMOTE_MODEL, REMOTE_PARTS)
    return (
        f"remote header of {found['model_gb']} GB in {found['parts']} parts: "
        f"{found['requests']} requests, {found['bytes_read']:,} bytes read of "
        f"{found['header_bytes']:,} bytes of headers"
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    arguments = parser.parse_args()
    run = Run(arguments.models)
    failed = run_lines(arguments.cases, run.show)
    for arch in sorted(run.per_arch):
        print(summary(arch, run.per_arch[arch]), file=sys.stderr)
    print(summary("all", run.everything), file=sys.stderr)
    count = max(len(run.spent_s), 1)
    print(f"one forecast {sum(run.spent_s) / count * 1e3:.2f} ms (mean)", file=sys.stderr)
    if times := search_times(run.shapes.values()):
        text = f"one search on eight unequal GPUs {percentile(times, 0.5):.1f} ms (median)"
        print(f"{text}, {max(times):.1f} ms (longest) of processor time", file=sys.stderr)
    print(remote_cost(), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
