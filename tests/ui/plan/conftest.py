"""Plans priced by the real planner, for real model headers, on scripted machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.core import forecast_load
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.plan.page import PlanPage
from tests.support.real_models import real_model
from tests.support.scripted_services import ScriptedServices

QUANTIZATIONS = {"kimi-k2.6.q2_k": "Q2_K", "kimi-k2.6.q4_k_m": "Q4_K_M", "kimi-k2.6.q4_x": "Q4_X"}


def real_forecast(settings: LoadSettings, model: LocalModel, machine: Machine) -> LoadForecast:
    """The planner's forecast of load settings."""
    return forecast_load(settings, model, machine, uses_gpus=True)


def price_for_real(services: ScriptedServices) -> None:
    """Let the scripted engine forecast with the planner."""

    def price(settings: LoadSettings, model: LocalModel) -> LoadForecast:
        machine = services.machine.machine
        assert machine is not None
        return real_forecast(settings, model, machine)

    def settings_for(model: LocalModel) -> LoadSettings:
        assert model.facts is not None
        experts = model.facts.n_expert > 0
        return LoadSettings(
            model_path=model.path,
            n_gpu_layers=model.facts.n_layer + 1,
            n_cpu_moe=44 if experts else 0,
            context=131_072 if experts else 4096,
        )

    services.engine.forecast = price
    services.engine.settings_for = settings_for


@pytest.fixture
def planned(services: ScriptedServices) -> ScriptedServices:
    """Two GPUs, Kimi K2.6 in three quantizations and Llama 3.1 8B, priced by the planner."""
    folder = services.models.folders[0]
    models = [real_model(folder, name, "Kimi K2.6") for name in QUANTIZATIONS]
    models.append(real_model(folder, "llama-3.1-8b.q4_k_m", "Llama 3.1 8B"))
    price_for_real(services)
    services.store.update(
        lambda s: dataclasses.replace(
            s, models=dataclasses.replace(s.models, selected=models[2].id)
        )
    )
    services.models.set_models(*models)
    return services


@pytest.fixture
def page(planned: ScriptedServices, bridge: Bridge, qtbot) -> PlanPage:
    """The page, shown at the size that it has in a window of 1280 x 800."""
    made = PlanPage(bridge)
    qtbot.addWidget(made)
    made.setMinimumSize(1, 1)
    made.resize(1224, 732)
    made.show()
    return made


@pytest.fixture
def plan_page(qtbot) -> Callable[[Bridge], PlanPage]:
    """Makes a page for other services."""

    def make(bridge: Bridge) -> PlanPage:
        made = PlanPage(bridge)
        qtbot.addWidget(made)
        made.setMinimumSize(1, 1)
        made.resize(1224, 732)
        made.show()
        return made

    return make
