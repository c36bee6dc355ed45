"""The verb ``endpoint``: servers that somebody else runs, in the terminal. Main thread."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import Any, TextIO

from kimi_desktop.backends.attached.service import OtherServers
from kimi_desktop.backends.attached.types import KeyPlace, OtherServer, ServerDraft
from kimi_desktop.backends.attached.words import key_words, model_words, program_words, report_words
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.terminal import json_text, one_line

DONE, FAILED = 0, 1


class EndpointVerb:
    """Runs one action of the verb.

    Args:
        servers: of the profile.
        language: of the texts.
        json_output: JSON lines instead of text.
        out: where results go.
        err: where notes go.
        read_key: asks for a key; None = hidden on a terminal, else a line of standard input.
    """

    def __init__(
        self,
        servers: OtherServers,
        language: Language,
        *,
        json_output: bool = False,
        out: TextIO | None = None,
        err: TextIO | None = None,
        read_key: Callable[[str], str] | None = None,
    ) -> None:
        self._servers = servers
        self._language = language
        self._json = json_output
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._read_key = read_key or _typed

    def list(self) -> int:
        """All that are known, with where their keys are; only Ollama is looked for."""
        self._servers.find_ollama().result()
        servers = self._servers.look().result()
        for server in servers:
            self._show(server, with_models=False)
        if not servers and not self._json:
            self._say("terminal.none")
        return DONE

    def check(self, name: str) -> int:
        """Ask one, and show its models.

        Raises:
            BackendError: SERVER_UNKNOWN.
        """
        self._servers.find_ollama().result()
        server = self._servers.check(name).result()
        self._show(server, with_models=server.problem is None)
        return DONE if server.problem is None else FAILED

    def add(self, name: str, url: str, *, with_key: bool, key_in_file: bool) -> int:
        """Ask it, and keep it; one of this name is replaced, which is said.

        One that does not answer now is kept as well, with a warning.

        Raises:
            BackendError: as ``OtherServers.save``.
        """
        known = {server.entry.name: server for server in self._servers.look().result()}
        before = known.get(name)
        key = None
        if with_key:
            key = self._read_key(self._words("terminal.ask_key", name=name))
        draft = ServerDraft(name, url, key, key_in_file=key_in_file)
        server = self._servers.save(draft, replaces=name if before is not None else "").result()
        replaced = before if before is not None and before.entry.url != server.entry.url else None
        old_url = replaced.entry.url if replaced is not None else None
        self._show(server, with_models=server.problem is None, replaced=old_url)
        if not self._json:
            self._say("terminal.kept", name=server.entry.name)
        if replaced is not None:
            lost = replaced.key_place is not None and server.key_place is None
            key = "terminal.replaced_key" if lost else "terminal.replaced"
            self._warn(key, name=name, url=replaced.entry.url)
        if server.problem is not None:
            self._warn("terminal.no_answer", name=server.entry.name)
        if server.key_place is KeyPlace.SESSION:
            self._warn("terminal.key_session")
            return FAILED
        return DONE

    def remove(self, name: str) -> int:
        """Forget one with its key.

        Raises:
            BackendError: SERVER_UNKNOWN.
        """
        self._servers.remove(name).result()
        if self._json:
            self._object({"event": "removed", "name": name})
        else:
            self._say("terminal.removed", name=name)
        return DONE

    def _show(self, server: OtherServer, *, with_models: bool, replaced: str | None = None) -> None:
        if self._json:
            found = _described(server, self._language)
            self._object({**found, "replaced": replaced} if replaced else found)
            return
        entry, report = server.entry, server.report
        key = key_words(server.key_place, self._language)
        if entry.is_found:
            key = self._words("terminal.found")
        parts = [entry.url, key]
        if report is not None:
            parts += [
                program_words(report, self._language),
                report_words(report, self._language),
            ]
        self._out.write(f"{one_line(entry.name)}: {one_line(' · '.join(parts))}\n")
        for model in report.models if report is not None and with_models else ():
            facts = model_words(model, self._language, program=report.program if report else "")
            self._out.write(f"  {one_line(model.id + (f' · {facts}' if facts else ''))}\n")
        if server.problem is not None:
            self._out.flush()
            self._err.write("\n".join(describe_error(server.problem, self._language)) + "\n")

    def _words(self, key: str, **params: str) -> str:
        return message(f"attached.{key}", self._language, **params)

    def _say(self, key: str, **params: str) -> None:
        self._out.write(self._words(key, **params) + "\n")

    def _warn(self, key: str, **params: str) -> None:
        self._out.flush()
        self._err.write(self._words(key, **params) + "\n")

    def _object(self, facts: dict[str, Any]) -> None:
        self._out.write(json_text(facts) + "\n")
        self._out.flush()


def _described(server: OtherServer, language: Language) -> dict[str, Any]:
    report, problem = server.report, server.problem
    return {
        "name": server.entry.name,
        "url": server.entry.url,
        "found": server.entry.is_found,
        "key": server.key_place.value if server.key_place is not None else None,
        "program": report.program.value if report is not None else None,
        "version": report.version if report is not None else None,
        "healthy": report.is_healthy if report is not None else None,
        "models": [
            {
                "id": model.id,
                "owned_by": model.owned_by,
                "context": model.context,
                "size_bytes": model.size_bytes,
                "quantization": model.quantization,
                "parameters": model.parameters,
            }
            for model in (report.models if report is not None else ())
        ],
        "error": None
        if problem is None
        else {"code": problem.code.value, "text": describe_error(problem, language)[0]},
    }


def _typed(question: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"{question} ")
    return sys.stdin.readline().strip()
