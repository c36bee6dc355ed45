"""This machine's addresses in local networks. Pool threads."""

from __future__ import annotations

import ipaddress
import socket

import psutil


def lan_addresses() -> tuple[str, ...]:
    """IPv4 addresses that programs in a local network can reach: private ones of links that are up.

    Bridges of containers and virtual machines come last; public addresses are left out, because
    plain HTTP does not belong there.
    """
    states = psutil.net_if_stats()
    found: list[tuple[bool, str]] = []
    for name, addresses in psutil.net_if_addrs().items():
        if name in states and not states[name].isup:
            continue
        virtual = name.startswith(("docker", "br-", "veth", "virbr", "vmnet", "vboxnet"))
        found.extend(
            (virtual, entry.address)
            for entry in addresses
            if entry.family == socket.AF_INET and _is_lan(entry.address)
        )
    return tuple(address for _, address in sorted(found, key=lambda pair: pair[0]))


def _is_lan(address: str) -> bool:
    try:
        parsed = ipaddress.IPv4Address(address)
    except ValueError:
        return False
    return parsed.is_private and not parsed.is_loopback and not parsed.is_link_local
