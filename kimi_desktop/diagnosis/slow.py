"""Compares what a running engine does with what was forecast, and looks for the reason. Pure.

Slow, and waiting for a turn, are failures without an error: nobody says anything. What is known
are the figures, the machine's samples of that time, and the plan. The rules of the files weigh
them as they weigh a log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.diagnosis.collect import evidence_of_status
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.types import (
    UNKNOWN_BELOW,
    Aspect,
    EngineExit,
    Evidence,
    Figure,
    Finding,
    Slowness,
)
from kimi_desktop.machine.types import Machine
from kimi_desktop.monitor.types import Sample

MARGIN = 0.9
"""Of the edge of the band: beyond it a figure is outside and no chance."""
LEAST_TOKENS = 32
LEAST_PROMPT = 512
LEAST_LOAD_S = 30.0
"""Shorter loads may take as long as they like."""
LONGEST_WAIT_S = 10.0
"""A request that waits for longer is queueing."""
IDLE_READ_MIB_S = 1.0
"""Below this a disk has nothing to do with it."""

PLANNED = frozenset({"partial_offload_slow"})
"""What the forecast counts already is no reason to be slower than the forecast."""
FAMILIES = ("speed", "serving")

PHASES = {
    Aspect.DECODE: "perf",
    Aspect.PREFILL: "perf",
    Aspect.FIRST_TOKEN: "perf",
    Aspect.LOAD: "load",
    Aspect.QUEUE: "serve",
}


def is_slower(figure: Figure) -> bool:
    """Outside the band on its slow side: a rate below, a time above."""
    band = figure.expected
    if band is None:
        return True
    if figure.aspect in (Aspect.DECODE, Aspect.PREFILL):
        return figure.measured < band.low * MARGIN
    return figure.measured > band.high / MARGIN


def sample_facts(
    samples: Sequence[Sample], machine: Machine | None, n_tokens: int = 0
) -> dict[str, Any]:
    """What the machine did meanwhile, by the names that rules use.

    Args:
        samples: one a second, of the time in question only.
        machine: for its number of cores; None leaves the share of the processors out.
        n_tokens: written in that time; 0 leaves the reads per token out.
    """
    facts: dict[str, Any] = {}
    reads = [s.engine_read_bytes_per_s for s in samples if s.engine_read_bytes_per_s is not None]
    if reads:
        rate = sum(reads) / len(reads) / MIB
        facts["read_mib_s"] = round(rate, 1)
        facts["read_bytes_grow"] = rate > IDLE_READ_MIB_S
        facts["disk_read_mib_s"] = facts["read_mib_s"] if rate > IDLE_READ_MIB_S else None
        if n_tokens:
            facts["read_mib_per_token"] = round(sum(reads) / n_tokens / MIB, 1)
    if not reads or facts["read_bytes_grow"]:
        # Full memory alone says nothing while the disk is at rest.
        facts |= _memory_facts(samples)
    busy = [s.engine_cpu_percent for s in samples if s.engine_cpu_percent is not None]
    if busy and machine is not None:
        share = sum(busy) / len(busy) / max(machine.cpu.usable_cores, 1)
        facts["cpu_busy_pct"] = round(share)
        facts["cpu_time_grows"] = share > 1
    return {
        name: value for name, value in (facts | _gpu_facts(samples)).items() if value is not None
    }


def _memory_facts(samples: Sequence[Sample]) -> dict[str, Any]:
    shares = [s.ram_used_bytes / s.ram_total_bytes for s in samples if s.ram_total_bytes]
    return {"mem_used_pct": round(100 * max(shares))} if shares else {}


def _gpu_facts(samples: Sequence[Sample]) -> dict[str, Any]:
    gpus = [gpu for sample in samples for gpu in sample.gpus]
    loads = [gpu.load_percent for gpu in gpus if gpu.load_percent is not None]
    heats = [gpu.temperature_c for gpu in gpus if gpu.temperature_c is not None]
    reasons = sorted({reason for gpu in gpus for reason in gpu.throttled})
    return {
        "gpu_util_pct": round(sum(loads) / len(loads)) if loads else None,
        "gpu_temp_c": max(heats, default=None),
        "throttle_reasons": ", ".join(reasons) or None,
    }


def host_facts(machine: Machine | None, model_bytes: int) -> dict[str, Any]:
    """What of the machine decides over speed."""
    if machine is None:
        return {}
    cpu = machine.cpu
    facts: dict[str, Any] = {"numa_nodes": cpu.numa_nodes}
    if cpu.usable_cores < cpu.logical_cores:
        facts["cpu_quota_pct"] = 100 * cpu.usable_cores
    if not machine.gpus:
        facts["ram_gib"] = round(machine.memory.usable_total_bytes / GIB, 1)
        facts["model_gib"] = round(model_bytes / GIB, 1)
    return facts


def look_for_reason(
    figure: Figure,
    status: EngineStatus,
    machine: Machine | None,
    facts: Mapping[str, Any],
) -> Slowness:
    """What may have made it so slow; ``finding`` is None when nothing speaks for anything.

    Args:
        figure: what is slow.
        status: of the running engine.
        machine: None before the first look.
        facts: of that time (``sample_facts``, ``host_facts``).
    """
    whole = evidence_of_status(status, machine)
    evidence = Evidence(
        log=whole.log,
        exit=EngineExit(is_alive=True),
        engine=whole.engine,
        engine_version=whole.engine_version,
        phase=PHASES[figure.aspect],
        machine={**whole.machine, **facts},
        settings=whole.settings,
    )
    return Slowness(
        figure=figure,
        finding=reason_in(evidence),
        evidence=evidence,
        started_at=status.started_at,
    )


def reason_in(evidence: Evidence) -> Finding | None:
    """Why an engine that runs is slow; None when nothing speaks for anything."""
    for found in diagnose(evidence).findings:
        family = found.rule.partition(".")[0]
        if found.confidence < UNKNOWN_BELOW:
            return None
        if family in FAMILIES and found.cause not in PLANNED:
            return found
    return None
