"""Access tokens of hubs: where they are kept, and whom they belong to. Blocking (pool).

A token belongs to one origin (scheme, host, port) and is given to no other. It is kept in the
system's keyring. Without a real keyring it lives until the app ends; a file that only the user can
read is used when the user agreed to it. Tokens of other programs are read, never written.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import re
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.files import write_atomically
from kimi_desktop.base.hosts import is_private
from kimi_desktop.downloads.hubs.account_types import TokenPlace as TokenPlace  # noqa: PLC0414

log = logging.getLogger(__name__)

SERVICE = "kimi-desktop"
FILE_NAME = "hub-tokens.json"

_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")
_NO_KEYRINGS = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "https://huggingface.co": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    "https://modelscope.cn": ("MODELSCOPE_API_TOKEN",),
    "https://www.modelscope.cn": ("MODELSCOPE_API_TOKEN",),
}
_HUGGING_FACE = "https://huggingface.co"
_MAX_FILE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Token:
    """A token and where it was found."""

    value: str = field(repr=False)
    place: TokenPlace


class Keyring(Protocol):
    """What the ``keyring`` package offers."""

    def get_password(self, service: str, username: str) -> str | None:
        """The secret, or None."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep it."""

    def delete_password(self, service: str, username: str) -> None:
        """Drop it."""


