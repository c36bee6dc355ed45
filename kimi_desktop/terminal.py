"""The verbs that need the engine, joined to the services: ``chat`` and ``serve``. Main thread."""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from types import FrameType

from kimi_desktop.backends.types import EngineStatus, LoadRemarked, LoadSettings
from kimi_desktop.base.errors import ErrorCode, KimiError, ModelError, ServeError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.terminal import json_text
from kimi_desktop.chat.terminal import TerminalChat
from kimi_desktop.chat.terminal_output import JsonOutput, Output, PlainOutput
from kimi_desktop.core import Core
from kimi_desktop.models.library import Library, find_named
from kimi_desktop.models.types import LocalModel, default_model
from kimi_desktop.monitor.experiment_types import (
    Experiment,
    ExperimentProgressed,
    ExperimentWish,
    Point,
    Variable,
)
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.plan_types import Profile
from kimi_desktop.serve.network import lan_addresses
from kimi_desktop.serve.types import ServeStatus

POLL_S = 0.2


@contextmanager
def running_core(paths: AppPaths, language: Language) -> Iterator[Core]:
    """The services, started and closed; the machine and those that help it have been looked at.

    An engine that a killed run left behind is ended first: its memory is missing otherwise.
    SIGTERM ends them as Ctrl+C does: services and closing sessions send no other signal.
    """
    core = Core(paths)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        _end_leftovers(core, language)
        core.start()
        core.machine.probe().result()
        core.workers.refresh().result()
        yield core
    finally:
        core.close()


def _end_leftovers(core: Core, language: Language) -> None:
    leftovers = core.engine.find_leftovers().result()
    if not leftovers:
        return
    core.engine.end_leftovers(leftovers).result()
    for one in leftovers:
        model = PurePath(one.model_path).name
        text = message("cli.leftover_ended", language, model=model, pid=one.pid)
        sys.stderr.write(text + "\n")


@contextmanager
def idle_core(paths: AppPaths) -> Iterator[Core]:
    """The services without a look at the machine or the library."""
    core = Core(paths)
    try:
        yield core
    finally:
        core.close()


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def find_model(core: Core, wanted: str | None) -> LocalModel:
    """The model that ``wanted`` names, a file anywhere included; the last one used without it.

    Raises:
        ModelError: there is none, several fit, or it cannot be started.
    """
    models = core.models.scan().result()
    if wanted is None:
        model = default_model(models, core.store.settings.models.selected)
        if model is None:
            raise ModelError(ErrorCode.NO_MODEL)
        if model.problem is not None:
            raise model.problem
        return model
    return find_named(models, wanted, Library(kv_bytes_per_token))


def chat(
    paths: AppPaths,
    language: Language,
    *,
    wanted: str | None,
    endpoint: str | None,
    prompt: str | None,
    json_output: bool,
) -> int:
    """Start the model and converse, or answer ``prompt`` and leave. Returns the exit code."""
    with running_core(paths, language) as core:
        if endpoint:
            title, start = _attaching(core, endpoint, wanted)
        else:
            model = find_model(core, wanted)
            if model.is_starter and not json_output:
                sys.stderr.write(message("cli.demo", language) + "\n")
            title, start = model.title, partial(core.engine.start, core.engine.settings_for(model))
        talk = TerminalChat(core.chats, core.engine, core.bus, language, json_output=json_output)
        try:
            talk.wait_until_ready(start(), title)
        except KimiError:  # it has been said
            return 1
        return talk.run(prompt)


