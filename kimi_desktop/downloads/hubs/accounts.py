"""Accounts on hubs as the window sees them: whose token is kept, and where. Any thread.

Keyring and hubs are asked in the pool. A hub is asked whose a token is once, when it is given or
when the user wants to know: that call is strictly limited.
"""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Callable

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import HubSettings, Settings, SettingsStore
from kimi_desktop.downloads.hubs.account_types import HubAccount, HubAccounts
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, known_hubs, named_endpoint
from kimi_desktop.downloads.hubs.tokens import TokenStore, is_safe_origin, is_token
from kimi_desktop.downloads.types import HubKind


class Accounts:
    """Implements the window's HubService."""

    def __init__(
        self, io: IoLoop, store: SettingsStore, tokens: TokenStore, client: HubClient
    ) -> None:
        self._io = io
        self._store = store
        self._tokens = tokens
        self._client = client

    def hubs(self) -> tuple[Hub, ...]:
        """Those there are, the preferred first."""
        return known_hubs(endpoint=self._store.settings.hubs.endpoint)

    def look(self) -> Operation[HubAccounts]:
        """Every hub with what is kept for it."""
        return self._io.pool(self._look)

    def set_token(
        self, endpoint: str, token: str, *, in_file: bool = False
    ) -> Operation[HubAccount]:
        """Ask whose token it is, then keep it.

        A hub that says no to it (HUB_BAD_TOKEN) fails the operation and nothing is kept; one that
        cannot be asked does not: the account's ``problem`` says so.
        """
        return self._io.pool(self._set_token, endpoint, token, in_file=in_file)

    def check(self, endpoint: str) -> Operation[HubAccount]:
        """Ask the hub whose the kept token is."""
        return self._io.pool(self._check, endpoint)

    def forget(self, endpoint: str) -> Operation[HubAccount]:
        """Drop the token that is kept here; those of other programs stay."""
        return self._io.pool(self._forget, endpoint)

    def set_endpoint(self, address: str) -> Operation[HubAccounts]:
        """The hub to ask first; "" = the usual order. Fails with HUB_BAD_ADDRESS."""
        return self._io.pool(self._set_endpoint, address)

    # in the pool

    def _look(self) -> HubAccounts:
        named = named_endpoint()
        return HubAccounts(
            tuple(self._account(hub) for hub in self.hubs()),
            named or self._store.settings.hubs.endpoint,
            bool(named),
        )

    def _account(self, hub: Hub, problem: KimiError | None = None) -> HubAccount:
        origin = origin_of(hub.endpoint)
        found = self._tokens.find(origin)
        owner = self._store.settings.hubs.owners.get(origin, "") if found else ""
        return HubAccount(
            hub.endpoint,
            hub.name,
            found.place if found else None,
            owner,
            problem,
            _token_page(hub),
            self._tokens.has_keyring,
            hub.is_private,
        )

    def _set_token(self, endpoint: str, token: str, *, in_file: bool) -> HubAccount:
        hub = self._hub(endpoint)
        origin = origin_of(hub.endpoint)
        token = token.strip()
        owner = ""
        problem: KimiError | None = None
        if is_token(token) and is_safe_origin(origin):
            try:
                owner = self._client.check_token(hub, token)
            except DownloadError as error:
                if error.code is ErrorCode.HUB_BAD_TOKEN:
                    raise
                problem = error
        try:
            self._tokens.save(origin, token, in_file=in_file)
        except DownloadError as error:
            if error.code is not ErrorCode.HUB_TOKEN_NOT_KEPT:
                raise
            problem = error  # it works until the app ends
        self._note_owner(origin, owner)
        return self._account(hub, problem)

    def _check(self, endpoint: str) -> HubAccount:
        hub = self._hub(endpoint)
        token = self._client.token_for(hub.endpoint)
        if token is None:
            return self._account(hub)
        try:
            owner = self._client.check_token(hub, token)
        except DownloadError as error:
            return self._account(hub, error)
        self._note_owner(origin_of(hub.endpoint), owner)
        return self._account(hub)

    def _forget(self, endpoint: str) -> HubAccount:
        hub = self._hub(endpoint)
        origin = origin_of(hub.endpoint)
        self._tokens.forget(origin)
        self._note_owner(origin, "")
        return self._account(hub)

    def _set_endpoint(self, address: str) -> HubAccounts:
        endpoint = _checked_endpoint(address)
        self._change(lambda hubs: dataclasses.replace(hubs, endpoint=endpoint))
        return self._look()

    def _hub(self, endpoint: str) -> Hub:
        origin = origin_of(endpoint)
        return next(hub for hub in self.hubs() if origin_of(hub.endpoint) == origin)

    def _note_owner(self, origin: str, owner: str) -> None:
        def change(hubs: HubSettings) -> HubSettings:
            others = {known: name for known, name in hubs.owners.items() if known != origin}
            return dataclasses.replace(hubs, owners=others | ({origin: owner} if owner else {}))

        if self._store.settings.hubs.owners.get(origin, "") != owner:
            self._change(change)

    def _change(self, change: Callable[[HubSettings], HubSettings]) -> None:
        def apply(settings: Settings) -> Settings:
            return dataclasses.replace(settings, hubs=change(settings.hubs))

        self._store.update(apply)


def _checked_endpoint(address: str) -> str:
    """A hub's address as it is kept.

    Raises:
        DownloadError: HUB_BAD_ADDRESS.
    """
    text = address.strip().rstrip("/")
    if not text:
        return ""
    if "://" not in text:
        text = f"https://{text}"
    try:
        parts = urllib.parse.urlsplit(text)
        good = not parts.netloc.endswith(":") and is_safe_origin(origin_of(text))
        good = good and bool(parts.hostname)
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment or " " in text or parts.username:
        raise DownloadError(ErrorCode.HUB_BAD_ADDRESS, {"address": address.strip()[:100]})
    return text


def _token_page(hub: Hub) -> str:
    if hub.kind is HubKind.MODELSCOPE:
        return f"{hub.endpoint}/my/myaccesstoken"
    return f"{hub.endpoint}/settings/tokens"
