"""The Plan page: what moves, what follows, what it says when something is missing."""

from __future__ import annotations

import dataclasses
import shlex

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.backends.types import EngineKind, EngineState
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.base.units import format_gib
from kimi_desktop.models.types import ModelState
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.types import ExactCheck
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.plan.page import PlanPage
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support import scripted_data
from tests.support.machines import gpu, machine
from tests.support.scripted_services import ScriptedServices
from tests.ui.plan.conftest import deliver


def small_machine():
    """One card and too little memory for Kimi K2.6 in 4 bit."""
    box = scripted_data.two_gpu_box()
    memory = dataclasses.replace(box.memory, total_bytes=448 * 2**30, available_bytes=440 * 2**30)
    return dataclasses.replace(box, gpus=box.gpus[:1], memory=memory)


def rows(page: PlanPage) -> list[str]:
    return [row.change.title for row in page.answer.changes.rows() if not row.isHidden()]


# Auto


def test_it_opens_with_the_planners_own_plan(page, planned):
    chosen = planned.models.models[2]
    assert page.planning.model == chosen
    assert page.planning.is_auto
    plan = find_plan(shape_of(chosen.facts), planned.machine.machine, Wishes())
    assert page.planning.priced.plan == plan
    assert page.planning.settings == planned.plans.settings_for(chosen)
    assert page.choices.model.currentText() == "Kimi K2.6 · 1.03 T"
    assert [m.facts.quantization for m in page.choices.quantizations.models()] == [
        "Q4_K_M",
        "Q4_X",
        "Q2_K",
    ]
    assert page.choices.quantizations.row(chosen.id).isChecked()
    assert not page.choices.reset.isEnabled()
    placement = page.choices.placement
    assert placement.mode.key() == "auto"
    assert placement.gpu_layers.slider.is_quiet
    assert placement.gpu_layers.value() == plan.placement.n_gpu_layers
    assert placement.expert_layers.value() == len(plan.experts_in_ram)


def test_the_answer_is_the_planners(page, planned):
    plan = page.planning.priced.plan
    views = page.answer.devices.views()
    assert len(views) == 3
    for view, device in zip(views, plan.forecast.devices, strict=True):
        assert view.bar.used_bytes == device.used_bytes
        parts = {"Weights": device.weights_bytes, "Compute": device.compute_bytes or 0}
        for name, size in parts.items():
            assert f"{name} {format_gib(size, unit=False)}" in view.legend.accessibleName()
    words = planned.plans.words(page.planning.priced, Language.EN)
    assert page.answer.sentence.text() == words.headline
    said = (page.answer.detail.text(), *page.answer.reasons.sentences())
    assert said == words.reasons
    assert len(said) == len(plan.decisions)
    assert page.answer.chip.text() == "Fits"


def test_speed_is_a_band_with_what_it_waits_for(page):
    speed = page.planning.priced.speed
    decode, prefill = page.answer.speed.decode, page.answer.speed.prefill
    low, likely, high = decode.band.range_of()
    assert 0 < low < likely < high <= 1
    assert likely / low == pytest.approx(speed.decode_tps.likely / speed.decode_tps.low)
    value, range_, limit = decode.texts()
    assert value == f"{speed.decode_tps.likely:.1f} tok/s"
    assert range_ == f"likely {speed.decode_tps.low:.1f} – {speed.decode_tps.high:.1f}"
    assert limit.startswith("Limited by RAM bandwidth: ")
    assert prefill.texts()[2].startswith("Limited by PCIe: ")
    load, notes = page.answer.speed.load.texts()
    assert load.endswith(" s")
    assert "disk" in notes
    first, notes = page.answer.speed.first_token.texts()
    assert "for a 2K prompt" in first
    assert "for 200 tokens" in notes
    assert "for 32K tokens" in notes


def test_a_context_of_the_users_is_a_wish_that_is_kept(page, planned):
    assert page.choices.context.slider.accessibleDescription().endswith("tokens, automatic")
    page.choices.context.set_value(page.choices.context.slider.maximum())
    deliver()
    assert page.planning.is_auto
    assert page.planning.choices.wishes.context == 262_144
    assert page.planning.settings.context == 262_144
    planned.machine.set_machine(small_machine())
    deliver()
    assert page.planning.settings.context == 262_144
    assert not page.planning.priced.plan.fits
    assert page.choices.automatic.isVisible()
    page.choices.automatic.click()
    deliver()
    assert page.planning.choices.wishes.context is None
    assert not page.choices.automatic.isVisible()