def _attaching(
    core: Core, endpoint: str, wanted: str | None
) -> tuple[str, Callable[[], Operation[EngineStatus]]]:
    """A title, and what attaches to a model of another server."""
    core.other_servers.find_ollama().result()
    return wanted or endpoint, lambda: core.other_servers.attach(endpoint, wanted or "")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve; None = as it was chosen in the window."""

    port: int | None = None
    address: str | None = None
    """Of this machine in a local network; "" = this machine only."""
    encrypted: bool | None = None
    profile: Profile | None = None
    context: int | None = None
    endpoint: str | None = None
    """A server that somebody else runs, instead of an engine."""


def serve(
    paths: AppPaths,
    language: Language,
    *,
    wanted: str | None,
    options: ServeOptions,
    json_output: bool,
) -> int:
    """Start the gateway and the model, and hold both until Ctrl+C. Returns the exit code.

    The gateway comes first: a taken port is said before hundreds of gigabytes are read.

    Raises:
        KimiError: model, engine or gateway failed.
    """
    with running_core(paths, language) as core:
        title, start = _begin_serving(core, wanted, options)
        _remember(core, options)
        serving = core.serve.switch_on().result()
        output = (
            JsonOutput(sys.stdout, language)
            if json_output
            else PlainOutput(sys.stdout, sys.stderr, language)
        )
        output.loading(title, None)
        remarks: queue.SimpleQueue[Event] = queue.SimpleQueue()
        core.bus.subscribe(remarks.put)
        status = start().result()
        output.ready(title, status.engine_name)
        if json_output:
            line = {
                "event": "serving",
                "url": serving.url,
                "key": serving.api_key,
                "certificate": str(serving.certificate) if serving.certificate else None,
                "fingerprint": serving.fingerprint or None,
            }
            sys.stdout.write(json_text(line) + "\n")
        else:
            for text in (
                message("cli.serve.ready", language, model=title, url=serving.url),
                message("cli.serve.key", language, api_key=serving.api_key),
                *_certificate_lines(serving, language),
                message("cli.serve.end", language),
            ):
                sys.stdout.write(text + "\n")
        sys.stdout.flush()
        _hold(core, output, remarks)
    return 0


def _certificate_lines(serving: ServeStatus, language: Language) -> list[str]:
    if serving.certificate is None:
        return []
    facts = {"path": str(serving.certificate), "fingerprint": serving.fingerprint}
    return [message("cli.serve.certificate", language, **facts)]


def _remember(core: Core, options: ServeOptions) -> None:
    """A choice that is typed is one like any other."""
    before = core.store.settings.serve
    chosen = dataclasses.replace(
        before,
        port=before.port if options.port is None else options.port,
        address=before.address if options.address is None else options.address,
        encrypted=before.encrypted if options.encrypted is None else options.encrypted,
    )
    if chosen != before:
        core.store.update(lambda s: dataclasses.replace(s, serve=chosen))


def _begin_serving(
    core: Core, wanted: str | None, options: ServeOptions
) -> tuple[str, Callable[[], Operation[EngineStatus]]]:
    """A title, and what brings the model up."""
    if options.endpoint:
        return _attaching(core, options.endpoint, wanted)
    model = find_model(core, wanted)
    return model.title, lambda: core.engine.start(_settings_to_serve(core, model, options))


def _settings_to_serve(core: Core, model: LocalModel, options: ServeOptions) -> LoadSettings:
    """The model's own, or the planner's for the wishes that were typed."""
    if options.profile is None and options.context is None:
        return core.engine.settings_for(model)
    wishes = core.plans.choices(model).wishes
    wishes = dataclasses.replace(
        wishes,
        profile=options.profile or wishes.profile,
        context=options.context if options.context is not None else wishes.context,
    )
    return core.plans.find(model, wishes).result().settings


def lan_address(wanted: str) -> str:
    """The address to serve at: ``wanted``, or the machine's own in its first local network.

    Raises:
        ServeError: SERVE_NO_ADDRESS.
    """
    found = lan_addresses()
    if (wanted and wanted not in found) or not found:
        raise ServeError(ErrorCode.SERVE_NO_ADDRESS, {"address": wanted or "-"})
    return wanted or found[0]


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What to measure."""

    variable: Variable
    values: tuple[str, ...]


def bench(
    paths: AppPaths,
    language: Language,
    *,
    wanted: str | None,
    options: BenchOptions,
    json_output: bool,
) -> int:
    """Measure value by value, or more and more users at once. Returns the exit code.

    Raises:
        KimiError: no such model, or a value that cannot be.
    """
    with running_core(paths, language) as core:
        model = find_model(core, wanted)
        wish = ExperimentWish(
            core.engine.settings_for(model), model.title, options.variable, options.values
        )
        if not json_output:
            sys.stdout.write(message("cli.bench.head", language, model=model.title) + "\n")
        shown = 0

        def follow(event: Event) -> None:
            if isinstance(event, ExperimentProgressed):
                show(event.experiment)

        def show(experiment: Experiment) -> None:
            nonlocal shown
            for point in experiment.points[shown:]:
                line = _bench_json(point, options.variable, language)
                if not json_output:
                    line = _bench_line(point, options.variable, language)
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            shown = len(experiment.points)

        leave = core.bus.subscribe(follow)
        operation = core.experiments.run(wish)
        try:
            found = operation.result()
        except KeyboardInterrupt:
            operation.cancel()  # the engine ends with the services
            raise
        finally:
            leave()
        show(found)
    return 0 if any(point.error is None for point in found.points) else 1


def _bench_json(point: Point, variable: Variable, language: Language) -> str:
    values = dataclasses.asdict(dataclasses.replace(point, error=None))
    error = "" if point.error is None else describe_error(point.error, language)[0]
    return json_text({"label": f"{variable.value}={values.pop('value')}", **values, "error": error})


def _bench_line(point: Point, variable: Variable, language: Language) -> str:
    label = f"{variable.value}={point.value}"
    if point.error is not None:
        return f"{label:<16}{describe_error(point.error, language)[0]}"
    parts = [
        message(f"cli.bench.{name}", language, value=f"{value:.1f}")
        for name, value in (
            ("prefill", point.prefill_tps),
            ("decode", point.decode_tps),
            ("total", point.total_tps),
            ("first", point.first_token_s),
            ("load", point.load_s),
        )
        if value is not None
    ]
    return f"{label:<16}" + "  ".join(parts)


def _hold(core: Core, output: Output, events: queue.SimpleQueue[Event]) -> None:
    """Tell remarks until Ctrl+C, or raise what ended the engine or the gateway."""
    while True:
        with contextlib.suppress(queue.Empty):
            event = events.get(timeout=POLL_S)
            for remark in event.remarks if isinstance(event, LoadRemarked) else ():
                output.remark(remark)
        for error in (core.engine.status.error, core.serve.status.error):
            if error is not None:
                raise error
