"""A stretch of a rendered document as Markdown again. Qt thread.

Copying a whole piece takes its source. Only the first and the last piece of a selection may be
cut, and a cut source could leave a ``**`` without its partner: those are written from what is
drawn, so that what is copied always stands by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextList,
    QTextTable,
)

from kimi_desktop.ui.chat.markdown_render import (
    BOX,
    GROUND,
    MARK,
    RULER,
    SOURCE,
    fragments,
)

_LINE_SEPARATOR = "\u2028"


def write_markdown(document: QTextDocument, start: int, end: int) -> str:
    """The Markdown of the characters ``start`` ... ``end``; plain inside one paragraph."""
    lines: list[str] = []
    table: QTextTable | None = None
    in_code = False
    previous: QTextBlock | None = None
    block = document.findBlock(start)
    single = block == document.findBlock(max(end - 1, start))
    while block.isValid() and block.position() < end:
        inside = _table_of(block)
        if inside is not None:
            if not _same(inside, table):
                _part(lines, previous)
                lines += (
                    _table_lines(inside, start, end) if not single else [_cut(block, start, end)]
                )
                table = inside
            previous = block
            block = block.next()
            continue
        table = None
        is_code = bool(block.blockFormat().property(GROUND))
        if in_code and not is_code:
            lines.append("```")
        if block.length() > 1 or is_code or block.blockFormat().property(RULER):
            if not (is_code and in_code) and not _tight(previous, block):
                _part(lines, previous)
            if is_code and not in_code and not single:
                language = block.blockFormat().property(QTextFormat.Property.BlockCodeLanguage)
                lines.append(f"```{language or ''}")
            whole = block.position() >= start and not single
            lines.append(_block_line(block, start, end, whole=whole, is_code=is_code))
            previous = block
        in_code = is_code and not single
        block = block.next()
    if in_code:
        lines.append("```")
    return "\n".join(lines).strip("\n")


def _table_of(block: QTextBlock) -> QTextTable | None:
    return QTextCursor(block).currentTable()


def _list_of(block: QTextBlock) -> QTextList | None:
    return block.textList()


def _same(one: QTextTable, other: QTextTable | None) -> bool:
    return other is not None and one.firstPosition() == other.firstPosition()


def _part(lines: list[str], previous: QTextBlock | None) -> None:
    if previous is not None and lines:
        lines.append("")


def _tight(previous: QTextBlock | None, block: QTextBlock) -> bool:
    """Two items of lists follow each other without an empty line."""
    return previous is not None and previous.textList() is not None and block.textList() is not None


def _block_line(block: QTextBlock, start: int, end: int, *, whole: bool, is_code: bool) -> str:
    if block.blockFormat().property(RULER):
        return "---"
    if is_code:
        return _cut(block, start, end)
    text = "".join(_inline(block, start, end))
    return f"{_prefix(block)}{text}" if whole else text


def _prefix(block: QTextBlock) -> str:
    block_format = block.blockFormat()
    quote = "> " * int(block_format.property(QTextFormat.Property.BlockQuoteLevel) or 0)
    level = block_format.headingLevel()
    if level:
        return f"{quote}{'#' * level} "
    items = _list_of(block)
    if items is None:
        return quote
    mark = str(block_format.property(MARK) or "-")
    mark = f"- {mark}" if mark.startswith("[") else mark
    return f"{quote}{'   ' * (items.format().indent() - 1)}{mark} "


def _fragments(block: QTextBlock, start: int, end: int) -> Iterator[tuple[str, QTextCharFormat]]:
    """The text inside the range, by stretches of one format."""
    for fragment in fragments(block):
        first = max(fragment.position(), start)
        last = min(fragment.position() + fragment.length(), end)
        if first < last:
            yield _text(block.document(), first, last), fragment.charFormat()


def _text(document: QTextDocument, start: int, end: int) -> str:
    """By Qt's positions, which count UTF-16 units."""
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText()


def _cut(block: QTextBlock, start: int, end: int) -> str:
    first = max(block.position(), start)
    last = min(block.position() + block.length() - 1, end)
    return _text(block.document(), first, last).replace(_LINE_SEPARATOR, "\n")


def _inline(block: QTextBlock, start: int, end: int) -> Iterator[str]:
    heading = bool(block.blockFormat().headingLevel())
    source_done: str | None = None
    for text, look in _fragments(block, start, end):
        source = look.property(SOURCE)
        if source:
            if source != source_done:
                yield str(source)
            source_done = str(source)
            continue
        source_done = None
        yield _marked(text.replace(_LINE_SEPARATOR, "  \n"), look, heading=heading)


def _marked(text: str, look: QTextCharFormat, *, heading: bool) -> str:
    """The text between the marks of its format; blanks stay outside of them."""
    body = text.strip()
    if not body:
        return text
    lead = text[: len(text) - len(text.lstrip())]
    tail = text[len(text.rstrip()) :]
    if look.property(BOX) and not look.isAnchor():
        ticks = "``" if "`" in body else "`"
        body = f"{ticks}{body}{ticks}"
    if look.fontStrikeOut():
        body = f"~~{body}~~"
    if look.fontItalic():
        body = f"*{body}*"
    if look.fontWeight() >= QFont.Weight.DemiBold and not heading:
        body = f"**{body}**"
    if look.isAnchor() and look.anchorHref():
        body = f"[{body}]({look.anchorHref()})"
    return f"{lead}{body}{tail}"


def _table_lines(table: QTextTable, start: int, end: int) -> list[str]:
    """The rows that the range touches, whole; the header always comes along."""
    lines = []
    for row in range(table.rows()):
        cells = [table.cellAt(row, column) for column in range(table.columns())]
        touched = cells[-1].lastPosition() >= start and cells[0].firstPosition() < end
        if row and not touched:
            continue
        texts = []
        for cell in cells:
            block = cell.firstCursorPosition().block()
            marked = _inline(block, block.position(), block.position() + block.length())
            plain = block.text() if row == 0 else "".join(marked)
            texts.append(plain.replace("|", "\\|"))
        lines.append(f"| {' | '.join(texts)} |")
        if row == 0:
            lines.append(
                "|" + "|".join(_rule(table, column) for column in range(table.columns())) + "|"
            )
    return lines


def _rule(table: QTextTable, column: int) -> str:
    alignment = table.cellAt(0, column).firstCursorPosition().blockFormat().alignment()
    if alignment & Qt.AlignmentFlag.AlignRight:
        return "--:"
    if alignment & Qt.AlignmentFlag.AlignHCenter:
        return ":-:"
    return "---"
