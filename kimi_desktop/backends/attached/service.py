"""The servers that the user named, and Ollama where it listens: asked, kept, attached to.

Commands come from any thread. Servers are asked on the IO thread, keys in the pool. Settings hold
names and addresses; keys never leave ``ServerKeys`` but to be sent to their own server.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol

from kimi_desktop.backends.attached.addresses import api_url, ollama_url
from kimi_desktop.backends.attached.asking import ask_server
from kimi_desktop.backends.attached.keys import ServerKeys
from kimi_desktop.backends.attached.types import (
    OfferedByServer,
    OtherServer,
    OtherServersChanged,
    ServerDraft,
    ServerEntry,
    ServerReport,
)
from kimi_desktop.backends.types import Attachment, Endpoint, EngineStatus, ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode, KimiError, SettingsError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import OtherServerSettings, SettingsStore
from kimi_desktop.models.facts import clean_text

log = logging.getLogger(__name__)

LONGEST_NAME = 40
FRESH_S = 60.0
"""Somebody who opens a list again within this time sees what was known."""
MOST_NAMES = 8
"""Of models in a sentence."""
OLLAMA_VARIABLE = "OLLAMA_HOST"
_MAY_COME_BACK = (ErrorCode.SERVER_UNREACHABLE, ErrorCode.SERVER_TROUBLE)


class Attaches(Protocol):
    """What the service needs of the engine."""

    def attach(
        self,
        wanted: Attachment,
        connect: Callable[[], Awaitable[tuple[Attachment, Endpoint]]],
    ) -> Operation[EngineStatus]:
        """Use a model of a server."""


class OtherServers:
    """One per profile."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        keys: ServerKeys,
        engine: Attaches,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Join it.

        Args:
            io: whose thread this is.
            bus: gets OtherServersChanged.
            store: holds names and addresses.
            keys: holds the keys.
            engine: uses what is attached.
            environment: None = this process's.
        """
        self._io = io
        self._bus = bus
        self._store = store
        self._keys = keys
        self._engine = engine
        self._environment = os.environ if environment is None else environment
        self._lock = threading.Lock()
        self._known: dict[str, OtherServer] = {}
        """By name; what was asked in this run."""
        self._asked: dict[str, float] = {}

    @property
    def servers(self) -> tuple[OtherServer, ...]:
        """Those of the settings in their order, then Ollama where it was found."""
        with self._lock:
            return self._servers()

    def look(self) -> Operation[tuple[OtherServer, ...]]:
        """The same with where their keys are kept; asks the keyring, and no server."""
        return self._io.submit(self._look)

    def freshen(self) -> None:
        """Ask all that were not asked within a minute, and look for Ollama. Returns at once."""
        self._io.submit(self._freshen)

    def find_ollama(self) -> Operation[None]:
        """Look whether Ollama listens here, unless it was just done."""
        return self._io.submit(self._find_ollama)

    def can_keep_keys(self) -> Operation[bool]:
        """The system has a keyring."""
        return self._io.pool(lambda: self._keys.can_keep)

    def check(self, name: str) -> Operation[OtherServer]:
        """Ask one; its ``problem`` says what was met. Fails with SERVER_UNKNOWN alone."""
        return self._io.submit(lambda: self._check(self._entry(name)))

    def save(self, draft: ServerDraft, *, replaces: str = "") -> Operation[OtherServer]:
        """Ask it, then keep it, instead of the entry called ``replaces``.

        One that does not answer now is kept all the same, with its ``problem``. The operation
        fails, and nothing is kept, for a bad name, address, key or certificate, and for what is no
        OpenAI API.
        """
        return self._io.submit(lambda: self._save(draft, replaces))

    def remove(self, name: str) -> Operation[None]:
        """Forget it, and its key unless another entry has the same address."""
        return self._io.submit(lambda: self._remove(name))

    def attach(
        self, name: str, model: str = "", *, remember: bool = True
    ) -> Operation[EngineStatus]:
        """Chat with a model of a server from now on; "" = its only one.

        Args:
            name: of the server.
            model: its name there.
            remember: Attach means it in later runs, too.

        Raises:
            BackendError: SERVER_UNKNOWN; from the operation SERVER_NO_MODEL, or what a check says.
        """
        entry = self._entry(name)
        wanted = Attachment(entry.name, entry.url, model)
        if remember:
            self._set(replace(self._store.settings.other_servers, chosen=name, model=model))
        return self._engine.attach(wanted, lambda: self._connect(entry, model, remember=remember))

    # on the IO thread

    async def _look(self) -> tuple[OtherServer, ...]:
        for server in self.servers:
            place = await self._io.in_pool(self._keys.place_of, server.entry.url)
            self._note(replace(server, key_place=place))
        return self.servers

    async def _freshen(self) -> None:
        now = time.monotonic()
        stale = [
            server.entry
            for server in self.servers
            if now - self._asked.get(server.entry.name, -FRESH_S) >= FRESH_S
        ]
        await asyncio.gather(self._find_ollama(), *(self._check(entry) for entry in stale))

    async def _check(self, entry: ServerEntry) -> OtherServer:
        before = next((one for one in self.servers if one.entry == entry), OtherServer(entry))
        self._asked[entry.name] = time.monotonic()
        key = await self._io.in_pool(self._keys.value_of, entry.url)
        place = await self._io.in_pool(self._keys.place_of, entry.url)
        try:
            report = await ask_server(entry.name, entry.url, key)
        except KimiError as error:
            return self._tell(replace(before, key_place=place, problem=error))
        return self._tell(OtherServer(entry, place, report))

    async def _find_ollama(self) -> None:
        """It is looked for and never started. One that the user named himself is not found."""
        url = ollama_url(self._environment.get(OLLAMA_VARIABLE, ""))
        entry = ServerEntry(ServerProgram.OLLAMA.value, url, is_found=True)
        named = self._store.settings.other_servers.addresses
        if url in named.values() or entry.name in named:
            self._drop(entry)
            return
        if time.monotonic() - self._asked.get(entry.name, -FRESH_S) < FRESH_S:
            return
        self._asked[entry.name] = time.monotonic()
        try:
            report = await ask_server(entry.name, url, "")
        except KimiError:
            self._drop(entry)
            return
        if report.program is ServerProgram.OLLAMA:
            self._tell(OtherServer(entry, report=report))

    async def _save(self, draft: ServerDraft, replaces: str) -> OtherServer:
        name = self._good_name(draft.name, replaces)
        url = api_url(draft.url)
        kept = await self._io.in_pool(self._keys.value_of, url)
        key = kept if draft.key is None else draft.key.strip()
        if key:
            self._keys.check(name, url, key)
        report: ServerReport | None = None
        problem: KimiError | None = None
        try:
            report = await ask_server(name, url, key)
        except BackendError as error:
            if error.code not in _MAY_COME_BACK:
                raise
            problem = error
        entry = ServerEntry(name, report.url if report else url)
        try:
            await self._io.in_pool(self._keep_key, entry, draft)
        except BackendError as error:
            if error.code is not ErrorCode.SERVER_KEY_NOT_KEPT:
                raise
            problem = error  # it works until the app ends
        await self._put(entry, replaces)
        self._asked[name] = time.monotonic()
        place = await self._io.in_pool(self._keys.place_of, entry.url)
        return self._tell(OtherServer(entry, place, report, problem))

    async def _put(self, entry: ServerEntry, replaces: str) -> None:
        """Into the settings, at the place of the one that it replaces."""
        before = self._store.settings.other_servers
        addresses: dict[str, str] = {}
        for name, url in before.addresses.items():
            here = name in (replaces, entry.name)
            addresses[entry.name if here else name] = entry.url if here else url
        addresses[entry.name] = entry.url
        chosen = entry.name if replaces and before.chosen == replaces else before.chosen
        self._set(replace(before, addresses=addresses, chosen=chosen))
        if replaces in before.addresses:
            await self._forget_unused_key(before.addresses[replaces])
        if replaces != entry.name:
            with self._lock:
                self._known.pop(replaces, None)

    async def _forget_unused_key(self, url: str) -> None:
        urls = self._store.settings.other_servers.addresses.values()
        if not any(_same_place(one, url) for one in urls):
            await self._io.in_pool(self._keys.forget, url)

    def _keep_key(self, entry: ServerEntry, draft: ServerDraft) -> None:
        if draft.key is None:
            return
        if draft.key.strip():
            self._keys.save(entry.url, draft.key, in_file=draft.key_in_file)
        else:
            self._keys.forget(entry.url)

    async def _remove(self, name: str) -> None:
        entry = self._entry(name)
        known = self._store.settings.other_servers
        rest = {other: url for other, url in known.addresses.items() if other != name}
        chosen, model = known.chosen, known.model
        if chosen == name:
            chosen = model = ""
        self._set(OtherServerSettings(rest, chosen, model))
        await self._forget_unused_key(entry.url)
        self._drop(entry)

    async def _connect(
        self, entry: ServerEntry, model: str, *, remember: bool
    ) -> tuple[Attachment, Endpoint]:
        key = await self._io.in_pool(self._keys.value_of, entry.url)
        server = await self._check(entry)
        report = server.report
        if server.problem is not None or report is None:
            raise server.problem or _unreachable(entry)
        found = _chosen(entry, report, model)
        attachment = Attachment(
            entry.name, report.url, found.id, report.program, report.version, found.context
        )
        if remember:
            others = self._store.settings.other_servers
            self._set(replace(others, chosen=entry.name, model=found.id))
        return attachment, Endpoint(None, None, key, report.url)

    # what is known

    def _servers(self) -> tuple[OtherServer, ...]:
        named = self._store.settings.other_servers.addresses
        entries = [ServerEntry(name, url) for name, url in named.items()]
        found = [one for one in self._known.values() if one.entry.is_found]
        return (*(self._of(entry) for entry in entries), *found)

    def _of(self, entry: ServerEntry) -> OtherServer:
        known = self._known.get(entry.name)
        return known if known is not None and known.entry == entry else OtherServer(entry)

    def _entry(self, name: str) -> ServerEntry:
        for server in self.servers:
            if server.entry.name == name:
                return server.entry
        names = ", ".join(server.entry.name for server in self.servers) or "-"
        raise BackendError(ErrorCode.SERVER_UNKNOWN, {"name": name, "names": names})

    def _good_name(self, text: str, replaces: str) -> str:
        name = clean_text(text)
        taken = {
            server.entry.name.casefold()
            for server in self.servers
            if server.entry.name != replaces and not server.entry.is_found
        }
        if not name or len(name) > LONGEST_NAME or name.casefold() in taken:
            raise BackendError(ErrorCode.SERVER_BAD_NAME, {"name": name[:LONGEST_NAME]})
        return name

    def _set(self, chosen: OtherServerSettings) -> None:
        if chosen == self._store.settings.other_servers:
            return
        try:
            self._store.update(lambda settings: replace(settings, other_servers=chosen))
        except SettingsError:
            log.warning("the servers hold, but could not be saved", exc_info=True)

    def _note(self, server: OtherServer) -> None:
        with self._lock:
            self._known[server.entry.name] = server

    def _tell(self, server: OtherServer) -> OtherServer:
        self._note(server)
        self._bus.publish(OtherServersChanged(self.servers))
        return server

    def _drop(self, entry: ServerEntry) -> None:
        with self._lock:
            known = self._known.get(entry.name)
            if known is not None and known.entry == entry:
                del self._known[entry.name]
        self._bus.publish(OtherServersChanged(self.servers))


def _chosen(entry: ServerEntry, report: ServerReport, model: str) -> OfferedByServer:
    """The model that is meant.

    Raises:
        BackendError: SERVER_NO_MODEL.
    """
    found = report.find(model)
    if found is None and not model and len(report.models) == 1:
        found = report.models[0]
    if found is None:
        names = [clean_text(one.id) for one in report.models]
        shown = ", ".join(names[:MOST_NAMES]) + (" …" if len(names) > MOST_NAMES else "")
        params = {"name": entry.name, "model": clean_text(model), "models": shown or "-"}
        raise BackendError(ErrorCode.SERVER_NO_MODEL, params)
    return found


def _same_place(one: str, other: str) -> bool:
    """One key is for both: scheme, host and port are the same."""
    return one.split("/")[:3] == other.split("/")[:3]


def _unreachable(entry: ServerEntry) -> BackendError:
    params = {"name": entry.name, "url": entry.url, "detail": "-"}
    return BackendError(ErrorCode.SERVER_UNREACHABLE, params)
