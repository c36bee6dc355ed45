"""Who listens where: real sockets of this process."""

from __future__ import annotations

import os
import socket

import psutil
import pytest

from kimi_desktop.backends.ports import owns_port


def test_the_owner_of_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert owns_port(os.getpid(), port)
        assert owns_port(os.getppid(), port) or psutil.Process().ppid() == 1
    assert not owns_port(os.getpid(), port)
    assert not owns_port(2**22 - 1, port)


def test_a_system_that_does_not_tell_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_process: psutil.Process, kind: str) -> None:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "net_connections", refuse)
    assert owns_port(os.getpid(), 1)