@pytest.mark.parametrize("profile", list(Profile))
def test_profiles(page, planned, qtbot, profile: Profile):
    qtbot.mouseClick(page.choices.profile.segment(profile.value), Qt.MouseButton.LeftButton)
    deliver()
    model = page.planning.model
    wanted = find_plan(shape_of(model.facts), planned.machine.machine, Wishes(profile))
    assert page.planning.priced.plan == wanted


def test_kv_type_and_parallel_chats_are_wishes(page, qtbot):
    assert page.choices.cache_type.key() == ""
    qtbot.mouseClick(page.choices.cache_type.segment("q8_0"), Qt.MouseButton.LeftButton)
    page.choices.parallel.choose(4)
    page.choices.parallel.activated.emit(page.choices.parallel.currentIndex())
    deliver()
    assert page.planning.is_auto
    settings = page.planning.settings
    assert (settings.cache_type, settings.n_parallel) == ("q8_0", 4)
    qtbot.mouseClick(page.choices.cache_type.segment(""), Qt.MouseButton.LeftButton)
    deliver()
    assert page.planning.choices.wishes.cache_type is None


def test_an_older_plan_stays_while_a_search_runs_and_only_the_newest_waits(page, planned):
    before = page.planning.priced
    planned.desk.hold.add("plans.find")
    asked = planned.desk.called("plans.find")
    for place in range(6):
        page.choices.context.set_value(place)
        deliver()
    assert planned.desk.called("plans.find") == asked + 1
    assert page.planning.priced is before
    shown = page.choices.context
    assert shown.value() == 5
    planned.desk.hold.clear()
    planned.desk.release("plans.find")
    deliver()
    assert page.planning.settings.context == page.planning.choices.wishes.context
    assert page.choices.context.value() == 5


def test_a_wish_that_no_engine_can_fulfil_is_said_in_place(page, planned):
    page.planning.change(cache_type="q4_1", context=0)
    deliver()
    assert page.answer.chip.text() == "No forecast"
    assert "must be 1 to" in page.answer.sentence.text()
    assert not page.answer.devices.isVisible()
    page.planning.reset()
    deliver()
    assert page.answer.devices.isVisible()


# Manual


def test_taking_a_slider_takes_the_placement_over_from_the_planner(page):
    before = page.planning.settings
    experts = page.choices.placement.expert_layers
    had = experts.value()
    experts.set_value(had + 1)
    assert not page.planning.is_auto
    assert page.choices.placement.mode.key() == "manual"
    assert not experts.slider.is_quiet
    settings = page.planning.settings
    assert settings.n_cpu_moe == had + 2  # block 0 is dense
    assert settings.overrides == ()
    for name in ("context", "cache_type", "n_ubatch", "n_threads", "load_mode"):
        assert getattr(settings, name) == getattr(before, name)
    assert experts.value() == had + 1
    assert page.choices.reset.isEnabled()


def test_back_to_auto_restores_the_plan_and_its_wishes(page, qtbot):
    page.choices.context.set_value(2)
    deliver()
    before = page.planning.priced
    page.choices.placement.gpu_layers.set_value(3)
    page.choices.context.set_value(0)
    assert page.planning.settings.n_gpu_layers == 3
    qtbot.mouseClick(page.choices.placement.mode.segment("auto"), Qt.MouseButton.LeftButton)
    deliver()
    assert page.planning.priced == before


def test_manual_begins_where_the_planner_left_it(page, qtbot):
    before = page.planning.priced
    qtbot.mouseClick(page.choices.placement.mode.segment("manual"), Qt.MouseButton.LeftButton)
    assert page.planning.settings == before.settings
    assert page.planning.priced.plan.forecast == before.plan.forecast
    assert page.planning.priced.speed == before.speed
    assert page.choices.cache_type.key() == before.settings.cache_type


