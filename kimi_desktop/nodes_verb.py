"""The verb ``nodes``: one model on several machines with vLLM. No Qt, on the main thread.

Says what to run on every machine; asks the machines over ssh, starts the engine there and ends it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TextIO, TypeVar

from kimi_desktop.backends.nodes.checks import check_here, check_nodes, checked_words
from kimi_desktop.backends.nodes.run import NodesRun
from kimi_desktop.backends.nodes.shell import name_of
from kimi_desktop.backends.nodes.types import Node, NodeFacts
from kimi_desktop.base.errors import BackendError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.vllm_flags import KEY_FILE
from kimi_desktop.planner.vllm_nodes import (
    Launcher,
    NodeCommand,
    ServedModel,
    node_commands,
    plan_nodes,
    with_consent,
)
from kimi_desktop.planner.vllm_report import server_headline
from kimi_desktop.planner.vllm_types import ServerPlan, ServerSettings, ServerWishes, Split
from kimi_desktop.serving_plan import ServedTarget, needed_by

T = TypeVar("T")
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class NodesOptions:
    """What a person typed."""

    nodes: tuple[Node, ...]
    wishes: ServerWishes
    launcher: Launcher
    program: str
    port: int
    checks: bool
    runs: bool
    trusts_code: bool


def serve_on_nodes(
    paths: AppPaths,
    target: ServedTarget,
    machine: Machine,
    options: NodesOptions,
    language: Language,
    *,
    json_output: bool,
    out: TextIO = sys.stdout,
    error_out: TextIO = sys.stderr,
) -> int:
    """Write the commands, and check or run them where that was asked for; the exit code.

    Args:
        paths: of the profile.
        target: the model.
        machine: one of the machines.
        options: what was typed.
        language: of the sentences.
        json_output: one object per event.
        out: where to tell.
        error_out: for warnings.

    Raises:
        BackendError: a machine cannot take part, or its engine ended.
        PlanError: a split that no engine can do.
    """
    plan = plan_nodes(target.model, machine, len(options.nodes), options.wishes)
    teller = _Teller(out, error_out, language, json_output=json_output)
    served = served_model(target, plan, options)
    commands = node_commands(served, [node.address for node in options.nodes], options.launcher)
    teller.warn("nodes.warning")
    if target.model.config.needs_code and not options.trusts_code:
        teller.warn("nodes.code")
    teller.commands(plan, commands, options)
    fits = plan is None or plan.fits
    if not options.checks and not options.runs:
        return 0 if fits else 1
    check_here(options.nodes)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
    io = IoLoop()
    try:
        teller.line("nodes.asking", count=len(options.nodes))
        asking = io.submit(lambda: check_nodes(options.nodes, served.program, served.place))
        facts = _heard(asking)
        teller.checked(facts)
        if not options.runs:
            return 0 if fits else 1
        if not fits:
            return 1
        paths.make()
        raise _run(io, paths, commands, options, teller)
    finally:
        io.close()


def served_model(
    target: ServedTarget, plan: ServerPlan | None, options: NodesOptions
) -> ServedModel:
    """What is served and how; without a plan as it was typed."""
    wishes = options.wishes
    settings = (
        plan.forecast.settings
        if plan is not None
        else ServerSettings(
            split=wishes.split or Split(pipeline=len(options.nodes)),
            context=wishes.context or target.model.config.context_train or 4096,
        )
    )
    needs = needed_by(target.entry, target.source, wishes.engine)
    extra = with_consent(needs, trusts_code=options.trusts_code)
    return ServedModel(target.place, settings, extra, options.program, options.port)


def _run(
    io: IoLoop,
    paths: AppPaths,
    commands: Sequence[NodeCommand],
    options: NodesOptions,
    teller: _Teller,
) -> BackendError:
    """Start, tell, hold; ended in any case. Returns why it ended by itself."""
    run = NodesRun(io, options.nodes, commands, paths.logs, options.port)
    teller.line("nodes.starting", count=len(options.nodes))
    try:
        _heard(io.submit(run.begin))
        teller.ready(f"http://127.0.0.1:{options.port}/v1", run.key)
        return _heard(io.submit(run.wait))
    finally:
        io.submit(run.end).result()


def _heard(operation: Operation[T]) -> T:
    """Wait in steps, so that Ctrl+C is heard."""
    never = threading.Event()
    while not operation.done:
        never.wait(POLL_S)
    return operation.result()


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


class _Teller:
    """Lines for people, or one object per event."""

    def __init__(
        self, out: TextIO, error_out: TextIO, language: Language, *, json_output: bool
    ) -> None:
        self._out = out
        self._error_out = error_out
        self._language = language
        self._json = json_output

    def warn(self, key: str) -> None:
        """On stderr, in both forms."""
        self._error_out.write(message(key, self._language) + "\n")
        self._error_out.flush()

    def line(self, key: str, **params: str | int) -> None:
        """For people only."""
        if not self._json:
            self._write(message(key, self._language, **params))

    def commands(
        self, plan: ServerPlan | None, commands: Sequence[NodeCommand], options: NodesOptions
    ) -> None:
        """The plan in a sentence, then what to run where."""
        headline = server_headline(plan, self._language) if plan is not None else None
        if self._json:
            rows = [
                {"node": each.node, "address": each.address, "command": each.line}
                for each in commands
            ]
            self._say(event="commands", headline=headline, nodes=rows)
            return
        self._write(headline or message("nodes.no_plan", self._language))
        self.line("nodes.same_everywhere")
        self.line("nodes.key", path=KEY_FILE)
        for each in commands:
            self.line("nodes.on", node=name_of(options.nodes[each.node]))
            self._write(f"  {each.line}")

    def checked(self, facts: Sequence[NodeFacts]) -> None:
        """All of them answered, and are alike."""
        if self._json:
            rows = [
                {"address": each.node.address, "version": each.version, "gpus": list(each.gpus)}
                for each in facts
            ]
            self._say(event="checked", nodes=rows)
            return
        for line in checked_words(facts, self._language):
            self._write(line)
        self.line("nodes.checked")

    def ready(self, url: str, key: str) -> None:
        """The first one answers."""
        if self._json:
            self._say(event="ready", url=url, key=key)
            return
        self.line("nodes.ready", url=url, secret=key)
        self.line("nodes.end")

    def _write(self, text: str) -> None:
        self._out.write(printable(text) + "\n")
        self._out.flush()

    def _say(self, **event: object) -> None:
        self._write(json_text(event))
