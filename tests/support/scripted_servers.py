"""Plans for checkpoints on scripted services: the real planner on a real geometry, at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kimi_desktop.backends.model_code import ModelCode
from kimi_desktop.backends.nodes.offer import NodesOffer
from kimi_desktop.backends.nodes.types import NodeFacts, typed_nodes
from kimi_desktop.backends.server_facts import BuildFacts
from kimi_desktop.backends.server_planner import (
    ServerOffer,
    ServerPlanner,
    choices_of_plan,
    nodes_of,
    offered_presets,
)
from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.vllm_search import plan_server
from kimi_desktop.planner.vllm_types import ServerWishes
from tests.support.hf_shapes import kimi_linear, model_of

if TYPE_CHECKING:
    from tests.support.scripted_services import ScriptedServices


class ScriptedServers:
    """``code`` is what every model brings along, ``error`` what a look at it meets."""

    def __init__(self, services: ScriptedServices) -> None:
        self._services = services
        self.code = ModelCode()
        self.has_sandbox = True
        self.error: KimiError | None = None
        self.engine_error: KimiError | None = None
        self.nodes_error: KimiError | None = None
        self.shape = kimi_linear
        self.preset_id = "kimi-k2.6"
        self.facts = BuildFacts("vLLM 0.25.1", ("hermes", "kimi_k2"), True, (), frozenset())

    def find(self, model: LocalModel, wishes: ServerWishes) -> Operation[ServerOffer]:
        desk = self._services.desk
        if self.error is not None:
            return desk.failed("servers.find", self.error, model.id, wishes)
        machine = self._services.machine.machine
        served = model_of(self.shape(), model.title)
        plan = plan_server(served, machine, wishes) if machine else None
        offer = ServerOffer(
            plan,
            self.code,
            "",
            (),
            served,
            machine,
            None,
            choices=choices_of_plan(served, machine, plan),
            presets=offered_presets(served, machine, wishes, self.preset_id),
            tool_parser="kimi_k2",
            reasoning_parser="kimi_k2",
            flags=("--tool-call-parser", "kimi_k2", "--reasoning-parser", "kimi_k2"),
            has_sandbox=self.has_sandbox,
        )
        return desk.operation("servers.find", offer, model.id, wishes)

    def words(
        self, offer: ServerOffer, build: str, language: Language, *, on_cpu: bool = False
    ) -> tuple[str, ...]:
        return ServerPlanner.words(self, offer, build, language, on_cpu=on_cpu)  # type: ignore[arg-type]

    def ask(self, settings: LoadSettings) -> Operation[BuildFacts | None]:
        desk = self._services.desk
        if self.engine_error is not None:
            return desk.failed("servers.ask", self.engine_error, settings.model_path)
        return desk.operation("servers.ask", self.facts, settings.model_path)

    def for_nodes(
        self,
        model: LocalModel,
        offer: ServerOffer,
        wishes: ServerWishes,
        nodes: str,
        *,
        trusts_code: bool,
    ) -> Operation[NodesOffer | None]:
        desk = self._services.desk
        try:
            found = nodes_of(model, offer, wishes, nodes, trusts_code=trusts_code)
        except KimiError as error:
            return desk.failed("servers.for_nodes", error, nodes)
        return desk.operation("servers.for_nodes", found, nodes)

    def check_nodes(self, model: LocalModel, nodes: str) -> Operation[tuple[NodeFacts, ...]]:
        desk = self._services.desk
        if self.nodes_error is not None:
            return desk.failed("servers.check_nodes", self.nodes_error, nodes)
        gpus = ("NVIDIA H200, 143771 MiB",) * 8
        facts = tuple(NodeFacts(node, "0.25.1", gpus) for node in typed_nodes(nodes))
        return desk.operation("servers.check_nodes", facts, nodes)

    def planned(
        self, settings: LoadSettings, offer: ServerOffer, *, on_cpu: bool = False
    ) -> LoadSettings:
        return ServerPlanner.planned(self, settings, offer, on_cpu=on_cpu)  # type: ignore[arg-type]
