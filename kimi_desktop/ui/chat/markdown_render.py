"""Fills a QTextDocument from Markdown: Qt's own parser, then one pass for our looks. Qt thread.

Raw HTML stays text (``MarkdownNoHTML``: with HTML, what follows ``<img>`` or ``<script>`` was
lost). Nothing is ever fetched: images become chips with their description. Formulas become
Unicode text. What was replaced keeps its Markdown in ``SOURCE`` so that copying gives it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
    QTextList,
    QTextListFormat,
)

from kimi_desktop.ui.chat.formulas import Formula, find_formulas, split_code
from kimi_desktop.ui.chat.markdown_tables import PARAGRAPH_GAP_PX, style_tables
from kimi_desktop.ui.theme import color, mono_font, tokens, ui_font
from kimi_desktop.ui.tokens import (
    BODY_LINE_PX,
    BODY_PX,
    CODE_LINE_PX,
    CODE_PX,
    MESSAGE_LINE_PX,
    MESSAGE_PX,
)

FEATURES = (
    QTextDocument.MarkdownFeature.MarkdownDialectGitHub
    | QTextDocument.MarkdownFeature.MarkdownNoHTML
)

_USER = QTextFormat.Property.UserProperty.value
SOURCE = _USER + 1
"""Character property: the Markdown that this stretch was made from."""
BOX = _USER + 2
"""Character property: painted on a rounded ground (inline code, chips)."""
GROUND = _USER + 3
"""Block property: a line of code inside prose, painted on a common ground."""
RULER = _USER + 4
"""Block property: a horizontal line is painted through it."""
MARK = _USER + 5
"""Block property: what stands before an item of a list, painted by the pane."""

LIST_INDENT_PX = 20
QUOTE_INDENT_PX = 16
ITEM_GAP_PX = 2
_HEADING_PX = {1: (20, 28), 2: (18, 26)}
_HEADING_GAP_PX = 4
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
_SERIF = ["STIX Two Text", "Noto Serif", "DejaVu Serif", "Times New Roman", "serif"]
_FIRST_PLACEHOLDER = 0xE100
_LAST_PLACEHOLDER = 0xF8FF
_HARD_BREAK = re.compile(r"(?m)(?:[ ]{2,}|\\)\n(?=[ ]{0,3}(?![\s#>|`~*+\-]|\d+[.)])\S)")
_BARE_IMAGE = re.compile(r"!\[\s*\]\(\s*([^)\s]+)")


@dataclass(frozen=True, slots=True)
class TextLook:
    """Size and line of the running text."""

    px: int = MESSAGE_PX
    line_px: int = MESSAGE_LINE_PX


ANSWER = TextLook()
THOUGHT = TextLook(BODY_PX, BODY_LINE_PX)


@dataclass(slots=True)
class _Edit:
    """A stretch of characters to be changed, found while reading."""

    position: int
    length: int
    format: QTextCharFormat
    text: str | None = None
    """Replaces the stretch."""
    formula: Formula | None = None


def render_markdown(document: QTextDocument, markdown: str, look: TextLook = ANSWER) -> None:
    """Replace the document's content. O(length), about 1.5 ms for 600 characters."""
    prepared, formulas = _prepare(markdown)
    document.setIndentWidth(LIST_INDENT_PX)
    document.setMarkdown(prepared, FEATURES)
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    try:
        edits = _style_blocks(document, cursor, look, formulas)
        for edit in reversed(edits):
            _apply(cursor, edit)
        style_tables(document, cursor)
    finally:
        cursor.endEditBlock()


def render_plain(document: QTextDocument, text: str, look: TextLook = ANSWER) -> None:
    """Replace the content by text as it was typed, line breaks kept."""
    document.setPlainText(text)
    line = QTextBlockFormat()
    line.setLineHeight(look.line_px, _FIXED)
    cursor = QTextCursor(document)
    cursor.select(QTextCursor.SelectionType.Document)
    cursor.mergeBlockFormat(line)


def fragments(block: QTextBlock) -> Iterator[QTextFragment]:
    """The stretches of one format in a block, in order."""
    pieces: Any = block
    for piece in pieces:
        yield piece.fragment()


def prepare_document(document: QTextDocument, look: TextLook = ANSWER) -> None:
    """The settings that every document of the transcript shares."""
    document.setUndoRedoEnabled(False)
    document.setDocumentMargin(0)
    document.setDefaultFont(ui_font(look.px))


