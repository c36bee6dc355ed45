"""The verb ``serve``: a model for other programs without a window, or a unit that does so.

Main thread. What is typed holds for this run alone: the local network is open when ``--lan`` says
so, and never because it once did.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import queue
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.types import EngineStatus, LoadRemarked, LoadSettings
from kimi_desktop.base.errors import ErrorCode, PlanError, ServeError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import HOME_VARIABLE, AppPaths
from kimi_desktop.base.terminal import columns_of, json_text
from kimi_desktop.chat.terminal_load import follow_load
from kimi_desktop.chat.terminal_output import JsonOutput, Output, PlainOutput
from kimi_desktop.core import Core
from kimi_desktop.models.library import existing_path
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.plan_types import Profile
from kimi_desktop.serve.network import lan_addresses
from kimi_desktop.serve.qr import qr_lines
from kimi_desktop.serve.types import Reach, ServeStatus
from kimi_desktop.serve.unit import UNIT_NAME, write_unit
from kimi_desktop.served_start import settings_to_start
from kimi_desktop.terminal import attaching, find_model, running_core

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve; None = as the settings say."""

    port: int | None = None
    address: str = ""
    """Of this machine in a local network; "" = this machine only."""
    encrypted: bool | None = None
    profile: Profile | None = None
    context: int | None = None
    endpoint: str | None = None
    """A server that somebody else runs, instead of an engine."""
    trusts_code: bool = False
    """The model's own Python files may run, as they are now."""
    shut_in: bool = False
    """In a sandbox."""


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
        title, start = _begin_serving(core, wanted, options, language)
        serving = core.serve.switch_on(_reach(core, options)).result()
        output = (
            JsonOutput(sys.stdout, language)
            if json_output
            else PlainOutput(sys.stdout, sys.stderr, language)
        )
        events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        core.bus.subscribe(events.put)
        follow_load(start(), title, events, output)
        if json_output:
            sys.stdout.write(json_text(_serving_object(serving)) + "\n")
        else:
            lines = _serving_lines(serving, title, language, is_seen=sys.stdout.isatty())
            sys.stdout.writelines(f"{line}\n" for line in lines)
            if serving.address and sys.stdout.isatty():
                _draw_code(serving.url)
        sys.stdout.flush()
        _hold(core, output, events)
    return 0


def _reach(core: Core, options: ServeOptions) -> Reach:
    settings = core.store.settings.serve
    return Reach(
        settings.port if options.port is None else options.port,
        options.address,
        settings.encrypted if options.encrypted is None else options.encrypted,
    )


def _serving_object(serving: ServeStatus) -> dict[str, str | None]:
    """Without the key, which would stay in whatever keeps the output."""
    return {
        "event": "serving",
        "url": serving.url,
        "lan": serving.address or None,
        "certificate": str(serving.certificate) if serving.certificate else None,
        "fingerprint": serving.fingerprint or None,
    }


def _serving_lines(
    serving: ServeStatus, title: str, language: Language, *, is_seen: bool
) -> list[str]:
    """What a person needs to connect; the key for a terminal, not for a journal or a file."""
    lines = [message("cli.serve.ready", language, model=title, url=serving.url)]
    if is_seen:
        lines.append(message("cli.serve.key", language, api_key=serving.api_key))
    else:
        lines.append(message("cli.serve.key_hidden", language))
    if serving.address:
        lines.append(message("cli.serve.open", language, address=serving.address))
        if serving.certificate is None:
            lines.append(message("cli.serve.plain", language))
    if serving.certificate is not None:
        facts = {"path": str(serving.certificate), "fingerprint": serving.fingerprint}
        lines.append(message("cli.serve.certificate", language, **facts))
    return [*lines, message("cli.serve.end", language)]


def _draw_code(url: str) -> None:
    """The address for a phone, where the terminal has room for it."""
    lines = qr_lines(url)
    if len(lines[0]) <= columns_of(sys.stdout):
        sys.stdout.writelines(f"{line}\n" for line in lines)


def _begin_serving(
    core: Core, wanted: str | None, options: ServeOptions, language: Language
) -> tuple[str, Callable[[], Operation[EngineStatus]]]:
    """A title, and what brings the model up."""
    if options.endpoint:
        return attaching(core, options.endpoint, wanted)
    model = find_model(core, wanted)
    settings = _settings_to_serve(core, model, options, language)
    return model.title, lambda: core.engine.start(settings)


def _settings_to_serve(
    core: Core, model: LocalModel, options: ServeOptions, language: Language
) -> LoadSettings:
    """The model's own, or the planner's for the wishes that were typed.

    Raises:
        PlanError: PLAN_NO_PROFILE.
    """
    if model.is_served and options.profile is not None:
        raise PlanError(ErrorCode.PLAN_NO_PROFILE, {"name": model.title})
    if model.is_served or (options.profile is None and options.context is None):
        return settings_to_start(
            core.engine.settings_for(model),
            model,
            language,
            context=options.context,
            trusts_code=options.trusts_code,
            shut_in=options.shut_in,
        )
    wishes = core.plans.choices(model).wishes
    wishes = dataclasses.replace(
        wishes,
        profile=options.profile or wishes.profile,
        context=options.context if options.context is not None else wishes.context,
    )
    return core.plans.find(model, wishes).result().settings


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


def lan_address(wanted: str) -> str:
    """The address to serve at: ``wanted``, or the machine's own in its first local network.

    Raises:
        ServeError: SERVE_NO_ADDRESS.
    """
    found = lan_addresses()
    if (wanted and wanted not in found) or not found:
        raise ServeError(ErrorCode.SERVE_NO_ADDRESS, {"address": wanted or "-"})
    return wanted or found[0]


def write_serve_unit(options: argparse.Namespace, address: str, language: Language) -> None:
    """Write the unit that serves as these options of the verb say, and tell where it is.

    Raises:
        OSError: it cannot be written.
    """
    words = [sys.executable, "-m", "kimi_desktop", "serve"]
    if options.model:  # the unit runs in another folder
        is_path = not options.endpoint and existing_path(options.model) is not None
        words.append(str(Path(options.model).resolve()) if is_path else options.model)
    for flag, value in (
        ("--endpoint", options.endpoint),
        ("--port", options.port),
        ("--profile", options.profile),
        ("--ctx", options.ctx),
        ("--lan", address or None),
    ):
        words += [flag, str(value)] if value is not None else []
    if options.sandbox:
        words.append("--sandbox")
    if options.tls is not None:
        words.append("--tls" if options.tls else "--no-tls")
    written = write_unit(words, _own_environment())
    previous = str(written.previous) if written.previous else None
    if options.json:
        told = {"unit": str(written.file), "command": words, "previous": previous}
        sys.stdout.write(json_text(told) + "\n")
        return
    path = str(written.file)
    sys.stdout.write(message("cli.serve.unit_written", language, path=path, name=UNIT_NAME) + "\n")
    if previous is not None:
        sys.stdout.write(message("cli.serve.unit_previous", language, path=previous) + "\n")
    if address:
        sys.stdout.write(message("cli.serve.unit_open", language, address=address) + "\n")


def _own_environment() -> dict[str, str]:
    """The profile that is meant; the service would look for its own otherwise."""
    home = os.environ.get(HOME_VARIABLE)
    return {HOME_VARIABLE: str(Path(home).expanduser().absolute())} if home else {}
