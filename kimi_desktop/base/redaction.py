"""Removes what is private from text that leaves the computer. Pure but for the user's own names."""

from __future__ import annotations

import getpass
import re
from pathlib import Path

_NAMED = (
    re.compile(r"(?i)((?:authorization[=: ]+(?:bearer\s+)?)|bearer\s+|api[-_ ]?key[=: ]+)\S+"),
    re.compile(r"(?i)((?:token|passw(?:or)?d|secret)[=:]\s*)\S+"),
    re.compile(
        r"(?i)((?:x-amz-signature|signature|x-amz-credential|key-pair-id|policy)=)[^&\s\"']+"
    ),
)
_BARE = (
    re.compile(r"\b(hf_|sk-|kimi-|ms-|ghp_|github_pat_)[A-Za-z0-9_-]{8,}"),
    re.compile(r"\b[0-9a-fA-F]{32,}\b"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
)
_HOMES = re.compile(r"(/home/|/Users/|[A-Za-z]:\\+Users\\+)[^/\\\s\"']+")
_SHARED_NAMES = frozenset({"root", "user", "admin", "ubuntu"})
"""Names that say nothing about a person and are words of many a log."""


def redact(text: str, *, home: str | None = None, user: str | None = None) -> str:
    """``text`` without keys, tokens, signatures, home folders and the user's name.

    Args:
        text: what shall leave the computer.
        home: the home folder; None = of this process.
        user: the user's name; None = of this process.
    """
    home = str(Path.home()) if home is None else home
    user = _user_name() if user is None else user
    if len(home) > 1:
        text = text.replace(home, "~")
    text = _HOMES.sub(r"\1<user>", text)
    if len(user) > 2 and user.lower() not in _SHARED_NAMES:
        text = re.sub(rf"\b{re.escape(user)}\b", "<user>", text)
    for pattern in _NAMED:
        text = pattern.sub(r"\1<removed>", text)
    for pattern in _BARE:
        text = pattern.sub("<removed>", text)
    return text


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
