"""What runs taught: kept by machine, bounded, and felt by every forecast."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

from kimi_desktop.backends.defaults import plain_settings
from kimi_desktop.backends.learned import LearnedSpeeds
from kimi_desktop.backends.load_planner import LoadPlanner
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.errors import PlanError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.by_size import forecast_by_size
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_factors import FACTOR_NAMES, shipped_speed_data
from kimi_desktop.planner.speed_learn import MAX_DRIFT
from kimi_desktop.planner.speed_types import FinishedRun
from kimi_desktop.planner.tiers import machine_verdict
from tests.support.machines import cpu, gpu, machine, memory
from tests.support.real_models import real_model
from tests.support.scripted_desk import Desk
from tests.support.scripted_plans import DeskPool
from tests.support.speeds import GB, hybrid

KIMI = real_model(Path("/models"), "kimi-k2.6.q4_x")
SHIPPED = shipped_speed_data().factors
SITE = machine()
SLOW = FinishedRun(hybrid(), decode_tps=5.0)


def store_of(folder: Path, site: Machine | None = SITE) -> LearnedSpeeds:
    return LearnedSpeeds(folder / "data" / "learned.json", lambda: site)


def test_nothing_is_learned_before_a_run_and_the_next_start_knows_the_last(tmp_path: Path) -> None:
    speeds = store_of(tmp_path)
    assert speeds.factors() is None
    after = speeds.learn(SLOW)
    assert after is not None
    assert after.runs == 1
    assert after.ram < SHIPPED.ram
    assert speeds.factors() == after
    again = store_of(tmp_path)
    assert again.factors() == after
    second = again.learn(SLOW)
    assert second is not None
    assert second.runs == 2


def test_every_machine_has_its_own(tmp_path: Path) -> None:
    store_of(tmp_path).learn(SLOW)
    assert store_of(tmp_path, machine(cpu=cpu(model="another"))).factors() is None
    cards = machine(gpus=(gpu(), gpu(1, name="NVIDIA GeForce RTX 3090")))
    assert store_of(tmp_path, cards).factors() is None
    kept = store_of(tmp_path, cards).learn(SLOW)
    assert store_of(tmp_path, cards).factors() == kept
    # What is free at the moment makes no other machine.
    busy = machine(memory=memory(755.4, 40))
    assert store_of(tmp_path, busy).factors() == store_of(tmp_path).factors() is not None
    assert store_of(tmp_path, None).factors() is None
    assert store_of(tmp_path, None).learn(SLOW) is None


def test_a_small_model_teaches_nothing_about_large_ones(tmp_path: Path) -> None:
    speeds = store_of(tmp_path)
    work = dataclasses.replace(hybrid().work, host_bytes=GB // 4, gpu_bytes=(GB // 4,))
    assert speeds.learn(FinishedRun(hybrid(work=work), decode_tps=20.0)) is None
    assert speeds.learn(FinishedRun(hybrid())) is None
    assert speeds.factors() is None
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "content", ["", "[1, 2", '{"machines": 3}', '{"machines": {"x": 1}}', "[]", "[" * 100_000]
)
def test_a_damaged_file_is_as_none(tmp_path: Path, content: str) -> None:
    speeds = store_of(tmp_path)
    file = tmp_path / "data" / "learned.json"
    file.parent.mkdir()
    file.write_text(content)
    assert speeds.factors() is None
    assert speeds.learn(SLOW) is not None
    assert store_of(tmp_path).factors() == speeds.factors()


def test_damaged_values_are_as_shipped_or_bounded(tmp_path: Path) -> None:
    store_of(tmp_path).learn(SLOW)
    file = tmp_path / "data" / "learned.json"
    data = json.loads(file.read_text())
    (values,) = data["machines"].values()
    values |= {"ram": "fast", "gpu": 1e12, "pcie": -1}
    file.write_text(json.dumps(data))
    found = store_of(tmp_path).factors()
    assert found is not None
    assert found.ram == SHIPPED.ram
    assert found.gpu == SHIPPED.gpu * MAX_DRIFT
    assert found.pcie == SHIPPED.pcie


def test_where_nothing_can_be_kept_it_holds_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    speeds = store_of(tmp_path)
    assert speeds.learn(SLOW) is not None
    assert speeds.factors() is not None


def planner_of(speeds: LearnedSpeeds, folder: Path, site: Machine | None = SITE) -> LoadPlanner:
    return LoadPlanner(
        DeskPool(Desk()),  # type: ignore[arg-type]
        SettingsStore(folder / "settings.json"),
        machine=lambda: site,
        begin=lambda model: plain_settings(model, EngineKind.EMBEDDED, None),
        uses_gpus=lambda _: True,
        factors=speeds.factors,
    )


@pytest.mark.parametrize("share", [0.6, 1.5])
def test_the_next_forecast_moves_towards_the_run(tmp_path: Path, share: float) -> None:
    speeds = store_of(tmp_path)
    planner = planner_of(speeds, tmp_path)
    settings = planner.settings_for(KIMI)
    before = planner.price(settings, KIMI, Profile.SAFE)
    setup = planner.work_of(settings, KIMI, kept_tokens=1000)
    truth = forecast_speed(setup).decode_tps.likely * share
    gaps = [abs(math.log(share))]
    for _ in range(4):
        assert speeds.learn(FinishedRun(setup, decode_tps=truth)) is not None
        now = planner.price(settings, KIMI, Profile.SAFE)
        seen = now.speed.decode_tps.likely / before.speed.decode_tps.likely
        gaps.append(abs(math.log(seen / share)))
    assert gaps[1] < 0.6 * gaps[0]
    assert gaps[-1] < 0.3 * gaps[0]
    assert now.speed.decode_tps.high / now.speed.decode_tps.low < (
        before.speed.decode_tps.high / before.speed.decode_tps.low
    )
    # The search counts with it as well, and so does what only knows a size.
    found = planner.find(KIMI, Wishes()).result()
    assert found.speed.decode_tps.likely == pytest.approx(now.speed.decode_tps.likely)
    learned = speeds.factors()
    plain = forecast_by_size("kimi-k2.6", "Q4_X", 594 * GB, SITE)
    corrected = forecast_by_size("kimi-k2.6", "Q4_X", 594 * GB, SITE, factors=learned)
    faster = corrected.speed.decode_tps.likely / plain.speed.decode_tps.likely
    assert (faster > 1.05) if share > 1 else (faster < 0.95)
    assert machine_verdict(SITE, Language.EN, learned) != machine_verdict(SITE, Language.EN)
    for name in FACTOR_NAMES:
        assert getattr(learned, name) <= getattr(SHIPPED, name) * MAX_DRIFT


def test_the_model_itself_is_not_in_its_own_way(tmp_path: Path) -> None:
    """Memory is full of the model that answers; its own work is still counted as it was planned."""
    speeds = store_of(tmp_path)
    settings = planner_of(speeds, tmp_path).settings_for(KIMI)
    rested = planner_of(speeds, tmp_path).work_of(settings, KIMI, 1000)
    full = machine(memory=memory(755.4, 120), gpus=(gpu(vram_free_bytes=2**30),))
    assert planner_of(speeds, tmp_path, full).work_of(settings, KIMI, 1000) == rested
    longer = planner_of(speeds, tmp_path).work_of(settings, KIMI, 30_000)
    assert sum(longer.work.gpu_bytes) > sum(rested.work.gpu_bytes)
    with pytest.raises(PlanError):
        planner_of(speeds, tmp_path, None).work_of(settings, KIMI, 1000)
