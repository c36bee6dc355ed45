"""Which hosts are this computer's or a network's of one's own. Pure."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str | None) -> bool:
    """A name or address of this computer."""
    if not host or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_private(host: str | None) -> bool:
    """A name or address of this computer or of a private network."""
    if not host or host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not address.is_global
