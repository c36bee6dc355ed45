"""Addresses that a worker may have. llama.cpp's RPC knows neither keys nor encryption.

So a worker listens on one private address that the user names, never on all, and the first machine
talks to such addresses only. Pure, but for ``private_addresses_here``, which asks the system.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

import psutil

from kimi_desktop.base.errors import BackendError, ErrorCode

DEFAULT_PORT = 50052
"""Of ``ggml-rpc-server``."""

PRIVATE = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  # what overlay networks (VPNs) give out
        "169.254.0.0/16",  # a cable between two machines (Thunderbolt, a direct wire)
        "127.0.0.0/8",  # this machine alone
    )
)

_ENDPOINT = re.compile(r"(?P<host>[^:\s]+)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True, slots=True, order=True)
class WorkerAddress:
    """Where a worker listens. Always IPv4: llama.cpp splits at the first colon."""

    host: str
    port: int = DEFAULT_PORT

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def worker_address(text: str) -> WorkerAddress:
    """What "192.168.1.20" or "192.168.1.20:50052" stands for.

    Raises:
        BackendError: WORKER_BAD_ADDRESS, or WORKER_PUBLIC_ADDRESS for one outside private networks.
    """
    match = _ENDPOINT.fullmatch(text.strip())
    port = int(match["port"] or DEFAULT_PORT) if match else 0
    if match is None or not 1 <= port <= 65535:
        raise BackendError(ErrorCode.WORKER_BAD_ADDRESS, {"address": text.strip()[:80]})
    return WorkerAddress(private_host(match["host"]), port)


def private_host(text: str) -> str:
    """The address, if it is one of a private network.

    Raises:
        BackendError: WORKER_BAD_ADDRESS, WORKER_PUBLIC_ADDRESS.
    """
    try:
        address = ipaddress.IPv4Address(text.strip())
    except ValueError as error:
        params = {"address": text.strip()[:80]}
        raise BackendError(ErrorCode.WORKER_BAD_ADDRESS, params, cause=error) from error
    if not is_private(address):
        raise BackendError(ErrorCode.WORKER_PUBLIC_ADDRESS, {"address": str(address)})
    return str(address)


def is_private(address: ipaddress.IPv4Address) -> bool:
    """Machines of other people cannot reach it."""
    return any(address in network for network in PRIVATE)


def private_addresses_here() -> tuple[str, ...]:
    """This machine's private addresses of links that are up, loopback last. Blocking."""
    states = psutil.net_if_stats()
    found = []
    for name, entries in psutil.net_if_addrs().items():
        if name in states and not states[name].isup:
            continue
        for entry in entries:
            if entry.family == socket.AF_INET:
                address = ipaddress.IPv4Address(entry.address)
                if is_private(address):
                    found.append((address.is_loopback, str(address)))
    return tuple(address for _, address in sorted(set(found)))


def address_here(wanted: str) -> str:
    """The address to listen on. Blocking.

    Args:
        wanted: what the user named; "" = nothing, which is refused with what there is to choose.

    Raises:
        BackendError: WORKER_CHOOSE_ADDRESS, WORKER_BAD_ADDRESS, WORKER_PUBLIC_ADDRESS,
            WORKER_NOT_HERE.
    """
    here = private_addresses_here()
    if not wanted:
        raise BackendError(ErrorCode.WORKER_CHOOSE_ADDRESS, {"addresses": ", ".join(here) or "–"})
    host = private_host(wanted)
    if host not in here:
        params = {"address": host, "addresses": ", ".join(here) or "–"}
        raise BackendError(ErrorCode.WORKER_NOT_HERE, params)
    return host
