"""The verbs that need the engine, joined to the services: ``chat`` and ``serve``. Main thread."""

from __future__ import annotations

import dataclasses
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kimi_desktop.base.errors import ErrorCode, KimiError, ModelError
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.chat.terminal import TerminalChat
from kimi_desktop.chat.terminal_output import JsonOutput, PlainOutput
from kimi_desktop.core import Core
from kimi_desktop.models.library import Library, find_named
from kimi_desktop.models.types import LocalModel, default_model
from kimi_desktop.planner.cache import kv_bytes_per_token

POLL_S = 0.2


@contextmanager
def running_core(paths: AppPaths) -> Iterator[Core]:
    """The services, started and closed; the machine has been looked at."""
    core = Core(paths)
    try:
        core.start()
        core.machine.probe().result()
        yield core
    finally:
        core.close()


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
    prompt: str | None,
    json_output: bool,
) -> int:
    """Start the model and converse, or answer ``prompt`` and leave. Returns the exit code."""
    with running_core(paths) as core:
        model = find_model(core, wanted)
        if model.is_starter and not json_output:
            sys.stderr.write(message("cli.demo", language) + "\n")
        talk = TerminalChat(core.chats, core.engine, core.bus, language, json_output=json_output)
        starting = core.engine.start(core.engine.settings_for(model))
        try:
            talk.wait_until_ready(starting, model.title)
        except KimiError:  # it has been said
            return 1
        return talk.run(prompt)


def serve(
    paths: AppPaths,
    language: Language,
    *,
    wanted: str | None,
    port: int | None,
    json_output: bool,
) -> int:
    """Start the model and the gateway, and hold both until Ctrl+C. Returns the exit code.

    Raises:
        KimiError: model, engine or gateway failed.
    """
    with running_core(paths) as core:
        model = find_model(core, wanted)
        output = (
            JsonOutput(sys.stdout, language)
            if json_output
            else PlainOutput(sys.stdout, sys.stderr, language)
        )
        output.loading(model.title, None)
        status = core.engine.start(core.engine.settings_for(model)).result()
        output.ready(model.title, status.engine_name)
        if port is not None:  # a choice like any other: remembered
            core.store.update(
                lambda s: dataclasses.replace(s, serve=dataclasses.replace(s.serve, port=port))
            )
        serving = core.serve.switch_on().result()
        if json_output:
            line = {"event": "serving", "url": serving.url, "key": serving.api_key}
            sys.stdout.write(json.dumps(line) + "\n")
        else:
            for text in (
                message("cli.serve.ready", language, model=model.title, url=serving.url),
                message("cli.serve.key", language, api_key=serving.api_key),
                message("cli.serve.end", language),
            ):
                sys.stdout.write(text + "\n")
        sys.stdout.flush()
        _hold(core)
    return 0


def _hold(core: Core) -> None:
    """Wait until Ctrl+C, or raise what ended the engine or the gateway."""
    never = threading.Event()
    while not never.wait(POLL_S):
        for error in (core.engine.status.error, core.serve.status.error):
            if error is not None:
                raise error
