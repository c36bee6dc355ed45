"""Switches the gateway on and off, keeps its key, and points it at the engine that runs.

Commands come from any thread; the child process and its pipes live on the IO thread. A restart of
the engine changes neither the address nor the key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import python_command, python_path
from kimi_desktop.backends.types import (
    Endpoint,
    EngineState,
    EngineStateChanged,
    EngineStatus,
)
from kimi_desktop.base.errors import ErrorCode, KimiError, ServeError, SettingsError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.files import write_atomically
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.serve.certificate import GatewayCertificate, certificate_for
from kimi_desktop.serve.network import lan_addresses
from kimi_desktop.serve.snippets import curl_line, openai_lines, python_lines
from kimi_desktop.serve.types import (
    ClientKey,
    DoneRequest,
    LiveRequest,
    ServeChanged,
    ServeState,
    ServeStatus,
    Snippet,
    SnippetKind,
)

log = logging.getLogger(__name__)

GATEWAY_MODULE = "kimi_desktop.serve.gateway"
START_TIMEOUT_S = 30.0
END_GRACE_S = 5.0
LONGEST_LINE_BYTES = 65_536

_SPLIT_SUFFIX = re.compile(r"-\d{5}-of-\d{5}$")
_ANSWERING = (EngineState.READY, EngineState.GENERATING)
_ON_THE_WAY = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)

LOOPBACK = "127.0.0.1"
OWN_NAME = "default"
"""Whose key ``api_key`` is."""
MOST_CLIENTS = 32
LONGEST_NAME = 40
ADDRESS_EVERY_S = 5.0
ATTACHED_SLOTS = 8
"""Requests at once to a server that is not ours, which queues what is more itself."""


class EngineLink(Protocol):
    """What the gateway needs of the engine."""

    @property
    def status(self) -> EngineStatus:
        """Now."""

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it listens, while it is ready."""


