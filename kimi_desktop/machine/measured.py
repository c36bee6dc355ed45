"""Bandwidths that were measured on this machine, kept between starts. Any thread.

One small file under the data folder, by the machine's fingerprint: the same profile may be used on
several machines, and a card that was added wants a new measurement of its own only.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kimi_desktop.base.files import write_atomically
from kimi_desktop.base.units import GIB
from kimi_desktop.machine.disks import nearest_existing
from kimi_desktop.machine.types import Machine

log = logging.getLogger(__name__)

SCHEMA = 1
MAX_BYTES = 2**20
_MOST = 1e15


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes per second. None and missing = not measured."""

    ram: float | None = None
    disks: Mapping[str, float] = field(default_factory=dict)
    """By a path on the disk; as kept, by where the disk is mounted."""
    links: Mapping[str, float] = field(default_factory=dict)
    """From main memory to a GPU, by its UUID."""

    @property
    def is_empty(self) -> bool:
        """Nothing was measured."""
        return self.ram is None and not self.disks and not self.links

    def merged(self, newer: Measured) -> Measured:
        """What is newer goes first."""
        return Measured(
            ram=newer.ram or self.ram,
            disks={**self.disks, **newer.disks},
            links={**self.links, **newer.links},
        )


def fingerprint(machine: Machine) -> str:
    """The same for the same processors and memory, whatever runs on them."""
    cpu = machine.cpu
    parts = (
        cpu.model,
        str(cpu.physical_cores),
        str(cpu.sockets),
        str(round(machine.memory.total_bytes / GIB)),
    )
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def with_measured(machine: Machine, measured: Measured) -> Machine:
    """The machine with what was measured on it."""
    memory, disks, gpus = machine.memory, machine.disks, machine.gpus
    if measured.ram:
        memory = dataclasses.replace(memory, read_bytes_per_s_measured=measured.ram)
    disks = tuple(
        dataclasses.replace(disk, read_bytes_per_s_measured=rate) if rate else disk
        for disk in disks
        for rate in (_of_disk(measured, disk.path),)
    )
    gpus = tuple(
        dataclasses.replace(gpu, pcie_bytes_per_s_measured=rate) if rate else gpu
        for gpu in gpus
        for rate in (measured.links.get(gpu.uuid),)
    )
    return dataclasses.replace(machine, memory=memory, disks=disks, gpus=gpus)


def read_measured(file: Path, machine: Machine) -> Measured:
    """What was measured on this machine; nothing where the file is missing or damaged."""
    entry = _load(file).get(fingerprint(machine))
    if not isinstance(entry, dict):
        return Measured()
    return Measured(
        ram=_rate(entry.get("ram")),
        disks=_rates(entry.get("disks")),
        links=_rates(entry.get("links")),
    )


def keep_measured(file: Path, machine: Machine, newer: Measured) -> Measured:
    """Add to what is kept, and return all of it.

    Raises:
        OSError: it cannot be written; the measurement holds for this run.
    """
    by_mount = {mount_of(path): rate for path, rate in newer.disks.items()}
    newer = dataclasses.replace(newer, disks=by_mount)
    whole = read_measured(file, machine).merged(newer)
    data = _load(file)
    data[fingerprint(machine)] = {
        "ram": whole.ram,
        "disks": dict(whole.disks),
        "links": dict(whole.links),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"schema": SCHEMA, "machines": data}, indent=1, ensure_ascii=False)
    write_atomically(file, content + "\n")
    return whole


def mount_of(path: str) -> str:
    """Where the disk that holds a path is mounted: its name from start to start."""
    place = nearest_existing(Path(path))
    while not os.path.ismount(place) and place != place.parent:
        place = place.parent
    return str(place)


def _of_disk(measured: Measured, path: str) -> float | None:
    if not measured.disks:
        return None
    return measured.disks.get(path) or measured.disks.get(mount_of(path))


def _load(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            data = json.loads(opened.read(MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        log.warning("measured bandwidths cannot be read: %s", error)
        return {}
    machines = data.get("machines") if isinstance(data, dict) else None
    return dict(machines) if isinstance(machines, dict) else {}


def _rate(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(float(value)) or not 0 < float(value) < _MOST:  # type: ignore[arg-type]
        return None
    return float(value)  # type: ignore[arg-type]


def _rates(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    found = {str(name): _rate(rate) for name, rate in value.items()}
    return {name: rate for name, rate in found.items() if rate is not None}
