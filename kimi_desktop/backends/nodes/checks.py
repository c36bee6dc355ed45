"""Whether machines can serve a model together: reached, alike, and everything in its place."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence

from kimi_desktop.backends.engines.vllm import FLOOR, TITLE
from kimi_desktop.backends.nodes.scripts import (
    ERROR,
    GPU,
    HAS_ADDRESS,
    HAS_MODEL,
    VERSION,
    question,
)
from kimi_desktop.backends.nodes.shell import ask, last_line, name_of
from kimi_desktop.backends.nodes.types import Node, NodeFacts
from kimi_desktop.backends.rpc.addresses import private_addresses_here
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language, message
from kimi_desktop.models.will_load import version_numbers

ASK_TIMEOUT_S = 180.0
"""vLLM imports torch before it tells its version."""

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


def check_here(nodes: Sequence[Node]) -> None:
    """Those without a name for ssh must be this machine. Blocking.

    Raises:
        BackendError: NODE_BY_HAND.
    """
    here = private_addresses_here()
    for node in nodes:
        if not node.ssh_host and node.address not in here:
            raise BackendError(ErrorCode.NODE_BY_HAND, {"address": node.address})


def checked_words(facts: Sequence[NodeFacts], language: Language) -> tuple[str, ...]:
    """All that was found, a line for each machine."""
    return tuple(
        message(
            "nodes.alike",
            language,
            node=name_of(each.node),
            version=each.version,
            gpus="; ".join(each.gpus) or "–",
        )
        for each in facts
    )


async def check_nodes(nodes: Sequence[Node], program: str, place: str) -> tuple[NodeFacts, ...]:
    """Ask all of them at once.

    Args:
        nodes: the machines, each with a name for ssh or this one.
        program: vLLM's, the same on all.
        place: of the model.

    Raises:
        BackendError: the first thing that is wrong: NODE_UNREACHABLE, NODE_NO_SSH, NODE_NO_ENGINE,
            NODE_OTHER_ADDRESS, NODE_NO_MODEL, ENGINE_TOO_OLD, NODE_OTHER_VERSION,
            NODE_OTHER_GPUS.
    """
    facts = await asyncio.gather(*(_facts(node, program, place) for node in nodes))
    _check_alike(facts)
    return tuple(facts)


async def _facts(node: Node, program: str, place: str) -> NodeFacts:
    text = await ask(node, question(node, program, place), ASK_TIMEOUT_S)
    found = {mark: _after(text, mark) for mark in (VERSION, ERROR, GPU, HAS_ADDRESS, HAS_MODEL)}
    params = {"node": name_of(node), "address": node.address, "program": program, "path": place}
    version = _VERSION.search(next(iter(found[VERSION]), ""))
    if version is None:
        said = "\n".join((*found[ERROR], *found[VERSION])) or text
        raise BackendError(ErrorCode.NODE_NO_ENGINE, {**params, "detail": last_line(said)})
    if not found[HAS_ADDRESS]:
        raise BackendError(ErrorCode.NODE_OTHER_ADDRESS, params)
    if not found[HAS_MODEL]:
        raise BackendError(ErrorCode.NODE_NO_MODEL, params)
    if version_numbers(version[0])[:3] < version_numbers(FLOOR):
        told = {"name": TITLE, "version": version[0], "floor": FLOOR}
        raise BackendError(ErrorCode.ENGINE_TOO_OLD, told)
    return NodeFacts(node, version[0], tuple(found[GPU]))


def _check_alike(facts: Sequence[NodeFacts]) -> None:
    first = facts[0]
    for other in facts[1:]:
        params = {"first": name_of(first.node), "second": name_of(other.node)}
        if other.version != first.version:
            versions = {"here": first.version, "there": other.version}
            raise BackendError(ErrorCode.NODE_OTHER_VERSION, {**params, **versions})
        if Counter(other.gpus) != Counter(first.gpus):
            gpus = {"here": _counted(first.gpus), "there": _counted(other.gpus)}
            raise BackendError(ErrorCode.NODE_OTHER_GPUS, {**params, **gpus})


def _counted(gpus: Sequence[str]) -> str:
    return "; ".join(f"{count} x {name}" for name, count in Counter(gpus).items()) or "–"


def _after(text: str, mark: str) -> list[str]:
    return [line.removeprefix(mark).strip() for line in text.splitlines() if line.startswith(mark)]