def test_every_slider_prices_again_at_once(page):
    choices = page.choices
    choices.placement.expert_layers.set_value(60)
    more_in_ram = page.answer.devices.views()[2].bar.used_bytes
    choices.placement.expert_layers.set_value(30)
    assert page.answer.devices.views()[2].bar.used_bytes < more_in_ram
    cache = page.answer.devices.views()[0].bar.used_bytes
    choices.context.set_value(0)
    assert page.planning.settings.context == 4096
    assert page.answer.devices.views()[0].bar.used_bytes < cache
    choices.placement.gpu_layers.set_value(0)
    assert page.planning.settings.gpus == ()
    assert page.answer.devices.views()[1].bar.used_bytes < 2**30


def test_nothing_of_a_users_own_plan_is_changed(page, planned):
    page.choices.placement.expert_layers.set_value(60)
    page.choices.context.set_value(page.choices.context.slider.maximum())
    settings = page.planning.settings
    planned.machine.set_machine(small_machine())
    deliver()
    assert page.planning.settings == settings


def test_arrow_keys_move_a_slider(page, qtbot):
    slider = page.choices.placement.expert_layers.slider
    slider.setFocus()
    before = slider.value()
    qtbot.keyClick(slider, Qt.Key.Key_Left)
    assert not page.planning.is_auto
    assert len(page.planning.priced.plan.experts_in_ram) == before - 1


