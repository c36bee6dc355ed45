"""Several machines serve with vLLM: the plan, and the exact command of each of them. Pure.

Every machine (node) runs the same command with a rank of its own; the first one answers requests.
vLLM's processes find each other by the first one's address (``--nnodes``), or Ray starts them.
Tensor parallelism stays within a machine and a pipeline goes over machines, unless the user says
otherwise: a network is slower than any link between GPUs. Seen running: vLLM 0.32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.report import shell_word
from kimi_desktop.planner.vllm_flags import NO_HOST, server_flags, with_key
from kimi_desktop.planner.vllm_search import forecast_split, plan_server
from kimi_desktop.planner.vllm_types import ServerPlan, ServerSettings, ServerWishes, Split
from kimi_desktop.planner.vllm_weights import VllmModel

MEETING_PORT = 29501
"""Where the processes meet (``--master-port``), on the first machine."""
RAY_PORT = 6379
API_PORT = 8000
MOST_NODES = 64
QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0",
}
LINKS = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
"""Variables that name the network interface to use; unset, the first one that is up is taken."""


PROGRAM = "vllm"
TRUST = "--trust-remote-code"


class Launcher(StrEnum):
    """Who starts the processes of the other machines."""

    PROCESSES = "processes"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What is served."""

    place: str
    """A folder that is the same on every machine, or "owner/name"."""
    settings: ServerSettings
    extra: tuple[str, ...] = ()
    """Flags that the model needs besides."""
    program: str = PROGRAM
    port: int = API_PORT
    """Of the API, on the first machine's own 127.0.0.1."""


@dataclass(frozen=True, slots=True)
class NodeCommand:
    """One line to run on one machine."""

    node: int
    """Its rank."""
    address: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    answers: bool = False
    """It serves the API, which wants a key (``VLLM_API_KEY``)."""

    @property
    def line(self) -> str:
        """For a POSIX shell on that machine; the one that answers reads its key from a file."""
        set_before = [f"{name}={shell_word(value)}" for name, value in self.environment.items()]
        links = [f'{name}="{interface_of(self.address)}"' for name in LINKS]
        line = " ".join([*set_before, *links, *(shell_word(word) for word in self.words)])
        return with_key(line) if self.answers else line


def interface_of(address: str) -> str:
    """A shell's words for the name of the interface that has the address (Linux)."""
    return f"$(ip -o -4 addr show to {address} | awk '{{print $2}}')"


def with_consent(flags: Sequence[str], *, trusts_code: bool) -> tuple[str, ...]:
    """The flags that a model needs; its own code runs only when somebody has said so."""
    others = tuple(flag for flag in flags if flag != TRUST)
    return (*others, TRUST) if trusts_code else others


def machine_of_nodes(machine: Machine, nodes: int) -> Machine:
    """So many machines like this one as if they were one."""
    gpus = tuple(
        dataclasses.replace(gpu, index=number * len(machine.gpus) + gpu.index)
        for number in range(nodes)
        for gpu in machine.gpus
    )
    return dataclasses.replace(machine, gpus=gpus)


def plan_nodes(
    model: VllmModel, machine: Machine, nodes: int, wishes: ServerWishes
) -> ServerPlan | None:
    """How the model would be served on ``nodes`` machines like ``machine``.

    Args:
        model: what is served.
        machine: one of them; the memory of every GPU counts as it does on a single machine.
        nodes: how many.
        wishes: with a split it is taken, else the largest tensor-parallel size within a machine.

    Returns:
        None where no GPU is known: nothing can be said.

    Raises:
        PlanError: PLAN_NODES, the split cannot be dealt out to so many machines; a wish that no
            engine can fulfil.
    """
    if not machine.gpus:
        return None
    together = machine_of_nodes(machine, nodes)
    if wishes.split is None:
        wishes = dataclasses.replace(wishes, split=_split(model, together, nodes, wishes))
    assert wishes.split is not None
    check_split(wishes.split, nodes)
    return plan_server(model, together, wishes)


def check_split(split: Split, nodes: int) -> None:
    """VLLM deals out the same number of GPUs to every machine.

    Raises:
        PlanError: PLAN_NODES.
    """
    if split.n_gpu % nodes:
        raise PlanError(ErrorCode.PLAN_NODES, {"gpus": split.n_gpu, "nodes": nodes})


def node_commands(
    served: ServedModel,
    addresses: Sequence[str],
    launcher: Launcher = Launcher.PROCESSES,
) -> tuple[NodeCommand, ...]:
    """What to run where, in the order of the addresses; with Ray the server's own line is last.

    Raises:
        PlanError: PLAN_NODES.
    """
    check_split(served.settings.split, len(addresses))
    if launcher is Launcher.RAY:
        return _with_ray(served, addresses)
    together = (
        "--nnodes", str(len(addresses)),
        "--master-addr", addresses[0],
        "--master-port", str(MEETING_PORT),
    )  # fmt: skip
    return tuple(
        NodeCommand(
            rank,
            address,
            (
                *_serve(served),
                *together,
                "--node-rank",
                str(rank),
                *(_api(served) if rank == 0 else ("--headless",)),
            ),
            environment_of(served, address),
            answers=rank == 0,
        )
        for rank, address in enumerate(addresses)
    )


def environment_of(served: ServedModel, address: str) -> dict[str, str]:
    """The variables of one machine; what it has as a folder it need not ask a hub for."""
    at_home = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    is_folder = served.place.startswith(("/", "~", "."))
    return {"VLLM_HOST_IP": address, **QUIET, **(at_home if is_folder else {})}


def _serve(served: ServedModel) -> tuple[str, ...]:
    flags = server_flags(served.settings, extra=served.extra)
    return (served.program, "serve", served.place, *flags)


def _api(served: ServedModel) -> tuple[str, ...]:
    return (
        *("--host", "127.0.0.1", "--port", str(served.port)),
        *("--allowed-media-domains", NO_HOST),
    )


def _with_ray(served: ServedModel, addresses: Sequence[str]) -> tuple[NodeCommand, ...]:
    head = addresses[0]
    begin = ["ray", "start", "--head", "--port", str(RAY_PORT), "--node-ip-address", head]
    found = [NodeCommand(0, head, tuple(begin), environment_of(served, head))]
    for rank, address in enumerate(addresses[1:], start=1):
        join = ["ray", "start", "--address", f"{head}:{RAY_PORT}", "--node-ip-address", address]
        found.append(NodeCommand(rank, address, tuple(join), environment_of(served, address)))
    words = (*_serve(served), "--distributed-executor-backend", "ray", *_api(served))
    return (*found, NodeCommand(0, head, words, environment_of(served, head), answers=True))


def _split(model: VllmModel, together: Machine, nodes: int, wishes: ServerWishes) -> Split:
    """The widest tensor-parallel size that works, and a pipeline over the rest."""
    each = len(together.gpus) // nodes
    ways = [
        Split(tensor, nodes * each // tensor) for tensor in range(each, 0, -1) if each % tensor == 0
    ]
    for way in ways:
        if forecast_split(model, together, wishes, way).fits:
            return way
    return ways[0]
