"""Settings to begin with are the planner's, and what is needed without it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends.defaults import default_settings, is_plannable, plain_settings
from kimi_desktop.backends.placed import settings_of
from kimi_desktop.backends.plain_chat import plain_chat_for
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Profile, Wishes
from tests.support import scripted_data
from tests.support.machines import gpu, machine, memory
from tests.support.measured import model_facts


def model_of(name: str, **changes: object) -> LocalModel:
    facts = dataclasses.replace(model_facts(name), **changes)  # type: ignore[arg-type]
    return dataclasses.replace(scripted_data.kimi_model(Path("/models")), facts=facts)


KIMI = model_of("kimi-k2.6.q4_x", chat_template="{{ messages }}")


def defaults(model: LocalModel, site: Machine | None, wishes: Wishes | None = None) -> LoadSettings:
    plain = plain_settings(model, EngineKind.EMBEDDED, None)
    return default_settings(plain, model, site, wishes or Wishes())


@pytest.mark.parametrize("profile", list(Profile))
def test_they_are_the_plan_itself(profile: Profile) -> None:
    site = machine(gpus=(gpu(0, 24), gpu(1, 96)))
    wishes = Wishes(profile=profile)
    assert KIMI.facts is not None
    plan = find_plan(shape_of(KIMI.facts), site, wishes)
    plain = plain_settings(KIMI, EngineKind.EMBEDDED, None)
    assert defaults(KIMI, site, wishes) == settings_of(plan, plain, site)


def test_compute_buffers_are_counted_once() -> None:
    """A card that the forecast fills to its tenth is used to its tenth, without more reserves."""
    site = machine(gpus=(gpu(0, 24),), memory=memory(768))
    found = defaults(KIMI, site)
    assert KIMI.facts is not None
    plan = find_plan(shape_of(KIMI.facts), site)
    card = plan.forecast.devices[0]
    expert_layer = 9 * 2**30
    assert card.spare_bytes / card.total_bytes >= 0.1
    assert card.spare_bytes - 0.1 * card.total_bytes < expert_layer
    assert found.n_cpu_moe == plan.placement.n_cpu_moe


def test_a_wish_that_no_engine_can_fulfil_is_passed_over() -> None:
    site = machine()
    assert defaults(KIMI, site, Wishes(n_gpu_layers=900)) == defaults(KIMI, site)
    kept = Wishes(profile=Profile.FASTEST, cache_type="q9_0", uses_gpus=False)
    found = defaults(KIMI, site, kept)
    assert found == defaults(KIMI, site, Wishes(profile=Profile.FASTEST, uses_gpus=False))
    assert found.n_gpu_layers == 0


def test_before_a_look_at_the_machine_nothing_is_placed() -> None:
    found = defaults(KIMI, None)
    assert (found.n_gpu_layers, found.context) == (0, 2048)


def test_a_model_without_a_template_gets_questions_and_answers() -> None:
    model = model_of("llama-3.1-8b.q4_k_m", chat_template=None)
    plain = plain_chat_for("llama")
    for site in (machine(), None):
        settings = defaults(model, site)
        assert settings.chat_template == plain.template
        assert settings.stop == plain.stop
    assert "Question: " in plain.template
    assert "\nQuestion:" in plain.stop
    assert defaults(KIMI, machine()).chat_template is None


@pytest.mark.parametrize(("trained", "context"), [(8192, 2048), (512, 512), (0, 2048)])
def test_a_plain_context_is_never_longer_than_the_training(trained: int, context: int) -> None:
    model = model_of("llama-3.1-8b.q4_k_m", context_train=trained)
    assert plain_settings(model, EngineKind.EMBEDDED, None).context == context


def test_a_model_without_a_header_gets_the_plain_defaults() -> None:
    broken = dataclasses.replace(KIMI, facts=None)
    assert not is_plannable(broken)
    assert defaults(broken, machine()) == LoadSettings(broken.path)
    assert KIMI.facts is not None
    bare = dataclasses.replace(KIMI, facts=dataclasses.replace(KIMI.facts, geometry=None))
    assert not is_plannable(bare)
    assert defaults(bare, machine()) == plain_settings(bare, EngineKind.EMBEDDED, None)


@pytest.mark.parametrize("kind", list(EngineKind))
def test_the_engine_is_what_was_chosen(kind: EngineKind) -> None:
    binary = Path("/opt/llama-server") if kind is EngineKind.LLAMA_SERVER else None
    plain = plain_settings(KIMI, kind, binary)
    settings = default_settings(plain, KIMI, machine(), Wishes())
    assert (settings.kind, settings.binary) == (kind, binary)
