"""Asks llama.cpp itself what a load would hold: the badge "checked by the engine".

A child process (``exact_check_child``) has the wheel's llama.cpp do its own dry run on pretended
GPUs of the machine's sizes, from the model's file or from its headers alone. Measured on two cores:
0.8 s and 104 MiB for Kimi K2.6 with its vocabulary on eight GPUs, 1.0 s and 393 MiB for Kimi K3,
whose state is really allocated. Only where a self-check of the build passes; anything else is
None: no badge, nothing to say.

Async, on the IO thread; files are written in the pool.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import embedded_build, python_command, python_path
from kimi_desktop.base.errors import BackendError
from kimi_desktop.machine.types import Gpu, Machine
from kimi_desktop.models.header_copy import HeaderCopy, write_sparse
from kimi_desktop.planner.types import HOST, DeviceMemory, ExactCheck, LoadForecast, Placement

log = logging.getLogger(__name__)

MODULE = "kimi_desktop.backends.exact_check_child"
TIMEOUT_S = 30.0
MAX_ANSWER_BYTES = 2**20
_CUDA_NAMES = ("nvidia", "geforce", "quadro", "tesla", "rtx")


async def check_exactly(
    model: Path | Sequence[HeaderCopy],
    placement: Placement,
    machine: Machine,
    gpus: Sequence[int],
    forecast: LoadForecast,
) -> ExactCheck | None:
    """The engine's figures beside a forecast.

    Args:
        model: the first file of a model, or the headers of all its parts.
        placement: the flags; its device numbers count ``gpus``.
        machine: what the forecast is for.
        gpus: numbers of the machine's GPUs that are used, in the engine's order.
        forecast: rows for all GPUs of the machine, the host last.

    Returns:
        None where it cannot be asked: another system than Linux, GPUs that are not NVIDIA's,
        another build, a model that it refuses, or more than half a minute.
    """
    used = [machine.gpus[number] for number in gpus]
    if sys.platform != "linux" or not all(is_cuda(gpu) for gpu in used):
        return None
    try:
        build = embedded_build().name
    except BackendError:
        return None
    question = {
        "gpus": [[gpu.vram_total_bytes, gpu.vram_free_bytes] for gpu in used],
        "placement": dataclasses.asdict(placement),
    }
    try:
        answer = await _answer(model, question)
    except (OSError, TimeoutError, ValueError) as error:
        log.info("no exact check: %r", error)
        return None
    if "devices" not in answer:
        log.info("no exact check: %s", answer)
        return None
    return compare(answer["devices"], gpus, forecast, build)


def compare(
    answer: Mapping[str, Sequence[int]], gpus: Sequence[int], forecast: LoadForecast, build: str
) -> ExactCheck:
    """The forecast's rows with the engine's bytes.

    Args:
        answer: of the child: [weights, cache, compute] by the number of a device.
        gpus: numbers of the machine's GPUs by those of the engine.
        forecast: what is compared.
        build: who was asked.
    """
    places = {str(number): place for number, place in enumerate(gpus)}
    places[str(HOST)] = len(forecast.devices) - 1
    by_place = {places[name]: sizes for name, sizes in answer.items()}
    rows: list[DeviceMemory] = []
    largest, device = 0, ""  # what the engine takes more, or less
    for place, row in enumerate(forecast.devices):
        sizes = by_place.get(place, (0, 0, 0))
        ours = (row.weights_bytes, row.kv_bytes, row.compute_bytes or 0)
        for size, expected in zip(sizes, ours, strict=True):
            if abs(size - expected) > abs(largest):
                largest, device = size - expected, row.device
        weights, cache, compute = sizes
        rows.append(
            dataclasses.replace(row, weights_bytes=weights, kv_bytes=cache, compute_bytes=compute)
        )
    return ExactCheck(tuple(rows), abs(largest), build, device, largest > 0)


def is_cuda(gpu: Gpu) -> bool:
    """NVIDIA's, whose rules the pretended GPUs have."""
    name = gpu.name.casefold()
    return gpu.compute_capability is not None or any(word in name for word in _CUDA_NAMES)


async def _answer(model: Path | Sequence[HeaderCopy], question: dict[str, Any]) -> dict[str, Any]:
    if isinstance(model, Path):
        return await _ask(question | {"model": str(model)})
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory(prefix="kimi-headers-") as folder:
        for copy in model:
            await loop.run_in_executor(None, write_sparse, Path(folder), copy)
        return await _ask(question | {"model": str(Path(folder) / model[0].name)})


async def _ask(question: Mapping[str, Any]) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *python_command(MODULE),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=MAX_ANSWER_BYTES,
        env=engine_environment(os.environ, {"PYTHONPATH": python_path()}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            process.stdin.write(json.dumps(question).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    found = json.loads(line or b"{}")
    return found if isinstance(found, dict) else {}
