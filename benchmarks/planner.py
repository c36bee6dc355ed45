"""Memory forecasts against measured allocations.

    python benchmarks/planner.py --cases CASES.jsonl --models DIR

A line of CASES has ``id``, ``model``, ``mix`` and ``case`` (llama-server's settings), and for the
error figures ``buffers``; the model's file is ``DIR/MODEL.MIX.gguf``. Prints one JSON object per
case on stdout (``id`` and the predicted ``buffers`` in bytes, in the same shape), and a summary per
architecture on stderr.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.gguf import read_file
from kimi_desktop.planner.cache import cache_by_device, kv_bytes_per_token
from kimi_desktop.planner.compute import compute_by_device
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.types import ALL_LAYERS, EVERY_BLOCK, HOST, ModelShape, Placement
from kimi_desktop.planner.weights import layer_devices, weights_by_device

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
    return HOST if name == "CPU" else int(name.removeprefix("CUDA"))


def placement_of(case: Mapping[str, Any]) -> Placement:
    """llama-server's settings as the planner has them; what a line leaves out is the default."""
    overrides = []
    for item in filter(None, (case.get("ot") or "").split(",")):
        pattern, _, device = item.rpartition("=")
        overrides.append((pattern, device_number(device)))
    experts = case.get("n_cpu_moe", 0)
    return Placement(
        context=case.get("ctx", 4096),
        n_gpu_layers=case.get("ngl", ALL_LAYERS),
        n_cpu_moe=EVERY_BLOCK if experts == "all" else experts,
        overrides=tuple(overrides),
        tensor_split=tuple(map(float, case.get("tensor_split") or ())),
        cache_type_k=case.get("type_k", "f16").upper(),
        cache_type_v=case.get("type_v", "f16").upper(),
        n_batch=case.get("batch", 2048),
        n_ubatch=case.get("ubatch", 512),
        n_parallel=case.get("parallel", 1),
        n_state_snapshots=case.get("rs_seq", 0),
        kv_unified=case.get("kv_unified", False),
        flash_attention=FLASH[case.get("fa", "auto")],
        offload_kv=case.get("offload_kqv", True),
        offload_ops=case.get("op_offload", True),
        full_window=case.get("swa_full", False),
        load_nextn=case.get("load_mtp", False),
        repack=case.get("extra_bufts", True),
        n_outputs=case.get("n_outputs"),
    )


def split_of(case: Mapping[str, Any]) -> tuple[float, ...]:
    count = case.get("gpus", 1)
    if shares := case.get("tensor_split"):
        return tuple(map(float, shares))[:count]
    vram = case.get("vram_gib", 80)
    return tuple(map(float, vram))[:count] if isinstance(vram, list) else (1.0,) * count


def predict(shape: ModelShape, case: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The buffers in llama.cpp's names."""
    placement, split = placement_of(case), split_of(case)
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


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    arguments = parser.parse_args()
    shapes: dict[str, ModelShape] = {}
    per_arch: dict[str, Figures] = collections.defaultdict(Figures)
    everything = Figures()
    spent_s, count, failed = 0.0, 0, 0
    for line in arguments.cases.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        name = f"{case['model']}.{case['mix']}"
        try:
            if name not in shapes:
                shapes[name] = load(arguments.models, name)
        except KimiError as error:
            failed += 1
            print(f"{case['id']}: {describe_error(error, Language.EN)[0]}", file=sys.stderr)
            continue
        began = time.perf_counter()
        buffers = predict(shapes[name], case["case"])
        spent_s += time.perf_counter() - began
        count += 1
        print(json.dumps({"id": case["id"], "buffers": buffers}))
        if "buffers" in case:
            for figures in (per_arch[shapes[name].geometry.architecture], everything):
                compare(figures, buffers, case["buffers"])
    for arch in sorted(per_arch):
        print(summary(arch, per_arch[arch]), file=sys.stderr)
    print(summary("all", everything), file=sys.stderr)
    print(f"one forecast {spent_s / max(count, 1) * 1e3:.2f} ms (mean)", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
