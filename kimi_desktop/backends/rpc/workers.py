"""The workers that the user has added: remembered, asked, and made devices of the machine.

Thread-safe where it is read; everything that asks runs on the IO thread. A worker serves one engine
at a time, so one that our own engine uses does not answer: what it said before holds.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.probe import output_of
from kimi_desktop.backends.rpc.addresses import WorkerAddress, worker_address
from kimi_desktop.backends.rpc.wire import WorkerFacts, ask_worker
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.machine.types import Gpu, Machine, RpcLink
from kimi_desktop.planner.flags import RPC_FLAG
from kimi_desktop.planner.hardware import shares_memory

PROCESSOR_SHARE = 0.9
"""A worker that computes with its processor calls all of its memory free; its system needs some."""
LONGEST_NAME = 80

_MISMATCH = re.compile(r"RPC server version mismatch: (\S+)")


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker."""

    address: WorkerAddress
    name: str = ""
    """What its devices are, as the user knows it: "RTX 4090"; "" = not known."""
    facts: WorkerFacts | None = None
    """What it last said of itself; None = it has not been reached since the app began."""
    error: BackendError | None = None
    """Why it cannot be used now."""
    latency_s: float | None = None
    bytes_per_s: float | None = None
    """Of the link, as last measured."""

    @property
    def is_usable(self) -> bool:
        """It has told its memory, and nothing stands against it but that it is in use."""
        busy = self.error is not None and self.error.code is ErrorCode.WORKER_BUSY
        return self.facts is not None and (self.error is None or busy)


@dataclass(frozen=True, slots=True)
class WorkersChanged(Event):
    """Workers were added or removed, or have answered."""

    workers: tuple[Worker, ...]


