"""Official builds of the scripted services: no network, no archives."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.engine_builds.types import (
    Accelerator,
    Archive,
    BuildOffer,
    BuildOffers,
    BuildPhase,
    BuildProgressed,
    BuildsChanged,
    InstalledBuild,
)
from tests.support.scripted_desk import Desk

DIGEST = "0" * 64


def build_offer(accelerator: Accelerator, size_bytes: int, version: str = "") -> BuildOffer:
    name = f"llama-b11600-bin-ubuntu-{accelerator.value}-x64.tar.gz"
    archives = (Archive(name, size_bytes, DIGEST),)
    return BuildOffer("b11600", accelerator, version, archives, ("MIT",), "github.com")


def installed_build(tag: str = "b11549", **changes: object) -> InstalledBuild:
    build = InstalledBuild(
        f"{tag}-vulkan",
        tag,
        Accelerator.VULKAN,
        "",
        Path(f"/home/ada/engines/{tag}-vulkan/llama-server"),
        118_000_000,
        ("Vulkan0: NVIDIA GeForce RTX 4090", "Vulkan1: NVIDIA GeForce RTX 4090"),
    )
    return dataclasses.replace(build, **changes)  # type: ignore[arg-type]


class ScriptedBuilds:
    """``error`` fails the next command."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.error: KimiError | None = None
        self.builds: tuple[InstalledBuild, ...] = ()
        self.offers = BuildOffers(
            (
                build_offer(Accelerator.VULKAN, 42_000_000),
                build_offer(Accelerator.CPU, 17_000_000),
            ),
            lacks_cuda=True,
        )

    def set_builds(self, *builds: InstalledBuild) -> None:
        self.builds = builds
        self._bus.publish(BuildsChanged(builds))

    def tell(self, phase: BuildPhase, done: int, total: int) -> None:
        self._bus.publish(BuildProgressed(self.offers.offers[0], phase, done, total))

    def installed(self) -> Operation[tuple[InstalledBuild, ...]]:
        return self._desk.operation("builds.installed", self.builds)

    def look(self, tag: str = "") -> Operation[BuildOffers]:
        if self.error is not None:
            return self._desk.failed("builds.look", self.error, tag)
        return self._desk.operation("builds.look", self.offers, tag)

    def install(self, offer: BuildOffer) -> Operation[InstalledBuild]:
        if self.error is not None:
            return self._desk.failed("builds.install", self.error, offer)
        build = installed_build(offer.tag, in_use=True)
        return self._desk.operation("builds.install", build, offer)

    def use(self, build_id: str) -> Operation[InstalledBuild | None]:
        self.set_builds(
            *(dataclasses.replace(one, in_use=one.id == build_id) for one in self.builds)
        )
        return self._desk.operation("builds.use", None, build_id)

    def remove(self, build_id: str) -> Operation[None]:
        if self.error is not None:
            return self._desk.failed("builds.remove", self.error, build_id)
        self.set_builds(*(one for one in self.builds if one.id != build_id))
        return self._desk.operation("builds.remove", None, build_id)
