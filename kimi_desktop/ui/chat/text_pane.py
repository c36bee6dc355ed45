"""One piece of text in the transcript: a QTextBrowser that lies still. Qt thread.

It never scrolls vertically, takes no mouse (the transcript does, because a selection crosses
panes) and fetches nothing. It paints what a rich text document cannot: rounded grounds, table
frames, quotation bars and the streaming caret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, QUrl
from PySide6.QtGui import (
    QFocusEvent,
    QImage,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPalette,
    QPen,
    QTextBlock,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextLine,
    QTextTable,
)
from PySide6.QtWidgets import QFrame, QTextBrowser, QTextEdit, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.chat.markdown_render import (
    ANSWER,
    BOX,
    GROUND,
    MARK,
    QUOTE_INDENT_PX,
    RULER,
    TextLook,
    fragments,
    prepare_document,
    render_markdown,
)
from kimi_desktop.ui.chat.markdown_tables import PARAGRAPH_GAP_PX
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import RADIUS, RADIUS_SMALL

CARET_WIDTH = 8
CARET_HEIGHT = 18
CARET_GAP = 2
BLEED_PX = 12
"""Room at the right of the text for the caret at the end of a full line."""


def _blank_image() -> QImage:
    image = QImage(1, 1, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    return image


@dataclass(frozen=True, slots=True)
class _Ornaments:
    """What is painted below the text, in document coordinates."""

    boxes: tuple[QRectF, ...] = ()
    grounds: tuple[QRectF, ...] = ()
    quotes: tuple[QRectF, ...] = ()
    rulers: tuple[QRectF, ...] = ()
    marks: tuple[tuple[QPointF, str, int], ...] = ()
    """Where the text of a list's item begins (its middle), the mark, and how deep the list is."""
    tables: tuple[tuple[QRectF, tuple[float, ...]], ...] = ()
    """Frame and the tops of the rows after the first."""


