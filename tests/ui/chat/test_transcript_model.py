"""Messages as items: what stays the same stays the same object."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role
from kimi_desktop.ui.chat.selection import Selection, Spot
from kimi_desktop.ui.chat.transcript_model import LONG_PIECE, Entry, ItemKind, Key, Part

LIVE = Message(1, Role.ASSISTANT, "", finish=Finish.GENERATING)


def kinds(entry):
    return [item.kind for item in entry.items]


def test_a_question_is_one_item_of_plain_text():
    entry = Entry(Message(1, Role.USER, "# not *markdown*\n```\nx"))
    (item,) = entry.items
    assert item.kind is ItemKind.QUESTION
    assert item.text == item.source == "# not *markdown*\n```\nx"


def test_an_answer_with_code_thinking_and_figures():
    message = Message(1, Role.ASSISTANT, "one\n\n```py\nx = 1\n```\n\ntwo", "hm\n\n```\ny\n```\n")
    entry = Entry(message)
    assert kinds(entry) == [
        ItemKind.FOLD, ItemKind.TEXT, ItemKind.CODE, ItemKind.TEXT, ItemKind.STATS,
    ]  # fmt: skip
    entry.unfold(True)
    assert kinds(entry)[:3] == [ItemKind.FOLD, ItemKind.TEXT, ItemKind.CODE]
    assert entry.items[1].thought
    keys = [item.key for item in entry.items]
    assert keys == sorted(keys)


def test_an_answer_that_broke_off_says_so():
    assert ItemKind.NOTICE in kinds(Entry(Message(1, Role.ASSISTANT, "a", finish=Finish.FAILED)))


def test_the_caret_stands_in_the_thinking_and_then_in_the_answer():
    entry = Entry(LIVE, unfolded=True)
    entry.feed("", "hm", AnswerStats())
    assert [item.open for item in entry.items if item.has_text] == [True]
    assert entry.items[1].thought
    entry.feed("So", "", AnswerStats())
    assert [(item.thought, item.open) for item in entry.items if item.has_text] == [
        (True, False),
        (False, True),
    ]
    entry.finish(Message(1, Role.ASSISTANT, "So", "hm"), None)
    assert not any(item.open for item in entry.items)


def test_a_finished_answer_takes_no_more():
    entry = Entry(Message(1, Role.ASSISTANT, "a"))
    with pytest.raises(ValueError, match="not a live answer"):
        entry.feed("b", "", AnswerStats())


@given(
    st.lists(
        st.sampled_from(["word ", "\n\n", "```\n", "x = 1\n", "- item\n", "a" * 300]), max_size=40
    )
)
@settings(deadline=None)
def test_frozen_items_keep_their_identity_while_the_answer_grows(pieces):
    entry = Entry(LIVE)
    before: dict[Key, object] = {item.key: item for item in entry.items}
    for piece in pieces:
        entry.feed(piece, "", AnswerStats())
        texts = [item for item in entry.items if item.has_text]
        for item in texts[:-2]:
            if item == before.get(item.key):
                assert item is before[item.key]
        assert "".join(item.source for item in texts) == entry.message.text
        before = {item.key: item for item in entry.items}


def test_a_selection_covers_whole_items_between_its_ends():
    selection = Selection()
    answer = Part.ANSWER.value
    assert selection.is_empty
    assert selection.range_in(0, Key(answer, 0), 10) == (0, 0)
    selection.start(Spot(2, Key(answer, 1), 4))
    assert selection.is_empty
    selection.head = Spot(0, Key(answer, 0), 7)  # drawn upwards
    assert selection.range_in(0, Key(answer, 0), 10) == (7, 10)
    assert selection.range_in(1, Key(answer, 5), 10) == (0, 10)
    assert selection.range_in(2, Key(answer, 0), 10) == (0, 10)
    assert selection.range_in(2, Key(answer, 1), 10) == (0, 4)
    assert selection.range_in(2, Key(answer, 2), 10) == (0, 0)
    assert selection.range_in(2, Key(answer, 1), 3) == (0, 3)


def pieces_of(text):
    return [item.source for item in Entry(Message(1, Role.ASSISTANT, text)).items if item.has_text]


@given(
    st.lists(
        st.sampled_from(["- item\n", "  deeper\n", "word ", "x" * 700, "| a |\n"]), max_size=60
    )
)
@settings(deadline=None)
def test_a_block_that_never_ends_is_drawn_in_pieces(parts):
    text = "".join(parts)
    sources = pieces_of(text)
    assert "".join(sources) == text
    assert all(len(source) <= LONG_PIECE for source in sources)


def test_pieces_of_a_long_list_begin_with_an_item_and_stay_as_they_are():
    text = "- an item of a long list\n  with a second line\n" * 300
    sources = pieces_of(text)
    assert len(sources) > 2
    assert all(source.startswith("- an item") for source in sources)
    assert pieces_of(text + "- more\n" * 500)[: len(sources) - 1] == sources[:-1]


def test_a_very_long_question_shows_its_beginning_until_one_asks():
    for text in ("word " * 5000, "line\n" * 500):
        entry = Entry(Message(1, Role.USER, text))
        (item,) = entry.items
        assert len(item.text) <= 6000
        assert item.text.count("\n") < 80
        assert text.startswith(item.text)
        assert item.source == text
        entry.unfold(True)
        assert entry.items[0].text == text
