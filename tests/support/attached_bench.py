"""Other servers joined to the real engine service, with a keyring in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kimi_desktop.backends.attached.service import OtherServers
from kimi_desktop.backends.attached.types import OtherServer, ServerDraft
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.server_keys import StoredServerKeys
from tests.support.engine_bench import EngineBench, engine_bench
from tests.support.heard import Heard
from tests.support.openai_servers import OpenAiServer

NOWHERE = {"OLLAMA_HOST": "127.0.0.1:1"}
"""No Ollama of this computer gets into a test."""


class MemoryKeyring:
    """Keeps secrets as the keyring package does; ``locked`` makes it fail."""

    def __init__(self) -> None:
        self.secrets: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        return self.secrets.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise PermissionError("locked")
        self.secrets[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.secrets[service, username]


class AttachedBench:
    """The services of one profile."""

    def __init__(self, bench: EngineBench, environment: Mapping[str, str]) -> None:
        self.bench = bench
        self.io: IoLoop = bench.io
        self.store = bench.store
        self.engine = bench.service
        self.keyring = MemoryKeyring()
        self.keys = StoredServerKeys(bench.paths.config, keyring=self.keyring)
        self.heard = Heard(bench.bus)
        self.servers = OtherServers(
            bench.io, bench.bus, bench.store, self.keys, bench.service, environment=environment
        )

    def add(self, server: OpenAiServer, name: str = "Lab") -> OtherServer:
        draft = ServerDraft(name, server.url, server.key or None)
        return self.servers.save(draft).result(30)

    def named(self, name: str) -> OtherServer:
        return next(one for one in self.servers.servers if one.entry.name == name)


@contextmanager
def attached_bench(environment: Mapping[str, str] = NOWHERE) -> Iterator[AttachedBench]:
    with engine_bench() as bench:
        yield AttachedBench(bench, environment)
