"""Accounts on hubs of the scripted services: no keyring, no network."""

from __future__ import annotations

import dataclasses

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.hubs.account_types import HubAccount, HubAccounts, TokenPlace
from tests.support.scripted_desk import Desk

HUGGING_FACE = "https://huggingface.co"


class ScriptedHubs:
    """``error`` fails the next command; ``can_keep`` says whether there is a keyring."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.error: KimiError | None = None
        self.from_environment = False
        self.endpoint = ""
        self.accounts = {
            endpoint: HubAccount(endpoint, name, None, token_page=f"{endpoint}/settings/tokens")
            for endpoint, name in (
                (HUGGING_FACE, "Hugging Face"),
                ("https://hf-mirror.com", "hf-mirror"),
                ("https://modelscope.cn", "ModelScope"),
            )
        }

    def set_account(self, endpoint: str, **changes: object) -> HubAccount:
        """What is known of a hub."""
        account = dataclasses.replace(self.accounts[endpoint], **changes)  # type: ignore[arg-type]
        self.accounts[endpoint] = account
        return account

    def look(self) -> Operation[HubAccounts]:
        return self._desk.operation("hubs.look", self._all())

    def set_token(
        self, endpoint: str, token: str, *, in_file: bool = False
    ) -> Operation[HubAccount]:
        if self.error is not None:
            return self._desk.failed("hubs.set_token", self.error, endpoint, token, in_file)
        account = self.accounts[endpoint]
        place = TokenPlace.KEYRING
        if not account.can_keep:
            place = TokenPlace.FILE if in_file else TokenPlace.SESSION
        account = self.set_account(endpoint, place=place, owner="ada")
        return self._desk.operation("hubs.set_token", account, endpoint, token, in_file)

    def check(self, endpoint: str) -> Operation[HubAccount]:
        account = self.set_account(endpoint, problem=self.error)
        return self._desk.operation("hubs.check", account, endpoint)

    def forget(self, endpoint: str) -> Operation[HubAccount]:
        account = self.set_account(endpoint, place=None, owner="", problem=None)
        return self._desk.operation("hubs.forget", account, endpoint)

    def set_endpoint(self, address: str) -> Operation[HubAccounts]:
        if self.error is not None:
            return self._desk.failed("hubs.set_endpoint", self.error, address)
        self.endpoint = address
        if address and address not in self.accounts:
            own = HubAccount(address, address.partition("//")[2], None, is_own=True)
            self.accounts = {address: own, **self.accounts}
        return self._desk.operation("hubs.set_endpoint", self._all(), address)

    def _all(self) -> HubAccounts:
        return HubAccounts(tuple(self.accounts.values()), self.endpoint, self.from_environment)
