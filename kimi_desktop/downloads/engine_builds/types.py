"""Builds of an engine that can be fetched, and those that are here: frozen data and events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kimi_desktop.base.events import Event


class Accelerator(StrEnum):
    """What a build computes with (text key ``builds.accelerator.<value>``)."""

    CUDA = "cuda"
    HIP = "hip"
    VULKAN = "vulkan"
    METAL = "metal"
    CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Archive:
    """One file of a release."""

    name: str
    size_bytes: int
    sha256: str
    """As the release lists it; "" where it lists none, and then it is not fetched."""


@dataclass(frozen=True, slots=True)
class Release:
    """A published version."""

    tag: str
    archives: tuple[Archive, ...]


@dataclass(frozen=True, slots=True)
class BuildOffer:
    """One build of a release that can run here."""

    tag: str
    accelerator: Accelerator
    version: str
    """Of CUDA or ROCm; "" for others."""
    archives: tuple[Archive, ...]
    """The program's first, then what is unpacked beside it."""
    licences: tuple[str, ...]
    host: str
    """Where it comes from."""

    @property
    def size_bytes(self) -> int:
        """Of the download."""
        return sum(archive.size_bytes for archive in self.archives)

    @property
    def id(self) -> str:
        """Name of its folder: ``b11549-vulkan``, ``b11549-cuda-12.4``."""
        return "-".join(filter(None, (self.tag, self.accelerator.value, self.version)))


@dataclass(frozen=True, slots=True)
class BuildOffers:
    """What a release has for this computer."""

    offers: tuple[BuildOffer, ...]
    """The best one first; never empty."""
    lacks_cuda: bool
    """There is an NVIDIA GPU, and the release has no CUDA build that fits it and its driver."""
    lacks_vulkan: bool = False
    """The first one needs the system's Vulkan loader, which is not installed."""


@dataclass(frozen=True, slots=True)
class InstalledBuild:
    """One that is here."""

    id: str
    tag: str
    accelerator: Accelerator
    version: str
    program: Path
    size_bytes: int
    devices: tuple[str, ...] = ()
    """GPUs that it named when it was installed."""
    lacking: str = ""
    """Why it named none, as far as the system says; "" when that is as it should be."""
    in_use: bool = False

    @property
    def sees_no_gpu(self) -> bool:
        """It was built for GPUs and finds none."""
        return self.accelerator is not Accelerator.CPU and not self.devices


class BuildPhase(StrEnum):
    """What is being done (text key ``builds.phase.<value>``)."""

    DOWNLOADING = "downloading"
    CHECKING = "checking"
    UNPACKING = "unpacking"
    PROBING = "probing"


@dataclass(frozen=True, slots=True)
class BuildProgressed(Event):
    """An installation moved on."""

    offer: BuildOffer
    phase: BuildPhase
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class BuildsChanged(Event):
    """Another one is here, one is gone, or another one is in use."""

    builds: tuple[InstalledBuild, ...]
