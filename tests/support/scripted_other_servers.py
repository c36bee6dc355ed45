"""Other servers of the scripted services: no network, no keyring."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from kimi_desktop.backends.attached.types import (
    KeyPlace,
    OfferedByServer,
    OtherServer,
    OtherServersChanged,
    ServerDraft,
    ServerEntry,
    ServerReport,
)
from kimi_desktop.backends.types import Attachment, EngineState, EngineStatus, ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode, KimiError
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import OtherServerSettings
from tests.support.scripted_desk import Desk

if TYPE_CHECKING:
    from tests.support.scripted_services import ScriptedServices

VLLM = ServerReport(
    "http://192.168.1.5:8000/v1",
    ServerProgram.VLLM,
    "0.32.0",
    (OfferedByServer("moonshotai/Kimi-K2.6", "vllm", 131_072),),
    True,
)
OLLAMA = ServerReport(
    "http://127.0.0.1:11434/v1",
    ServerProgram.OLLAMA,
    "0.14.1",
    (
        OfferedByServer("gemma3:270m", "", None, 291_554_930, "Q8_0", "268.10M", True),
        OfferedByServer("qwen3:32b", "", None, 20_201_253_588, "Q4_K_M", "32.8B", True),
    ),
)
LAB = OtherServer(ServerEntry("Lab", VLLM.url), KeyPlace.KEYRING, VLLM)
FOUND = OtherServer(ServerEntry("Ollama", OLLAMA.url, is_found=True), None, OLLAMA)
SILENT = OtherServer(
    ServerEntry("Office", "https://llm.example.com/v1"),
    problem=BackendError(
        ErrorCode.SERVER_UNREACHABLE,
        {"name": "Office", "url": "https://llm.example.com/v1", "detail": "Connection refused"},
    ),
)


class ScriptedOtherServers:
    """``error`` fails the next command; ``problem`` is what a check meets."""

    def __init__(self, services: ScriptedServices) -> None:
        self._services = services
        self._desk: Desk = services.desk
        self.servers: tuple[OtherServer, ...] = ()
        self.can_keep = True
        self.error: KimiError | None = None
        self.problem: KimiError | None = None

    def set_servers(self, *servers: OtherServer) -> None:
        """What is known."""
        self.servers = servers
        self._services.bus.publish(OtherServersChanged(servers))

    def look(self) -> Operation[tuple[OtherServer, ...]]:
        return self._desk.operation("other_servers.look", self.servers)

    def freshen(self) -> None:
        self._desk.note("other_servers.freshen")

    def can_keep_keys(self) -> Operation[bool]:
        return self._desk.operation("other_servers.can_keep_keys", self.can_keep)

    def check(self, name: str) -> Operation[OtherServer]:
        server = dataclasses.replace(self._named(name), problem=self.problem)
        self.set_servers(*(server if one.entry == server.entry else one for one in self.servers))
        return self._desk.operation("other_servers.check", server, name)

    def save(self, draft: ServerDraft, *, replaces: str = "") -> Operation[OtherServer]:
        if self.error is not None:
            return self._desk.failed("other_servers.save", self.error, draft, replaces)
        place = None
        if draft.key:
            place = KeyPlace.FILE if draft.key_in_file else KeyPlace.KEYRING
        entry = ServerEntry(draft.name, draft.url)
        server = OtherServer(entry, place, dataclasses.replace(VLLM, url=draft.url))
        rest = tuple(one for one in self.servers if one.entry.name != replaces)
        self.set_servers(*rest, server)
        return self._desk.operation("other_servers.save", server, draft, replaces)

    def remove(self, name: str) -> Operation[None]:
        self.set_servers(*(one for one in self.servers if one.entry.name != name))
        return self._desk.operation("other_servers.remove", None, name)

    def attach(self, name: str, model: str = "") -> Operation[EngineStatus]:
        attached = self.attachment(name, model)
        chosen = OtherServerSettings({name: attached.url}, name, model)
        self._services.store.update(lambda s: dataclasses.replace(s, other_servers=chosen))
        if self.error is not None:
            failed = EngineStatus(EngineState.FAILED, attached=attached, error=self.error)
            self._services.engine.set_status(failed)
            return self._desk.failed("other_servers.attach", self.error, name, model)
        ready = EngineStatus(EngineState.READY, attached=attached, engine_name=name)
        self._services.engine.set_status(ready)
        return self._desk.operation("other_servers.attach", ready, name, model)

    def attachment(self, name: str, model: str) -> Attachment:
        report = self._named(name).report
        assert report is not None
        found = report.find(model)
        context = found.context if found else None
        return Attachment(name, report.url, model, report.program, report.version, context)

    def _named(self, name: str) -> OtherServer:
        for server in self.servers:
            if server.entry.name == name:
                return server
        raise BackendError(ErrorCode.SERVER_UNKNOWN, {"name": name, "names": "-"})
