"""The event parser: what the standard allows, what servers get wrong, cut anywhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends import sse
from kimi_desktop.backends.sse import SseEvent, SseParser


def parse(*chunks: bytes) -> list[SseEvent]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_of_the_standard(end: bytes) -> None:
    raw = b"data: a" + end + b"data: b" + end + end + b"data: c" + end + end
    assert parse(raw) == [SseEvent("a\nb"), SseEvent("c")]


def test_comments_ids_and_unknown_fields_are_passed_over() -> None:
    assert parse(b": ping\n\nid: 7\nretry: 5\nfoo\ndata:x\n\n") == [SseEvent("x")]


def test_only_one_space_after_the_colon_is_removed() -> None:
    assert parse(b"data:  two spaces\n\n") == [SseEvent(" two spaces")]


def test_a_byte_order_mark_in_front() -> None:
    assert parse(b"\xef\xbb\xbfdata: x\n\n") == [SseEvent("x")]


def test_error_events_of_old_and_new_servers() -> None:
    assert parse(b'error: {"code":500}\n\n') == [SseEvent('{"code":500}', is_error=True)]
    assert parse(b"event: error\ndata: x\n\ndata: y\n\n") == [
        SseEvent("x", is_error=True),
        SseEvent("y"),
    ]


def test_bytes_that_are_not_utf8_do_not_stop_it() -> None:
    assert parse(b"data: \xff\xfe\n\ndata: ok\n\n") == [SseEvent("\ufffd\ufffd"), SseEvent("ok")]


def test_an_event_without_its_end_is_not_dispatched() -> None:
    assert parse(b"data: whole\n\ndata: half") == [SseEvent("whole")]


def test_a_line_without_end_is_given_up_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sse, "MAX_LINE_BYTES", 10)
    assert parse(b"data: 0123", b"456789", b"more\n", b"\ndata: x\n\n") == [SseEvent("x")]


text_lines = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=20)
events = st.lists(st.lists(text_lines, min_size=1, max_size=3), max_size=5)
line_ends = st.sampled_from(["\n", "\r\n", "\r"])


@given(events, line_ends, st.lists(st.integers(0, 400), max_size=12))
def test_the_same_events_wherever_the_bytes_are_cut(
    wanted: list[list[str]], end: str, cuts: list[int]
) -> None:
    raw = "".join(
        "".join(f"data: {line}{end}" for line in lines) + end for lines in wanted
    ).encode()
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    chunks = [raw[a:b] for a, b in pairwise(places)]
    assert parse(*chunks) == [SseEvent("\n".join(lines)) for lines in wanted]


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_no_bytes_make_it_raise(chunks: list[bytes]) -> None:
    for event in parse(*chunks):
        assert isinstance(event.data, str)
