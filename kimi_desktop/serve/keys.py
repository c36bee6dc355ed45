"""The keys that programs connect with: in a file of their own that only the user can read.

Not in the settings, which people copy and show; not in the keyring, which a machine without a
desktop session cannot open. A window shows them again, and several programs with one profile (a
window, a service, the verb ``clients``) see each other's changes. Blocking; one thread at a time.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, ServeError
from kimi_desktop.base.files import write_atomically

log = logging.getLogger(__name__)

FILE_NAME = "serve-keys.json"
OWN_NAME = "default"
"""Whose key ``Keys.own`` is."""
MOST_CLIENTS = 32
LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Keys:
    """All that open the door."""

    own: str = field(default="", repr=False)
    """For whoever has no key of his own; "" before it was made."""
    clients: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Name of a program -> its key, in the order in which they were added."""

    def by_name(self) -> dict[str, str]:
        """Every key with the name that its requests are listed under."""
        return {**({OWN_NAME: self.own} if self.own else {}), **self.clients}


class ClientKeys:
    """The file. What cannot be written holds until the program ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._keys = Keys()
        self.look()

    @property
    def keys(self) -> Keys:
        """As they were at the last look."""
        return self._keys

    def look(self) -> bool:
        """Read the file again if it is another one; True when the keys have changed."""
        stamp = self._stamp_of_file()
        if stamp is None or stamp == self._stamp:
            return False
        self._stamp, before = stamp, self._keys
        self._keys = self._read()
        return self._keys != before

    def make_own(self) -> Keys:
        """The keys, with one of the user's own among them.

        Raises:
            ServeError: SERVE_KEYS_NOT_KEPT; they hold all the same.
        """
        self.look()
        return self._keys if self._keys.own else self.renew()

    def renew(self) -> Keys:
        """Replace the user's own key.

        Raises:
            ServeError: SERVE_KEYS_NOT_KEPT; they hold all the same.
        """
        self.look()
        return self._write(replace(self._keys, own=_make_key()))

    def add(self, name: str) -> str:
        """A key for one more program; returns the name as it is kept.

        Raises:
            ServeError: SERVE_CLIENT_NAME (empty or taken), SERVE_CLIENTS_FULL,
                SERVE_KEYS_NOT_KEPT (it holds all the same).
        """
        self.look()
        wanted = " ".join("".join(c if c.isprintable() else " " for c in name).split())
        wanted = wanted[:LONGEST_NAME].strip()
        taken = self._keys.clients
        if not wanted or wanted in taken or wanted == OWN_NAME:
            raise ServeError(ErrorCode.SERVE_CLIENT_NAME, {"name": name.strip()})
        if len(taken) >= MOST_CLIENTS:
            raise ServeError(ErrorCode.SERVE_CLIENTS_FULL, {"count": MOST_CLIENTS})
        self._write(replace(self._keys, clients={**taken, wanted: _make_key()}))
        return wanted

    def revoke(self, name: str) -> None:
        """Take a program's key away.

        Raises:
            ServeError: SERVE_CLIENT_UNKNOWN, SERVE_KEYS_NOT_KEPT (it holds all the same).
        """
        self.look()
        taken = self._keys.clients
        if name not in taken:
            names = ", ".join(taken) or "–"
            raise ServeError(ErrorCode.SERVE_CLIENT_UNKNOWN, {"name": name, "names": names})
        rest = {other: key for other, key in taken.items() if other != name}
        self._write(replace(self._keys, clients=rest))

    def _stamp_of_file(self) -> tuple[int, int, int] | None:
        try:
            facts = self._file.stat()
        except OSError:
            return None
        return facts.st_ino, facts.st_mtime_ns, facts.st_size

    def _read(self) -> Keys:
        try:
            if os.name == "posix" and self._file.stat().st_mode & 0o077:
                self._file.chmod(0o600)
            found = json.loads(self._file.read_text(encoding="utf-8"))
            clients = {str(name): str(key) for name, key in found["clients"].items() if key}
            return Keys(str(found["own"]), clients)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            log.warning("%s cannot be read; keys are made anew", self._file, exc_info=True)
            return Keys()

    def _write(self, keys: Keys) -> Keys:
        self._keys = keys
        content = json.dumps({"own": keys.own, "clients": dict(keys.clients)}, indent=1)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, content + "\n", private=True)
        except OSError as error:
            params = {"path": str(self._file), "detail": error.strerror or str(error)}
            raise ServeError(ErrorCode.SERVE_KEYS_NOT_KEPT, params, cause=error) from error
        self._stamp = self._stamp_of_file()
        return keys


def _make_key() -> str:
    return f"kd-{secrets.token_urlsafe(32)}"
