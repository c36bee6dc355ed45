"""Ports of this computer: who listens on one, and which is free."""

from __future__ import annotations

import contextlib
import socket

import psutil


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now, for programs that cannot choose one.

    Another may take it before they do: whoever answers there has to prove who it is.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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


def port_holder(port: int) -> str:
    """Who listens there: "name (pid)", "another program" where the system hides it, "" = nobody."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return ""
    for entry in connections:
        if entry.status != psutil.CONN_LISTEN or entry.laddr.port != port:
            continue
        with contextlib.suppress(psutil.Error):
            if entry.pid:
                return f"{psutil.Process(entry.pid).name()} ({entry.pid})"
        return "another program"
    return ""
