"""Keys of other servers in the store that keeps the hubs' tokens, apart from those. Blocking.

Own names in the keyring and a file of their own: a hub's token is never sent to a server, nor a
server's key to a hub, also where both are at one address.
"""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.backends.attached.types import KeyPlace
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.tokens import Keyring, TokenStore, is_safe_origin, is_token

SERVICE = "kimi-desktop-servers"
FILE_NAME = "server-keys.json"


class StoredServerKeys:
    """Implements ``backends.attached.keys.ServerKeys``."""

    def __init__(self, folder: Path, *, keyring: Keyring | None = None) -> None:
        """Build it.

        Args:
            folder: of the file that is used when the user agreed to it.
            keyring: None = the system's.
        """
        self._store = TokenStore(
            folder,
            service=SERVICE,
            file_name=FILE_NAME,
            reads_others=False,
            find_keyring=None if keyring is None else lambda: keyring,
        )

    @property
    def can_keep(self) -> bool:
        """There is a keyring."""
        return self._store.has_keyring

    def value_of(self, url: str) -> str:
        """The key, "" for none."""
        return self._store.value_of(origin_of(url)) or ""

    def place_of(self, url: str) -> KeyPlace | None:
        """Where it is kept."""
        found = self._store.find(origin_of(url))
        return None if found is None else KeyPlace(found.place.value)

    def check(self, name: str, url: str, key: str) -> None:
        """Whether it may be sent; see ``ServerKeys.check``."""
        if not is_token(key):
            raise BackendError(ErrorCode.SERVER_KEY_MALFORMED)
        if not is_safe_origin(origin_of(url)):
            raise BackendError(ErrorCode.SERVER_KEY_OPEN, {"name": name, "url": url})

    def save(self, url: str, key: str, *, in_file: bool) -> KeyPlace:
        """Keep it; see ``ServerKeys.save``."""
        try:
            return KeyPlace(self._store.save(origin_of(url), key, in_file=in_file).value)
        except DownloadError as error:
            raise _not_kept(error) from error

    def forget(self, url: str) -> None:
        """Drop it; see ``ServerKeys.forget``."""
        try:
            self._store.forget(origin_of(url))
        except DownloadError as error:
            raise _not_kept(error) from error


def _not_kept(error: DownloadError) -> BackendError:
    return BackendError(ErrorCode.SERVER_KEY_NOT_KEPT, error.params, cause=error)
