from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from kimi_desktop.base.events import Event, EventBus


@dataclass(frozen=True, slots=True)
class Happened(Event):
    number: int


def test_every_subscriber_hears_every_event_in_order() -> None:
    bus, heard = EventBus(), list[tuple[str, Event]]()
    bus.subscribe(lambda event: heard.append(("first", event)))
    bus.subscribe(lambda event: heard.append(("second", event)))
    bus.publish(Happened(1))
    bus.publish(Happened(2))
    assert heard == [
        ("first", Happened(1)),
        ("second", Happened(1)),
        ("first", Happened(2)),
        ("second", Happened(2)),
    ]


def test_who_unsubscribed_hears_nothing_more() -> None:
    bus, heard = EventBus(), list[Event]()
    stop = bus.subscribe(heard.append)
    bus.publish(Happened(1))
    stop()
    stop()  # twice does no harm
    bus.publish(Happened(2))
    assert heard == [Happened(1)]


def test_two_subscriptions_of_one_function_are_two() -> None:
    bus, heard = EventBus(), list[Event]()

    def hear(event: Event) -> None:
        heard.append(event)

    stop_first = bus.subscribe(hear)
    bus.subscribe(hear)
    stop_first()
    bus.publish(Happened(1))
    assert heard == [Happened(1)]


def test_one_that_fails_is_logged_and_the_others_still_hear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, heard = EventBus(), list[Event]()

    def fail(event: Event) -> None:
        raise RuntimeError("deaf")

    bus.subscribe(fail)
    bus.subscribe(heard.append)
    bus.publish(Happened(1))
    assert heard == [Happened(1)]
    assert "Happened" in caplog.text
    assert "deaf" in caplog.text


def test_who_leaves_while_an_event_is_handed_out_does_no_harm() -> None:
    bus, heard = EventBus(), list[Event]()

    def once(event: Event) -> None:
        heard.append(event)
        stop()

    stop = bus.subscribe(once)
    bus.subscribe(heard.append)
    bus.publish(Happened(1))
    bus.publish(Happened(2))
    assert heard == [Happened(1), Happened(1), Happened(2)]


def test_events_come_on_the_publishers_thread() -> None:
    bus, threads = EventBus(), list[str]()
    bus.subscribe(lambda event: threads.append(threading.current_thread().name))
    publisher = threading.Thread(target=bus.publish, args=(Happened(1),), name="publisher")
    publisher.start()
    publisher.join(30)
    assert threads == ["publisher"]
