"""Small machines to plan for."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.machine.machine_file import read_machine_file
from kimi_desktop.machine.types import Cpu, Gpu, Machine, Memory

GIB = 2**30


def machine(*vram_gib: float, ram_gib: float = 768, used_gib: float = 8) -> Machine:
    gpus = tuple(
        Gpu(number, f"GPU-{number}", "RTX", int(size * GIB), int(size * GIB) - GIB, "580", "9.0",
            5, 16, 40, 50.0, 450.0, 0)
        for number, size in enumerate(vram_gib)
    )  # fmt: skip
    memory = Memory(int(ram_gib * GIB), int((ram_gib - used_gib) * GIB), None, 0, 0)
    cpu = Cpu("CPU", 16, 32, 32, 1, 1, ("avx2",))
    return Machine(cpu, memory, gpus, (), "Linux", "")


MACHINES = Path(__file__).parents[1] / "data" / "machines"


def machine_names() -> list[str]:
    """The machine files of the test data."""
    return sorted(path.stem for path in MACHINES.glob("*.json"))


def named_machine(name: str) -> Machine:
    return read_machine_file(MACHINES / f"{name}.json")
