"""Engines: builds and installs of them, the one that runs, servers of others, failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kimi_desktop.backends.attached.types import OtherServer, ServerDraft
from kimi_desktop.backends.install.types import InstalledEngine, InstallOffer, Installs
from kimi_desktop.backends.types import (
    EngineStatus,
    Leftover,
    LoadSettings,
)
from kimi_desktop.base.errors import BackendError
from kimi_desktop.base.operation import Operation
from kimi_desktop.diagnosis.types import FailureReading, KeptFailure, WayOut
from kimi_desktop.downloads.engine_builds.types import BuildOffer, BuildOffers, InstalledBuild
from kimi_desktop.machine.holders import Holder
from kimi_desktop.models.types import LocalModel
from kimi_desktop.models.will_load import LoadVerdict
from kimi_desktop.monitor.run_types import RunRecord
from kimi_desktop.planner.types import ExactCheck, LoadForecast


class EngineBuildService(Protocol):
    """Official llama.cpp builds. Publishes BuildProgressed and BuildsChanged."""

    def installed(self) -> Operation[tuple[InstalledBuild, ...]]:
        """Those that are here, the newest first."""

    def look(self, tag: str = "") -> Operation[BuildOffers]:
        """What the newest release has for this computer (needs a network)."""

    def install(self, offer: BuildOffer) -> Operation[InstalledBuild]:
        """Fetch, prove, unpack, try and use it; cancelled, it keeps what came."""

    def use(self, build_id: str) -> Operation[InstalledBuild | None]:
        """Start engines with this one from now on; "" = the embedded one."""

    def remove(self, build_id: str) -> Operation[None]:
        """Delete one; fails with BUILD_IN_USE while the engine runs it."""


class EngineInstallService(Protocol):
    """An engine in environments of its own. Publishes InstallProgressed and InstallsChanged."""

    def look(self) -> Operation[Installs]:
        """What fits this computer and what is here; asks no network."""

    def install(self, offer: InstallOffer) -> Operation[InstalledEngine]:
        """Make the environment, fill it, try it, use it; cancelled, it keeps what came."""

    def use(self, install_id: str) -> Operation[None]:
        """Start vLLM from this environment from now on."""

    def remove(self, install_id: str) -> Operation[None]:
        """Delete it, whole or begun; fails with BUILD_IN_USE while the engine runs it."""


class OtherServerService(Protocol):
    """Servers that somebody else runs. Publishes OtherServersChanged."""

    @property
    def servers(self) -> tuple[OtherServer, ...]:
        """Those that the user named, then Ollama where it was found."""

    def look(self) -> Operation[tuple[OtherServer, ...]]:
        """The same with where their keys are kept (asks the keyring)."""

    def freshen(self) -> None:
        """Ask those that were not asked for a minute, and look for Ollama."""

    def can_keep_keys(self) -> Operation[bool]:
        """The system has a keyring."""

    def check(self, name: str) -> Operation[OtherServer]:
        """Ask one; ``problem`` says what it met."""

    def save(self, draft: ServerDraft, *, replaces: str = "") -> Operation[OtherServer]:
        """Ask it, then keep it; nothing is kept when it is none, or does not take the key."""

    def remove(self, name: str) -> Operation[None]:
        """Forget it with its key."""

    def attach(self, name: str, model: str = "") -> Operation[EngineStatus]:
        """Chat with one of its models from now on.

        Raises:
            BackendError: SERVER_UNKNOWN, at once.
        """


class EngineService(Protocol):
    """The one engine. Publishes EngineStateChanged."""

    @property
    def status(self) -> EngineStatus:
        """Now."""

    def settings_for(self, model: LocalModel) -> LoadSettings:
        """What the user last chose for this model, else what the planner finds."""

    def forecast(self, settings: LoadSettings, model: LocalModel) -> LoadForecast:
        """What the header and the machine say about these settings: memory per device."""

    def uses_gpus(self, settings: LoadSettings) -> bool:
        """The engine of these settings was built for the GPUs of this machine."""

    def name_of(self, settings: LoadSettings) -> str:
        """The engine of these settings ("llama.cpp b11549"), "" when it is not installed."""

    def check(self, settings: LoadSettings, model: LocalModel) -> Operation[ExactCheck | None]:
        """Ask the engine itself what these settings would allocate; None where it cannot be."""

    def command_line(self, settings: LoadSettings) -> tuple[str, ...]:
        """The command, for showing and copying (no key in it).

        Raises:
            BackendError: there is no such engine, or it cannot do what the settings ask.
        """

    def problem_of(self, settings: LoadSettings) -> BackendError | None:
        """Why a start would be refused at once: an argument that is unknown or conflicts."""

    def start(self, settings: LoadSettings) -> Operation[EngineStatus]:
        """Start it (ends an older one first) and remember the settings for this model."""

    def stop(self) -> Operation[EngineStatus]:
        """End it: term, wait, kill, the whole tree."""

    def find_leftovers(self) -> Operation[tuple[Leftover, ...]]:
        """Engines of a crashed run of the app."""

    def end_leftovers(self, leftovers: Sequence[Leftover]) -> Operation[None]:
        """End them."""

    def log_text(self) -> str:
        """The log of the last start, keys removed."""


class LoadCheckService(Protocol):
    """Asks the chosen engine before anything is started."""

    def will_load(self, model: LocalModel) -> Operation[LoadVerdict]:
        """Whether it would load a model at all. Up to a second, the first time; never fails."""


class DiagnosisService(Protocol):
    """Why the engine failed. Publishes FailureRead."""

    @property
    def latest(self) -> FailureReading | None:
        """Of the engine that has failed last; None after a good start."""

    def note_tried(self, way: WayOut) -> None:
        """This way is being taken: it is not offered again before a good start."""

    def of_run(self, run: RunRecord) -> Operation[tuple[KeptFailure, ...]]:
        """What was seen of a run when it failed, was slow or wrote nonsense, oldest first."""

    def end_program(self, holder: Holder) -> Operation[None]:
        """End a program that holds VRAM; the user has said so.

        Raises (from the operation):
            HardwareError: it stays.
        """

    def bundle_text(self) -> str:
        """The last failure as JSON for a report, private things removed; "" without one."""
