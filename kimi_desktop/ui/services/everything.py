"""All services together."""

from __future__ import annotations

from typing import Protocol

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.ui.services.chats import ChatService, ServeService
from kimi_desktop.ui.services.engines import (
    DiagnosisService,
    EngineBuildService,
    EngineInstallService,
    EngineService,
    LoadCheckService,
    OtherServerService,
)
from kimi_desktop.ui.services.machine import (
    ExperimentService,
    MachineService,
    MonitorService,
    RunService,
    WorkerService,
)
from kimi_desktop.ui.services.models import (
    DiscoverService,
    DownloadService,
    HubService,
    ImportService,
    KeepService,
    ModelService,
    NewerService,
    VerifyService,
)
from kimi_desktop.ui.services.plans import PlanService, ServerPlanService


class Services(Protocol):
    """Everything behind the window."""

    @property
    def bus(self) -> EventBus:
        """Where all of them publish."""

    @property
    def store(self) -> SettingsStore:
        """The settings."""

    @property
    def machine(self) -> MachineService:
        """This computer."""

    @property
    def models(self) -> ModelService:
        """The library."""

    @property
    def keeper(self) -> KeepService:
        """What becomes of models that are here."""

    @property
    def newer(self) -> NewerService:
        """Newer versions of them."""

    @property
    def checks(self) -> LoadCheckService:
        """What the chosen engine says of models."""

    @property
    def imports(self) -> ImportService:
        """What is on this computer already."""

    @property
    def hubs(self) -> HubService:
        """Accounts on model hubs."""

    @property
    def builds(self) -> EngineBuildService:
        """Official builds of the engine."""

    @property
    def installs(self) -> EngineInstallService:
        """VLLM in environments of its own."""

    @property
    def python_installs(self) -> EngineInstallService:
        """llama-cpp-python in environments of its own."""

    @property
    def workers(self) -> WorkerService:
        """Devices of other machines."""

    @property
    def other_servers(self) -> OtherServerService:
        """Servers that somebody else runs."""

    @property
    def discover(self) -> DiscoverService:
        """Models that are elsewhere."""

    @property
    def servers(self) -> ServerPlanService:
        """Plans for server engines."""

    @property
    def engine(self) -> EngineService:
        """The engine."""

    @property
    def plans(self) -> PlanService:
        """What a load would take."""

    @property
    def diagnosis(self) -> DiagnosisService:
        """Why it failed."""

    @property
    def downloads(self) -> DownloadService:
        """The queue of downloads."""

    @property
    def verify(self) -> VerifyService:
        """Proofs of what is on the disk."""

    @property
    def chats(self) -> ChatService:
        """The conversations."""

    @property
    def monitor(self) -> MonitorService:
        """The samples."""

    @property
    def notebook(self) -> RunService:
        """Every start of an engine."""

    @property
    def experiments(self) -> ExperimentService:
        """One variable value by value."""

    @property
    def serve(self) -> ServeService:
        """The gateway."""
