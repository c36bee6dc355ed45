"""What a store of API keys has to offer. Joined at the top, where the store of tokens is."""

from __future__ import annotations

from typing import Protocol

from kimi_desktop.backends.attached.types import KeyPlace


class ServerKeys(Protocol):
    """A key belongs to one scheme, host and port, and is given to no other. Blocking."""

    @property
    def can_keep(self) -> bool:
        """The system has a keyring; else only a file outlives the app, with consent."""

    def value_of(self, url: str) -> str:
        """The key that goes to this address, "" for none."""

    def place_of(self, url: str) -> KeyPlace | None:
        """Where it is kept."""

    def check(self, name: str, url: str, key: str) -> None:
        """Whether a key may be sent there at all; asked before it is sent for the first time.

        Raises:
            BackendError: SERVER_KEY_OPEN (it would be sent unencrypted over the internet),
                SERVER_KEY_MALFORMED.
        """

    def save(self, url: str, key: str, *, in_file: bool) -> KeyPlace:
        """Keep one that was checked.

        Raises:
            BackendError: SERVER_KEY_NOT_KEPT (it works until the end of this run).
        """

    def forget(self, url: str) -> None:
        """Drop it.

        Raises:
            BackendError: SERVER_KEY_NOT_KEPT.
        """
