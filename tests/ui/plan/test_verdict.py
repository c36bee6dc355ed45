"""The verdict of a plan as a chip."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends.types import PricedLoad
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.ui.plan.verdict import chip_words, short_bytes, verdict_of
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support.machines import gpu, machine, memory
from tests.support.real_models import real_model
from tests.support.scripted_services import ScriptedServices

KIMI = real_model(Path("/m"), "kimi-k2.6.q4_x")


@pytest.fixture
def priced(tmp_path: Path):
    services = ScriptedServices(tmp_path)

    def price(site, wishes: Wishes, **changes) -> PricedLoad:
        services.machine.machine = site
        found = services.plans.find(KIMI, wishes).result()
        if not changes:
            return found
        settings = dataclasses.replace(found.settings, **changes)
        return services.plans.price(settings, KIMI, wishes.profile)

    return price


def test_what_fits(priced):
    found = priced(machine(), Wishes())
    assert (verdict_of(found), chip_words(found)) == (Verdict.OK, "Fits")
    assert short_bytes(found) == 0


def test_what_fits_without_the_reserve_is_tight(priced):
    site = machine(gpus=(gpu(0, 24),))
    steps = (
        priced(site, Wishes(context=32_768), context=size) for size in range(32_768, 262_144, 8192)
    )
    own = next(step for step in steps if step.is_tight)
    assert own.plan.fits
    assert own.is_tight
    assert (verdict_of(own), chip_words(own)) == (Verdict.WARN, "Tight")


def test_what_is_read_from_disk_again_and_again(priced):
    found = priced(machine(memory=memory(256)), Wishes())
    assert (verdict_of(found), chip_words(found)) == (Verdict.WARN, "Disk-bound")


def test_what_does_not_fit_says_how_much_is_short(priced):
    found = priced(machine(), Wishes(), n_cpu_moe=0)
    assert verdict_of(found) is Verdict.BAD
    gpu_row = found.plan.forecast.devices[0]
    assert short_bytes(found) == -gpu_row.spare_bytes
    assert chip_words(found) == f"{-gpu_row.spare_bytes / 2**30:,.1f} GiB short"


def test_the_reserve_of_a_searched_plan_counts(priced):
    """It would not be there if 1 GiB were left of 31."""
    found = priced(machine(memory=memory(585, 555)), Wishes(context=32_768))
    assert not found.plan.fits
    host = found.plan.forecast.devices[-1]
    assert short_bytes(found) >= int(0.1 * host.total_bytes - host.spare_bytes)
