"""Paints one row of the library's table in the design. Qt thread, inside a paintEvent."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter

from kimi_desktop.ui import icons
from kimi_desktop.ui.models.rows import (
    Row,
    has_remark,
    is_bad,
    is_running,
    note_of,
    short_problem,
    state_of,
)
from kimi_desktop.ui.models.table_header import PADDING, RIGHT_ALIGNED
from kimi_desktop.ui.models.table_model import Column, LibraryTableModel
from kimi_desktop.ui.theme import color, mono_font, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS, RADIUS_SMALL, SMALL_PX
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box

ROW = 36
PROBLEM_ROW = 56
CHIP_HEIGHT, CHIP_ICON = 20, 12
ACTION = 28
ACTION_ICON = 16

LEFT = Qt.AlignmentFlag.AlignLeft
RIGHT = Qt.AlignmentFlag.AlignRight
MIDDLE = Qt.AlignmentFlag.AlignVCenter


def row_height(row: Row | None) -> int:
    """A problem takes a second line."""
    return PROBLEM_ROW if row is not None and has_remark(row.model) else ROW


def action_places(cell: QRect) -> list[tuple[str, QRect]]:
    """The icons at the end of a row: start and more."""
    y = cell.y() + (ROW - ACTION) // 2
    more = QRect(cell.right() - 8 - ACTION, y, ACTION, ACTION)
    return [("play", more.translated(-ACTION, 0)), ("more", more)]


class RowPainter:
    """One painting. ``hover`` is where the mouse is, if it is over the table."""

    def __init__(self, painter: QPainter, model: LibraryTableModel, hover: QPoint | None) -> None:
        self._painter = painter
        self._model = model
        self._hover = hover

    def paint(
        self,
        row: Row,
        rect: QRect,
        cells: Mapping[Column, QRect],
        *,
        current: bool,
        ring: bool,
        line_below: bool,
    ) -> None:
        """Ground, cells, the problem's line; ``ring`` shows the keyboard's focus."""
        painter, t = self._painter, tokens()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        hovered = self._hover is not None and rect.contains(self._hover)
        if current or hovered:
            painter.fillRect(rect, color(t.raised if current else t.hover))
        if current:
            painter.fillRect(QRect(0, rect.y(), 2, rect.height()), color(t.accent))
        if line_below:
            painter.fillRect(QRect(0, rect.bottom(), rect.width(), 1), color(t.line))
        for column, cell in cells.items():
            self._cell(row, column, cell, current=current)
        if has_remark(row.model):
            line = QRect(rect.x(), rect.y() + ROW - 6, rect.width(), PROBLEM_ROW - ROW)
            ink = t.bad if is_bad(row.model) else t.warn
            self._text(short_problem(row.model), line, ui_font(SMALL_PX), ink)
        if ring:
            inside = QRectF(rect).adjusted(1, 1, -1, -2)
            box(painter, inside, RADIUS_SMALL, border=t.accent, width=2)
        painter.restore()

    def _cell(self, row: Row, column: Column, cell: QRect, *, current: bool) -> None:
        t = tokens()
        if column is Column.STATE:
            self._chip(row, cell)
        elif column is Column.ACTIONS:
            self._actions(row, cell)
        elif column is Column.NAME:
            self._name(row, cell, SEMIBOLD if current else MEDIUM)
        else:
            figures = column in RIGHT_ALIGNED
            mono = figures or column is Column.QUANTIZATION
            ink = t.text if column is Column.SIZE and not row.is_companion else t.muted
            font = mono_font(SMALL_PX) if mono else ui_font(SMALL_PX)
            self._text(self._model.text(row, column), cell, font, ink, RIGHT if figures else LEFT)

    def _name(self, row: Row, cell: QRect, weight: QFont.Weight) -> None:
        t = tokens()
        ink = t.muted if row.is_companion else t.text
        taken = self._text(row.model.title, cell, ui_font(BODY_PX, weight), ink)
        room = cell.adjusted(taken + 8, 0, 0, 0)
        note = note_of(row)
        if note and room.width() > 2 * PADDING + 24:
            self._text(note, room, ui_font(SMALL_PX), t.muted)

    def _chip(self, row: Row, cell: QRect) -> None:
        verdict, word = state_of(row, self._model.status)
        tone, icon = verdict.value
        t = tokens()
        ink = getattr(t, tone) if tone else t.muted
        font = ui_font(SMALL_PX, SEMIBOLD)
        metrics = QFontMetrics(font)
        around = 12 + (CHIP_ICON + 4 if icon else 0)
        room = cell.width() - PADDING - around
        shown = metrics.elidedText(word, Qt.TextElideMode.ElideRight, room)
        y = cell.y() + (ROW - CHIP_HEIGHT) // 2
        x = cell.x() + PADDING
        place = QRectF(x, y, metrics.horizontalAdvance(shown) + around + 1, CHIP_HEIGHT)
        fill = getattr(t, f"{tone}_soft") if tone else t.raised
        box(self._painter, place, RADIUS_SMALL, fill=fill, border=None if tone else t.line)
        x += 6
        if icon:
            corner = QPoint(x, y + (CHIP_HEIGHT - CHIP_ICON) // 2)
            icons.paint(self._painter, icon, corner, CHIP_ICON, ink)
            x += CHIP_ICON + 4
        self._painter.setFont(font)
        self._painter.setPen(color(ink))
        self._painter.drawText(QRect(x, y, cell.right() - x, CHIP_HEIGHT), MIDDLE, shown)

    def _actions(self, row: Row, cell: QRect) -> None:
        t = tokens()
        for name, place in action_places(cell):
            if name == "play" and not (row.model.is_startable or row.model.is_served):
                continue
            running = name == "play" and is_running(row.model, self._model.status)
            hovered = self._hover is not None and place.contains(self._hover)
            if hovered:
                box(self._painter, QRectF(place), RADIUS, fill=t.press)
            inset = (ACTION - ACTION_ICON) // 2
            corner = place.topLeft() + QPoint(inset, inset)
            ink = t.text if hovered else t.muted
            icons.paint(self._painter, "chat" if running else name, corner, ACTION_ICON, ink)

    def _text(
        self, text: str, cell: QRect, font: QFont, ink: str, side: Qt.AlignmentFlag = LEFT
    ) -> int:
        """Draw one line inside the cell's padding and return the width that it took."""
        place = cell.adjusted(PADDING, 0, -PADDING, 0)
        metrics = QFontMetrics(font)
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, place.width())
        self._painter.setFont(font)
        self._painter.setPen(color(ink))
        self._painter.drawText(place, side | MIDDLE, shown)
        return metrics.horizontalAdvance(shown)
