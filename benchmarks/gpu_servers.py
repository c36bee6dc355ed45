"""Starts vLLM plans on real GPUs as the app does; what vLLM and the driver say beside each.

    python benchmarks/gpu_servers.py PYTHON [--only NAME ...]

``PYTHON`` has vLLM. The checkpoints are real shapes with made-up weights, written by this script
(sparse files; ``--load-format dummy``). For each plan one JSON line: the forecast beside what NVML
counts (MiB), the engine's own figures, tok/s of one user, and whether the memory came back. The
last line is a kill -9 of the app while vLLM serves. Exit code 1 when memory did not come back, a
start failed, or a forecast was more than 3 % low.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pynvml
from gpu_plans import LOW_SHARE, TOKENS, used_mib, wait_for

from kimi_desktop.backends.types import (
    ChatRequest,
    EngineKind,
    LoadSettings,
    Sampling,
    VllmSettings,
)
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.core import Core
from kimi_desktop.models.library import Library
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.vllm_types import CacheFormat, ServerForecast, ServerWishes
from tests.support.hf_shapes import kimi_k2, qwen3_8b, write_checkpoint
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

START_S = 420.0
LAYERS = 5
INT4 = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "quantization_status": "compressed",
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {
                "num_bits": 4, "type": "int", "symmetric": True, "strategy": "group",
                "group_size": 32, "dynamic": False,
            },
        },
    },
    "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
               "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"],
}  # fmt: skip
"""Only the routed experts, as K2.6 is published."""


@dataclass(frozen=True, slots=True)
class Case:
    """A checkpoint and what is wished of it."""

    config: Callable[[], dict[str, Any]]
    wishes: ServerWishes


CASES = {
    "Kimi K2.6, 5 layers, 32K, eager": Case(
        lambda: kimi_k2(LAYERS, INT4),
        ServerWishes(context=32_768, n_sequences=64, eager=True),
    ),
    "Kimi K2.6, 5 layers, 128K, fp8 cache": Case(
        lambda: kimi_k2(LAYERS, INT4),
        ServerWishes(context=131_072, cache=CacheFormat.FP8, n_sequences=64),
    ),
    "Qwen3 8B, as planned": Case(qwen3_8b, ServerWishes()),
}
FIGURES = {
    "weights_gib": re.compile(r"Model loading took ([\d.]+) GiB"),
    "cache_gib": re.compile(r"Available KV cache memory: (-?[\d.]+) GiB"),
    "tokens": re.compile(r"KV cache size: ([\d,]+) tokens"),
    "graphs_gib": re.compile(r"Graph capturing finished in .* took (-?[\d.]+) GiB"),
}


def write_model(folder: Path, config: dict[str, Any]) -> Path:
    """A checkpoint that vLLM takes: shape, sparse weights, the words of a tiny tokenizer."""
    write_checkpoint(folder, config)
    with tempfile.TemporaryDirectory() as scratch:
        tiny = make_tiny_hf_kimi(Path(scratch) / "tiny")
        for file in tiny.glob("*token*"):
            (folder / file.name).write_bytes(file.read_bytes())
        for file in tiny.glob("*.jinja"):
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def settings_for(python: Path, folder: Path, case: Case) -> LoadSettings:
    """What the window would start."""
    return LoadSettings(
        folder,
        kind=EngineKind.VLLM,
        binary=python,
        context=0,
        server=VllmSettings(served_name="model", wishes=case.wishes),
        extra=("--load-format", "dummy"),
    )


def open_core(home: Path) -> Core:
    """The app without its window, its machine looked at."""
    paths = AppPaths.under(home)
    paths.make()
    core = Core(paths)
    core.start()
    core.machine.probe().result()
    return core


def decode_rate(core: Core) -> float:
    """Tokens a second of one answer after its first, by our clock: vLLM does not tell its own."""
    client = core.engine.client()
    assert client is not None

    async def ask() -> float:
        request = ChatRequest((("user", "count"),), Sampling(max_tokens=TOKENS, temperature=0.0))
        first, tokens = 0.0, 0
        async for delta in client.stream_chat(request):
            first = first or time.perf_counter()
            tokens = delta.usage.completion_tokens if delta.usage else tokens
        return (tokens - 1) / (time.perf_counter() - first)

    core.io.submit(ask).result(120)  # the first answer compiles kernels
    return core.io.submit(ask).result(120)


def figures_of(forecast: ServerForecast) -> dict[str, float]:
    """What vLLM logs of the same."""
    return {
        "weights_gib": round(forecast.ranks[0].weights_bytes / GIB, 2),
        "cache_gib": round(forecast.ranks[0].cache_bytes / GIB, 2),
        "tokens": forecast.tokens,
    }


def run_case(core: Core, python: Path, folder: Path, name: str, case: Case) -> dict[str, Any]:
    rows = Library(kv_bytes_per_token).scan((folder.parent,))
    model = next(row for row in rows if row.path == folder)
    line: dict[str, Any] = {"plan": name}
    before = used_mib()
    began = time.monotonic()
    try:
        offer = core.servers.find(model, case.wishes).result()
        assert offer.plan is not None
        forecast = offer.plan.forecast
        line["fits"] = offer.plan.fits
        line["forecast"] = figures_of(forecast)
        core.engine.start(settings_for(python, folder, case)).result(START_S)
        line["load_s"] = round(time.monotonic() - began, 1)
        line["decode_tps"] = round(decode_rate(core), 1)
        taken = [now - then for now, then in zip(used_mib(), before, strict=True)]
        planned = {
            row.device: (row.used_bytes - row.others_bytes) // MIB for row in forecast.devices
        }
        line["devices"] = {
            f"gpu:{index}": {"forecast": planned.get(f"gpu:{index}", 0), "taken": mib}
            for index, mib in enumerate(taken)
        }
    except Exception as error:  # noqa: BLE001 - the line says it, the others go on
        line["error"] = f"{type(error).__name__}: {error}"
        line["cause"] = str(core.diagnosis.latest.diagnosis.cause) if core.diagnosis.latest else ""
        line["log"] = core.engine.log_text()[-2_000:]
    text = core.engine.log_text()
    line["engine"] = {
        key: float(found[-1].replace(",", ""))
        for key, pattern in FIGURES.items()
        if (found := pattern.findall(text))
    }
    core.engine.stop().result(60)
    after = wait_for(before)
    line["left_mib"] = [now - then for now, then in zip(after, before, strict=True)]
    return line


def hold(python: Path, folder: Path, case: Case) -> None:
    """An app that serves until it is killed; says when it does."""
    with tempfile.TemporaryDirectory() as home:
        core = open_core(Path(home))
        core.engine.start(settings_for(python, folder, case)).result(START_S)
        print("serving", flush=True)
        threading.Event().wait()


def kill_the_app(python: Path, folder: Path, name: str) -> dict[str, Any]:
    """The app is killed with -9: vLLM's processes and the memory of the GPU must go with it."""
    before = used_mib()
    command = [sys.executable, __file__, str(python), "--hold", str(folder), "--only", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        served = app.stdout.readline().strip() == "serving"
        held = [now - then for now, then in zip(used_mib(), before, strict=True)]
        app.kill()
        killed = time.monotonic()
    after = wait_for(before)
    return {
        "plan": "kill -9 of the app",
        "served": served,
        "held_mib": held,
        "left_mib": [now - then for now, then in zip(after, before, strict=True)],
        "seconds": round(time.monotonic() - killed, 2),
    }


def is_low(line: dict[str, Any]) -> bool:
    """The GPUs took more than the forecast and its tolerance."""
    rows = line.get("devices", {}).values()
    return sum(row["forecast"] for row in rows) < LOW_SHARE * sum(row["taken"] for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--only", nargs="*", default=[], choices=list(CASES))
    parser.add_argument("--hold", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = options.only or list(CASES)
    if options.hold is not None:
        hold(options.python, options.hold, CASES[chosen[0]])
    pynvml.nvmlInit()
    lines: list[dict[str, Any]] = []

    def say(line: dict[str, Any]) -> None:
        lines.append(line)
        print(json.dumps(line), flush=True)

    with tempfile.TemporaryDirectory() as place:
        folders = {
            name: write_model(Path(place) / str(number), CASES[name].config())
            for number, name in enumerate(chosen)
        }
        core = open_core(Path(place) / "home")
        try:
            core.store.update(
                lambda s: dataclasses.replace(
                    s, engine=dataclasses.replace(s.engine, vllm_python=str(options.python))
                )
            )
            for name in chosen:
                say(run_case(core, options.python, folders[name], name, CASES[name]))
        finally:
            core.close()
        say(kill_the_app(options.python, folders[chosen[-1]], chosen[-1]))
    failed = [line["plan"] for line in lines if "error" in line or line.get("served") is False]
    low = [line["plan"] for line in lines if is_low(line)]
    kept = [line["plan"] for line in lines if max(line.get("left_mib", [0]), default=0) > 16]
    print(f"failed: {failed}; too low: {low}; memory kept: {kept}", file=sys.stderr)
    return 1 if failed or low or kept else 0


if __name__ == "__main__":
    sys.exit(main())
