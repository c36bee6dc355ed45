"""A shell on a machine: the system's ssh, or /bin/sh here. IO thread; children are spawned here.

ssh asks for nothing (``BatchMode``): keys, agents, jump hosts and host keys are the user's own
set-up. A machine that ssh does not know yet is refused by it, with its own words.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
from collections.abc import Sequence

from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.nodes.types import Node
from kimi_desktop.base.errors import BackendError, ErrorCode

CONNECT_TIMEOUT_S = 10
ALIVE_S = 15
SSH_FAILED = 255
"""Exit code of ssh itself; what it ran may have any other one."""
LONGEST_DETAIL = 300
LONGEST_LINE = 2**20
SSH_VARIABLES = ("SSH_AUTH_SOCK", "SSH_AGENT_PID")


def shell_words(node: Node, script: str, forwarded: Sequence[int] = ()) -> tuple[str, ...]:
    """The command that runs a script on a machine.

    Args:
        node: which.
        script: for a POSIX shell.
        forwarded: ports of its 127.0.0.1 that are reached at the same ones here.
    """
    if not node.ssh_host:
        return ("/bin/sh", "-c", script)
    options = [
        "BatchMode=yes",
        f"ConnectTimeout={CONNECT_TIMEOUT_S}",
        f"ServerAliveInterval={ALIVE_S}",
        "ExitOnForwardFailure=yes",
    ]
    words = ["ssh", "-T", *(word for option in options for word in ("-o", option))]
    for port in forwarded:
        words += ["-L", f"127.0.0.1:{port}:127.0.0.1:{port}"]
    # The user's login shell there may be any; it gets one quoted word.
    return (*words, "--", node.ssh_host, f"exec /bin/sh -c {shlex.quote(script)}")


async def spawn(words: Sequence[str]) -> asyncio.subprocess.Process:
    """Start it with pipes, apart from the terminal's Ctrl+C.

    Raises:
        BackendError: NODE_NO_SSH.
    """
    kept = {name: os.environ[name] for name in SSH_VARIABLES if name in os.environ}
    try:
        return await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=engine_environment(os.environ, kept),
            start_new_session=True,
            limit=LONGEST_LINE,
        )
    except OSError as error:
        detail = error.strerror or str(error)
        params = {"program": words[0], "detail": detail}
        raise BackendError(ErrorCode.NODE_NO_SSH, params, cause=error) from error


async def ask(node: Node, script: str, timeout_s: float) -> str:
    """What a script prints on a machine.

    Raises:
        BackendError: NODE_UNREACHABLE, NODE_NO_SSH.
    """
    process = await spawn(shell_words(node, script))
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate()
    except TimeoutError as error:
        params = {"node": name_of(node), "detail": f"{timeout_s:.0f} s"}
        raise BackendError(ErrorCode.NODE_UNREACHABLE, params, cause=error) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    text = output.decode("utf-8", "replace")
    if node.ssh_host and process.returncode == SSH_FAILED:
        params = {"node": name_of(node), "detail": last_line(text)}
        raise BackendError(ErrorCode.NODE_UNREACHABLE, params)
    return text


def name_of(node: Node) -> str:
    """How people are told about it."""
    return f"{node.ssh_host} ({node.address})" if node.ssh_host else node.address


def last_line(text: str) -> str:
    """The last words of a program."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:LONGEST_DETAIL] if lines else "–"
