"""Machines that serve one model together. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.backends.rpc.addresses import private_host
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.planner.vllm_nodes import MOST_NODES

_SSH_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,200}")


@dataclass(frozen=True, slots=True)
class Node:
    """One machine."""

    address: str
    """Private IPv4, where the others reach it."""
    ssh_host: str = ""
    """What the user's ssh knows it as ("ada@gpu2"); "" = this machine, or started by hand."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a machine told."""

    node: Node
    version: str
    """Of its vLLM."""
    gpus: tuple[str, ...] = ()
    """Each as nvidia-smi has it, "NVIDIA H200, 143771 MiB"; none where nvidia-smi is not there."""


def typed_nodes(text: str) -> tuple[Node, ...]:
    """Of one line, with spaces or commas between; raises as ``parse_nodes``."""
    return parse_nodes(text.replace(",", " ").split())


def parse_nodes(texts: Sequence[str]) -> tuple[Node, ...]:
    """The machines that a person named, the first one answers requests.

    Args:
        texts: "10.0.0.2" or "10.0.0.2=ada@gpu2" each, with what ssh knows the machine as.

    Raises:
        BackendError: NODE_COUNT, NODE_BAD_NAME, NODE_TWICE; WORKER_BAD_ADDRESS,
            WORKER_PUBLIC_ADDRESS.
    """
    if not 2 <= len(texts) <= MOST_NODES:
        raise BackendError(ErrorCode.NODE_COUNT, {"count": len(texts), "most": MOST_NODES})
    nodes = []
    for text in texts:
        address, named, host = text.strip().partition("=")
        if named and not _SSH_HOST.fullmatch(host):
            raise BackendError(ErrorCode.NODE_BAD_NAME, {"name": host[:80]})
        nodes.append(Node(private_host(address), host))
    addresses = [node.address for node in nodes]
    for address in addresses:
        if addresses.count(address) > 1:
            raise BackendError(ErrorCode.NODE_TWICE, {"address": address})
    return tuple(nodes)