class Workers:
    """Owns the list."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        *,
        build: Callable[[], Awaitable[EngineBuild]],
        takes_workers: Callable[[], bool],
    ) -> None:
        """Join it to the engine.

        Args:
            io: where it asks.
            bus: publishes WorkersChanged.
            store: where workers are kept.
            build: the build that a start would use now; raises BackendError.
            takes_workers: that build can use workers, as far as is known.
        """
        self._io = io
        self._bus = bus
        self._store = store
        self._build = build
        self._takes_workers = takes_workers
        self._known = {worker.address: worker for worker in _kept(store.settings.engine.workers)}

    @property
    def workers(self) -> tuple[Worker, ...]:
        """All of them, in the order in which they were added."""
        return tuple(self._known.values())

    def add(self, address: str, name: str = "") -> Operation[Worker]:
        """Remember a worker and check it.

        Args:
            address: "192.168.1.20:50052".
            name: of its devices; "" = not known.

        Raises (from the operation):
            BackendError: WORKER_BAD_ADDRESS, WORKER_PUBLIC_ADDRESS. A worker that does not answer
                is kept, with its error.
            SettingsError: it holds, but was not saved.
        """
        return self._io.submit(lambda: self._add(address, name))

    def remove(self, address: str) -> Operation[None]:
        """Forget a worker.

        Raises (from the operation):
            BackendError: WORKER_UNKNOWN.
        """
        return self._io.submit(lambda: self._remove(address))

    def check(self, address: str) -> Operation[Worker]:
        """Reach it, measure the link, and let the engine say whether they fit together.

        Raises (from the operation):
            BackendError: WORKER_UNKNOWN.
        """
        return self._io.submit(lambda: self._check(address))

    def refresh(self) -> Operation[tuple[Worker, ...]]:
        """Ask all of them for their memory; nothing is measured."""
        return self._io.submit(self._refresh)

    def join(self, machine: Machine) -> Machine:
        """The machine with the devices of all usable workers behind its own.

        Nothing is joined where the engine knows no workers, or processors and graphics share one
        memory (the forecast knows no such mixture).
        """
        usable = [worker for worker in self.workers if worker.is_usable]
        if not usable or not self._takes_workers() or shares_memory(machine):
            return machine
        gpus = [gpu for worker in usable for gpu in _devices_of(worker)]
        return dataclasses.replace(machine, gpus=(*machine.gpus, *gpus))

    async def _add(self, text: str, name: str) -> Worker:
        address = worker_address(text)
        self._set(Worker(address, " ".join(name.split())[:LONGEST_NAME]))
        await self._io.in_pool(self._keep)
        return await self._check(str(address))

    async def _remove(self, text: str) -> None:
        del self._known[self._one(text).address]
        await self._io.in_pool(self._keep)
        self._publish()

    async def _check(self, text: str) -> Worker:
        worker = await self._asked(self._one(text), measure=True)
        if worker.error is None and worker.facts is not None:
            try:
                await fits_engine(await self._build(), worker.facts)
            except BackendError as error:
                worker = dataclasses.replace(worker, error=error)
        if worker.address in self._known:
            self._set(worker)
            await self._io.in_pool(self._keep)
        return worker

    async def _refresh(self) -> tuple[Worker, ...]:
        asked = await asyncio.gather(*(self._asked(worker) for worker in self.workers))
        for worker in asked:
            if worker.address in self._known:
                self._known[worker.address] = worker
        if asked:
            self._publish()
        return self.workers

    async def _asked(self, worker: Worker, *, measure: bool = False) -> Worker:
        try:
            facts = await ask_worker(worker.address, measure=measure)
        except BackendError as error:
            return dataclasses.replace(worker, error=error)
        return dataclasses.replace(
            worker,
            facts=facts,
            error=None,
            latency_s=facts.latency_s,
            bytes_per_s=facts.bytes_per_s or worker.bytes_per_s,
        )

    def _one(self, text: str) -> Worker:
        worker = self._known.get(worker_address(text))
        if worker is None:
            raise BackendError(ErrorCode.WORKER_UNKNOWN, {"address": text})
        return worker

    def _set(self, worker: Worker) -> None:
        self._known = {**self._known, worker.address: worker}
        self._publish()

    def _publish(self) -> None:
        self._bus.publish(WorkersChanged(self.workers))

    def _keep(self) -> None:
        entries = {str(worker.address): _entry_of(worker) for worker in self.workers}

        def change(before: Settings) -> Settings:
            engine = dataclasses.replace(before.engine, workers=entries)
            return dataclasses.replace(before, engine=engine)

        if self._store.settings.engine.workers != entries:
            self._store.update(change)


async def fits_engine(build: EngineBuild, facts: WorkerFacts) -> None:
    """Let the engine itself greet the worker: both must speak the same version.

    Raises:
        BackendError: WORKER_NO_ENGINE, WORKER_OTHER_VERSION, or the engine cannot be run.
    """
    params = {"engine": build.name, "address": str(facts.address), "version": facts.version_text}
    if RPC_FLAG not in build.flags:
        raise BackendError(ErrorCode.WORKER_NO_ENGINE, params)
    program, *words = build.program
    text = await output_of(Path(program), *words, RPC_FLAG, str(facts.address), "--list-devices")
    if "RPC0:" in text:
        return
    if "RPC not supported" in text:
        raise BackendError(ErrorCode.WORKER_NO_ENGINE, params)
    if _MISMATCH.search(text) is None:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        raise BackendError(
            ErrorCode.WORKER_ENDED, {"detail": f"{build.name}: {last.strip()[:200]}"}
        )
    raise BackendError(ErrorCode.WORKER_OTHER_VERSION, params)


def _devices_of(worker: Worker) -> list[Gpu]:
    facts = worker.facts
    found = []
    for number, memory in enumerate(facts.devices if facts is not None else ()):
        is_processor = memory.free_bytes == memory.total_bytes
        share = PROCESSOR_SHARE if is_processor else 1.0
        found.append(
            Gpu(
                index=number,
                uuid=f"{worker.address}/{number}",
                name=worker.name or str(worker.address),
                vram_total_bytes=memory.total_bytes,
                vram_free_bytes=int(memory.free_bytes * share),
                driver="",
                compute_capability=None,
                pcie_gen=None,
                pcie_width=None,
                temperature_c=None,
                power_w=None,
                power_limit_w=None,
                load_percent=None,
                link=RpcLink(
                    str(worker.address),
                    number,
                    worker.latency_s,
                    worker.bytes_per_s,
                    is_processor,
                ),
            )
        )
    return found


def _entry_of(worker: Worker) -> dict[str, int | str]:
    entry: dict[str, int | str] = {"name": worker.name}
    if worker.latency_s is not None:
        entry["latency_us"] = round(worker.latency_s * 1e6)
    if worker.bytes_per_s is not None:
        entry["bytes_per_s"] = round(worker.bytes_per_s)
    return entry


def _kept(entries: Mapping[str, Mapping[str, int | str]]) -> list[Worker]:
    """Those of the settings file, which anybody may have edited."""
    found = []
    for text, entry in entries.items():
        try:
            address = worker_address(text)
        except BackendError:
            continue
        latency, rate = (_positive(entry.get(name)) for name in ("latency_us", "bytes_per_s"))
        found.append(
            Worker(
                address,
                str(entry.get("name", ""))[:LONGEST_NAME],
                latency_s=None if latency is None else latency / 1e6,
                bytes_per_s=rate,
            )
        )
    return found


def _positive(value: int | str | None) -> float | None:
    return float(value) if type(value) is int and value > 0 else None