class ServeService:
    """The gateway behind the Serve page (``ui.bridge.ServeService``)."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        engine: EngineLink,
        *,
        command: tuple[str, ...] = python_command(GATEWAY_MODULE),
        folder: Path,
        workplace: Path,
    ) -> None:
        """Join it to the engine.

        Args:
            io: where it runs.
            bus: where it publishes, and hears of the engine.
            store: keeps port, keys and reach.
            engine: what is served.
            command: the gateway's program.
            folder: private to the user, for the certificate.
            workplace: what the gateway's process works in; made private and empty, and removed.
        """
        self._io = io
        self._bus = bus
        self._store = store
        self._engine = engine
        self._command = command
        self._folder = folder
        self._workplace = workplace
        self._switching = asyncio.Lock()
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Future[int] | None = None
        self._target: dict[str, Any] | None = None
        self._status = ServeStatus(ServeState.OFF, api_key=store.settings.serve.api_key)
        self._unsubscribe = bus.subscribe(self._on_event)

    @property
    def status(self) -> ServeStatus:
        """Now."""
        return self._status

    def switch_on(self) -> Operation[ServeStatus]:
        """Start the gateway on 127.0.0.1.

        The operation fails with a ServeError: SERVE_PORT_TAKEN or SERVE_FAILED.
        """
        return self._io.submit(self._switch_on)

    def switch_off(self) -> Operation[ServeStatus]:
        """End it."""
        return self._io.submit(self._switch_off)

    def add_client(self, name: str) -> Operation[ServeStatus]:
        """A key of its own for one more program.

        The operation fails with a ServeError: SERVE_CLIENT_NAME (empty or taken),
        SERVE_CLIENTS_FULL.
        """
        return self._io.submit(lambda: self._add_client(name))

    def revoke_client(self, name: str) -> Operation[ServeStatus]:
        """Its key stops working at once."""
        return self._io.submit(lambda: self._revoke_client(name))

    def set_address(self, address: str) -> Operation[ServeStatus]:
        """Serve in the local network, too, at this address of the machine; "" = no longer.

        A gateway that is on is started again. The operation fails as ``switch_on`` does, or with
        SERVE_NO_ADDRESS.
        """
        return self._io.submit(lambda: self._set_address(address))

    def set_encrypted(self, *, encrypted: bool) -> Operation[ServeStatus]:
        """Encrypt what goes over the local network, or no longer. One that is on starts again."""
        return self._io.submit(lambda: self._set_encrypted(encrypted=encrypted))

    def save_certificate(self, file: Path) -> Operation[Path]:
        """A copy of the certificate that is in force, for programs on other machines.

        The operation fails with a ServeError: SERVE_NOT_SAVED.
        """
        return self._io.pool(_copy, self._status.certificate, file)

    def lan_addresses(self) -> Operation[tuple[str, ...]]:
        """This machine's addresses in local networks, for ``set_address``."""
        return self._io.pool(lan_addresses)

    def renew_key(self) -> Operation[ServeStatus]:
        """Replace the key; the old one stops working at once."""
        return self._io.submit(self._renew_key)

    def snippets(self) -> tuple[Snippet, ...]:
        """Lines to try the gateway with, one of each kind; () while it would not answer them."""
        status = self._status
        if status.state is not ServeState.ON or not status.model:
            return ()
        lines = {
            SnippetKind.CURL: curl_line,
            SnippetKind.PYTHON: python_lines,
            SnippetKind.OPENAI: openai_lines,
        }
        return tuple(
            Snippet(kind, write(status.url, status.api_key, status.model))
            for kind, write in lines.items()
        )

    def close(self) -> None:
        """End the gateway and stop listening. Blocking, and not on the IO thread."""
        self._unsubscribe()
        self.switch_off().result(2 * END_GRACE_S)

    async def _switch_on(self) -> ServeStatus:
        async with self._switching:
            if self._process is not None:
                return self._status
            key, address = self._key(), self._store.settings.serve.address
            self._publish(
                ServeStatus(
                    ServeState.STARTING, api_key=key, clients=self._clients(), address=address
                )
            )
            try:
                if address and address not in await self._io.in_pool(lan_addresses):
                    raise ServeError(ErrorCode.SERVE_NO_ADDRESS, {"address": address})
                certificate = await self._certificate(address)
                port = await self._start(address, certificate)
            except KimiError as error:
                await self._end()
                self._publish(replace(self._status, state=ServeState.FAILED, error=error))
                raise
            scheme = "https" if certificate is not None else "http"
            url = f"{scheme}://{address or LOOPBACK}:{port}/v1"
            if address:
                self._io.spawn(self._watch_address(address), name="network address")
            self._publish(
                replace(
                    self._status,
                    state=ServeState.ON,
                    url=url,
                    certificate=certificate.file if certificate is not None else None,
                    fingerprint=certificate.fingerprint if certificate is not None else "",
                )
            )
            self._retarget(force=True)
            return self._status

    async def _switch_off(self) -> ServeStatus:
        async with self._switching:
            await self._end()
            self._publish(
                ServeStatus(ServeState.OFF, api_key=self._status.api_key, clients=self._clients())
            )
            return self._status

    async def _renew_key(self) -> ServeStatus:
        async with self._switching:
            key = self._new_key()
            self._keys_changed(api_key=key)
            return self._status

    async def _add_client(self, name: str) -> ServeStatus:
        async with self._switching:
            wanted = " ".join(name.split())[:LONGEST_NAME]
            taken = self._store.settings.serve.clients
            if not wanted or wanted in taken or wanted == OWN_NAME:
                raise ServeError(ErrorCode.SERVE_CLIENT_NAME, {"name": name.strip()})
            if len(taken) >= MOST_CLIENTS:
                raise ServeError(ErrorCode.SERVE_CLIENTS_FULL, {"count": MOST_CLIENTS})
            self._save_clients({**taken, wanted: _make_key()})
            self._keys_changed()
            return self._status

    async def _revoke_client(self, name: str) -> ServeStatus:
        async with self._switching:
            taken = self._store.settings.serve.clients
            self._save_clients({other: key for other, key in taken.items() if other != name})
            self._keys_changed()
            return self._status

    async def _set_address(self, address: str) -> ServeStatus:
        return await self._reach(address=address)

    async def _set_encrypted(self, *, encrypted: bool) -> ServeStatus:
        return await self._reach(encrypted=encrypted)

    async def _reach(self, **changes: Any) -> ServeStatus:  # noqa: ANN401 - fields of the settings
        was_on = self._status.state in (ServeState.STARTING, ServeState.ON)
        async with self._switching:
            self._store.update(lambda s: replace(s, serve=replace(s.serve, **changes)))
        if not was_on:
            return self._status
        await self._switch_off()
        return await self._switch_on()

    async def _certificate(self, address: str) -> GatewayCertificate | None:
        if not address or not self._store.settings.serve.encrypted:
            return None
        try:
            return await self._io.in_pool(certificate_for, address, self._folder)
        except OSError as error:
            params = {"detail": error.strerror or str(error)}
            raise ServeError(ErrorCode.SERVE_FAILED, params, cause=error) from error

    def _keys_changed(self, **changes: Any) -> None:  # noqa: ANN401 - fields of the status
        self._publish(replace(self._status, clients=self._clients(), **changes))
        self._tell(clients=self._gateway_keys())

    def _clients(self) -> tuple[ClientKey, ...]:
        return tuple(
            ClientKey(name, key) for name, key in self._store.settings.serve.clients.items()
        )

    def _gateway_keys(self) -> dict[str, str]:
        return {OWN_NAME: self._status.api_key, **self._store.settings.serve.clients}

    def _save_clients(self, clients: dict[str, str]) -> None:
        try:
            self._store.update(lambda s: replace(s, serve=replace(s.serve, clients=clients)))
        except SettingsError as error:  # it holds until the app ends
            log.warning("the clients are not kept: %s", error)

    async def _watch_address(self, address: str) -> None:
        """The machine has moved to another network: what was meant for the old one ends."""
        process = self._process
        while self._process is process and process is not None:
            await asyncio.sleep(ADDRESS_EVERY_S)
            if self._process is not process or address in await self._io.in_pool(lan_addresses):
                continue
            async with self._switching:
                if self._process is not process:
                    return
                await self._end()
                error = ServeError(ErrorCode.SERVE_NETWORK_CHANGED, {"address": address})
                self._publish(
                    replace(
                        self._status,
                        state=ServeState.FAILED,
                        running=0,
                        model="",
                        live=(),
                        error=error,
                    )
                )

    # the process

    async def _start(self, address: str, certificate: GatewayCertificate | None) -> int:
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
        self._listening = asyncio.get_running_loop().create_future()
        self._io.spawn(self._listen(process, self._listening), name="gateway events")
        self._tell(
            port=self._store.settings.serve.port,
            address=address,
            clients=self._gateway_keys(),
            tls=_tls_files(certificate),
        )
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                return await self._listening
        except TimeoutError as error:
            params = {"detail": f"{START_TIMEOUT_S:g} s"}
            raise ServeError(ErrorCode.SERVE_FAILED, params, cause=error) from error

    async def _listen(
        self, process: asyncio.subprocess.Process, listening: asyncio.Future[int]
    ) -> None:
        """Its events until it ends, which nobody may have asked for."""
        stdout, stderr = process.stdout, process.stderr
        if stdout is None or stderr is None:
            raise AssertionError("pipes were asked for")
        log_reader = self._io.spawn(_read_log(stderr), name="gateway log")
        while line := await stdout.readline():
            self._on_line(line, listening)
        code = await process.wait()
        last = await log_reader
        if self._process is not process:
            return
        self._process = None
        # After a signal the last line of its log is some request's: no reason.
        detail = f"signal {-code}" if code < 0 else last or f"exit code {code}"
        error = ServeError(ErrorCode.SERVE_FAILED, {"detail": detail})
        if not listening.done():
            listening.set_exception(error)
            return
        self._publish(
            replace(
                self._status, state=ServeState.FAILED, running=0, model="", live=(), error=error
            )
        )

    def _on_line(self, line: bytes, listening: asyncio.Future[int]) -> None:
        try:
            event = json.loads(line)
            kind = event["event"]
        except (ValueError, TypeError, KeyError):
            log.warning("the gateway said %r", line[:200])
            return
        if kind == "listening" and not listening.done():
            listening.set_result(int(event["port"]))
        elif kind == "failed" and not listening.done():
            listening.set_exception(self._failure(event))
        elif kind == "requests":
            self._publish(
                replace(
                    self._status,
                    running=int(event["running"]),
                    served=int(event["served"]),
                    live=tuple(_live(raw) for raw in event["here"]),
                    done=tuple(_done(raw) for raw in event["done"]),
                )
            )

    def _failure(self, event: dict[str, Any]) -> ServeError:
        if event.get("reason") == "port_taken":
            port = self._store.settings.serve.port
            params = {"port": port, "free_port": int(event.get("free_port", 0))}
            return ServeError(ErrorCode.SERVE_PORT_TAKEN, params)
        return ServeError(ErrorCode.SERVE_FAILED, {"detail": str(event.get("detail", ""))})

    async def _end(self) -> None:
        process, self._process = self._process, None
        self._target = None
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

    def _tell(self, **order: object) -> None:
        process = self._process
        if process is not None and process.stdin is not None and not process.stdin.is_closing():
            process.stdin.write(json.dumps(order).encode() + b"\n")

    # key and target

    def _key(self) -> str:
        return self._store.settings.serve.api_key or self._new_key()

    def _new_key(self) -> str:
        key = _make_key()
        try:
            self._store.update(lambda s: replace(s, serve=replace(s.serve, api_key=key)))
        except SettingsError as error:  # it holds until the app ends
            log.warning("the key is not kept: %s", error)
        return key

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            self._io.submit(self._follow_engine)

    async def _follow_engine(self) -> None:
        self._retarget(force=False)

    def _retarget(self, *, force: bool) -> None:
        target = self._current_target()
        if self._process is not None and (force or target != self._target):
            self._target = target
            self._tell(target=target)
            model = target["model"] if target is not None else ""
            self._publish(replace(self._status, model=model))

    def _current_target(self) -> dict[str, Any] | None:
        status, endpoint = self._engine.status, self._engine.endpoint
        if status.state not in _ANSWERING or endpoint is None:
            return None
        if status.attached is not None:
            return {
                "url": endpoint.url,
                "api_key": endpoint.api_key,
                "model": status.attached.model,
                "slots": ATTACHED_SLOTS,
            }
        if status.settings is None:
            return None
        return {
            "socket_path": str(endpoint.socket_path) if endpoint.socket_path else None,
            "port": endpoint.port,
            "api_key": endpoint.api_key,
            "model": model_name(status.settings.model_path),
            "max_tokens": status.settings.context // max(status.settings.n_parallel, 1),
            "slots": status.settings.n_parallel,
        }

    def _publish(self, status: ServeStatus) -> None:
        if status != self._status:
            self._status = status
            self._bus.publish(ServeChanged(status))


