from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kimi_desktop.chat.segments import (
    FREEZE_CHARACTERS,
    Segment,
    SegmentKind,
    SegmentStream,
    split_markdown,
)

PIECES = (
    *(
        "word ",
        "two words ",
        "\n",
        "\n\n",
        "\r\n",
        "\r",
        "  ",
        "\t",
        "- item",
        "\n- item\n",
        "1. one",
    ),
    *("\n2. two\n", "> quoted\n", "# Head\n", "\n---\n", "===\n", "| a | b |\n", "|---|---|\n"),
    *(
        "```",
        "```python\n",
        "\n```\n",
        "~~~",
        "~~~ text here\n",
        "\n~~~\n",
        "````\n",
        "`",
        "    code\n",
    ),
    *(
        "  ```\n",
        "[link]",
        "[link]: /url\n",
        "\n[Link]: /url 'title'\n\n",
        "<b>",
        "**bold**",
        "你好，",
        "🌙",
    ),
    *(
        "- \n",
        "\u2028",
        "\x0b",
        "* * *\n",
        "+ plus\n",
        "\\",
        "a | b\n",
        "x" * 90,
        "long line " * 12,
    ),
)
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@st.composite
def chunked(draw: st.DrawFn) -> tuple[str, list[str]]:
    text = draw(MARKDOWN)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=25)))
    edges = [0, *cuts, len(text)]
    return text, [text[a:b] for a, b in pairwise(edges)]


def fed(*chunks: str) -> SegmentStream:
    stream = SegmentStream()
    for chunk in chunks:
        stream.feed(chunk)
    return stream


def sources(segments: tuple[Segment, ...]) -> list[str]:
    return [segment.source for segment in segments]


def html(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))


@given(chunked())
def test_the_sources_joined_are_the_text_however_it_is_cut(case: tuple[str, list[str]]) -> None:
    text, chunks = case
    stream = SegmentStream()
    shown: list[Segment] = []
    so_far = ""
    for chunk in chunks:
        change = stream.feed(chunk)
        shown[change.first :] = change.segments
        so_far += chunk
        assert "".join(sources(tuple(shown))) == so_far
        assert tuple(shown) == stream.segments
    assert stream.text == text
    assert stream.segments == fed(text).segments
    change = stream.finish()
    shown[change.first :] = change.segments
    assert tuple(shown) == stream.segments == split_markdown(text)


@given(chunked())
def test_frozen_segments_stay_until_the_end(case: tuple[str, list[str]]) -> None:
    _, chunks = case
    stream = SegmentStream()
    for chunk in chunks:
        before = stream.segments
        first = stream.feed(chunk).first
        assert stream.segments[:first] == before[:first]
        assert all(segment.closed for segment in before[:first])


@settings(max_examples=300)
@given(MARKDOWN)
def test_segment_by_segment_shows_what_the_whole_shows(text: str) -> None:
    parts = []
    for segment in split_markdown(text):
        shown = html(segment.text if segment.kind is SegmentKind.PROSE else segment.source)
        parts.append(shown)
    assert "".join(parts) == html(text)


# A fence's first line that is a table's head, too, is decided by the line after it, which a live
# answer does not have yet: the one parse at the end sets that right.
FENCE_OR_TABLE = re.compile(r"(~~~|```).*\|")


@given(MARKDOWN.filter(lambda text: "]:" not in text and not FENCE_OR_TABLE.search(text)))
def test_the_live_cuts_are_those_of_one_whole_parse(text: str) -> None:
    whole = split_markdown(text)
    live = fed(text + "\n\n").segments  # a paragraph may go on until a blank line
    for position in range(1, len(live)):
        edge = len("".join(sources(live[:position])))
        assert edge in {len("".join(sources(whole[:n]))) for n in range(len(whole) + 1)}


@given(MARKDOWN)
def test_code_is_what_the_parser_calls_code(text: str) -> None:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    fences = [token for token in parser.parse(text) if token.type == "fence" and token.level == 0]
    code = [segment for segment in split_markdown(text) if segment.kind is SegmentKind.CODE]
    # At the very end of the text the parser drops the spaces of an unfinished line.
    assert [token.content.rstrip() for token in fences] == [
        segment.text.rstrip() for segment in code
    ]
    assert [(token.info.split() or [""])[0] for token in fences] == [
        segment.language for segment in code
    ]


