"""Switches the gateway on and off, and points it at the engine that runs.

Commands come from any thread; the child process and its pipes live on the IO thread. A restart of
the engine changes neither the address nor the key. The local network is never open because it once
was: its address is chosen anew in every run of the app, and gone with the network.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kimi_desktop.backends.probe import python_command
from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.errors import ErrorCode, KimiError, ServeError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.files import write_atomically
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.serve.certificate import GatewayCertificate, certificate_for
from kimi_desktop.serve.keys import FILE_NAME, ClientKeys
from kimi_desktop.serve.network import lan_addresses
from kimi_desktop.serve.process import END_GRACE_S, GatewayOrder, GatewayProcess
from kimi_desktop.serve.snippets import curl_line, openai_lines, python_lines
from kimi_desktop.serve.target import EngineLink, target_of
from kimi_desktop.serve.types import (
    ClientKey,
    DoneRequest,
    LiveRequest,
    Reach,
    RefusedRequests,
    ServeChanged,
    ServeState,
    ServeStatus,
    Snippet,
    SnippetKind,
)

log = logging.getLogger(__name__)

GATEWAY_MODULE = "kimi_desktop.serve.gateway"
LOOPBACK = "127.0.0.1"
ADDRESS_EVERY_S = 5.0
KEYS_EVERY_S = 1.0
"""Another program with this profile may have given or taken a key."""


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
            store: keeps the port, and whether to encrypt.
            engine: what is served.
            command: the gateway's program.
            folder: private to the user, for the keys and the certificate.
            workplace: what the gateway's process works in; made private and empty, and removed.
        """
        self._io = io
        self._bus = bus
        self._store = store
        self._engine = engine
        self._folder = folder
        self._keys = ClientKeys(folder / FILE_NAME)
        self._switching = asyncio.Lock()
        self._process = GatewayProcess(
            io,
            command,
            workplace,
            on_requests=self._on_requests,
            on_lost=self._on_lost,
        )
        self._target: dict[str, Any] | None = None
        self._status = self._idle(ServeState.OFF)
        self._unsubscribe = bus.subscribe(self._on_event)

    @property
    def status(self) -> ServeStatus:
        """Now."""
        return self._status

    def switch_on(self, reach: Reach | None = None) -> Operation[ServeStatus]:
        """Start the gateway.

        Args:
            reach: where, for this time; None = the port of the settings, on this machine and at
                the address that ``set_address`` chose in this run.

        The operation fails with a ServeError: SERVE_PORT_TAKEN, SERVE_NO_ADDRESS or SERVE_FAILED.
        """
        return self._io.submit(lambda: self._switch_on(reach))

    def switch_off(self) -> Operation[ServeStatus]:
        """End it."""
        return self._io.submit(self._switch_off)

    def add_client(self, name: str) -> Operation[ServeStatus]:
        """A key of its own for one more program.

        The operation fails with a ServeError: SERVE_CLIENT_NAME (empty or taken),
        SERVE_CLIENTS_FULL.
        """
        return self._io.submit(lambda: self._change_keys(lambda: self._keys.add(name)))

    def revoke_client(self, name: str) -> Operation[ServeStatus]:
        """Its key stops working at once."""
        return self._io.submit(lambda: self._change_keys(lambda: self._keys.revoke(name)))

    def renew_key(self) -> Operation[ServeStatus]:
        """Replace the key; the old one stops working at once."""
        return self._io.submit(lambda: self._change_keys(self._keys.renew))

    def set_address(self, address: str) -> Operation[ServeStatus]:
        """Serve in the local network, too, at this address of the machine; "" = no longer.

        A gateway that is on is started again. The operation fails as ``switch_on`` does.
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

    async def _switch_on(self, reach: Reach | None) -> ServeStatus:
        async with self._switching:
            if self._process.pid is not None:
                return self._status
            settings = self._store.settings.serve
            reach = reach or Reach(settings.port, self._status.address, settings.encrypted)
            self._with_keys(self._keys.make_own)
            self._publish(self._idle(ServeState.STARTING, reach.address))
            try:
                status = await self._started(reach)
            except KimiError as error:
                await self._end()
                self._publish(replace(self._status, state=ServeState.FAILED, error=error))
                raise
            self._publish(status)
            self._io.spawn(self._watch_keys(), name="keys of programs")
            if reach.address:
                self._io.spawn(self._watch_address(reach.address), name="network address")
            self._retarget(force=True)
            return self._status

    async def _started(self, reach: Reach) -> ServeStatus:
        address = reach.address
        if address and address not in await self._io.in_pool(lan_addresses):
            raise ServeError(ErrorCode.SERVE_NO_ADDRESS, {"address": address})
        certificate = await self._certificate(reach)
        order = GatewayOrder(reach.port, address, self._keys.keys.by_name(), certificate)
        port = await self._process.start(order)
        scheme = "https" if certificate is not None else "http"
        return replace(
            self._status,
            state=ServeState.ON,
            url=f"{scheme}://{address or LOOPBACK}:{port}/v1",
            certificate=certificate.file if certificate is not None else None,
            fingerprint=certificate.fingerprint if certificate is not None else "",
        )

    async def _switch_off(self) -> ServeStatus:
        async with self._switching:
            await self._end()
            self._publish(self._idle(ServeState.OFF, self._status.address))
            return self._status

    async def _end(self) -> None:
        self._target = None
        await self._process.end()

    async def _set_address(self, address: str) -> ServeStatus:
        async with self._switching:
            self._publish(replace(self._status, address=address))
        return await self._restart()

    async def _set_encrypted(self, *, encrypted: bool) -> ServeStatus:
        async with self._switching:
            self._store.update(lambda s: replace(s, serve=replace(s.serve, encrypted=encrypted)))
        return await self._restart()

    async def _restart(self) -> ServeStatus:
        """One that is on."""
        if self._status.state not in (ServeState.STARTING, ServeState.ON):
            return self._status
        await self._switch_off()
        return await self._switch_on(None)

    async def _certificate(self, reach: Reach) -> GatewayCertificate | None:
        if not reach.address or not reach.encrypted:
            return None
        try:
            return await self._io.in_pool(certificate_for, reach.address, self._folder)
        except OSError as error:
            params = {"detail": error.strerror or str(error)}
            raise ServeError(ErrorCode.SERVE_FAILED, params, cause=error) from error

    async def _watch_address(self, address: str) -> None:
        """The machine has moved to another network: what was meant for the old one ends."""
        pid = self._process.pid
        while self._process.pid == pid and pid is not None:
            await asyncio.sleep(ADDRESS_EVERY_S)
            if self._process.pid != pid or address in await self._io.in_pool(lan_addresses):
                continue
            async with self._switching:
                if self._process.pid != pid:
                    return
                await self._end()
                error = ServeError(ErrorCode.SERVE_NETWORK_CHANGED, {"address": address})
                self._publish(replace(self._idle(ServeState.FAILED), error=error))

    def _on_lost(self, error: ServeError) -> None:
        self._target = None
        status = self._idle(ServeState.FAILED, self._status.address)
        self._publish(replace(status, error=error))

    def _on_requests(self, event: dict[str, Any]) -> None:
        self._publish(
            replace(
                self._status,
                running=int(event["running"]),
                served=int(event["served"]),
                live=tuple(_live(raw) for raw in event["here"]),
                done=tuple(_done(raw) for raw in event["done"]),
                refused=tuple(_refused(raw) for raw in event["refused"]),
            )
        )

    # keys

    async def _change_keys(self, change: Callable[[], object]) -> ServeStatus:
        async with self._switching:
            self._with_keys(change)
            self._tell_keys()
            return self._status

    def _with_keys(self, change: Callable[[], object]) -> None:
        try:
            change()
        except ServeError as error:
            if error.code is not ErrorCode.SERVE_KEYS_NOT_KEPT:
                raise
            log.warning("the keys hold until the app ends: %s", error)

    async def _watch_keys(self) -> None:
        pid = self._process.pid
        while self._process.pid == pid and pid is not None:
            await asyncio.sleep(KEYS_EVERY_S)
            async with self._switching:
                if self._process.pid == pid and self._keys.look():
                    self._tell_keys()

    def _tell_keys(self) -> None:
        keys = self._keys.keys
        self._publish(replace(self._status, api_key=keys.own, clients=self._clients()))
        self._process.tell(clients=keys.by_name())

    def _clients(self) -> tuple[ClientKey, ...]:
        return tuple(ClientKey(name, key) for name, key in self._keys.keys.clients.items())

    # the target

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            self._io.submit(self._follow_engine)

    async def _follow_engine(self) -> None:
        self._retarget(force=False)

    def _retarget(self, *, force: bool) -> None:
        target = target_of(self._engine)
        if self._process.pid is not None and (force or target != self._target):
            self._target = target
            self._process.tell(target=target)
            model = target["model"] if target is not None else ""
            self._publish(replace(self._status, model=model))

    def _idle(self, state: ServeState, address: str = "") -> ServeStatus:
        """Of a gateway that serves nobody."""
        return ServeStatus(
            state, address=address, api_key=self._keys.keys.own, clients=self._clients()
        )

    def _publish(self, status: ServeStatus) -> None:
        if status != self._status:
            self._status = status
            self._bus.publish(ServeChanged(status))


def _copy(certificate: Path | None, file: Path) -> Path:
    if certificate is None:
        raise ServeError(ErrorCode.SERVE_NOT_SAVED, {"path": str(file), "detail": "-"})
    try:
        write_atomically(file, certificate.read_bytes())
    except OSError as error:
        params = {"path": str(file), "detail": error.strerror or str(error)}
        raise ServeError(ErrorCode.SERVE_NOT_SAVED, params, cause=error) from error
    return file


def _live(raw: dict[str, Any]) -> LiveRequest:
    return LiveRequest(
        int(raw["number"]), str(raw["client"]), str(raw["path"]), raw["began"], bool(raw["waits"])
    )


def _done(raw: dict[str, Any]) -> DoneRequest:
    return DoneRequest(
        str(raw["client"]), str(raw["path"]), raw["at"], raw["seconds"], int(raw["status"])
    )


def _refused(raw: dict[str, Any]) -> RefusedRequests:
    return RefusedRequests(raw["at"], int(raw["status"]), int(raw["count"]), str(raw["peer"]))
