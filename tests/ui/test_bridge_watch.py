"""Answers for an object that is gone are dropped, whether or not it was named as the owner."""

from __future__ import annotations

from concurrent.futures import Future

from PySide6.QtCore import QObject
from shiboken6 import delete

from kimi_desktop.base.operation import Operation


class Asker(QObject):
    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self._heard = heard

    def done(self, result: str) -> None:
        self.objectName()  # fails once the object is gone
        self._heard.append(result)


def asked(bridge, asker: Asker, **named: object) -> Future[str]:
    answer: Future[str] = Future()
    bridge.watch(Operation(answer), named.get("on_done", asker.done), asker.done)
    return answer


def test_a_method_of_an_object_that_is_there_hears_the_answer(qtbot, bridge):
    heard: list[str] = []
    asker = Asker(heard)
    asked(bridge, asker).set_result("yes")
    qtbot.waitUntil(lambda: heard == ["yes"])


def test_an_object_that_is_gone_is_not_asked(qtbot, bridge):
    heard: list[str] = []
    asker, other = Asker(heard), Asker(heard)
    bound = asked(bridge, asker)
    free = asked(bridge, asker, on_done=lambda _: asker.done("late"))
    delete(asker)
    bound.set_result("late")
    free.set_result("late")
    asked(bridge, other).set_result("the last")
    qtbot.waitUntil(lambda: heard == ["the last"])
