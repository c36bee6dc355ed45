"""Starts plans on real GPUs as the app does and holds what the driver counts beside the forecast.

    python benchmarks/gpu_plans.py MODEL.gguf --llama-server PROGRAM [--only NAME ...]

For each plan one JSON line on stdout: the forecast per device and what NVML says the engine took
(both in MiB, other programs left out), the engine's own buffers, decode tok/s beside the forecast
band, and whether the memory came back after the end. The last line is a kill -9 of the app in the
middle of an answer. Exit code 1 when memory did not come back or a forecast was more than 3 % low.
Needs a GPU; the tests play NVML back instead.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pynvml

from kimi_desktop.backends.types import ChatRequest, Sampling
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.units import MIB
from kimi_desktop.core import Core
from kimi_desktop.models.library import Library, find_named
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.plan_types import Profile, Wishes

SETTLE_S = 20.0
TOKENS = 64
LOW_SHARE = 0.97

PLANS: dict[str, Callable[[int], Wishes]] = {
    "auto": lambda _: Wishes(),
    "all on GPU, 32K": lambda layers: Wishes(
        context=32_768, n_gpu_layers=layers + 1, n_cpu_moe=0
    ),
    "all on GPU, 128K, q8_0": lambda layers: Wishes(
        context=131_072, cache_type="q8_0", n_gpu_layers=layers + 1, n_cpu_moe=0
    ),
    "all experts in RAM, 32K": lambda layers: Wishes(
        context=32_768, n_gpu_layers=layers + 1, n_cpu_moe=layers
    ),
    "half the experts in RAM, ub 2048": lambda layers: Wishes(
        context=32_768, n_gpu_layers=layers + 1, n_cpu_moe=layers // 2, n_ubatch=2_048
    ),
    "some layers, 8K": lambda layers: Wishes(
        context=8_192, n_gpu_layers=layers // 2 + 1, n_cpu_moe=0
    ),
    "four slots, 64K, q8_0": lambda layers: Wishes(
        context=65_536, cache_type="q8_0", n_parallel=4, n_gpu_layers=layers + 1,
        n_cpu_moe=layers // 2,
    ),
    "long context": lambda _: Wishes(profile=Profile.LONG_CONTEXT),
}  # fmt: skip


def used_mib() -> list[int]:
    """Of every GPU, by the driver."""
    return [
        int(pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(index)).used) // MIB
        for index in range(pynvml.nvmlDeviceGetCount())
    ]


def wait_for(goal: list[int]) -> list[int]:
    """Until no GPU holds more than before (16 MiB of grace), or patience ends."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        now = used_mib()
        if all(a <= b + 16 for a, b in zip(now, goal, strict=True)):
            return now
        if time.monotonic() > deadline:
            return now
        time.sleep(0.2)


def decode_rate(core: Core) -> float | None:
    """Tokens a second of one short answer, by the engine's own clock."""
    client = core.engine.client()
    if client is None:
        return None

    async def ask() -> float | None:
        request = ChatRequest((("user", "count"),), Sampling(max_tokens=TOKENS, temperature=0.0))
        usage = None
        async for delta in client.stream_chat(request):
            usage = delta.usage or usage
        return usage.completion_tokens / usage.decode_s if usage and usage.decode_s else None

    return core.io.submit(ask).result(120)


def run_plan(core: Core, model: LocalModel, name: str, wishes: Wishes) -> dict[str, Any]:
    found = core.plans.find(model, wishes).result()
    before = used_mib()
    began = time.monotonic()
    line: dict[str, Any] = {"plan": name, "fits": found.plan.fits}
    forecast = {
        row.device: (row.used_bytes - row.others_bytes) // MIB
        for row in found.plan.forecast.devices
    }
    try:
        core.engine.start(found.settings).result(300)
        line["load_s"] = round(time.monotonic() - began, 1)
        line["decode_tps"] = round(decode_rate(core) or 0, 1)
        taken = [now - then for now, then in zip(used_mib(), before, strict=True)]
        line["devices"] = {
            f"gpu:{index}": {"forecast": forecast.get(f"gpu:{index}", 0), "taken": mib}
            for index, mib in enumerate(taken)
        }
        line["host_forecast"] = forecast.get("host")
        line["buffers"] = [
            text.split("]", 1)[-1].strip()[:160]
            for text in core.engine.log_text().splitlines()
            if "buffer size" in text
        ]
    except Exception as error:  # noqa: BLE001 - the line says it, the others go on
        line["error"] = f"{type(error).__name__}: {error}"
        line["cause"] = str(core.diagnosis.latest.diagnosis.cause) if core.diagnosis.latest else ""
    band = found.speed.decode_tps
    line["decode_forecast"] = [round(value, 1) for value in (band.low, band.likely, band.high)]
    line["command"] = " ".join(core.engine.command_line(found.settings)[1:])
    core.engine.stop().result(60)
    after = wait_for(before)
    line["left_mib"] = [now - then for now, then in zip(after, before, strict=True)]
    return line


def kill_the_app(model: Path, program: Path) -> dict[str, Any]:
    """A serving app is killed with -9: its engine and the GPU memory must go with it."""
    before = used_mib()
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "KIMI_DESKTOP_HOME": home,
            "PATH": f"{program.parent}:{os.environ.get('PATH', '')}",
        }
        command = [sys.executable, "-m", "kimi_desktop", "serve", str(model), "--json"]
        with subprocess.Popen(
            [*command, "--ctx", "8192", "--port", port],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        ) as app:
            assert app.stdout is not None
            for text in app.stdout:
                if json.loads(text).get("event") == "serving":
                    break
            held = [now - then for now, then in zip(used_mib(), before, strict=True)]
            app.kill()
            killed = time.monotonic()
            app.wait()
            after = wait_for(before)
    return {
        "plan": "kill -9 of the app",
        "held_mib": held,
        "left_mib": [now - then for now, then in zip(after, before, strict=True)],
        "seconds": round(time.monotonic() - killed, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--llama-server", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    pynvml.nvmlInit()
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as home:
        core = Core(AppPaths.under(Path(home)))
        try:
            core.store.update(
                lambda s: dataclasses.replace(
                    s,
                    engine=dataclasses.replace(s.engine, llama_server=str(options.llama_server)),
                )
            )
            core.start()
            core.engine.prepare().result()
            core.machine.probe().result()
            model = find_named((), str(options.model), Library(kv_bytes_per_token))
            assert model.facts is not None
            for name, wish in PLANS.items():
                if options.only and name not in options.only:
                    continue
                line = run_plan(core, model, name, wish(model.facts.n_layer))
                lines.append(line)
                print(json.dumps(line), flush=True)
        finally:
            core.close()
    if not options.only:
        line = kill_the_app(options.model, options.llama_server)
        lines.append(line)
        print(json.dumps(line), flush=True)
    low = [
        line["plan"]
        for line in lines
        if sum(row["forecast"] for row in line.get("devices", {}).values())
        < LOW_SHARE * sum(row["taken"] for row in line.get("devices", {}).values())
    ]
    kept = [line["plan"] for line in lines if max(line.get("left_mib", [0]), default=0) > 16]
    print(f"too low: {low or 'none'}; memory kept: {kept or 'none'}", file=sys.stderr)
    return 1 if low or kept else 0


if __name__ == "__main__":
    sys.exit(main())
