"""Everything behind the window, scripted: no threads, no network, no child processes.

State is set by plain attributes and ``set_*`` methods that publish what the real services would.
Commands are recorded in ``calls`` and end at once, unless ``hold`` says that they stay open until
``release`` or ``fail``. Settings and the event bus are the real ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from tests.support import scripted_data as data
from tests.support.real_models import real_model
from tests.support.scripted_builds import ScriptedBuilds
from tests.support.scripted_chats import ScriptedChats
from tests.support.scripted_checks import ScriptedChecks
from tests.support.scripted_desk import Desk
from tests.support.scripted_diagnosis import ScriptedDiagnosis
from tests.support.scripted_discover import ScriptedDiscover
from tests.support.scripted_downloads import ScriptedDownloads, ScriptedVerify
from tests.support.scripted_engine import ScriptedEngine
from tests.support.scripted_experiments import ScriptedExperiments
from tests.support.scripted_hubs import ScriptedHubs
from tests.support.scripted_imports import ScriptedImports
from tests.support.scripted_installs import ScriptedInstalls, ScriptedPythonInstalls
from tests.support.scripted_keeper import ScriptedKeeper
from tests.support.scripted_machine import (
    ScriptedMachine,
    ScriptedModels,
    ScriptedMonitor,
    ScriptedServe,
)
from tests.support.scripted_newer import ScriptedNewer
from tests.support.scripted_notebook import ScriptedNotebook
from tests.support.scripted_other_servers import ScriptedOtherServers
from tests.support.scripted_plans import scripted_plans
from tests.support.scripted_servers import ScriptedServers
from tests.support.scripted_workers import ScriptedWorkers


class ScriptedServices:
    """What ``Bridge`` is given instead of the real services."""

    def __init__(self, home: Path, *, machine: Machine | None = None) -> None:
        self.desk = Desk()
        self.bus = EventBus()
        self.store = SettingsStore(home / "config" / "settings.json")
        self.machine = ScriptedMachine(self.desk, self.bus, machine)
        self.models = ScriptedModels(self.desk, self.bus, Path("/home/ada/models"))
        self.keeper = ScriptedKeeper(self.desk, self.bus, self.models)
        self.checks = ScriptedChecks(self.desk)
        self.imports = ScriptedImports(self.desk, self.bus)
        self.builds = ScriptedBuilds(self.desk, self.bus)
        self.installs = ScriptedInstalls(self.desk, self.bus)
        self.python_installs = ScriptedPythonInstalls(self.desk, self.bus)
        self.workers = ScriptedWorkers(self.desk, self.bus)
        self.hubs = ScriptedHubs(self.desk)
        self.discover = ScriptedDiscover(self.desk, self.machine)
        self.downloads = ScriptedDownloads(self.desk, self.bus)
        self.newer = ScriptedNewer(self.desk, self.bus)
        self.verify = ScriptedVerify(self.desk, self.bus)
        self.engine = ScriptedEngine(self.desk, self.bus, self)
        self.plans = scripted_plans(self)
        self.servers = ScriptedServers(self)
        self.other_servers = ScriptedOtherServers(self)
        self.diagnosis = ScriptedDiagnosis(self)
        self.chats = ScriptedChats(self.desk, self.bus, self)
        self.monitor = ScriptedMonitor(self.desk, self.bus)
        self.notebook = ScriptedNotebook(self.desk, self.bus)
        self.experiments = ScriptedExperiments(self.desk, self.bus)
        self.serve = ScriptedServe(self.desk, self.bus, self.store)


BOXES: Mapping[str, Any] = {"cpu": data.cpu_only_box, "gpus": data.two_gpu_box}


def _quantizations(folder: Path, *, real: bool) -> tuple[LocalModel, LocalModel, LocalModel]:
    """Kimi K2.6 in 2, 4 and more bits."""
    if real:
        return (
            real_model(folder, "kimi-k2.6.q2_k"),
            real_model(folder, "kimi-k2.6.q4_x", quantization="UD-Q4_K_XL"),
            real_model(folder, "kimi-k2.6.q4_k_m"),
        )
    return (
        data.kimi_model(folder, "UD-Q2_K_XL", 340),
        data.kimi_model(folder),
        data.kimi_model(folder, "UD-Q8_K_XL", 595),
    )


def lived_in(
    home: Path, box: str = "gpus", *, zh: bool = False, real: bool = False
) -> ScriptedServices:
    """Services of a profile in use: a library, chats, a loaded model, five minutes of samples.

    ``real``: the models have real headers, so that the planner's own figures are shown.
    """
    services = ScriptedServices(home, machine=BOXES[box]())
    folder = services.models.folders[0]
    starter = data.starter_model(folder)
    if box == "gpus":
        small, chosen, large = _quantizations(folder, real=real)
        models: tuple[LocalModel, ...] = (
            small,
            chosen,
            large,
            starter,
            data.partial_model(folder),
            data.broken_model(folder),
        )
    else:
        chosen = starter
        models = (starter, data.broken_model(folder))
    services.models.set_models(*models)
    services.store.update(
        lambda s: dataclasses.replace(
            s,
            window=dataclasses.replace(s.window, wizard_done=True),
            models=dataclasses.replace(s.models, selected=chosen.id),
        )
    )
    for title, age_h in data.TITLES:
        question = data.QUESTION.zh if zh else data.QUESTION.en
        answer = data.ANSWER.zh if zh else data.ANSWER.en
        services.chats.add_chat(
            title.zh if zh else title.en,
            (
                services.chats.say(question),
                data.finished_answer(services.chats.next_id, answer, thinking=question),
            ),
            age_s=age_h * 3600,
        )
    services.engine.set_ready(chosen)
    services.monitor.samples = data.session(BOXES[box]())
    return services
