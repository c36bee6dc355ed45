"""A checkpoint over several machines, for the window: verdict and lines to copy. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from kimi_desktop.backends.nodes.shell import name_of
from kimi_desktop.backends.nodes.types import Node, typed_nodes
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.vllm_nodes import (
    TRUST,
    ServedModel,
    node_commands,
    plan_nodes,
    with_consent,
)
from kimi_desktop.planner.vllm_types import ServerPlan, ServerWishes
from kimi_desktop.planner.vllm_weights import VllmModel


@dataclass(frozen=True, slots=True)
class NodeLine:
    """What to run on one machine."""

    name: str
    line: str


@dataclass(frozen=True, slots=True)
class NodesOffer:
    """What to run where."""

    plan: ServerPlan
    lines: tuple[NodeLine, ...]
    verb: str
    """What checks, starts and ends them all from this machine's terminal."""


@dataclass(frozen=True, slots=True)
class NodesWish:
    """What is asked."""

    model: VllmModel
    place: str
    """Of the model: a folder, the same on every machine."""
    machine: Machine
    """One of the machines: this one."""
    wishes: ServerWishes
    flags: tuple[str, ...]
    """That the model needs besides."""
    nodes: str
    """As the user typed them, with spaces or commas between."""
    trusts_code: bool = False


def offer_nodes(wish: NodesWish) -> NodesOffer | None:
    """Plan it; None where no GPU is known.

    Raises:
        BackendError: the machines are not named right.
        PlanError: it cannot be dealt out to so many.
    """
    nodes = typed_nodes(wish.nodes)
    plan = plan_nodes(wish.model, wish.machine, len(nodes), wish.wishes)
    if plan is None:
        return None
    extra = with_consent(wish.flags, trusts_code=wish.trusts_code)
    served = ServedModel(wish.place, plan.forecast.settings, extra)
    commands = node_commands(served, [node.address for node in nodes])
    lines = tuple(
        NodeLine(name_of(node), command.line) for node, command in zip(nodes, commands, strict=True)
    )
    return NodesOffer(plan, lines, _verb(wish, nodes, plan))


def _verb(wish: NodesWish, nodes: tuple[Node, ...], plan: ServerPlan) -> str:
    split = plan.forecast.settings.split
    words = ["kimi-desktop", "nodes", wish.place]
    words += [
        f"{node.address}={node.ssh_host}" if node.ssh_host else node.address for node in nodes
    ]
    words += ["--tp", str(split.tensor), "--pp", str(split.pipeline)]
    words += ["--ctx", str(plan.forecast.settings.context), "--run"]
    return shlex.join([*words, *([TRUST] if wish.trusts_code else [])])
