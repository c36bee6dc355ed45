"""The workers that the user has added: remembered, asked, and made devices of the machine.

Thread-safe where it is read; everything that asks runs on the IO thread. A worker serves one engine
at a time, so one that our own engine uses does not answer: what it said before holds.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.probe import output_of
from kimi_desktop.backends.rpc.addresses import worker_address
from kimi_desktop.backends.rpc.types import (
    LONGEST_NAME,
    Worker,
    WorkerFacts,
    WorkersChanged,
    devices_of,
    entry_of,
    kept_workers,
)
from kimi_desktop.backends.rpc.wire import ask_worker
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.flags import RPC_FLAG
from kimi_desktop.planner.hardware import shares_memory

_MISMATCH = re.compile(r"RPC server version mismatch: (\S+)")


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
        self._known = {
            worker.address: worker for worker in kept_workers(store.settings.engine.workers)
        }

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
        gpus = [gpu for worker in usable for gpu in devices_of(worker)]
        return dataclasses.replace(machine, gpus=(*machine.gpus, *gpus))

    async def _add(self, text: str, name: str) -> Worker:
        address = worker_address(text)
        self._set(Worker(address, " ".join(name.split())[:LONGEST_NAME]))
        await self._io.in_pool(self._keep)
        return await self._check(str(address))

    async def _remove(self, text: str) -> None:
        gone = self._one(text).address
        self._known = {address: one for address, one in self._known.items() if address != gone}
        self._publish()
        await self._io.in_pool(self._keep)

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
        before = self.workers
        asked = await asyncio.gather(*(self._asked(worker) for worker in before))
        answers = {worker.address: worker for worker in asked}
        self._known = {address: answers.get(address, one) for address, one in self._known.items()}
        if any(_differ(one, answers[one.address]) for one in before):
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
            latency_s=facts.latency_s if measure else worker.latency_s or facts.latency_s,
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
        entries = {str(worker.address): entry_of(worker) for worker in self.workers}

        def change(before: Settings) -> Settings:
            engine = dataclasses.replace(before.engine, workers=entries)
            return dataclasses.replace(before, engine=engine)

        if self._store.settings.engine.workers != entries:
            self._store.update(change)


def _differ(before: Worker, after: Worker) -> bool:
    """Errors are new objects every time, and the latency is never twice the same."""
    first, then = (
        (one.error and one.error.code, one.facts and (one.facts.version, one.facts.devices))
        for one in (before, after)
    )
    return first != then


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
