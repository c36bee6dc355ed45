"""What the terminal asks the installed engine about a model, and how it says the answers.

No Qt, on the caller's thread: it waits up to a second for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.backends.engine_checks import EngineChecks
from kimi_desktop.backends.engines.choose import Engines
from kimi_desktop.backends.exact_check import check_exactly
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.header_copy import HeaderCopy
from kimi_desktop.models.types import LocalModel
from kimi_desktop.models.will_load import LoadVerdict, load_sentences
from kimi_desktop.planner.plan_types import Plan
from kimi_desktop.planner.report import device_object
from kimi_desktop.planner.types import ExactCheck


def ask_loads(model: LocalModel, header: HeaderCopy, engines: Engines) -> LoadVerdict:
    """Whether the installed engine would load a model.

    Args:
        model: with its facts.
        header: of its first part.
        engines: as the user chose them.
    """
    io = IoLoop()
    try:
        checks = EngineChecks(io, build=engines.chosen_build, catalogue=shipped_catalogue)
        return checks.will_load(model, header).result()
    finally:
        io.close()


def exact_checker(
    whole: Callable[[], Path | Sequence[HeaderCopy]], machine: Machine
) -> Callable[[Plan], ExactCheck | None]:
    """Asks llama.cpp what a plan would hold.

    Args:
        whole: the model's first file, or the headers of all its parts.
        machine: what the plan is for.
    """

    def check(plan: Plan) -> ExactCheck | None:
        model = whole()
        io = IoLoop()
        try:
            return io.submit(
                lambda: check_exactly(model, plan.placement, machine, plan.gpus, plan.forecast)
            ).result()
        finally:
            io.close()

    return check


def loads_lines(loads: LoadVerdict, language: Language) -> list[str]:
    """The findings, one line each with what to do."""
    return [" ".join(filter(None, pair)) for pair in load_sentences(loads, language)]


def loads_object(loads: LoadVerdict, language: Language) -> dict[str, Any]:
    """The findings as JSON has them."""
    return {
        "build": loads.build,
        "will_load": loads.will_load,
        "found": [one.kind.value for one in loads.found],
        "sentences": loads_lines(loads, language),
    }


def check_lines(check: ExactCheck | None, refused: str, language: Language) -> list[str]:
    """One sentence about what the engine says beside the forecast; ``refused`` is why not."""
    if check is None:
        return [message(refused, language)]
    if not check.largest_difference_bytes:
        return [message("plan.check.same", language, build=check.build)]
    key = "agrees" if check.agrees else "more" if check.engine_takes_more else "less"
    gpu = check.difference_device.partition(":")[2]
    device = f"GPU {gpu}" if gpu else message("plan.device.ram", language)
    difference = format_gib(check.largest_difference_bytes)
    params = {"build": check.build, "difference": difference, "device": device}
    return [message(f"plan.check.{key}", language, **params)]


def check_object(check: ExactCheck | None) -> dict[str, Any] | None:
    """The engine's figures as JSON has them."""
    if check is None:
        return None
    return {
        "build": check.build,
        "agrees": check.agrees,
        "largest_difference": check.largest_difference_bytes,
        "difference_device": check.difference_device,
        "engine_takes_more": check.engine_takes_more,
        "devices": [device_object(row) for row in check.devices],
    }
