"""Who publishes models that people know, and names that only look like theirs. Pure."""

from __future__ import annotations

import json
from functools import cache

from kimi_desktop.base.assets import asset

SHORTEST = 5
"""Shorter names are one letter apart from many others by chance."""
_LOOKS = str.maketrans({"0": "o", "1": "l", "5": "s", "-": "", "_": "", ".": ""})


def is_known(owner: str) -> bool:
    """A publisher that ships in the list; case counts nothing on the hubs."""
    return owner.casefold() in _known()


def looks_like(owner: str) -> str | None:
    """The known publisher that an unknown name could be taken for."""
    plain = _plain(owner)
    for known in _known().values():
        other = _plain(known)
        if plain == other or (len(other) >= SHORTEST and _is_one_apart(plain, other)):
            return known
    return None


def _is_one_apart(one: str, other: str) -> bool:
    """One letter changed, added or lost, or two neighbours swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) != len(long):
        return short[at:] == long[at + 1 :]
    swapped = long[at : at + 2][::-1] == short[at : at + 2]
    return short[at + 1 :] == long[at + 1 :] or (swapped and short[at + 2 :] == long[at + 2 :])


def _plain(name: str) -> str:
    return name.casefold().translate(_LOOKS).replace("rn", "m").replace("vv", "w")


@cache
def _known() -> dict[str, str]:
    data = json.loads(asset("hubs.json").read_text(encoding="utf-8"))
    return {name.casefold(): name for name in data["publishers"]}
