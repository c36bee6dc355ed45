"""The verb ``clients``: which programs have a key, for machines without a window. Main thread.

A gateway that runs, of a window or of a service, takes a change within a second.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from kimi_desktop.base.errors import ErrorCode, ServeError
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.terminal import json_text
from kimi_desktop.serve.keys import FILE_NAME, OWN_NAME, ClientKeys


class ClientsVerb:
    """Runs one action of the verb; every one may raise a ServeError (``ClientKeys``).

    Args:
        folder: of the keys.
        language: of the texts.
        json_output: one object instead of lines.
        out: where results go.
    """

    def __init__(
        self, folder: Path, language: Language, *, json_output: bool, out: TextIO | None = None
    ) -> None:
        self._keys = ClientKeys(folder / FILE_NAME)
        self._language = language
        self._json = json_output
        self._out = out or sys.stdout

    def list(self) -> None:
        """The names; keys are shown one at a time."""
        names = list(self._keys.make_own().by_name())
        if self._json:
            self._write(json_text({"clients": [{"name": name} for name in names]}))
            return
        for name in names:
            key = "own" if name == OWN_NAME else "one"
            self._say(f"list.{key}", name=name)

    def show(self, name: str) -> None:
        """One key alone, for a script to take up; "" = the user's own."""
        wanted = name or OWN_NAME
        keys = self._keys.make_own().by_name()
        if wanted not in keys:
            params = {"name": wanted, "names": ", ".join(keys)}
            raise ServeError(ErrorCode.SERVE_CLIENT_UNKNOWN, params)
        key = keys[wanted]
        self._write(json_text({"name": wanted, "key": key}) if self._json else key)

    def add(self, name: str) -> None:
        """A new program."""
        kept = self._keys.add(name)
        self._told("added", kept, self._keys.keys.clients[kept])

    def revoke(self, name: str) -> None:
        """One program less."""
        self._keys.revoke(name)
        self._told("revoked", name)

    def renew(self) -> None:
        """Another key of the user's own."""
        self._told("renewed", OWN_NAME, self._keys.renew().own)

    def _told(self, event: str, name: str, key: str = "") -> None:
        if self._json:
            shown = {"key": key} if key else {}
            self._write(json_text({"event": event, "name": name, **shown}))
        else:
            self._say(event, name=name, secret=key)

    def _say(self, key: str, **params: str) -> None:
        self._write(message(f"serve.clients.{key}", self._language, **params))

    def _write(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()
