"""What can be installed, what is installed, how far it is: frozen data and events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kimi_desktop.base.events import Event

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class InstallKind:
    """An engine that can be installed from the app."""

    name: str
    """Of its rules, its lists and its folder."""
    title: str
    setting: str
    """Field of the engine settings that names the Python in use."""


VLLM = InstallKind("vllm", "vLLM", "vllm_python")
LLAMA_CPP_PYTHON = InstallKind("llama-cpp-python", "llama-cpp-python", "llama_python")


@dataclass(frozen=True, slots=True)
class InstallOffer:
    """One version of an engine that fits this computer."""

    id: str
    """Name of its folder: "0.25.1-cuda13"."""
    title: str
    version: str
    accelerator: str
    """"cuda" or ``CPU``."""
    cuda: str
    """That it was built for at least; "" for others."""
    packages: Path
    """The list: versions, hashes, sizes."""
    size_bytes: int
    """To fetch."""
    installed_bytes: int
    """On disk afterwards, about."""
    licences: tuple[str, ...]
    pythons: tuple[str, ...]
    """Versions that the list was made for, the preferred one first."""
    alias: str = ""
    """The distribution's real name, where the program asks for ``vllm``."""
    links: str = ""
    """A variable that names a folder or page with more wheels."""
    compiles: bool = False
    """A part of it comes as source: it takes minutes, and a compiler."""

    @property
    def name(self) -> str:
        """With its version: vLLM 0.25.1."""
        return f"{self.title} {self.version}"


@dataclass(frozen=True, slots=True)
class InstalledEngine:
    """One that is here, whole or begun."""

    id: str
    name: str
    folder: Path
    size_bytes: int
    is_whole: bool
    """False: an installation stopped; the same offer goes on from there."""
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class Installs:
    """What there is to see of one engine."""

    offers: tuple[InstallOffer, ...]
    """The best one first; empty when nothing fits this computer."""
    lacks_gpu: bool
    """There are GPUs, and no offer is for them."""
    installed: tuple[InstalledEngine, ...]


class InstallPhase(StrEnum):
    """What is being done (text key ``installs.phase.<value>``)."""

    PREPARING = "preparing"
    FETCHING = "fetching"
    COMPILING = "compiling"
    PROVING = "proving"


@dataclass(frozen=True, slots=True)
class InstallProgressed(Event):
    """An installation moved on."""

    offer_id: str
    phase: InstallPhase
    done_bytes: int
    """Of what has to be fetched; within a package it is an estimate."""
    total_bytes: int
    package: str
    """The largest one that is on its way, or that is compiled; "" = none."""
    kind: InstallKind = VLLM


@dataclass(frozen=True, slots=True)
class InstallsChanged(Event):
    """Another one is here, one is gone, or another one is in use."""

    installed: tuple[InstalledEngine, ...]
    kind: InstallKind = VLLM