def test_a_long_answer_is_frozen_block_by_block() -> None:
    paragraph = "A sentence of ordinary length that goes on for a while. " * 5
    stream = fed(*(f"{paragraph}\n\n" for _ in range(20)))
    lengths = [len(segment.source) for segment in stream.segments[:-1]]
    assert len(lengths) >= 5
    assert all(FREEZE_CHARACTERS <= n < FREEZE_CHARACTERS + 2 * len(paragraph) for n in lengths)


def test_a_fence_is_its_own_segment_with_language_and_body() -> None:
    stream = SegmentStream()
    stream.feed("Look:\n\n```py title=x\nprint(1)\n")
    prose, code = stream.segments
    assert (prose.kind, prose.source, prose.closed) == (SegmentKind.PROSE, "Look:\n\n", True)
    assert (code.text, code.language, code.closed) == ("print(1)\n", "py", False)
    stream.feed("print(2)\n```\n\nThat is all.")
    _, code, rest = stream.segments
    assert (code.text, code.closed) == ("print(1)\nprint(2)\n", True)
    assert code.source == "```py title=x\nprint(1)\nprint(2)\n```\n\n"
    assert rest.source == "That is all."


def test_an_opening_fence_shows_as_code_before_its_line_is_complete() -> None:
    assert fed("```").segments[0].kind is SegmentKind.CODE
    prose, code = fed("Text\n", "```p").segments
    assert (prose.source, code.kind, code.language) == ("Text\n", SegmentKind.CODE, "p")
    code, more = fed("~~~\nx\n~~~\n", "```js").segments
    assert (code.text, more.language) == ("x\n", "js")


def test_a_fence_without_a_last_newline_is_closed() -> None:
    (code,) = fed("```\nx\n```").segments
    assert (code.text, code.closed) == ("x\n", True)


def test_other_marks_and_shorter_ones_do_not_close_a_fence() -> None:
    (code,) = fed("````md\n```\n~~~\n```\n").segments
    assert (code.text, code.closed) == ("```\n~~~\n```\n", False)


def test_a_fence_inside_a_list_or_a_quotation_stays_in_the_prose() -> None:
    for text in ("- item\n  ```py\n  x\n  ```\n- item\n", "> ```\n> x\n> ```\n"):
        (segment,) = fed(*text).segments
        assert segment.kind is SegmentKind.PROSE


def test_an_indented_fence_loses_its_indent_in_the_body() -> None:
    (code,) = fed("  ```\n  a\n    b\n\tc\n d\n  ```\n").segments
    assert code.text == "a\n  b\n  c\nd\n"


def test_a_list_is_never_cut() -> None:
    text = "".join(f"{n}. point number {n} with some words\n\n" for n in range(1, 80))
    (segment,) = fed(*text).segments
    assert segment.source == text


def test_carriage_returns_end_lines() -> None:
    (code,) = fed("```\r", "\nx\r\n", "```\r", "\n").segments
    assert (code.text, code.closed) == ("x\n", True)


def test_links_defined_later_work_in_the_segment_that_uses_them() -> None:
    filler = "Some words to fill the segment up. " * 20
    text = f'See [the manual][Man  ual].\n\n{filler}\n\n{filler}\n\n[man ual]: /m "The \\"M\\""\n'
    stream = fed(text)
    assert "href" not in html(stream.segments[0].text)
    change = stream.finish()
    assert change.first == 0
    assert '<a href="/m" title="The &quot;M&quot;">the manual</a>' in html(change.segments[0].text)
    assert stream.text == text


def test_finishing_an_unchanged_message_changes_only_its_open_end() -> None:
    filler = "Some words to fill the segment up. " * 20
    stream = fed(f"{filler}\n\n{filler}\n\nlast\nwords")
    assert len(stream.segments) == 3
    assert stream.finish().first == 2


def test_a_finished_message_takes_no_more() -> None:
    stream = fed("x")
    stream.finish()
    with pytest.raises(ValueError, match="finished"):
        stream.feed("y")


def test_nothing_is_no_segment() -> None:
    stream = fed("")
    assert stream.segments == ()
    assert stream.finish().segments == ()
