"""Experiments in the window: suggest, measure, cancel, compare."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel

from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.monitor.experiment_types import Experiment, Point, Variable
from kimi_desktop.ui.monitor.page import MonitorPage
from tests.support import scripted_data as data


@pytest.fixture
def view(qtbot, bridge, services):
    page = MonitorPage(bridge)
    qtbot.addWidget(page)
    page.resize(1224, 732)
    page.show()
    services.experiments.rows = data.experiments("Kimi K2.6")
    page.view.segment("experiments").click()
    qtbot.waitUntil(lambda: page.experiments.which.count() == 3)
    return page.experiments


def test_it_stands_beside_graphs_and_runs(view):
    assert view.isVisible()
    page = view.window()
    assert not page.board.isVisible()
    assert not page.runs.isVisible()
    page.view.segment("live").click()
    assert not view.isVisible()


def test_values_are_suggested_for_each_variable(view):
    seen = set()
    for variable in Variable:
        view.variable.choose(variable)
        seen.add(view.values.control.text())
        assert view.values.control.text()
    assert len(seen) == len(Variable)


def test_measuring_shows_where_it_is_and_the_curve_grows(qtbot, view, services):
    services.desk.hold.add("experiments.run")
    view.variable.choose(Variable.THREADS)
    view.values.control.setText("8，16, 32")
    view.start_button.click()
    assert view.cancel_button.isVisible()
    (wish,) = dict(services.desk.calls)["experiments.run"]
    assert (wish.variable, wish.values) == (Variable.THREADS, ("8", "16", "32"))
    so_far = Experiment(
        0, 1.0, "Kimi K2.6", "llama.cpp", Variable.THREADS, (Point("8", 100.0, 9.5),)
    )
    services.experiments.step(so_far, "16")
    qtbot.waitUntil(lambda: "9.5" in view.speed.text())
    assert any("16" in label.text() for label in view.findChildren(QLabel))
    services.desk.release("experiments.run")
    qtbot.waitUntil(view.start_button.isVisible)


def test_a_value_that_cannot_be_is_said_at_the_field(qtbot, view, services):
    services.desk.hold.add("experiments.run")
    view.start_button.click()
    params = {"name": "threads", "value": "many", "least": 1, "most": 10}
    services.desk.fail("experiments.run", PlanError(ErrorCode.PLAN_BAD_WISH, params))
    qtbot.waitUntil(view.start_button.isVisible)
    assert any("many" in label.text() for label in view.values.findChildren(QLabel))


def test_nothing_typed_starts_nothing(view, services):
    view.values.control.setText(" , ")
    view.start_button.click()
    assert services.desk.called("experiments.run") == 0


def test_two_engines_stand_side_by_side_by_themselves(view):
    assert view.which.currentData() == 3
    assert [view.beside.itemData(place) for place in range(view.beside.count())] == [-1, 2]
    assert view.beside.currentData() == 2  # the newest of another engine
    said = view.speed.text()
    assert "Together, tok/s (vLLM 0.24.0)" in said
    assert "Together, tok/s (llama.cpp b11549)" in said
    assert not view.prefill.isVisible()


def test_first_tokens_are_drawn_and_far_apart_lines_get_an_axis_for_them(view):
    assert view.first_token.isVisible()
    assert "First token (median), s (llama.cpp b11549): 1 1.9" in view.first_token.text()
    assert view.first_token.is_logarithmic
    assert view.speed.is_logarithmic
    assert "logarithmic axis" in view.speed.accessibleName()


def test_one_table_holds_all_engines(view):
    engines, head, first, *_, last = view.figures.texts()
    assert engines == ["vLLM 0.24.0", "llama.cpp b11549"]
    assert head == ["Users at once", *["Together", "Per user", "First token"] * 2]
    assert first == ["1", "36.0 tok/s", "36.5 tok/s", "0.23 s", "18.0 tok/s", "19.0 tok/s", "1.9 s"]
    assert last[0] == "32"
    view.beside.choose(-1)
    view.beside.activated.emit(0)
    assert view.figures.texts()[0] == ["vLLM 0.24.0"]
    assert "(vLLM" not in view.speed.text()


def test_what_was_put_beside_stays(qtbot, view, services):
    view.beside.choose(-1)
    view.beside.activated.emit(0)
    view.hide()
    view.show()
    assert view.beside.currentData() == -1


def test_a_value_that_failed_says_why(view):
    view.which.choose(1)
    view.which.activated.emit(view.which.currentIndex())
    assert view.prefill.isVisible()
    assert not view.first_token.isVisible()
    assert not view.speed.is_logarithmic
    assert view.figures.texts()[1] == ["8", "120 tok/s", "11.2 tok/s", "4.2 s", "3 min 25 s"]
    assert any("exit code 1" in label.text() for label in view.findChildren(QLabel))


def test_it_can_be_cancelled(qtbot, view, services):
    services.desk.hold.add("experiments.run")
    view.start_button.click()
    view.cancel_button.click()
    qtbot.waitUntil(view.start_button.isVisible)
