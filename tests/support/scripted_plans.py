"""The real planner behind a scripted window: searches end when the desk says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kimi_desktop.backends.defaults import plain_settings
from kimi_desktop.backends.load_planner import LoadPlanner
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.operation import Operation
from kimi_desktop.models.types import LocalModel
from tests.support.scripted_desk import Desk

if TYPE_CHECKING:
    from tests.support.scripted_services import ScriptedServices


class DeskPool:
    """Works at once, and hands the result out as the operation ``plans.find``."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def pool(self, function: Callable[..., Any], *arguments: Any) -> Operation[Any]:
        try:
            result = function(*arguments)
        except KimiError as error:
            return self._desk.failed("plans.find", error, *arguments)
        return self._desk.operation("plans.find", result, *arguments)


def scripted_plans(services: ScriptedServices) -> LoadPlanner:
    """The planner of these services."""

    def begin(model: LocalModel) -> LoadSettings:
        if model.is_served:
            return plain_settings(model, EngineKind.VLLM, services.engine.vllm)
        return plain_settings(model, EngineKind.EMBEDDED, None)

    return LoadPlanner(
        DeskPool(services.desk),  # type: ignore[arg-type]
        services.store,
        machine=lambda: services.machine.machine,
        begin=begin,
        uses_gpus=services.engine.uses_gpus,
    )
