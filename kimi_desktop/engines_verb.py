"""The verb ``engines``: which engines are here, which can be installed, and installing one. No Qt.

On the main thread; environments are made by ``backends.install``, official builds of llama.cpp by
the verb ``engine``. What an interrupted installation has fetched is kept: the same command goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from kimi_desktop.backends.engines.choose import engines_of
from kimi_desktop.backends.install.service import EngineInstalls
from kimi_desktop.backends.install.types import (
    LLAMA_CPP_PYTHON,
    VLLM,
    InstalledEngine,
    InstallKind,
    InstallOffer,
    InstallPhase,
    InstallProgressed,
    Installs,
)
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.engine_builds.terminal import EngineVerb
from kimi_desktop.downloads.progress_line import ProgressLine

LLAMA_CPP = "llama.cpp"
KINDS: Mapping[str, InstallKind] = {kind.name: kind for kind in (VLLM, LLAMA_CPP_PYTHON)}
YES = frozenset({"y", "yes", "是"})

Agrees = Callable[[], bool | None]
"""The user wants it; None when there is nobody to ask."""


def asked(language: Language, *, yes: bool, answers: TextIO, out: TextIO) -> Agrees:
    """Asks before something large is fetched.

    Args:
        language: of the question.
        yes: it was answered on the command line.
        answers: where the user types; only a terminal is asked.
        out: where the question goes.
    """

    def agrees() -> bool | None:
        if yes:
            return True
        if not answers.isatty():
            return None
        out.write(message("installs.ask", language) + " ")
        out.flush()
        return answers.readline().strip().casefold() in YES

    return agrees


class EnginesVerb:
    """Runs one action of the verb. Use as a context manager.

    Args:
        paths: of the profile.
        language: of the texts.
        json_output: JSON lines instead of text.
        out: where results go.
        progress_out: where progress and questions go.
        options: for ``EngineInstalls``.
    """

    def __init__(
        self,
        paths: AppPaths,
        language: Language,
        *,
        json_output: bool = False,
        out: TextIO | None = None,
        progress_out: TextIO | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._paths, self._language, self._json = paths, language, json_output
        self._out = out or sys.stdout
        self._errors = progress_out or sys.stderr
        self._line = ProgressLine(self._errors)
        self._phase: InstallPhase | None = None
        self._io = IoLoop()
        self._bus = bus = EventBus()
        bus.subscribe(self._hear)
        store = SettingsStore(paths.settings_file)
        engines = engines_of(paths, store)
        self._services = {
            kind.name: EngineInstalls(
                self._io, bus, store, folder, prove=prove, kind=kind, **(options or {})
            )
            for kind, folder, prove in (
                (VLLM, paths.vllm_folder, engines.vllm.probe),
                (LLAMA_CPP_PYTHON, paths.llama_python_folder, engines.python.probe),
            )
        }

    def __enter__(self) -> EnginesVerb:
        return self

    def __exit__(self, *_error: object) -> None:
        self._line.clear()
        self._io.close()

    def list(self) -> int:
        """What is here and what can be installed; asks no network."""
        with EngineVerb(self._paths, self._language, json_output=self._json, out=self._out) as verb:
            verb.run("list", "", None)
        for name, service in self._services.items():
            found = service.look().result()
            for engine in found.installed:
                self._write(self._here(engine), _engine_object(name, engine))
            here = {engine.id for engine in found.installed if engine.is_whole}
            for offer in found.offers:
                if offer.id not in here:
                    self._write(self._offer(offer), _offer_object(name, offer))
            if not self._json:
                self._notes(name, found)
        return 0

    def install(self, name: str, agrees: Agrees) -> int:
        """Show the size, ask, install. Returns the exit code.

        Args:
            name: vllm, llama-cpp-python or llama.cpp.
            agrees: asks.

        Raises:
            KimiError: as the services; ENGINE_NOT_HERE for a system that no version is for.
            KeyboardInterrupt: what came is kept.
        """
        if name == LLAMA_CPP:
            return self._install_llama_cpp(agrees)
        service = self._services[name]
        found = service.look().result()
        if not found.offers:
            raise BackendError(ErrorCode.INSTALL_NONE_HERE, {"engine": name})
        offer = found.offers[0]
        self._write(self._offer(offer), {**_offer_object(name, offer), "event": "offer"})
        if not self._json:
            self._notes(name, found)
        if code := self._refused(agrees()):
            return code
        operation = service.install(offer)
        try:
            engine = operation.result()
        except KeyboardInterrupt:
            operation.cancel()
            service.settle().result()
            self._line.clear()
            self._errors.write(message("installs.kept", self._language, engine=name) + "\n")
            raise
        finally:
            self._line.clear()
        told = message("installs.done", self._language, name=engine.name, path=str(engine.folder))
        self._write(told, {**_engine_object(name, engine), "event": "installed"})
        return 0

    def _install_llama_cpp(self, agrees: Agrees) -> int:
        answer: list[bool | None] = []

        def remember() -> bool:
            answer.append(agrees())
            return bool(answer[0])

        with EngineVerb(
            self._paths,
            self._language,
            json_output=self._json,
            out=self._out,
            progress_out=self._errors,
        ) as verb:
            verb.run("get", "", None, agrees=remember)
        return self._refused(answer[0] if answer else True)

    def _refused(self, answer: bool | None) -> int:
        """The exit code when it was not agreed to, 0 when it was."""
        if answer:
            return 0
        key = "needs_yes" if answer is None else "not_installed"
        self._errors.write(message(f"installs.{key}", self._language) + "\n")
        return 2 if answer is None else 1

    def _hear(self, event: Event) -> None:
        if not isinstance(event, InstallProgressed):
            return
        if self._json:
            facts = {"event": "progress", "phase": event.phase.value, "package": event.package}
            self._object({**facts, "done": event.done_bytes, "total": event.total_bytes})
            return
        words = message(f"installs.phase.{event.phase.value}", self._language)
        if not self._line.is_shown and event.phase is not self._phase:
            self._errors.write(f"{words}\n")  # a log gets a line for each step
        self._phase = event.phase
        fraction = event.done_bytes / event.total_bytes if event.total_bytes else 0.0
        size = f"{format_file_size(event.done_bytes)} / {format_file_size(event.total_bytes)}"
        self._line.show(fraction, f"{words}  {size}  {event.package}".rstrip())

    def _here(self, engine: InstalledEngine) -> str:
        key = "here" if engine.is_whole else "begun"
        params = {"name": engine.name, "size": format_file_size(engine.size_bytes)}
        line = message(f"installs.{key}", self._language, path=str(engine.folder), **params)
        return message("builds.in_use_mark", self._language, line=line) if engine.in_use else line

    def _offer(self, offer: InstallOffer) -> str:
        line = message(
            "installs.offer",
            self._language,
            name=offer.name,
            accelerator=message(f"builds.accelerator.{offer.accelerator}", self._language),
            size=format_file_size(offer.size_bytes),
            disk=format_file_size(offer.installed_bytes),
            licence=", ".join(offer.licences),
        )
        if not offer.compiles:
            return line
        return f"{line} {message('installs.compiles', self._language)}"

    def _notes(self, name: str, found: Installs) -> None:
        key = "lacks_gpu" if found.lacks_gpu and found.offers else None
        key = key if found.offers else "none_here"
        if key:
            self._out.write(message(f"installs.{key}.{name}", self._language) + "\n")

    def _write(self, line: str, facts: Mapping[str, Any]) -> None:
        if self._json:
            self._object(facts)
        else:
            self._out.write(printable(line) + "\n")
            self._out.flush()

    def _object(self, facts: Mapping[str, Any]) -> None:
        self._out.write(json_text(facts) + "\n")
        self._out.flush()


def _engine_object(name: str, engine: InstalledEngine) -> dict[str, Any]:
    return {
        "engine": name,
        "install": engine.id,
        "path": str(engine.folder),
        "size_bytes": engine.size_bytes,
        "whole": engine.is_whole,
        "in_use": engine.in_use,
    }


def _offer_object(name: str, offer: InstallOffer) -> dict[str, Any]:
    return {
        "engine": name,
        "offer": offer.id,
        "accelerator": offer.accelerator,
        "size_bytes": offer.size_bytes,
        "installed_bytes": offer.installed_bytes,
        "licences": list(offer.licences),
        "compiles": offer.compiles,
    }
