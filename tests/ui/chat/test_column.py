"""Scrolling by an anchor: the text moves by exactly what was asked, whatever the estimates say."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role
from kimi_desktop.ui.chat.column import PAD_BOTTOM, PAD_TOP, Column
from kimi_desktop.ui.chat.transcript_model import Entry, ItemKind

VIEW = 600


def chat(count: int, seed: int = 0) -> list[Entry]:
    dice = random.Random(seed)
    entries = []
    for number in range(count):
        text = "word " * dice.randrange(1, 400)
        if number % 2:
            text += "\n\n```py\nx\n```\n\n" + "more " * dice.randrange(1, 300)
            message = Message(number, Role.ASSISTANT, text, "why " * dice.randrange(0, 50))
        else:
            message = Message(number, Role.USER, text)
        entries.append(Entry(message))
    return entries


def column_of(entries: list[Entry], seed: int = 0) -> Column:
    """A column whose real heights have little to do with the estimates."""
    dice = random.Random(seed + 1)
    real: dict[tuple[int, object], int] = {}

    def measure(index, item):
        return real.setdefault((index, item), dice.randrange(8, 700))

    column = Column(measure)
    column.resize(636, VIEW)
    column.replace(0, entries)
    return column


def tops(placed):
    return {(p.entry, p.item.key): p.y for p in placed}


@given(st.integers(0, 10_000), st.lists(st.integers(-900, 900), min_size=1, max_size=25))
@settings(max_examples=60, deadline=None)
def test_text_moves_by_exactly_what_was_scrolled(seed, steps):
    column = column_of(chat(40, seed), seed)
    before = tops(column.place(100))
    for step in steps:
        column.scroll_by(step)
        placed = column.place(100)
        after = tops(placed)
        moved = {before[key] - after[key] for key in before.keys() & after.keys()}
        assert len(moved) <= 1, "pieces moved against each other"
        if moved:
            (by,) = moved
            stopped = placed[0].y == PAD_TOP or column.follow
            assert by == step or (stopped and abs(by) <= abs(step))
        before = after


@given(st.integers(0, 10_000), st.lists(st.integers(-900, 900), max_size=12))
@settings(max_examples=60, deadline=None)
def test_items_touch_and_cover_the_viewport(seed, steps):
    column = column_of(chat(30, seed), seed)
    for step in [0, *steps]:
        column.scroll_by(step)
        placed = column.place(100)
        for above, below in pairwise(placed):
            assert above.y + above.height == below.y
        first, last = placed[0], placed[-1]
        assert first.y <= -100 or (first.entry == 0 and first.y <= PAD_TOP)
        assert last.y + last.height >= VIEW + 100 or last.entry == len(column.entries) - 1


def test_a_height_above_that_was_guessed_wrong_moves_the_bar_and_not_the_text():
    column = column_of(chat(60))
    column.place(100)
    column.scroll_by(-5000)
    placed = column.place(100)
    anchor = tops(placed)
    maximum = column.maximum
    column.scroll_by(-700)
    column.place(100)
    column.scroll_by(700)
    assert (
        tops(column.place(100)).items()
        >= {key: y for key, y in anchor.items() if 0 <= y < VIEW}.items()
    )
    assert column.maximum != maximum


def test_it_sticks_to_the_bottom_until_scrolled_and_again_when_back():
    column = column_of(chat(20))
    placed = column.place(0)
    assert placed[-1].y + placed[-1].height == VIEW - PAD_BOTTOM
    column.append(Entry(Message(99, Role.USER, "new")))
    placed = column.place(0)
    assert placed[-1].entry == 20

    column.scroll_by(-50)
    before = tops(column.place(0))
    column.append(Entry(Message(100, Role.USER, "newer")))
    after = tops(column.place(0))
    assert not column.follow
    assert all(after[key] == y for key, y in before.items())

    column.scroll_by(100_000)
    column.place(0)
    assert column.follow


def test_a_short_chat_stands_at_the_top():
    column = Column(lambda _index, _item: 40)
    column.resize(636, VIEW)
    column.replace(0, chat(1))
    assert column.place(0)[0].y == PAD_TOP
    assert column.maximum == 0
    column.scroll_by(-500)
    assert column.place(0)[0].y == PAD_TOP


def test_the_bar_reaches_both_ends():
    column = column_of(chat(50))
    column.place(0)
    column.to_value(0, 1000)
    assert column.place(0)[0].y == PAD_TOP
    assert column.value == 0
    column.to_value(1000, 1000)
    column.place(0)
    assert column.follow
    column.to_value(500, 1000)
    column.place(0)
    middle = column.anchor[0]
    assert 10 <= middle <= 40


def test_nothing_moves_while_a_selection_is_drawn():
    entries = chat(4)
    live = Entry(Message(9, Role.ASSISTANT, "a", finish=Finish.GENERATING))
    column = Column(lambda _index, item: 20 + 10 * item.text.count("\n\n"))
    column.resize(636, 200)
    column.replace(0, [*entries, live])
    before = tops(column.place(0))
    column.follow, column.held = False, True
    live.feed("\n\nb" * 30, "", AnswerStats())
    column.touch(4)
    after = tops(column.place(0))
    assert all(before[key] == y for key, y in after.items() if key in before)
    column.held = False
    column.place(0)
    assert not column.follow


def test_an_anchor_that_is_gone_hands_over_to_its_neighbour():
    entry = Entry(Message(1, Role.ASSISTANT, "answer " * 900, "thought " * 900), unfolded=True)
    column = Column(lambda _index, _item: 300)
    column.resize(636, VIEW)
    column.replace(0, [entry])
    thought = next(item for item in entry.items if item.thought)
    column.anchor_to(0, thought.key, 30)
    column.place(0)
    entry.unfold(False)
    column.touch(0)
    placed = column.place(0)
    assert all(not p.item.thought for p in placed)
    assert placed[0].item.kind is ItemKind.TEXT
    assert placed[0].y == 0


def test_messages_that_go_take_the_anchor_along():
    column = column_of(chat(30))
    column.place(0)
    column.scroll_by(-50)
    column.place(0)
    column.replace(3, [])
    assert column.place(0)[-1].entry == 2
    column.replace(0, [])
    assert column.place(0) == []
    assert column.follow
