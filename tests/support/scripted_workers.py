"""Workers of the scripted services: nothing is asked."""

from __future__ import annotations

import dataclasses

from kimi_desktop.backends.rpc.addresses import worker_address
from kimi_desktop.backends.rpc.types import (
    Worker,
    WorkerFacts,
    WorkerMemory,
    WorkersChanged,
    devices_of,
)
from kimi_desktop.base.errors import BackendError, KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.units import GIB
from kimi_desktop.machine.types import Machine
from tests.support.scripted_desk import Desk


def ready_worker(
    address: str = "192.168.1.20:50052", name: str = "RTX 4090", free_gib: float = 22.5
) -> Worker:
    """One that has answered."""
    where = worker_address(address)
    memory = WorkerMemory(int(free_gib * GIB), 24 * GIB)
    facts = WorkerFacts(where, (7, 0, 0), (memory,), 0.0002)
    return Worker(where, name, facts, latency_s=0.0002, bytes_per_s=1.12e9)


class ScriptedWorkers:
    """``error`` refuses the next address; ``problem`` is what a check finds."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.error: KimiError | None = None
        self.problem: BackendError | None = None
        self.workers: tuple[Worker, ...] = ()

    def set_workers(self, *workers: Worker) -> None:
        self.workers = workers
        self._bus.publish(WorkersChanged(workers))

    def add(self, address: str, name: str = "") -> Operation[Worker]:
        if self.error is not None:
            return self._desk.failed("workers.add", self.error, address, name)
        worker = dataclasses.replace(ready_worker(address, name), error=self.problem)
        self.set_workers(*self.workers, worker)
        return self._desk.operation("workers.add", worker, address, name)

    def remove(self, address: str) -> Operation[None]:
        self.set_workers(*(one for one in self.workers if str(one.address) != address))
        return self._desk.operation("workers.remove", None, address)

    def check(self, address: str) -> Operation[Worker]:
        (found,) = (one for one in self.workers if str(one.address) == address)
        checked = dataclasses.replace(found, error=self.problem)
        self.set_workers(*(checked if one is found else one for one in self.workers))
        return self._desk.operation("workers.check", checked, address)

    def join(self, machine: Machine) -> Machine:
        lent = [gpu for worker in self.workers if worker.is_usable for gpu in devices_of(worker)]
        return dataclasses.replace(machine, gpus=(*machine.gpus, *lent))