class TextPane(QTextBrowser):
    """Shows Markdown, plain text or code; its height is that of its document."""

    def __init__(self, parent: QWidget | None = None, look: TextLook = ANSWER) -> None:
        super().__init__(parent)
        self._look = look
        self._caret = False
        self._ornaments: _Ornaments | None = None
        prepare_document(self.document(), look)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizeAdjustPolicy(QTextEdit.SizeAdjustPolicy.AdjustIgnored)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)
        self.viewport().setAutoFillBackground(False)
        self.document().contentsChanged.connect(self._forget_ornaments)
        self.dress()

    def dress(self) -> None:
        """Take the colours in force; a document with colours must be rendered again."""
        t = tokens()
        palette = self.palette()
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            palette.setColor(group, QPalette.ColorRole.Highlight, color(t.accent))
            palette.setColor(group, QPalette.ColorRole.HighlightedText, color(t.on_accent))
            text = t.muted if self._look.px < ANSWER.px else t.text
            palette.setColor(group, QPalette.ColorRole.Text, color(text))
        palette.setColor(QPalette.ColorRole.Base, Qt.GlobalColor.transparent)
        self.setPalette(palette)

    def show_markdown(self, markdown: str) -> None:
        """Render and lay out at the width last set."""
        render_markdown(self.document(), markdown, self._look)

    def set_text_width(self, width: int) -> None:
        """Wrap lines at ``width`` pixels."""
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
            self._forget_ornaments()

    def text_height(self) -> int:
        """Of the whole document at the width set."""
        return round(self.document().size().height())

    def show_caret(self, shown: bool) -> None:
        """Paint the streaming caret after the last character."""
        if shown != self._caret:
            self._caret = shown
            self.viewport().update()

    # selection

    @property
    def length(self) -> int:
        """How many positions the text has (the last one is after the last character)."""
        return self.document().characterCount() - 1

    def select_range(self, start: int, end: int) -> None:
        """Paint the characters ``start`` ... ``end`` as selected (none when equal)."""
        before = self.textCursor()
        if (before.selectionStart(), before.selectionEnd()) == (start, end):
            return
        if start == end and not before.hasSelection():
            return
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(start, self.length))
        cursor.setPosition(min(end, self.length), QTextCursor.MoveMode.KeepAnchor)
        sideways = self.horizontalScrollBar().value()
        self.setTextCursor(cursor)
        self.horizontalScrollBar().setValue(sideways)

    def position_at(self, point: QPoint) -> int:
        """The text position nearest to a point of this widget.

        Qt's own answer jumps to the end of a line when the point is in the gap that a fixed line
        height leaves above each line; here the gap belongs to the line below it.
        """
        block = self.cursorForPosition(point).block()
        origin = self.document().documentLayout().blockBoundingRect(block).topLeft()
        layout = block.layout()
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            if (
                point.y() < origin.y() + line.y() + line.height()
                or number == layout.lineCount() - 1
            ):
                x = point.x() + self.horizontalScrollBar().value() - origin.x()
                return block.position() + line.xToCursor(x)
        return block.position()

    def link_at(self, point: QPoint) -> str:
        """The address of the link under a point of this widget, "" when none."""
        return self.anchorAt(point)

    def hint_at(self, point: QPoint) -> str:
        """What the mouse is told there: where a link leads, what an image's address is."""
        if link := self.link_at(point):
            return link
        cursor = QTextCursor(self.document())
        cursor.setPosition(self.position_at(point))
        return cursor.charFormat().toolTip()

    def link_of(self, position: int) -> str:
        """The address of the link that a text position is in or at the end of, "" when none."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(position, self.length))
        return cursor.charFormat().anchorHref()

    def position_rect(self, position: int) -> QRectF:
        """Where a text position is drawn, in this widget."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(position, self.length))
        return QRectF(self.cursorRect(cursor))

    # Qt

    def loadResource(self, kind: int, name: QUrl | str) -> Any:  # noqa: ANN401
        """Nothing is read, from the network or from disk: a blank pixel stands in."""
        del kind, name
        return _blank_image()

    def sizeHint(self) -> QSize:
        """The text at its width."""
        return QSize(self.lineWrapColumnOrWidth(), self.text_height())

    def minimumSizeHint(self) -> QSize:
        """The transcript decides."""
        return QSize(0, 0)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The focus is the transcript's."""
        event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Grounds and frames, the caret, then the text."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(-self.horizontalScrollBar().value(), 0)
        self._paint_ornaments(painter, self._ornaments or self._find_ornaments())
        if self._caret:
            self._paint_caret(painter)
        painter.end()
        super().paintEvent(event)

    def _forget_ornaments(self) -> None:
        self._ornaments = None

    def _find_ornaments(self) -> _Ornaments:
        document = self.document()
        boxes: list[QRectF] = []
        grounds: list[QRectF] = []
        quotes: dict[int, list[QRectF]] = {}
        rulers: list[QRectF] = []
        marks: list[tuple[QPointF, str, int]] = []
        layout = document.documentLayout()
        width = document.textWidth()
        block = document.begin()
        while block.isValid():
            block_format = block.blockFormat()
            place = layout.blockBoundingRect(block)
            level = int(block_format.property(QTextFormat.Property.BlockQuoteLevel) or 0)
            for depth in range(level):
                bar = QRectF(depth * QUOTE_INDENT_PX, place.top(), 2, place.height())
                _join(quotes.setdefault(depth, []), bar)
            if block_format.property(GROUND):
                left = block.layout().lineAt(0).x() - PARAGRAPH_GAP_PX
                _join(grounds, QRectF(left, place.top(), width - left, place.height() + 2))
            if mark := block_format.property(MARK):
                line = block.layout().lineAt(0)
                start = QPointF(line.x(), place.top() + line.y() + line.height() / 2)
                marks.append((start, str(mark), block.textList().format().indent()))
            if block_format.property(RULER):
                rulers.append(place)
            for fragment in fragments(block):
                if fragment.charFormat().property(BOX):
                    boxes += _stretches(document, block, fragment.position(), fragment.length())
            block = block.next()
        self._ornaments = _Ornaments(
            tuple(boxes),
            tuple(grounds),
            tuple(bar for bars in quotes.values() for bar in bars),
            tuple(rulers),
            tuple(marks),
            tuple(
                _table_lines(document, frame)
                for frame in document.rootFrame().childFrames()
                if isinstance(frame, QTextTable)
            ),
        )
        return self._ornaments

    def _paint_ornaments(self, painter: QPainter, ornaments: _Ornaments) -> None:
        t = tokens()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(t.raised))
        for box in (*ornaments.grounds, *ornaments.boxes):
            painter.drawRoundedRect(box, RADIUS_SMALL, RADIUS_SMALL)
        painter.setBrush(color(t.control))
        for bar in ornaments.quotes:
            painter.drawRect(bar)
        painter.setBrush(color(t.line))
        for ruler in ornaments.rulers:
            painter.drawRect(QRectF(ruler.left(), round(ruler.center().y()), ruler.width(), 1))
        for start, mark, depth in ornaments.marks:
            self._paint_mark(painter, start, mark, depth)
        for frame, rows in ornaments.tables:
            outline = QPainterPath()
            outline.addRoundedRect(frame.adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.fillPath(outline, color(t.panel))
            if rows:
                head = QPainterPath()
                head.addRect(
                    QRectF(frame.left(), frame.top(), frame.width(), rows[0] - frame.top())
                )
                painter.fillPath(outline.intersected(head), color(t.raised))
            painter.setPen(QPen(color(t.line), 1))
            for top in rows:
                y = round(top) + 0.5
                painter.drawLine(QPointF(frame.left() + 1, y), QPointF(frame.right() - 1, y))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(outline)

    def _paint_mark(self, painter: QPainter, start: QPointF, mark: str, depth: int) -> None:
        """A number, a box, or a bullet by its depth, in the room before the text."""
        ink = self.palette().color(QPalette.ColorRole.Text)
        middle = QPointF(start.x() - 12, start.y() + 1)
        painter.setPen(QPen(ink, 1.25))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if mark.startswith("["):
            square = QRectF(start.x() - 18, start.y() - 5.5, 12, 12)
            painter.drawRoundedRect(square, 3, 3)
            if mark == "[x]":
                icons.paint(painter, "check", square.topLeft().toPoint(), 12, ink.name())
        elif mark != "-":
            painter.setFont(self.document().defaultFont())
            place = QRectF(start.x() - 66, start.y() - 12, 60, 24)
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, side, mark)
        elif depth % 3 == 1:
            painter.setBrush(ink)
            painter.drawEllipse(middle, 2, 2)
        elif depth % 3 == 2:
            painter.drawEllipse(middle, 2.25, 2.25)
        else:
            painter.fillRect(QRectF(middle.x() - 2, middle.y() - 2, 4, 4), ink)

    def _paint_caret(self, painter: QPainter) -> None:
        block = self.document().lastBlock()
        line = block.layout().lineForTextPosition(block.length() - 1)
        top_left = self.document().documentLayout().blockBoundingRect(block).topLeft()
        x, middle = top_left.x(), top_left.y() + self._look.line_px / 2
        if line.isValid():
            x = top_left.x() + _x_of(line, block.length() - 1)
            middle = top_left.y() + line.y() + line.height() / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(tokens().accent))
        place = QRectF(x + CARET_GAP, middle - CARET_HEIGHT / 2, CARET_WIDTH, CARET_HEIGHT)
        painter.drawRoundedRect(place, 1, 1)


