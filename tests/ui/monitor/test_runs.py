"""The run notebook: rows, two side by side, star, note, start again, forget."""

from __future__ import annotations

import dataclasses
import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.diagnosis.kept import slowness_text
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_types import Outcome, RunFacts
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.log_view import LogView
from kimi_desktop.ui.monitor.page import MonitorPage
from kimi_desktop.ui.monitor.run_words import decode_words, outcome_words, settings_words, stands
from kimi_desktop.ui.widgets.label import Label
from tests.support import scripted_data as data

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def page(qtbot, bridge, services):
    page = MonitorPage(bridge)
    qtbot.addWidget(page)
    page.resize(1224, 732)
    page.show()
    services.notebook.set_rows(*data.notebook(services.models.models[1]))
    page.view.segment("runs").click()
    qtbot.waitUntil(lambda: len(page.runs.rows()) == 4)
    return page


def test_the_notebook_stands_beside_the_graphs(page):
    assert page.runs.isVisible()
    assert not page.board.isVisible()
    assert not page.export_button.isVisible()
    page.view.segment("live").click()
    assert not page.runs.isVisible()
    assert page.span.isVisible()


def test_a_row_says_what_was_set_measured_and_how_it_ended(page):
    rows = page.runs.rows()
    said = [" ".join(label.text() for label in row.findChildren(Label)) for row in rows]
    assert "18.4 tok/s" in said[2]
    assert "forecast 11.4 – 24.5" in said[2]
    assert "The weights do not fit into the GPU memory." in said[1]
    assert "context 128K · 62 layers on GPU · 44 expert layers in RAM · KV q8_0" in [
        settings_words(row.run) for row in rows
    ]
    assert [stands(row.run.measured.decode_tps, row.run.forecast.decode_tps) for row in rows] == [
        -1, 0, 0, 0
    ]  # fmt: skip


def test_two_are_compared_and_a_third_takes_the_place_of_the_first(page):
    rows = page.runs.rows()
    rows[3].tick.click()
    assert not page.runs.compare.isVisible()
    rows[2].tick.click()
    assert page.runs.compare.isVisible()
    texts = page.runs.compare.texts()
    assert ["Expert layers in RAM", "48", "44"] in texts
    assert ["KV type", "f16", "q8_0"] in texts
    assert ["Prefill", "196 tok/s", "196 tok/s"] in texts
    assert ["First token", "3.1 s", "3.1 s"] in texts
    assert ["Decode", "15.8 tok/s", "18.4 tok/s (+16 %)"] in texts
    rows[0].tick.click()
    assert [row.run.id for row in page.runs.rows() if row.tick.isChecked()] == [4, 2]
    assert ["Threads", "automatic", "64"] in page.runs.compare.texts()


def test_a_star_makes_its_settings_the_models_own(qtbot, page, services):
    page.runs.rows()[3].star.click()
    model = services.models.models[1]
    assert services.notebook.rows[3].starred
    assert services.plans.choices(model).settings.n_cpu_moe == 48
    qtbot.waitUntil(page.runs.rows()[3].star.isChecked)
    page.runs.rows()[3].star.click()
    assert services.plans.choices(model).settings is None


def test_a_note_is_kept_and_a_run_forgotten(qtbot, page, services):
    note = page.runs.rows()[0].note
    note.setFocus()
    qtbot.keyClicks(note, "hot day")
    qtbot.keyClick(note, Qt.Key.Key_Return)
    assert services.notebook.rows[0].note == "hot day"
    page.runs.rows()[0].delete.click()
    qtbot.waitUntil(lambda: len(page.runs.rows()) == 3)


def test_a_run_is_started_again_with_its_settings(qtbot, page, services, bridge):
    with qtbot.waitSignal(bridge.navigation.start_wanted) as start:
        page.runs.rows()[2].again.click()
    assert (start.args[0].cache_type, start.args[0].n_cpu_moe) == ("q8_0", 44)
    strange = dataclasses.replace(services.notebook.rows[0], id=9, settings={"of_tomorrow": 1})
    services.notebook.set_rows(strange)
    qtbot.waitUntil(lambda: len(page.runs.rows()) == 1)
    with qtbot.waitSignal(bridge.navigation.note_made):
        page.runs.rows()[0].again.click()


def test_an_empty_notebook_says_what_will_stand_there(qtbot, page, services):
    services.notebook.set_rows()
    qtbot.waitUntil(page.runs.empty.isVisible)
    assert "Every start" in page.runs.empty.sentence()


