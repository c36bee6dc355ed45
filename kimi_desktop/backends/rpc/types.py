"""What is known of workers: frozen data, how it is kept, and the devices that it makes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kimi_desktop.backends.rpc.addresses import WorkerAddress, worker_address
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import Event
from kimi_desktop.machine.types import Gpu, RpcLink

PROCESSOR_SHARE = 0.9
"""A worker that computes with its processor calls all of its memory free; its system needs some."""
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class WorkerMemory:
    """One device of a worker."""

    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What a worker told."""

    address: WorkerAddress
    version: tuple[int, int, int]
    """Of the protocol; engine and worker must agree on the first number."""
    devices: tuple[WorkerMemory, ...]
    latency_s: float
    """One round trip."""
    bytes_per_s: float | None = None
    """From the worker to here; None = not measured, or it had no room for the measurement."""

    @property
    def version_text(self) -> str:
        """As llama.cpp prints it: "7.0.0"."""
        return ".".join(map(str, self.version))


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


def devices_of(worker: Worker) -> list[Gpu]:
    """The GPUs that it makes: none before it was reached."""
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


def entry_of(worker: Worker) -> dict[str, int | str]:
    """What the settings keep of it."""
    entry: dict[str, int | str] = {"name": worker.name}
    if worker.latency_s is not None:
        entry["latency_us"] = round(worker.latency_s * 1e6)
    if worker.bytes_per_s is not None:
        entry["bytes_per_s"] = round(worker.bytes_per_s)
    return entry


def kept_workers(entries: Mapping[str, Mapping[str, int | str]]) -> list[Worker]:
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
