"""Accounts on hubs, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.errors import KimiError


class TokenPlace(StrEnum):
    """Where a token comes from."""

    KEYRING = "keyring"
    SESSION = "session"
    """Nowhere: it is gone when the app ends."""
    FILE = "file"
    """Our own file, which only the user can read."""
    ENVIRONMENT = "environment"
    OTHER_PROGRAM = "other_program"
    """The file of ``hf auth login``."""


@dataclass(frozen=True, slots=True)
class HubAccount:
    """One hub, and whether a token of it is kept. The token itself is never here."""

    endpoint: str
    name: str
    place: TokenPlace | None
    """None = there is no token."""
    owner: str = ""
    """Whose token it is, as the hub said; "" = not asked yet."""
    problem: KimiError | None = None
    """What the last check met."""
    token_page: str = ""
    """Where its owner makes tokens."""
    can_keep: bool = True
    """The system has a keyring; else only a file outlives the app, with consent."""
    is_own: bool = False
    """Named by the user or by ``HF_ENDPOINT``."""


@dataclass(frozen=True, slots=True)
class HubAccounts:
    """All of them, in the order in which they are asked."""

    accounts: tuple[HubAccount, ...]
    endpoint: str
    """The hub that is asked first, as the settings or ``HF_ENDPOINT`` say; "" = the usual order."""
    from_environment: bool
    """``HF_ENDPOINT`` is set: the settings do not count."""