def test_a_failed_run_opens_the_panel_of_that_time(qtbot, page, services, bridge):
    services.diagnosis.kept[3] = data.kept_facts()
    rows = page.runs.rows()
    assert [row.reasons.isVisible() for row in rows] == [False, True, False, False]
    rows[1].reasons.click()
    failure = page.runs.failure
    qtbot.waitUntil(failure.isVisible)
    assert failure.panel.accessibleName() == "The weights do not fit into the GPU memory."
    said = " ".join(label.text() for label in failure.findChildren(QLabel))
    assert "line 62" in said
    assert "cudaMalloc failed: out of memory" in said
    failure.panel.copy_button().click()
    copied = json.loads(QGuiApplication.clipboard().text())
    assert copied["diagnosis"]["cause"] == "vram_oom_weights"
    with qtbot.waitSignal(bridge.navigation.overlay_wanted) as wanted:
        failure.panel.log_button().click()
    view = wanted.args[0](page)
    assert isinstance(view, LogView)
    assert view.marked()[0] == 61
    with qtbot.waitSignal(bridge.navigation.start_wanted) as start:
        failure.panel.fix_buttons()[-1].click()
    assert start.args[0].n_cpu_moe == 30
    rows[1].delete.click()
    qtbot.waitUntil(lambda: not failure.isVisible())


def test_a_slow_run_says_what_was_slow(qtbot, page, services):
    slow = dataclasses.replace(services.notebook.rows[0], n_facts=2, outcome=Outcome.STOPPED)
    services.diagnosis.kept[slow.id] = (
        RunFacts(5.0, slowness_text(data.SLOW, "I the log")),
        RunFacts(9.0, '{"log": "", "odd_answer": "chat.looping"}'),
    )
    services.notebook.set_rows(dataclasses.replace(slow, cause="threads_misconfigured"))
    qtbot.waitUntil(lambda: len(page.runs.rows()) == 1)
    (row,) = page.runs.rows()
    assert outcome_words(row.run).startswith("Stopped · ")
    row.reasons.click()
    failure = page.runs.failure
    qtbot.waitUntil(failure.isVisible)
    assert "no sense" in failure.panel.accessibleName()  # the newest first
    assert failure.which.isVisible()
    failure.which.setCurrentIndex(1)
    failure.which.activated.emit(1)
    assert "2.0 tok/s" in failure.panel.accessibleName()
    failure.panel.close_button().click()
    assert not failure.isVisible()


def test_facts_of_another_version_are_said_to_be(qtbot, page, services, bridge):
    services.diagnosis.kept[3] = (RunFacts(5.0, "of tomorrow"),)
    with qtbot.waitSignal(bridge.navigation.note_made):
        page.runs.rows()[1].reasons.click()
    assert not page.runs.failure.isVisible()


def test_words_of_outcomes(qapp, services):
    run = data.notebook(services.models.models[1])[0]
    failed = dataclasses.replace(run, outcome=Outcome.FAILED, cause="engine.killed")
    assert outcome_words(failed) == "Failed"
    assert outcome_words(dataclasses.replace(run, outcome=Outcome.RUNNING)) == "Running"
    nothing = dataclasses.replace(run.measured, decode_tps=None)
    assert decode_words(dataclasses.replace(run, measured=nothing)) == "–"
    switch = LanguageSwitch(qapp)
    switch.choose(LanguageChoice.ZH_CN)
    try:
        assert "专家层" in settings_words(run)
    finally:
        switch.choose(LanguageChoice.EN)


def test_the_graphs_of_a_run_and_back(qtbot, page, services, bridge, tmp_path):
    row = page.runs.rows()[1]
    with qtbot.waitSignal(bridge.navigation.note_made):
        row.graphs.click()
    assert page.runs.isVisible()  # none were kept of it
    samples = data.session(data.two_gpu_box(), seconds=60)
    services.notebook.kept[row.run.id] = tuple(Row(one, 1.0) for one in samples)
    row.graphs.click()
    qtbot.waitUntil(page.board.isVisible)
    assert not page.runs.isVisible()
    assert len(page.board.rows) > 3
    page.export_to(tmp_path / "run.csv")
    qtbot.waitUntil(page.saved_bar.isVisible)
    assert ("notebook.export_csv", (row.run.id,)) in services.desk.calls
    page.back_button.click()
    assert page.runs.isVisible()
    assert not page.board.isVisible()