def _prepare(markdown: str) -> tuple[str, dict[str, Formula]]:
    """What Qt's parser would lose, put so that it keeps it.

    Formulas become placeholders (Markdown eats their backslashes), hard breaks a line separator
    (Qt makes paragraphs of them), and an image without a description gets its address as one.
    """
    formulas: dict[str, Formula] = {}
    pieces: list[str] = []
    code = _FIRST_PLACEHOLDER
    for text, is_code in split_code(markdown):
        if is_code:
            pieces.append(text)
            continue
        start = 0
        prose = ""
        for formula in find_formulas(text):
            while chr(code) in markdown:
                code += 1
            if code > _LAST_PLACEHOLDER:
                break
            formulas[chr(code)] = formula
            prose += text[start : formula.start] + chr(code)
            start = formula.end
            code += 1
        prose += text[start:]
        pieces.append(_HARD_BREAK.sub("\u2028", _BARE_IMAGE.sub(r"![\1](\1", prose)))
    return "".join(pieces), formulas


def _style_blocks(
    document: QTextDocument,
    cursor: QTextCursor,
    look: TextLook,
    formulas: dict[str, Formula],
) -> list[_Edit]:
    edits: list[_Edit] = []
    lists: dict[int, QTextList] = {}
    block = document.begin()
    previous_format: QTextBlockFormat | None = None
    while block.isValid():
        block_format = block.blockFormat()
        items = _list_of(block)
        if items is not None:
            lists[items.objectIndex()] = items
            block_format.setProperty(MARK, _mark(items, block))
        following = block.next()
        is_code = block_format.nonBreakableLines()
        _style_block(block, block_format, following, look)
        if previous_format is None:
            block_format.setTopMargin(0)
        cursor.setPosition(block.position())
        cursor.setBlockFormat(block_format)
        previous_format = block_format
        for fragment in fragments(block):
            edits += _edits_of(
                fragment.position(),
                fragment.text(),
                fragment.charFormat(),
                block_format.headingLevel(),
                is_code=is_code,
                formulas=formulas,
                look=look,
            )
        block = following
    for items in lists.values():  # Qt draws its marks too close to the text
        unmarked = items.format()
        unmarked.setStyle(QTextListFormat.Style.ListStyleUndefined)
        items.setFormat(unmarked)
    return edits


def _list_of(block: QTextBlock) -> QTextList | None:
    return block.textList()


def _mark(items: QTextList, block: QTextBlock) -> str:
    """The mark of an item as Markdown writes it: "-", "3.", "[x]" or "[ ]"."""
    marker = block.blockFormat().marker()
    if marker is QTextBlockFormat.MarkerType.Checked:
        return "[x]"
    if marker is QTextBlockFormat.MarkerType.Unchecked:
        return "[ ]"
    bullets = QTextListFormat.Style
    if items.format().style() in (bullets.ListDisc, bullets.ListCircle, bullets.ListSquare):
        return "-"
    return items.itemText(block).strip()


def _style_block(
    block: QTextBlock, block_format: QTextBlockFormat, following: QTextBlock, look: TextLook
) -> None:
    level = block_format.headingLevel()
    line_px = look.line_px
    bottom = PARAGRAPH_GAP_PX
    if level:
        line_px = _HEADING_PX.get(level, (look.px + 1, look.line_px))[1]
        block_format.setTopMargin(_HEADING_GAP_PX)
        bottom = _HEADING_GAP_PX
    elif block_format.nonBreakableLines():
        line_px = CODE_LINE_PX
        block_format.setProperty(GROUND, True)
        block_format.setLeftMargin(PARAGRAPH_GAP_PX)
        more = following.isValid() and following.blockFormat().nonBreakableLines()
        bottom = 0 if more else PARAGRAPH_GAP_PX
    elif block_format.hasProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth):
        block_format.clearProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth)
        block_format.setProperty(RULER, True)
        line_px = PARAGRAPH_GAP_PX
    elif block.length() == 1:
        # Qt frames every table with empty paragraphs.
        line_px, bottom = 1, 3
    elif (
        block.textList() is not None and following.textList() is not None and following.length() > 1
    ):
        bottom = ITEM_GAP_PX
    quote_level = int(block_format.property(QTextFormat.Property.BlockQuoteLevel) or 0)
    if quote_level:
        block_format.setLeftMargin(QUOTE_INDENT_PX * quote_level)
        block_format.setRightMargin(0)
    block_format.setBottomMargin(bottom)
    block_format.setLineHeight(line_px, _FIXED)


