"""One question at a time, and of those that wait only the newest."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from PySide6.QtWidgets import QApplication
from shiboken6 import delete

from kimi_desktop.base.operation import Operation
from kimi_desktop.ui.latest import LatestOnly


class Asker:
    """Questions by name; each is answered when the test says so."""

    def __init__(self, bridge) -> None:
        self.latest = LatestOnly(bridge)
        self.open: dict[str, Future[str]] = {}
        self.answers: list[str] = []
        self.errors: list[str] = []

    def ask(self, name: str) -> None:
        def make() -> Operation[str]:
            self.open[name] = Future()
            return Operation(self.open[name])

        self.latest.ask(make, self.answers.append, lambda error: self.errors.append(str(error)))

    def answer(self, name: str) -> None:
        self.open.pop(name).set_result(name)
        QApplication.processEvents()


@pytest.fixture
def asker(bridge) -> Asker:
    return Asker(bridge)


def test_the_newest_of_those_that_wait_is_asked_next(asker):
    for name in "abcd":
        asker.ask(name)
    assert list(asker.open) == ["a"]
    assert asker.latest.is_busy
    asker.answer("a")
    assert list(asker.open) == ["d"]
    assert asker.answers == ["a"]
    asker.answer("d")
    assert asker.answers == ["a", "d"]
    assert not asker.latest.is_busy


def test_an_error_makes_room_for_the_next(asker):
    asker.ask("a")
    asker.ask("b")
    asker.open.pop("a").set_exception(ValueError("no"))
    QApplication.processEvents()
    assert asker.errors == ["no"]
    asker.answer("b")
    assert asker.answers == ["b"]


def test_a_question_out_of_an_answer_waits_behind_a_newer_one(asker):
    asker.latest.ask(
        lambda: asker.open.setdefault("a", Future()) and Operation(asker.open["a"]),
        lambda _: asker.ask("from the answer"),
        lambda _: None,
    )
    asker.ask("b")
    asker.answer("a")
    assert list(asker.open) == ["b"]
    asker.answer("b")
    assert list(asker.open) == ["from the answer"]


def test_what_is_dropped_is_cancelled_and_never_answered(asker):
    asker.ask("a")
    asker.ask("b")
    asker.latest.drop()
    QApplication.processEvents()
    assert asker.open["a"].cancelled()
    assert "b" not in asker.open
    assert asker.answers == []


def test_nobody_is_told_who_is_gone(bridge):
    asker = Asker(bridge)
    asker.ask("a")
    asker.ask("b")
    delete(asker.latest)
    asker.answer("a")
    assert asker.answers == []
    assert "b" not in asker.open
