"""The looks of tables in rendered Markdown; their frames are painted by the pane. Qt thread."""

from __future__ import annotations

import re

from PySide6.QtGui import (
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextLength,
    QTextTable,
    QTextTableCell,
)

from kimi_desktop.ui.theme import mono_font
from kimi_desktop.ui.tokens import BODY_LINE_PX, BODY_PX

PARAGRAPH_GAP_PX = 8
CELL_PAD_X_PX = 12
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value
_NUMBER = re.compile(r"[\d+\-−~≈<>≤≥$€£¥]")


def style_tables(document: QTextDocument, cursor: QTextCursor) -> None:
    """Full width, room in the cells, numbers in fixed pitch, headers over their columns."""
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _style_table(frame, cursor)


def _style_table(table: QTextTable, cursor: QTextCursor) -> None:
    table_format = table.format()
    table_format.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
    table_format.setBorder(0)
    table_format.setBorderCollapse(False)
    table_format.setCellSpacing(0)
    table_format.setCellPadding(0)
    table_format.setMargin(0)
    table_format.setBottomMargin(PARAGRAPH_GAP_PX)
    before = table.firstCursorPosition().block().previous()
    if before.isValid() and before.length() > 1:  # a list: Qt drops its margin before a table
        table_format.setTopMargin(PARAGRAPH_GAP_PX)
    table.setFormat(table_format)
    for column in range(table.columns()):
        for row in range(table.rows()):
            _style_cell(table.cellAt(row, column), cursor, header=row == 0)
        _align_header(table, column, cursor)


def _align_header(table: QTextTable, column: int, cursor: QTextCursor) -> None:
    """Qt aligns the cells of a column but not its header."""
    if table.rows() > 1:
        cursor.setPosition(table.cellAt(1, column).firstPosition())
        alignment = cursor.blockFormat().alignment()
        cursor.setPosition(table.cellAt(0, column).firstPosition())
        header = cursor.blockFormat()
        header.setAlignment(alignment)
        cursor.setBlockFormat(header)


def _style_cell(cell: QTextTableCell, cursor: QTextCursor, *, header: bool) -> None:
    cell_format = cell.format().toTableCellFormat()
    cell_format.setLeftPadding(CELL_PAD_X_PX)
    cell_format.setRightPadding(CELL_PAD_X_PX)
    cell_format.setTopPadding(4)
    cell_format.setBottomPadding(4 if header else 3)
    cell.setFormat(cell_format)
    cursor.setPosition(cell.firstPosition())
    block_format = cursor.blockFormat()
    block_format.setLineHeight(BODY_LINE_PX, _FIXED)
    block_format.setTopMargin(0)
    block_format.setBottomMargin(0)
    cursor.setBlockFormat(block_format)
    cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    text = QTextCharFormat()
    text.setProperty(QTextFormat.Property.FontPixelSize, BODY_PX)
    if header:
        text.setFontWeight(QFont.Weight.DemiBold)
    elif _NUMBER.match(cursor.selectedText()):
        text.setFontFamilies(mono_font().families())
    cursor.mergeCharFormat(text)