class TokenStore:
    """The tokens of one profile. Thread-safe."""

    def __init__(
        self,
        folder: Path,
        *,
        service: str = SERVICE,
        file_name: str = FILE_NAME,
        reads_others: bool = True,
        find_keyring: Callable[[], Keyring | None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Build it.

        Args:
            folder: of the file.
            service: what its secrets are called in the keyring.
            file_name: of the file that needs consent.
            reads_others: tokens that other programs were given count, too.
            find_keyring: None = the system's.
            environment: None = this process's.
        """
        self._service = service
        self._file = folder / file_name
        self._reads_others = reads_others
        self._find_keyring = find_keyring or system_keyring
        self._environment = os.environ if environment is None else environment
        self._lock = threading.RLock()
        self._session: dict[str, Token] = {}
        self._keyring: Keyring | None = None
        self._looked = False

    @property
    def has_keyring(self) -> bool:
        """Whether a token outlives the app without a file."""
        return self._backend() is not None

    def value_of(self, origin: str) -> str | None:
        """The token that goes to this origin, if there is one."""
        found = self.find(origin)
        return found.value if found else None

    def find(self, origin: str) -> Token | None:
        """The token of an origin; one given here goes before those of other programs."""
        if not is_safe_origin(origin):
            return None
        with self._lock:
            if known := self._session.get(origin):
                return known
            found = self._from_keyring(origin) or self._from_file(origin) or self._others(origin)
            if found is not None:
                self._session[origin] = found
            return found

    def save(self, origin: str, value: str, *, in_file: bool = False) -> TokenPlace:
        """Keep a token for an origin.

        Args:
            origin: whom it belongs to.
            value: as the hub's page shows it; blanks around it are dropped.
            in_file: the user agreed to a file, should there be no keyring.

        Returns:
            Where it is kept; SESSION when there is neither a keyring nor consent.

        Raises:
            DownloadError: HUB_TOKEN_MALFORMED, or HUB_TOKEN_NOT_KEPT (it works until the end of
                this run all the same).
        """
        value = value.strip()
        if not _TOKEN.fullmatch(value) or not is_safe_origin(origin):
            raise DownloadError(ErrorCode.HUB_TOKEN_MALFORMED)
        with self._lock:
            self._session[origin] = Token(value, TokenPlace.SESSION)
            place = self._keep(origin, value, in_file=in_file)
            self._session[origin] = Token(value, place)
            return place

    def forget(self, origin: str) -> None:
        """Drop what was kept here. A token of another program stays where it is."""
        with self._lock:
            self._session.pop(origin, None)
            self._write({o: v for o, v in self._read().items() if o != origin})
            keyring = self._backend()
            if keyring is not None and self._from_keyring(origin) is not None:
                try:
                    keyring.delete_password(self._service, origin)
                except Exception as error:
                    log.exception("keyring")
                    raise _not_kept(error) from error

    def _keep(self, origin: str, value: str, *, in_file: bool) -> TokenPlace:
        keyring = self._backend()
        if keyring is not None:
            try:
                keyring.set_password(self._service, origin, value)
            except Exception as error:  # backends raise what they like
                log.exception("keyring")
                if not in_file:
                    raise _not_kept(error) from error
            else:
                self._write({o: v for o, v in self._read().items() if o != origin})
                return TokenPlace.KEYRING
        if not in_file:
            return TokenPlace.SESSION
        self._write(self._read() | {origin: value})
        return TokenPlace.FILE

    # places

    def _backend(self) -> Keyring | None:
        with self._lock:
            if not self._looked:
                self._looked = True
                self._keyring = self._find_keyring()
            return self._keyring

    def _from_keyring(self, origin: str) -> Token | None:
        keyring = self._backend()
        if keyring is None:
            return None
        try:
            value = keyring.get_password(self._service, origin)
        except Exception:  # locked, or its daemon is gone: as if there were none
            log.exception("keyring")
            return None
        return Token(value, TokenPlace.KEYRING) if value and _TOKEN.fullmatch(value) else None

    def _from_file(self, origin: str) -> Token | None:
        value = self._read().get(origin)
        return Token(value, TokenPlace.FILE) if value else None

    def _read(self) -> dict[str, str]:
        try:
            if os.name == "posix" and self._file.stat().st_mode & 0o077:
                self._file.chmod(0o600)
            data = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(data, dict):
            return {}
        return {k: v for k, v in data.items() if isinstance(v, str) and _TOKEN.fullmatch(v)}

    def _write(self, tokens: Mapping[str, str]) -> None:
        if tokens == self._read():
            return
        try:
            if tokens:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._file, json.dumps(tokens, indent=1), private=True)
            else:
                self._file.unlink(missing_ok=True)
        except OSError as error:
            raise _not_kept(error) from error

    def _others(self, origin: str) -> Token | None:
        """What other programs were given for the same hub."""
        if not self._reads_others:
            return None
        for variable in _VARIABLES.get(origin, ()):
            value = self._environment.get(variable, "").strip()
            if _TOKEN.fullmatch(value):
                return Token(value, TokenPlace.ENVIRONMENT)
        if origin != _HUGGING_FACE:
            return None
        with suppress(OSError, UnicodeDecodeError), self._login_file().open("rb") as file:
            value = file.read(_MAX_FILE_BYTES).decode().strip()
            if _TOKEN.fullmatch(value):
                return Token(value, TokenPlace.OTHER_PROGRAM)
        return None

    def _login_file(self) -> Path:
        """Where ``hf auth login`` writes."""
        if path := self._environment.get("HF_TOKEN_PATH"):
            return Path(path).expanduser()
        cache = self._environment.get("XDG_CACHE_HOME") or "~/.cache"
        home = self._environment.get("HF_HOME") or f"{cache}/huggingface"
        return Path(home).expanduser() / "token"


def system_keyring() -> Keyring | None:
    """The system's keyring; None when there is none that keeps a secret secret."""
    try:
        module = importlib.import_module("keyring")
        backend = module.get_keyring()
    except ImportError:
        return None
    except Exception:  # a backend named in a broken configuration file
        log.exception("keyring")
        return None
    parts = getattr(backend, "backends", None)
    parts = list(parts) if parts is not None else [backend]
    real = [part for part in parts if not type(part).__module__.startswith(_NO_KEYRINGS)]
    return cast(Keyring, backend) if real and len(real) == len(parts) else None


def is_token(value: str) -> bool:
    """It has the form of one: a word that a header can carry."""
    return _TOKEN.fullmatch(value) is not None


def is_safe_origin(origin: str) -> bool:
    """Encrypted, or on a network of one's own."""
    parts = urllib.parse.urlsplit(origin)
    return parts.scheme == "https" or (parts.scheme == "http" and is_private(parts.hostname))


def _not_kept(error: BaseException) -> DownloadError:
    detail = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return DownloadError(ErrorCode.HUB_TOKEN_NOT_KEPT, {"detail": detail}, cause=error)
