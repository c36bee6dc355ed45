"""A worker process as its owner sees it: an order, commands, events, the end. On the IO thread."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import kimi_desktop
from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.io_loop import IoLoop

log = logging.getLogger(__name__)

WORKER_MODULE = "kimi_desktop.downloads.worker"
STOP_TIMEOUT_S = 15.0
LONGEST_LINE_BYTES = 2**24
NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Keeps Windows from opening a console beside the app's window; 0 elsewhere."""
KEPT_ERROR_BYTES = 4000

_SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "MODELSCOPE_API_TOKEN")
"""Tokens come through the order, bound to their origins."""
_PACKAGE_FOLDER = str(Path(kimi_desktop.__file__).resolve().parent.parent)


def worker_command() -> tuple[str, ...]:
    """How the worker is started."""
    return (sys.executable, "-P", "-m", WORKER_MODULE)


def worker_environment() -> dict[str, str]:
    """The user's environment (proxies, trust store) without tokens."""
    kept = {name: text for name, text in os.environ.items() if name not in _SECRETS}
    return kept | {"PYTHONPATH": _PACKAGE_FOLDER, "PYTHONIOENCODING": "utf-8"}


class WorkerProcess:
    """Use as an asynchronous context manager: at its end the process has ended, too.

    Args:
        io: whose thread this is.
        order: the first line for it.
        command: the program.
    """

    def __init__(self, io: IoLoop, order: Mapping[str, Any], command: Sequence[str]) -> None:
        self._io = io
        self._order = order
        self._command = tuple(command)
        self._process: asyncio.subprocess.Process | None = None
        self._errors: asyncio.Task[bytes] | None = None

    async def __aenter__(self) -> WorkerProcess:
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE_BYTES,
            start_new_session=True,  # Ctrl+C in a terminal is ours to handle, by the lifeline
            creationflags=NO_WINDOW,
            env=worker_environment(),
        )
        assert self._process.stderr is not None
        self._errors = self._io.spawn(_last_of(self._process.stderr), name="worker errors")
        self.send(self._order)
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()
        process = self._process
        assert process is not None
        try:
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()

    async def events(self) -> AsyncIterator[Mapping[str, Any]]:
        """What it tells, up to its last word.

        Raises:
            DownloadError: WORKER_DIED when it ended without one.
        """
        process = self._process
        assert process is not None
        assert process.stdout is not None
        has_ended = False
        async for line in process.stdout:
            facts = json.loads(line)
            has_ended = facts["event"] in ("done", "stopped", "failed")
            yield facts
        if not has_ended:
            code = await process.wait()
            errors = b"" if self._errors is None else await self._errors
            text = errors.decode(errors="replace").strip()
            log.error("the download worker ended with %s: %s", code, text)
            detail = text.splitlines()[-1] if text else f"exit {code}"
            raise DownloadError(ErrorCode.DOWNLOAD_WORKER_DIED, {"detail": detail[:200]})

    def send(self, command: Mapping[str, Any]) -> None:
        """Tell it something; nothing happens when it has ended."""
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(json.dumps(command).encode() + b"\n")

    def stop(self) -> None:
        """Let go of the lifeline; it ends by itself and keeps what came."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def error_from(facts: Mapping[str, Any]) -> KimiError:
    """The error that a worker told as JSON."""
    return DownloadError(ErrorCode(facts["code"]), facts["params"])


async def _last_of(stream: asyncio.StreamReader) -> bytes:
    """The end of everything that comes."""
    kept = b""
    while block := await stream.read(4096):
        kept = (kept + block)[-KEPT_ERROR_BYTES:]
    return kept
