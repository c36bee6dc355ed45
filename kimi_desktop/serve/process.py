"""The gateway's process as the app sees it: started, told, heard, ended. IO thread only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import python_path
from kimi_desktop.base.errors import ErrorCode, ServeError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.serve.certificate import GatewayCertificate

log = logging.getLogger(__name__)

START_TIMEOUT_S = 30.0
END_GRACE_S = 5.0
LONGEST_LINE_BYTES = 262_144
_ON_THE_WAY = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)


@dataclass(frozen=True, slots=True)
class GatewayOrder:
    """Where it listens, and whom it lets in."""

    port: int
    address: str
    """In the local network; "" = this machine only."""
    clients: Mapping[str, str]
    """Name -> key."""
    certificate: GatewayCertificate | None


class GatewayProcess:
    """One at a time. ``start`` it again after an end."""

    def __init__(
        self,
        io: IoLoop,
        command: tuple[str, ...],
        workplace: Path,
        *,
        on_requests: Callable[[dict[str, Any]], None],
        on_lost: Callable[[ServeError], None],
    ) -> None:
        """Prepare it.

        Args:
            io: whose loop this is.
            command: the program.
            workplace: what it works in; made private and empty, and removed.
            on_requests: called with each ``requests`` event (``gateway``).
            on_lost: called when it ended and nobody asked it to.
        """
        self._io = io
        self._command = command
        self._workplace = workplace
        self._on_requests = on_requests
        self._on_lost = on_lost
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """None while there is none; another number is another life."""
        return self._process.pid if self._process is not None else None

    async def start(self, order: GatewayOrder) -> int:
        """Start it; returns the port once it listens.

        Raises:
            ServeError: SERVE_PORT_TAKEN, SERVE_FAILED.
        """
        try:
            await self._io.in_pool(self._make_workplace)
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE_BYTES,
                cwd=self._workplace,
                env=engine_environment(os.environ, _on_the_way() | {"PYTHONPATH": python_path()}),
                start_new_session=True,
            )
        except OSError as error:
            params = {"detail": error.strerror or str(error)}
            raise ServeError(ErrorCode.SERVE_FAILED, params, cause=error) from error
        self._process = process
        listening: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._io.spawn(self._listen(process, listening, order.port), name="gateway events")
        self.tell(
            port=order.port,
            address=order.address,
            clients=dict(order.clients),
            tls=_tls_files(order.certificate),
        )
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                return await listening
        except TimeoutError as error:
            params = {"detail": f"{START_TIMEOUT_S:g} s"}
            raise ServeError(ErrorCode.SERVE_FAILED, params, cause=error) from error

    def tell(self, **order: object) -> None:
        """Send one order, if it is there."""
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(json.dumps(order).encode() + b"\n")

    async def end(self) -> None:
        """End it, if it is there. Returns when it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(END_GRACE_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        with contextlib.suppress(OSError):  # another program with this profile may serve, too
            await self._io.in_pool(self._workplace.rmdir)

    def _make_workplace(self) -> None:
        self._workplace.mkdir(mode=0o700, parents=True, exist_ok=True)

    async def _listen(
        self, process: asyncio.subprocess.Process, listening: asyncio.Future[int], port: int
    ) -> None:
        """Its events until it ends, which nobody may have asked for."""
        stdout, stderr = process.stdout, process.stderr
        if stdout is None or stderr is None:
            raise AssertionError("pipes were asked for")
        log_reader = self._io.spawn(_read_log(stderr), name="gateway log")
        while line := await stdout.readline():
            self._on_line(line, listening, port)
        code = await process.wait()
        last = await log_reader
        if self._process is not process:
            return
        self._process = None
        # After a signal the last line of its log is some request's: no reason.
        detail = f"signal {-code}" if code < 0 else last or f"exit code {code}"
        error = ServeError(ErrorCode.SERVE_FAILED, {"detail": detail})
        if listening.done():
            self._on_lost(error)
        else:
            listening.set_exception(error)

    def _on_line(self, line: bytes, listening: asyncio.Future[int], port: int) -> None:
        try:
            event = json.loads(line)
            kind = event["event"]
        except (ValueError, TypeError, KeyError):
            log.warning("the gateway said %r", line[:200])
            return
        if kind == "listening" and not listening.done():
            listening.set_result(int(event["port"]))
        elif kind == "failed" and not listening.done():
            listening.set_exception(_failure(event, port))
        elif kind == "requests":
            self._on_requests(event)


def _failure(event: dict[str, Any], port: int) -> ServeError:
    if event.get("reason") == "port_taken":
        params = {"port": port, "free_port": int(event.get("free_port", 0))}
        return ServeError(ErrorCode.SERVE_PORT_TAKEN, params)
    return ServeError(ErrorCode.SERVE_FAILED, {"detail": str(event.get("detail", ""))})


def _on_the_way() -> dict[str, str]:
    """How this system reaches servers elsewhere: its proxies and whom it trusts."""
    return {name: value for name, value in os.environ.items() if name.upper() in _ON_THE_WAY}


def _tls_files(certificate: GatewayCertificate | None) -> dict[str, str] | None:
    if certificate is None:
        return None
    return {"certificate": str(certificate.file), "key": str(certificate.key_file)}


async def _read_log(stderr: asyncio.StreamReader) -> str:
    """Pass the access log on; return the last line."""
    last = ""
    while line := await stderr.readline():
        last = line.decode("utf-8", "replace").rstrip()
        log.info("gateway: %s", last)
    return last
