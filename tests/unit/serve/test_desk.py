"""Slots, the queue before them, and what is told of both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kimi_desktop.serve.desk import DONE_KEPT, MAX_WAITING, Desk
from kimi_desktop.serve.policy import RefusedError


class Hall:
    """A desk, what it told, and requests that stay until they are let go."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.desk = Desk(lambda **event: self.told.append(event))
        self.order: list[int] = []

    async def stay(self, number: int, until: asyncio.Event) -> None:
        async with self.desk.place("editor", "/v1/chat/completions") as entry:
            self.order.append(number)
            await until.wait()
            entry.status = 200

    def come(self, number: int, until: asyncio.Event) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(self.stay(number, until))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_they_go_in_the_order_in_which_they_came() -> None:
    async def scene() -> list[int]:
        hall, until = Hall(), asyncio.Event()
        tasks = [hall.come(number, until) for number in range(5)]
        await settle()
        assert hall.desk.running == 1
        hall.desk.set_slots(3)
        await settle()
        assert hall.desk.running == 3
        until.set()
        await asyncio.gather(*tasks)
        assert (hall.desk.running, hall.desk.served) == (0, 5)
        return hall.order

    assert asyncio.run(scene()) == [0, 1, 2, 3, 4]


def test_who_leaves_the_queue_costs_nothing_and_frees_its_place() -> None:
    async def scene() -> None:
        hall, until = Hall(), asyncio.Event()
        tasks = [hall.come(number, until) for number in range(3)]
        await settle()
        tasks[1].cancel()
        await settle()
        until.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert hall.order == [0, 2]
        assert hall.desk.served == 2
        await asyncio.sleep(0.3)
        done = hall.told[-1]["done"]
        assert sorted(row["status"] for row in done) == [200, 200, 499]

    asyncio.run(scene())


def test_a_full_queue_refuses() -> None:
    async def scene() -> None:
        hall, until = Hall(), asyncio.Event()
        tasks = [hall.come(number, until) for number in range(MAX_WAITING + 1)]
        await settle()
        with pytest.raises(RefusedError) as caught:
            await hall.stay(99, until)
        assert caught.value.status == 429
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scene())


def test_only_the_last_ones_are_kept() -> None:
    async def scene() -> None:
        hall, until = Hall(), asyncio.Event()
        until.set()
        for number in range(DONE_KEPT + 10):
            await hall.stay(number, until)
        await asyncio.sleep(0.3)
        assert len(hall.told[-1]["done"]) == DONE_KEPT
        assert hall.told[-1]["here"] == []

    asyncio.run(scene())


def test_a_refusal_on_the_way_is_noted() -> None:
    async def scene() -> None:
        hall = Hall()
        with pytest.raises(RefusedError):
            async with hall.desk.place("a", "/v1/embeddings"):
                raise RefusedError(502, "gone")
        await asyncio.sleep(0.3)
        assert hall.told[-1]["done"][0]["status"] == 502

    asyncio.run(scene())