def test_too_much_is_said_drawn_and_can_be_started_all_the_same(page, bridge, qtbot):
    started = []
    bridge.navigation.start_wanted.connect(started.append)
    page.choices.placement.expert_layers.set_value(0)

    assert page.answer.chip.verdict is Verdict.BAD
    assert page.answer.chip.text().endswith("short")
    assert page.answer.devices.views()[1].bar.over_budget
    assert not page.answer.start.isEnabled()
    assert page.answer.anyway.isVisible()
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert not started
    qtbot.waitUntil(lambda: "Auto" in rows(page))

    qtbot.mouseClick(page.answer.anyway, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert started == [page.planning.settings]
    assert page.answer.speed.isHidden()  # nothing that cannot start is fast or slow


def test_a_way_out_of_a_users_own_plan_is_one_press(page, qtbot):
    page.choices.placement.expert_layers.set_value(0)
    qtbot.waitUntil(lambda: "Auto" in rows(page))
    [auto] = [row for row in page.answer.changes.rows() if row.change.title == "Auto"]
    auto.click()
    deliver()
    assert page.planning.is_auto
    assert page.planning.priced.plan.fits
    assert rows(page) == []


# what does not fit


def test_what_is_missing_comes_with_ways_out(page, planned, qtbot):
    planned.machine.set_machine(small_machine())
    deliver()
    assert not page.planning.priced.plan.fits
    assert "of RAM is missing" in page.answer.detail.text()
    found = {row.change.title: row for row in page.answer.changes.rows()}
    more = next(row for title, row in found.items() if title.endswith("more RAM"))
    assert not more.isEnabled()
    here, elsewhere = found["Q2_K"], found["UD-Q2_K_XL"]
    assert "not downloaded yet" in elsewhere.change.detail
    wanted = []
    page._bridge.navigation.page_wanted.connect(wanted.append)
    elsewhere.click()
    assert wanted == ["models"]
    qtbot.keyClick(here, Qt.Key.Key_Return)
    deliver()
    assert page.planning.model == planned.models.models[0]
    assert page.planning.priced.plan.fits
    assert page.choices.quantizations.row(planned.models.models[0].id).isChecked()


def test_what_one_change_would_bring_is_one_press_away(page, planned, qtbot):
    def titles() -> list[str]:
        return [row.change.title for row in page.answer.what_if.rows()]

    qtbot.waitUntil(lambda: "KV q8_0" in titles())
    assert titles() == ["KV q8_0", "Context 64K", "Context 16K", "Q2_K", "Q4_K_M"]
    [longer] = [row for row in page.answer.what_if.rows() if row.change.title == "Context 64K"]
    longer.click()
    deliver()
    assert page.planning.is_auto
    assert page.planning.settings.context == 65_536
    assert titles() == []
    qtbot.waitUntil(lambda: "Context 128K" in titles())
    page.choices.placement.expert_layers.set_value(60)
    assert titles() == []


# models


def test_another_quantization_keeps_the_choices(page, planned, qtbot):
    page.choices.context.set_value(3)
    wanted = page.planning.choices
    other = planned.models.models[0]
    qtbot.mouseClick(page.choices.quantizations.row(other.id), Qt.MouseButton.LeftButton)
    deliver()
    assert page.planning.model == other
    assert page.planning.choices == wanted
    assert page.planning.settings.model_path == other.path
    assert other.path.name in page.answer.command.line()

    page.choices.placement.expert_layers.set_value(50)
    third = planned.models.models[1]
    qtbot.mouseClick(page.choices.quantizations.row(third.id), Qt.MouseButton.LeftButton)
    assert not page.planning.is_auto
    assert page.planning.settings.model_path == third.path
    assert page.planning.settings.n_cpu_moe == 51


def test_every_quantization_gets_its_verdict(page, planned, qtbot):
    chips = [page.choices.quantizations.chip(m.id) for m in planned.models.models[:3]]
    qtbot.waitUntil(lambda: all(not chip.isHidden() for chip in chips))
    assert all(chip.verdict is Verdict.OK for chip in chips)
    page.choices.placement.expert_layers.set_value(0)
    qtbot.waitUntil(lambda: all(chip.verdict is Verdict.BAD for chip in chips))


def test_two_files_of_one_quantization_are_told_apart(page, planned):
    one = planned.models.models[2]
    path = one.path.parent / "elsewhere" / one.path.name
    other = dataclasses.replace(one, id=str(path), path=path)
    planned.models.set_models(*planned.models.models, other)
    deliver()
    names = [page.choices.quantizations.row(each.id).accessibleName() for each in (one, other)]
    assert all("Q4_X" in name and "Near-lossless" in name for name in names)
    assert "elsewhere" in names[1]
    assert names[0] != names[1]


def test_another_model_brings_its_own_plan(page, planned):
    page.choices.model.choose("Llama 3.1 8B")
    page.choices.model.activated.emit(page.choices.model.currentIndex())
    deliver()
    assert page.planning.model == planned.models.models[3]
    assert page.choices.placement.expert_layers.isHidden()
    assert page.choices.placement.gpu_layers.slider.maximum() == 33
    assert page.planning.priced.plan.gpus == (0,)


def test_reset_takes_everything_back(page, qtbot):
    before = page.planning.priced
    page.choices.context.set_value(0)
    page.choices.placement.gpu_layers.set_value(10)
    assert page.choices.reset.isEnabled()
    qtbot.mouseClick(page.choices.reset, Qt.MouseButton.LeftButton)
    deliver()
    assert page.planning.priced == before
    assert not page.choices.reset.isEnabled()


def test_choices_are_remembered_per_model(page, planned, bridge, plan_page):
    page.choices.context.set_value(5)
    deliver()
    kimi, llama = planned.models.models[2], planned.models.models[3]
    wished = page.planning.choices
    bridge.navigation.open_plan(llama.id)
    deliver()
    page.choices.placement.gpu_layers.set_value(20)
    own = page.planning.choices
    page.hide()

    again = plan_page(bridge)
    assert again.planning.choices == wished
    bridge.navigation.open_plan(llama.id)
    assert again.planning.choices.settings == own.settings
    assert planned.plans.choices(kimi) == wished


def test_a_users_own_plan_that_does_not_fit_is_not_remembered(page, planned):
    before = planned.plans.choices(page.planning.model)
    page.choices.placement.expert_layers.set_value(0)
    page.hide()
    assert planned.plans.choices(page.planning.model) == before


def test_choices_are_remembered_when_the_hand_rests(page, planned, qtbot):
    page.choices.context.set_value(1)
    deliver()
    wished = page.planning.choices
    qtbot.waitUntil(lambda: planned.plans.choices(page.planning.model) == wished)


def test_a_model_of_the_library_is_planned_on_request(page, planned, bridge):
    bridge.navigation.open_plan(planned.models.models[3].id)
    assert page.planning.model == planned.models.models[3]
    bridge.navigation.open_plan("gone")
    assert page.planning.model == planned.models.models[3]


def test_the_plan_survives_a_scan(page, planned):
    page.choices.placement.gpu_layers.set_value(7)
    planned.models.set_models(*planned.models.models)
    assert page.planning.settings.n_gpu_layers == 7


def test_a_model_that_is_gone_makes_room_for_another(page, planned):
    gone = page.planning.model
    planned.models.set_models(*(m for m in planned.models.models if m != gone))
    assert page.planning.model in planned.models.models


def test_incomplete_models_are_not_planned(page, planned):
    whole = planned.models.models[3]
    planned.models.set_models(dataclasses.replace(whole, state=ModelState.PARTIAL))
    assert page.choices.model.count() == 0


def test_facts_without_a_geometry_are_started_without_a_forecast(services, bridge, plan_page):
    page = plan_page(bridge)
    assert page.planning.priced is None
    assert page.answer.chip.text() == "No forecast"
    assert page.planning.settings == services.engine.settings_for(page.planning.model)
    assert page.answer.command.isVisible()


# the engine


def test_start_takes_the_plan_and_chooses_its_model(page, planned, bridge, qtbot):
    started = []
    bridge.navigation.start_wanted.connect(started.append)
    small = planned.models.models[0]
    qtbot.mouseClick(page.choices.quantizations.row(small.id), Qt.MouseButton.LeftButton)
    deliver()
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert started == [planned.plans.settings_for(small)]
    assert started == [page.planning.settings]
    assert bridge.settings.models.selected == small.id


def test_the_command_line_is_what_start_runs(page, planned, qtbot):
    qtbot.mouseClick(page.answer.copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert shlex.split(copied) == list(planned.engine.command_line(page.planning.settings))
    assert "-ts" in copied
    assert page.answer.copy.text() == "Copied"
    qtbot.waitUntil(lambda: page.answer.copy.text() == "Copy")


def test_the_running_plan_says_so(page, planned):
    settings = page.planning.settings
    planned.engine.set_status(
        dataclasses.replace(planned.engine.status, state=EngineState.READY, settings=settings)
    )
    assert page.answer.start.text() == "Running with this plan"
    assert not page.answer.start.isEnabled()
    page.choices.placement.gpu_layers.set_value(0)
    assert page.answer.start.text() == "Start with this plan"
    page.planning.set_auto()
    deliver()
    planned.engine.set_state(EngineState.STOPPED)
    assert page.answer.start.text() == "Start with this plan"


def test_a_failed_start_is_told_in_place(page, planned, bridge, qtbot):
    error = BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": "GPU 0"})
    assert not page.failure.isVisible()
    planned.engine.start_error = error
    bridge.navigation.start_wanted.connect(planned.engine.start)
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert page.failure.isVisible()
    titles = [button.text() for button in page.failure.panel.fix_buttons()]
    assert titles == ["Choose a model", "Restart"]  # the settings are on this very page

    page.choices.model.choose("Llama 3.1 8B")
    page.choices.model.activated.emit(page.choices.model.currentIndex())
    deliver()
    assert not page.failure.isVisible()
    bridge.navigation.open_plan(planned.models.models[2].id)
    deliver()
    assert page.failure.isVisible()
    planned.engine.start_error = None
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert not page.failure.isVisible()


def write(field, text):
    field.setText(text)
    field.editingFinished.emit()
    deliver()


def test_layers_are_shared_out_by_hand(page, qtbot):
    split = page.choices.advanced.split
    qtbot.keyClick(page.choices.advanced.fold, Qt.Key.Key_Space)
    assert split.isVisible()
    found = page.planning.settings.tensor_split
    assert split.field.placeholderText() == "Automatic ({:g}, {:g})".format(*found)
    write(split.field, "10, 52")  # in Auto it is a wish
    assert page.planning.is_auto
    assert page.planning.choices.wishes.tensor_split == (10.0, 52.0)
    assert page.planning.settings.tensor_split == (10.0, 52.0)
    page.choices.placement.mode.choose("manual")
    page.choices.placement.mode_chosen.emit("manual")
    write(split.field, "30 32")
    assert not page.planning.is_auto
    assert page.planning.settings.tensor_split == (30.0, 32.0)
    page.choices.placement.expert_layers.set_value(50)  # it stays when a slider moves
    assert page.planning.settings.tensor_split == (30.0, 32.0)
    assert page.planning.settings.n_cpu_moe == 51
    write(split.field, "0 1")
    assert page.planning.settings.gpus == (1,)
    write(split.field, "")
    assert page.planning.choices.wishes.tensor_split is None
    assert page.planning.settings.gpus is None  # all of them
    write(split.field, "5")
    page.planning.set_auto()
    assert page.planning.choices.wishes.tensor_split is None


@pytest.mark.parametrize("text", ["a", "1 2 3", "0,0", "-1 2", "nan 1", "1e9 1"])
def test_shares_that_no_gpus_can_have_are_not_taken(page, text):
    split = page.choices.advanced.split
    before = page.planning.choices
    write(split.field, text)
    assert page.planning.choices == before
    assert split.field.property("failed")
    write(split.field, "")
    assert not split.field.property("failed")


def test_one_gpu_has_nothing_to_share(page, planned):
    page.choices.advanced.fold.setChecked(True)
    planned.machine.set_machine(small_machine())
    deliver()
    assert not page.choices.advanced.split.isVisible()


def test_a_split_is_kept_for_the_gpus_it_was_for(page, planned):
    model = page.planning.model
    write(page.choices.advanced.split.field, "10, 52")
    page.planning.keep()
    assert planned.plans.choices(model).wishes.tensor_split == (10.0, 52.0)
    planned.machine.set_machine(small_machine())
    assert planned.plans.choices(model).wishes.tensor_split is None


def test_what_is_moved_before_the_first_plan_is_done_with_it(planned, bridge, plan_page):
    """The page was just opened: the search still runs."""
    planned.desk.hold.add("plans.find")
    page = plan_page(bridge)
    assert page.planning.priced is None
    page.choices.placement.expert_layers.set_value(60)
    planned.desk.hold.clear()
    planned.desk.release("plans.find")
    deliver()
    assert not page.planning.is_auto
    assert page.planning.settings.n_cpu_moe == 61
    assert page.planning.settings.n_gpu_layers == 62


def test_the_mode_chosen_before_the_first_plan_is_taken_with_it(planned, bridge, plan_page):
    planned.desk.hold.add("plans.find")
    page = plan_page(bridge)
    page.choices.placement.mode_chosen.emit("manual")
    planned.desk.hold.clear()
    planned.desk.release("plans.find")
    deliver()
    assert not page.planning.is_auto


def test_advanced_opens_and_changes_the_plan(page, qtbot):
    advanced = page.choices.advanced
    assert advanced.fold.summary() == (
        "batch 2,048 · micro-batch 2,048 · 32 threads · Copied (no mmap)"
    )
    assert not advanced.batch.isVisible()
    qtbot.keyClick(advanced.fold, Qt.Key.Key_Space)
    assert advanced.batch.isVisible()
    assert advanced.micro_batch.currentText() == "Automatic (2,048)"

    def choose(select, place: int) -> None:
        select.setCurrentIndex(place)
        select.activated.emit(place)
        deliver()

    choose(advanced.micro_batch, advanced.micro_batch.findText("512"))
    choose(advanced.threads, advanced.threads.findText("64"))
    choose(advanced.load_mode, 1)
    wishes = page.planning.choices.wishes
    assert (wishes.n_ubatch, wishes.n_threads, wishes.load_mode.value) == (512, 64, "mmap")
    settings = page.planning.settings
    assert (settings.n_ubatch, settings.n_threads) == (512, 64)
    assert "micro-batch 512 · 64 threads" in advanced.fold.summary()

    page.choices.placement.mode.segment("manual").click()
    assert advanced.micro_batch.findText("Automatic (512)") == -1
    choose(advanced.micro_batch, advanced.micro_batch.findText("4,096"))
    assert page.planning.settings.n_ubatch == 4096
    assert page.planning.settings.n_batch == 2048


def test_without_a_gpu_layers_cannot_be_moved_and_it_says_why(tmp_path, plan_page, planned):
    planned.machine.set_machine(scripted_data.cpu_only_box())
    door = Bridge(planned)
    page = plan_page(door)
    placement = page.choices.placement
    assert not placement.gpu_layers.slider.isEnabled()
    assert len(page.answer.devices.views()) == 1
    assert "No GPU driver" in placement.no_gpu.text()
    assert not placement.choose_engine.isVisible()
    door.close()


def test_an_engine_without_gpu_support_leaves_the_gpus_alone(planned, bridge, plan_page, qtbot):
    wanted = []
    bridge.navigation.page_wanted.connect(wanted.append)
    planned.engine.gpu_build = False
    page = plan_page(bridge)
    placement = page.choices.placement
    assert not placement.gpu_layers.slider.isEnabled()
    assert "built without GPU support" in placement.no_gpu.text()
    assert page.planning.priced.plan.gpus == ()
    qtbot.mouseClick(placement.choose_engine, Qt.MouseButton.LeftButton)
    assert wanted == ["settings"]


def test_the_engine_is_named_and_another_one_is_a_choice_away(page, bridge):
    wanted = []
    bridge.navigation.page_wanted.connect(wanted.append)
    engine = page.choices.engine
    assert engine.currentText() == "llama.cpp b11549"
    engine.activated.emit(0)
    assert not wanted
    engine.setCurrentIndex(1)
    engine.activated.emit(1)
    assert wanted == ["settings"]
    assert engine.currentText() == "llama.cpp b11549"


def test_another_engine_is_planned_for_at_once(page, planned, bridge, tmp_path):
    binary = tmp_path / "llama-server"
    begin = planned.plans._begin
    planned.plans._begin = lambda model: dataclasses.replace(
        begin(model), kind=EngineKind.LLAMA_SERVER, binary=binary
    )
    planned.engine.gpu_build = False
    bridge.save_settings(lambda settings: settings)
    deliver()
    assert page.planning.settings.binary == binary
    assert page.choices.engine.currentText() == "llama-server"
    assert page.planning.settings.n_gpu_layers == 0
    assert not page.choices.placement.gpu_layers.slider.isEnabled()


def test_without_an_engine_it_says_so_in_place_of_the_command(page, planned):
    error = BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": "llama-server"})
    planned.engine.command_error = error
    page.choices.placement.gpu_layers.set_value(3)
    assert "llama-server" in page.answer.no_command.text()
    assert page.answer.no_command.isVisible()
    assert not page.answer.command.isVisible()
    assert not page.answer.copy.isEnabled()
    assert not page.answer.start.isEnabled()

    planned.engine.command_error = None
    page.choices.context.set_value(1)
    assert page.answer.command.isVisible()


# the engine's own word


def same(**changes) -> ExactCheck:
    return dataclasses.replace(ExactCheck((), 0, "llama.cpp b11549"), **changes)


def test_the_engines_own_word_stands_beside_the_forecast(page, planned, qtbot):
    assert not page.answer.checked.isVisible()
    planned.engine.exact_check = same()
    page.choices.placement.expert_layers.set_value(60)
    asked = planned.desk.called("engine.check")
    qtbot.waitUntil(page.answer.checked.isVisible)
    assert planned.desk.called("engine.check") == asked + 1
    assert page.answer.checked.text() == "Checked by the engine"
    assert page.answer.checked.verdict is Verdict.CHECKED
    assert "llama.cpp b11549" in page.answer.checked.toolTip()

    planned.engine.exact_check = same(largest_difference_bytes=300 * 2**20)
    page.choices.context.set_value(0)
    assert not page.answer.checked.isVisible()
    qtbot.waitUntil(page.answer.checked.isVisible)
    assert page.answer.checked.text() == "The engine differs by 0.29 GiB"
    assert page.answer.checked.verdict is Verdict.WARN


def test_an_engine_that_cannot_be_asked_gets_no_badge(page, planned, qtbot):
    page.choices.context.set_value(0)
    deliver()
    asked = planned.desk.called("engine.check")
    qtbot.waitUntil(lambda: planned.desk.called("engine.check") > asked)
    deliver()
    assert not page.answer.checked.isVisible()


def test_a_move_cancels_the_question_and_its_answer_comes_too_late(page, planned, qtbot):
    planned.desk.hold.add("engine.check")
    planned.engine.exact_check = same()
    page.choices.placement.expert_layers.set_value(60)
    asked = planned.desk.called("engine.check")
    qtbot.waitUntil(lambda: planned.desk.called("engine.check") > asked)
    operation = page.checking._operation
    page.choices.placement.expert_layers.set_value(59)
    assert operation.cancelled
    deliver()
    assert not page.answer.checked.isVisible()


def test_nobody_asks_about_a_page_that_is_not_shown(page, planned, qtbot):
    page.choices.placement.expert_layers.set_value(60)
    page.hide()
    asked = planned.desk.called("engine.check")
    qtbot.wait(700)
    assert planned.desk.called("engine.check") == asked
    page.show()
    qtbot.waitUntil(lambda: planned.desk.called("engine.check") > asked)


# the frame


def test_without_a_model_the_library_is_one_button_away(fresh_bridge, plan_page, qtbot):
    wanted = []
    fresh_bridge.navigation.page_wanted.connect(wanted.append)
    page = plan_page(fresh_bridge)
    assert page.empty.isVisible()
    qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    assert wanted == ["models"]


def test_without_a_look_at_the_machine_it_offers_one(
    fresh_services, fresh_bridge, plan_page, planned, qtbot
):
    page = plan_page(fresh_bridge)
    fresh_services.models.set_models(planned.models.models[3])
    deliver()
    assert "needs to know this machine" in page.empty.sentence()
    qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    deliver()
    assert fresh_services.desk.called("machine.probe") == 1
    assert not page.empty.isVisible()
    assert page.answer.devices.views()


def test_a_machine_that_changes_is_planned_again(page, planned):
    box = planned.machine.machine
    planned.machine.set_machine(dataclasses.replace(box, gpus=box.gpus[:1]))
    deliver()
    assert len(page.answer.devices.views()) == 2
    assert page.planning.priced.plan.gpus == (0,)


def test_many_gpus_share_one_legend(page, planned):
    site = machine(gpus=tuple(gpu(number, 48) for number in range(8)))
    planned.machine.set_machine(site)
    deliver()
    assert page.answer.devices.views() == ()
    lines = page.answer.devices.lines()
    assert len(lines) == 9
    devices = page.planning.priced.plan.forecast.devices
    for line, device in zip(lines, devices, strict=True):
        assert line.bar.used_bytes == device.used_bytes
    assert page.answer.speed.decode.mapTo(page, page.rect().topLeft()).y() < page.height()


def test_every_control_is_reached_by_tab_and_has_a_name(page):
    page.choices.advanced.fold.setChecked(True)
    page.choices.placement.expert_layers.set_value(0)
    stops = [
        widget
        for widget in page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
    ]
    assert len(stops) >= 20
    for stop in stops:
        text = stop.text() if hasattr(stop, "text") and callable(stop.text) else ""
        assert stop.accessibleName() or text, stop


@pytest.mark.parametrize("width", [904, 1224, 1864])
def test_nothing_is_cut_off_at_the_sides(page, width, qtbot):
    page.choices.advanced.fold.setChecked(True)
    page.choices.placement.expert_layers.set_value(0)
    qtbot.waitUntil(lambda: bool(rows(page)))
    page.resize(width, 532)
    deliver()
    for panel in (page.choices, page.answer):
        viewport = panel.parentWidget()
        assert panel.width() <= viewport.width(), type(panel)


def test_words_follow_the_language(page, qapp, qtbot):
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        deliver()
        assert page.choices.reset.text() == "重置"
        assert page.answer.chip.text() == "可容纳"
        assert page.answer.sentence.text().startswith("可放入显存")
        assert page.choices.placement.mode.segment("auto").text() == "自动"
        assert page.answer.speed.decode.texts()[0].endswith("词元/秒")
        assert "批 2,048" in page.choices.advanced.fold.summary()
        assert all("。" in sentence for sentence in page.answer.reasons.sentences())
    finally:
        switch.choose(LanguageChoice.EN)
        QApplication.processEvents()
    deliver()
    assert page.choices.reset.text() == "Reset"
    assert page.answer.sentence.text().startswith("Fits in VRAM")


def test_a_library_that_was_never_planned_needs_no_page(planned: ScriptedServices):
    assert all(planned.plans.settings_for(m).context for m in planned.models.models)
