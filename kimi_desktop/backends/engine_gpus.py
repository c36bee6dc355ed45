"""The machine's GPUs as an engine is told of them, so that both count alike. Pure.

Plans count the GPUs that answer the driver's library. CUDA may see others besides: a card that does
not answer, one that the user's own list hides. So every engine gets the list of ours, in our order:
by UUID where CUDA alone reads it, by number on the bus where the engine reads it as well (vLLM
before 0.26 and parts of SGLang take numbers only). A part of a GPU (MIG) has no number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kimi_desktop.machine.types import Gpu, Machine
from kimi_desktop.machine.visible import MIG_PREFIX, VARIABLE
from kimi_desktop.planner.rpc import without_workers

HIDDEN = "hidden"


def known_gpus(machine: Machine | None) -> tuple[Gpu, ...] | None:
    """The machine's own GPUs in the order of plans.

    Returns:
        None where nothing is known: the machine was not looked at, or no GPU answers. () where the
        user hides all of them.
    """
    if machine is None:
        return None
    gpus = without_workers(machine).gpus
    return gpus if gpus or machine.gpu_note == HIDDEN else None


def visible_gpus(
    gpus: Sequence[Gpu] | None, chosen: Sequence[int] | None, *, by_number: bool = False
) -> Mapping[str, str]:
    """The variable that shows an engine these GPUs, in this order; it counts them from 0.

    Args:
        gpus: from ``known_gpus``.
        chosen: places in ``gpus``; None for all. Those of workers, behind them, are left out.
        by_number: for engines that do not take UUIDs.
    """
    if gpus is None:
        return {} if chosen is None else {VARIABLE: ",".join(map(str, chosen))}
    every = range(len(gpus)) if chosen is None else chosen
    shown = [gpus[place] for place in every if place < len(gpus)]
    has_uuids = all(gpu.uuid for gpu in shown)
    return {VARIABLE: ",".join(_entry(gpu, by_number=by_number or not has_uuids) for gpu in shown)}


def _entry(gpu: Gpu, *, by_number: bool) -> str:
    return str(gpu.index) if by_number and not gpu.uuid.startswith(MIG_PREFIX) else gpu.uuid