def _x_of(line: QTextLine, position: int) -> float:
    """Where a position of a line is drawn; the binding gives it with the position used."""
    found: Any = line.cursorToX(position)
    return float(found[0])


def _join(bars: list[QRectF], bar: QRectF) -> None:
    """Add a rectangle, as one with the one above when only a paragraph's gap is between."""
    if bars and bar.top() - bars[-1].bottom() <= PARAGRAPH_GAP_PX + 6:
        bars[-1].setBottom(bar.bottom())
    else:
        bars.append(bar)


def _stretches(
    document: QTextDocument, block: QTextBlock, position: int, length: int
) -> list[QRectF]:
    """Where characters of one block are drawn, a rectangle per line, 1 px beyond the text."""
    layout = block.layout()
    origin = document.documentLayout().blockBoundingRect(block).topLeft()
    start, end = position - block.position(), position - block.position() + length
    found = []
    for number in range(layout.lineCount()):
        line = layout.lineAt(number)
        first = max(start, line.textStart())
        last = min(end, line.textStart() + line.textLength())
        if first >= last:
            continue
        left, right = _x_of(line, first), _x_of(line, last)
        height = min(line.height(), 20)
        top = origin.y() + line.y() + (line.height() - height) / 2
        found.append(QRectF(origin.x() + left - 2, top, right - left + 4, height))
    return found


def _table_lines(document: QTextDocument, table: QTextTable) -> tuple[QRectF, tuple[float, ...]]:
    """The frame of a table and the tops of its rows after the first.

    The layout reports the frame at its first cell's text, not at its corner.
    """
    layout = document.documentLayout()
    rows = []
    left = 0.0
    for row in range(table.rows()):
        cell = table.cellAt(row, 0)
        place = layout.blockBoundingRect(cell.firstCursorPosition().block())
        padding = cell.format().toTableCellFormat()
        rows.append(place.top() - padding.topPadding())
        left = place.left() - padding.leftPadding()
    around = table.format().topMargin() + table.format().bottomMargin()
    whole = layout.frameBoundingRect(table)
    return QRectF(left, rows[0], whole.width(), whole.height() - around), tuple(rows[1:])