def model_name(path: Path) -> str:
    """What clients call the model: the file's name without ending and part number."""
    return _SPLIT_SUFFIX.sub("", path.stem)


def _on_the_way() -> dict[str, str]:
    """How this system reaches servers elsewhere: its proxies and whom it trusts."""
    return {name: value for name, value in os.environ.items() if name.upper() in _ON_THE_WAY}


def _copy(certificate: Path | None, file: Path) -> Path:
    if certificate is None:
        raise ServeError(ErrorCode.SERVE_NOT_SAVED, {"path": str(file), "detail": "-"})
    try:
        write_atomically(file, certificate.read_bytes())
    except OSError as error:
        params = {"path": str(file), "detail": error.strerror or str(error)}
        raise ServeError(ErrorCode.SERVE_NOT_SAVED, params, cause=error) from error
    return file


def _tls_files(certificate: GatewayCertificate | None) -> dict[str, str] | None:
    if certificate is None:
        return None
    return {"certificate": str(certificate.file), "key": str(certificate.key_file)}


def _make_key() -> str:
    return f"kd-{secrets.token_urlsafe(32)}"


def _live(raw: dict[str, Any]) -> LiveRequest:
    return LiveRequest(
        int(raw["number"]), str(raw["client"]), str(raw["path"]), raw["began"], bool(raw["waits"])
    )


def _done(raw: dict[str, Any]) -> DoneRequest:
    return DoneRequest(
        str(raw["client"]), str(raw["path"]), raw["at"], raw["seconds"], int(raw["status"])
    )


async def _read_log(stderr: asyncio.StreamReader) -> str:
    """Pass the access log on; return the last line."""
    last = ""
    while line := await stderr.readline():
        last = line.decode("utf-8", "replace").rstrip()
        log.info("gateway: %s", last)
    return last