def _edits_of(
    position: int,
    text: str,
    look_of_text: QTextCharFormat,
    heading: int,
    *,
    is_code: bool,
    formulas: dict[str, Formula],
    look: TextLook,
) -> list[_Edit]:
    """What has to be changed in one fragment, in order of position."""
    if look_of_text.isImageFormat():
        return [_image_chip(position, look_of_text)]
    changed = False
    styled = QTextCharFormat(look_of_text)
    if styled.fontFixedPitch() or is_code:
        changed = True
        styled.setFontFamilies(mono_font().families())
        styled.setProperty(QTextFormat.Property.FontPixelSize, min(CODE_PX, look.px))
        if not is_code:
            styled.setProperty(BOX, True)
    if heading:
        changed = True
        size = _HEADING_PX.get(heading, (look.px + 1, 0))[0]
        styled.clearProperty(QTextFormat.Property.FontSizeAdjustment)
        styled.setProperty(QTextFormat.Property.FontPixelSize, size)
        styled.setFontWeight(QFont.Weight.DemiBold)
    elif styled.fontWeight() > QFont.Weight.DemiBold:
        changed = True
        styled.setFontWeight(QFont.Weight.DemiBold)
    if styled.isAnchor():
        changed = True
        styled.setForeground(color(tokens().accent))
        styled.setFontUnderline(True)
    edits = [_Edit(position, _units(text), styled)] if changed else []
    if formulas:
        edits += [
            _Edit(position + _units(text[:index]), 1, styled, formula=formulas[character])
            for index, character in enumerate(text)
            if character in formulas
        ]
    return edits


def _units(text: str) -> int:
    """Length as Qt counts: in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def _image_chip(position: int, image_format: QTextCharFormat) -> _Edit:
    image = image_format.toImageFormat()
    described = str(image.property(QTextFormat.Property.ImageAltText) or "").strip()
    address = image.name()
    label = QCoreApplication.translate("MarkdownImage", "Image: {text}").format(
        text=described or address
    )
    chip = QTextCharFormat()
    chip.setProperty(SOURCE, f"![{'' if described == address else described}]({address})")
    chip.setProperty(BOX, True)
    chip.setProperty(QTextFormat.Property.FontPixelSize, BODY_PX)
    chip.setForeground(color(tokens().muted))
    chip.setToolTip(address)
    return _Edit(position, 1, chip, text=label)


def _apply(cursor: QTextCursor, edit: _Edit) -> None:
    cursor.setPosition(edit.position)
    cursor.setPosition(edit.position + edit.length, QTextCursor.MoveMode.KeepAnchor)
    if edit.formula is not None:
        _insert_formula(cursor, edit.formula, edit.format)
    elif edit.text is not None:
        cursor.insertText(edit.text, edit.format)
    else:
        cursor.setCharFormat(edit.format)


def _insert_formula(cursor: QTextCursor, formula: Formula, surrounding: QTextCharFormat) -> None:
    base = QTextCharFormat(surrounding)
    base.setProperty(SOURCE, formula.source)
    if formula.runs is None:
        base.setFontFamilies(mono_font().families())
        base.setProperty(QTextFormat.Property.FontPixelSize, CODE_PX)
        # A paragraph is one line of Markdown here: newlines inside a raw formula stay breaks.
        cursor.insertText(formula.source.replace("\n", "\u2028"), base)
        return
    base.setFontFamilies(_SERIF)
    short = sum(len(run.text) for run in formula.runs) <= 60
    break_before = formula.display and not cursor.block().text().startswith(cursor.selectedText())
    cursor.removeSelectedText()
    if break_before:
        cursor.insertText("\u2028", base)
    for run in formula.runs:
        styled = QTextCharFormat(base)
        styled.setFontItalic(run.italic)
        if run.script:
            styled.setVerticalAlignment(
                QTextCharFormat.VerticalAlignment.AlignSuperScript
                if run.script > 0
                else QTextCharFormat.VerticalAlignment.AlignSubScript
            )
        cursor.insertText(run.text.replace(" ", "\u00a0") if short else run.text, styled)
