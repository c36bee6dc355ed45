"""The verbs that need the engine, joined to the services, and ``chat``. Main thread."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from types import FrameType

from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.errors import ErrorCode, KimiError, ModelError
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.chat.terminal import TerminalChat
from kimi_desktop.core import Core
from kimi_desktop.models.library import Library, find_named
from kimi_desktop.models.types import LocalModel, default_model
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.served_start import settings_to_start

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
    trusts_code: bool,
    shut_in: bool,
    json_output: bool,
) -> int:
    """Start the model and converse, or answer ``prompt`` and leave. Returns the exit code.

    Raises:
        KimiError: no such model, or one that cannot be started.
    """
    with running_core(paths, language) as core:
        if endpoint:
            title, start = attaching(core, endpoint, wanted)
        else:
            model = find_model(core, wanted)
            if model.is_starter and not json_output:
                sys.stderr.write(message("cli.demo", language) + "\n")
            chosen = core.engine.settings_for(model)
            settings = settings_to_start(
                chosen, model, language, trusts_code=trusts_code, shut_in=shut_in
            )
            title, start = model.title, partial(core.engine.start, settings)
        talk = TerminalChat(core.chats, core.engine, core.bus, language, json_output=json_output)
        try:
            talk.wait_until_ready(start(), title)
        except KimiError:  # it has been said
            return 1
        return talk.run(prompt)


def attaching(
    core: Core, endpoint: str, wanted: str | None
) -> tuple[str, Callable[[], Operation[EngineStatus]]]:
    """A title, and what attaches to a model of another server for this run."""
    core.other_servers.find_ollama().result()
    return wanted or endpoint, partial(
        core.other_servers.attach, endpoint, wanted or "", remember=False
    )
