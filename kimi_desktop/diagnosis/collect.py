"""The facts of a failed engine, of its settings and of the machine, as evidence.

Pure, but for the sizes of a model's files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.backends.types import SERVER_KINDS, EngineFacts, EngineStatus, LoadSettings
from kimi_desktop.base.units import GIB
from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.diagnosis.types import EngineExit, Evidence
from kimi_desktop.machine.holders import Holder
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.monitor.types import Sample
from kimi_desktop.planner.types import LoadForecast

MOST_FILES = 100


def evidence_of_status(status: EngineStatus, machine: Machine | None) -> Evidence:
    """Of an engine that has failed; what is not known is left out."""
    facts = status.facts or EngineFacts(log=status.log_tail)
    return Evidence(
        log="\n".join(facts.log),
        exit=EngineExit(facts.code, facts.signal, facts.is_alive, facts.spawn_errno),
        engine=_engine(status.settings),
        engine_version=status.engine_name,
        phase=facts.phase,
        machine={**(machine_facts(machine) if machine else {}), **facts.machine},
        settings=setting_facts(status.settings) if status.settings else {},
    )


def holder_facts(
    machine: Machine | None, forecast: LoadForecast, holders: Sequence[Holder]
) -> dict[str, Any]:
    """Who else holds VRAM, and on the GPU with the least room what is free and what is needed."""
    if machine is None or not holders:
        return {}
    facts: dict[str, Any] = {
        "gpu_processes": [
            f"GPU {holder.gpu}: {holder.name} ({holder.pid})"
            + ("" if holder.vram_bytes is None else f" {holder.vram_bytes / GIB:.1f} GiB")
            for holder in holders
        ]
    }
    free = {f"gpu:{gpu.index}": gpu.vram_free_bytes for gpu in machine.gpus}
    rows = [
        (free[row.device], row.used_bytes - row.others_bytes)
        for row in forecast.devices
        if row.device in free
    ]
    if rows:
        available, needed = min(rows, key=lambda row: row[0] - row[1])
        facts["vram_free_gib"] = round(available / GIB, 2)
        facts["vram_needed_gib"] = round(needed / GIB, 2)
    return facts


def course_facts(samples: Sequence[Sample], started_at: float | None) -> dict[str, Any]:
    """Memory before the start, at its fullest and at the end, in GiB, by device.

    Args:
        samples: one a second, oldest first; from before the start to the end.
        started_at: time.time() of the start; None: the first sample is the one before.
    """
    if not samples:
        return {}
    begun = samples[0].at if started_at is None else started_at
    before = next((one for one in reversed(samples) if one.at <= begun), samples[0])
    since = [one for one in samples if one.at >= before.at]
    rows: dict[str, list[int]] = {
        "ram": [one.ram_used_bytes for one in since],
        "swap": [one.swap_used_bytes for one in since if one.swap_used_bytes is not None],
        **{
            f"gpu:{gpu.index}": [
                found.vram_used_bytes
                for one in since
                for found in one.gpus
                if found.index == gpu.index
            ]
            for gpu in before.gpus
        },
    }
    return {
        "memory_used_gib": {
            name: {
                "before": round(sizes[0] / GIB, 2),
                "most": round(max(sizes) / GIB, 2),
                "at_end": round(sizes[-1] / GIB, 2),
            }
            for name, sizes in rows.items()
            if sizes
        }
    }


def file_facts(model: LocalModel) -> dict[str, Any]:
    """Of what the model is made, and whether its bytes were ever proven."""
    facts: dict[str, Any] = {"file_parts": f"{model.parts_present}/{model.parts_total}"}
    if model.change is not None:
        facts["hash_state"] = "changed since it was proven"
    elif model.verified is not None:
        facts["hash_state"] = "proven"
    else:
        facts["hash_state"] = "never proven"
    facts["files"] = [_file_line(file) for file in model.files[:MOST_FILES]]
    return facts


def _file_line(file: Path) -> str:
    try:
        return f"{file.name} {file.stat().st_size}"
    except OSError as error:
        return f"{file.name} {error.strerror}"


def plan_facts(forecast: LoadForecast) -> dict[str, Any]:
    """What the planner expected of our engine on each device."""
    if not forecast.devices:
        return {}
    return {
        "planned_gib": {
            row.device: {
                "ours": round((row.used_bytes - row.others_bytes) / GIB, 2),
                "of": round(row.total_bytes / GIB, 2),
            }
            for row in forecast.devices
        }
    }


def answer_facts(answers: Iterable[AnswerStats]) -> dict[str, Any]:
    """Speeds and token counts of the last answers, the newest last."""
    rows = [
        {
            "tokens": one.tokens,
            "decode_tps": round(one.decode_tokens_per_s, 2),
            "first_token_s": one.first_token_s,
            "prompt_tokens": one.prompt_tokens,
            "cached_tokens": one.cached_tokens,
        }
        for one in answers
    ]
    return {"last_answers": rows} if rows else {}


def setting_facts(settings: LoadSettings) -> dict[str, Any]:
    """By the names that rules use."""
    if settings.kind in SERVER_KINDS:
        return _server_facts(settings)
    facts: dict[str, Any] = {
        "ctx": settings.context,
        "ngl": settings.n_gpu_layers,
        "n_cpu_moe": settings.n_cpu_moe,
        "batch": settings.n_batch,
        "ubatch": settings.n_ubatch,
        "parallel": settings.n_parallel,
        "model": settings.model_path.name,
        "engine_kind": settings.kind.value,
        "extra": " ".join(settings.extra),
    }
    if settings.cache_type != "f16":
        facts |= {"ctk": settings.cache_type, "ctv": settings.cache_type}
    if settings.n_threads is not None:
        facts["threads"] = settings.n_threads
    if settings.load_mode is not None:
        facts["load_mode"] = settings.load_mode.value
    return facts


def _engine(settings: LoadSettings | None) -> str:
    """The name by which rules know it."""
    if settings is not None and settings.kind in SERVER_KINDS:
        return settings.kind.value
    return "llama.cpp"


def _server_facts(settings: LoadSettings) -> dict[str, Any]:
    """Layers on GPUs, micro-batches and threads mean nothing to these engines."""
    facts: dict[str, Any] = {
        "ctx": settings.context,
        "model": settings.model_path.name,
        "engine_kind": settings.kind.value,
        "extra": " ".join(settings.extra),
    }
    server = settings.server.server if settings.server is not None else None
    if server is not None:
        split = server.split
        facts |= {
            "ctx": server.context,
            "tensor_parallel_size": split.tensor,
            "pipeline_parallel_size": split.pipeline,
            "data_parallel_size": split.data,
            "kv_cache_dtype": server.cache.value,
        }
        if server.memory_share is not None:
            facts["gpu_memory_utilization"] = server.memory_share
    return facts


def machine_facts(machine: Machine) -> dict[str, Any]:
    """By the names that rules use."""
    facts: dict[str, Any] = {
        "os": machine.system,
        "cpu": machine.cpu.model,
        "cpu_cores": machine.cpu.physical_cores,
        "vram_gib": [round(gpu.vram_total_bytes / GIB, 1) for gpu in machine.gpus],
        "gpu_count": len(machine.gpus),
    }
    if machine.gpus:
        facts["gpu"] = ", ".join(gpu.name for gpu in machine.gpus)
        facts["driver"] = machine.gpus[0].driver
    return facts
