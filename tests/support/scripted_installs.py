"""Environments of the scripted services: no pip, no network."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kimi_desktop.backends.install.types import (
    LLAMA_CPP_PYTHON,
    VLLM,
    InstalledEngine,
    InstallOffer,
    InstallPhase,
    InstallProgressed,
    Installs,
    InstallsChanged,
)
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from tests.support.scripted_desk import Desk


def install_offer(install_id: str = "0.25.1-cuda13", accelerator: str = "cuda") -> InstallOffer:
    return InstallOffer(
        install_id, "vLLM", install_id.partition("-")[0], accelerator, "13.0", Path("list.txt"),
        4_300_000_000, 10_750_000_000, ("Apache-2.0", "NVIDIA CUDA EULA"), ("3.12",),
    )  # fmt: skip


def python_offer() -> InstallOffer:
    return InstallOffer(
        "0.3.36-linux-x64", "llama-cpp-python", "0.3.36", "cpu", "", Path("list.txt"),
        106_000_000, 212_000_000, ("MIT",), ("3.12",), compiles=True,
    )  # fmt: skip


def installed_engine(install_id: str = "0.25.1-cuda13", **changes: object) -> InstalledEngine:
    version = install_id.partition("-")[0]
    folder = Path("/home/ada/.local/share/kimi-desktop/engines/vllm") / install_id
    engine = InstalledEngine(install_id, f"vLLM {version}", folder, 10_612_000_000, True)
    return dataclasses.replace(engine, **changes)  # type: ignore[arg-type]


class ScriptedInstalls:
    """``error`` fails the next command."""

    kind = VLLM

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.error: KimiError | None = None
        self.offers: tuple[InstallOffer, ...] = (
            install_offer(),
            install_offer("0.32.0+cpu-cpu", "cpu"),
        )
        self.lacks_gpu = False
        self.installed: tuple[InstalledEngine, ...] = ()

    def set_installed(self, *installed: InstalledEngine) -> None:
        self.installed = installed
        self._bus.publish(InstallsChanged(installed, self.kind))

    def tell(self, phase: InstallPhase, done: int, total: int, package: str = "") -> None:
        offer = self.offers[0].id
        self._bus.publish(InstallProgressed(offer, phase, done, total, package, self.kind))

    def look(self) -> Operation[Installs]:
        found = Installs(self.offers, self.lacks_gpu, self.installed)
        return self._desk.operation("installs.look", found)

    def install(self, offer: InstallOffer) -> Operation[InstalledEngine]:
        if self.error is not None:
            return self._desk.failed("installs.install", self.error, offer)
        self.installed = (installed_engine(offer.id, in_use=True),)
        return self._desk.operation("installs.install", self.installed[0], offer)

    def use(self, install_id: str) -> Operation[None]:
        self.set_installed(
            *(dataclasses.replace(one, in_use=one.id == install_id) for one in self.installed)
        )
        return self._desk.operation("installs.use", None, install_id)

    def remove(self, install_id: str) -> Operation[None]:
        if self.error is not None:
            return self._desk.failed("installs.remove", self.error, install_id)
        self.set_installed(*(one for one in self.installed if one.id != install_id))
        return self._desk.operation("installs.remove", None, install_id)


class ScriptedPythonInstalls(ScriptedInstalls):
    """Those of llama-cpp-python."""

    kind = LLAMA_CPP_PYTHON

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        super().__init__(desk, bus)
        self.offers = (python_offer(),)
