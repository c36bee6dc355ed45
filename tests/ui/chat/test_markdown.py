"""Markdown drawn and written again: safe, in our looks, and what is copied stands by itself."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFont, QTextCursor, QTextDocument, QTextTable

from kimi_desktop.ui.chat.markdown_render import (
    BOX,
    SOURCE,
    prepare_document,
    render_markdown,
    render_plain,
)
from kimi_desktop.ui.chat.markdown_writer import write_markdown
from kimi_desktop.ui.chat.text_pane import TextPane


@pytest.fixture
def document(qapp):
    made = QTextDocument()
    prepare_document(made)
    return made


def rendered(document, markdown):
    render_markdown(document, markdown)
    return document.toPlainText()


def formats(document, prop):
    """The texts that carry a property, with its value."""
    found = []
    block = document.begin()
    while block.isValid():
        for piece in block:
            fragment = piece.fragment()
            value = fragment.charFormat().property(prop)
            if value:
                found.append((fragment.text(), value))
        block = block.next()
    return found


def test_html_stays_text(document):
    text = rendered(document, "before <img src='x'> <script>alert(1)</script> after <b>b</b>")
    assert text == "before <img src='x'> <script>alert(1)</script> after <b>b</b>"


def test_images_become_chips_and_nothing_is_fetched(qtbot):
    pane = TextPane()
    qtbot.addWidget(pane)
    pane.show_markdown("![a chart](http://evil.example/x.png) ![](file:///etc/passwd)")
    text = pane.toPlainText()
    assert "Image: a chart" in text
    assert "Image: file:///etc/passwd" in text
    assert "\ufffc" not in text, "an image object is left"
    assert [source for _, source in formats(pane.document(), SOURCE)] == [
        "![a chart](http://evil.example/x.png)",
        "![](file:///etc/passwd)",
    ]
    blank = pane.loadResource(2, QUrl("file:///usr/share/pixmaps/debian-logo.png"))
    assert (blank.width(), blank.height()) == (1, 1)
    assert blank.pixelColor(0, 0).alpha() == 0


def test_formulas_become_text_and_keep_their_source(document):
    text = rendered(
        document, r"so $t \approx B_{RAM}$, **raw** \(\begin{a}x_1*y*\end{a}\) 😀 $a_1 b_2$"
    )
    assert text.startswith("so t ≈ BRAM, raw")
    assert r"\(\begin{a}x_1*y*\end{a}\)" in text, "what cannot be converted is left as written"
    assert text.endswith("😀 a1b2")
    sources = {source for _, source in formats(document, SOURCE)}
    assert sources == {r"$t \approx B_{RAM}$", r"\(\begin{a}x_1*y*\end{a}\)", "$a_1 b_2$"}


def test_looks_of_headings_bold_code_and_links(document):
    rendered(document, "# One\n### Three\n**bold** `code` [link](https://x.example)")
    first = document.begin()
    sizes = []
    for block in (first, first.next()):
        look = next(iter(block)).fragment().charFormat()
        sizes.append(look.font().pixelSize())
        assert look.fontWeight() == QFont.Weight.DemiBold
    assert sizes == [20, 16]
    assert [text for text, _ in formats(document, BOX)] == ["code"]
    cursor = QTextCursor(document)
    cursor.movePosition(QTextCursor.MoveOperation.End)
    assert cursor.charFormat().anchorHref() == "https://x.example"


def test_a_hard_break_stays_in_its_paragraph(document):
    rendered(document, "one  \ntwo\\\nthree\n\nfour  \n- item")
    blocks = []
    block = document.begin()
    while block.isValid():
        blocks.append(block.text())
        block = block.next()
    assert blocks == ["one\u2028two\u2028three", "four", "item"]


def test_tables_fill_the_column_and_align_their_header(document):
    rendered(document, "| a | b |\n|:--|--:|\n| x | 12 |")
    (table,) = (f for f in document.rootFrame().childFrames() if isinstance(f, QTextTable))
    assert table.format().width().rawValue() == 100
    header = table.cellAt(0, 1).firstCursorPosition().blockFormat().alignment()
    assert header == table.cellAt(1, 1).firstCursorPosition().blockFormat().alignment()


def test_a_users_text_is_not_markdown(document):
    render_plain(document, "# no *heading*\n\n```\nx <b>")
    assert document.toPlainText() == "# no *heading*\n\n```\nx <b>"


@pytest.mark.parametrize(
    "markdown",
    [
        "### Heading\n\nSome **bold** and *italic* and `code` and ~~gone~~ text.",
        "- one\n- two\n   - nested\n- three",
        "1. one\n2. two",
        "3. three\n4. four",
        "- [ ] open\n- [x] done",
        "> quoted\n\nafter",
        "| a | b |\n|---|--:|\n| x | **12** |\n| y | 3 |",
        "para\n\n| a |\n|---|\n| x |\n\nend",
        "- item\n\n```bash\nls -la\necho `x`\n```\n\nafter",
        "so $t \\approx B_{RAM}$ and ![alt](http://x/y.png)",
        "[a link](https://example.org/a_b)",
        "one\n\n---\n\ntwo",
        "``a ` b`` end",
        "emoji 😀 **bold 😀** and `c`",
        "hard  \nbreak",
    ],
)
def test_what_is_written_draws_the_same(document, qapp, markdown):
    text = rendered(document, markdown)
    written = write_markdown(document, 0, document.characterCount() - 1)
    again = QTextDocument()
    prepare_document(again)
    assert rendered(again, written) == text
    assert write_markdown(again, 0, again.characterCount() - 1) == written


def cut(document, start_text, end_text):
    text = document.toPlainText().replace("\u2028", "\n")
    start = text.index(start_text)
    return write_markdown(document, start, text.index(end_text) + len(end_text))


def test_a_cut_keeps_its_marks_in_pairs(document):
    rendered(document, "## Title words\n\nSome **very bold words** here.\n\n- item one\n- item two")
    assert cut(document, "bold", "words here") == "**bold words** here"
    assert cut(document, "words", "words") == "words", "no heading mark inside one paragraph"
    assert cut(document, "here", "item one") == "here.\n\n- item one"
    assert cut(document, "one", "item two") == "one\n- item two"


def test_a_cut_formula_is_given_whole(document):
    rendered(document, r"energy $E = mc^2$ is")
    text = document.toPlainText()
    middle = text.index("m")
    assert write_markdown(document, 0, middle) == "energy $E = mc^2$"
