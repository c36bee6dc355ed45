"""Plans priced by the real planner, for real model headers, on scripted machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QApplication

from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.plan.page import PlanPage
from tests.support.real_models import real_model
from tests.support.scripted_services import ScriptedServices

QUANTIZATIONS = ("kimi-k2.6.q2_k", "kimi-k2.6.q4_k_m", "kimi-k2.6.q4_x")


def deliver() -> None:
    """Let answers of searches, which are queued signals, arrive."""
    for _ in range(3):
        QApplication.sendPostedEvents()
        QApplication.processEvents()


@pytest.fixture
def planned(services: ScriptedServices) -> ScriptedServices:
    """Two GPUs, Kimi K2.6 in three quantizations and Llama 3.1 8B; the engine is stopped."""
    folder = services.models.folders[0]
    models = [real_model(folder, name) for name in QUANTIZATIONS]
    models.append(real_model(folder, "llama-3.1-8b.q4_k_m", "Llama 3.1 8B"))
    services.store.update(
        lambda s: dataclasses.replace(
            s, models=dataclasses.replace(s.models, selected=models[2].id)
        )
    )
    services.models.set_models(*models)
    return services


@pytest.fixture
def plan_page(qtbot) -> Callable[[Bridge], PlanPage]:
    """Makes a page for some services, at the size that it has in a window of 1280 x 800."""

    def make(bridge: Bridge) -> PlanPage:
        made = PlanPage(bridge)
        qtbot.addWidget(made)
        made.setMinimumSize(1, 1)
        made.resize(1224, 732)
        made.show()
        deliver()
        return made

    return make


@pytest.fixture
def page(planned: ScriptedServices, bridge: Bridge, plan_page) -> PlanPage:
    """The page, with its first plan."""
    return plan_page(bridge)
