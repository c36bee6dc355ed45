"""Who listens on a port of this computer."""

from __future__ import annotations

import psutil


def owns_port(pid: int, port: int) -> bool:
    """The process, or one that it started, listens there; true where the system does not tell."""
    try:
        process = psutil.Process(pid)
        tree = [process, *process.children(recursive=True)]
    except psutil.Error:
        return False
    for member in tree:
        try:
            connections = member.net_connections(kind="tcp")
        except psutil.AccessDenied:
            return True
        except psutil.Error:
            continue
        if any(
            entry.status == psutil.CONN_LISTEN and entry.laddr.port == port for entry in connections
        ):
            return True
    return False
