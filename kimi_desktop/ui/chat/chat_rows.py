"""The rows of the chat list: days as headings, chats below them, and how they are drawn. Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QDate,
    QDateTime,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QLineEdit, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from kimi_desktop.chat.types import ChatSummary
from kimi_desktop.ui import icons
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, CONTROL_HEIGHT, RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import REGULAR, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, rounded

HEADING_PX = 32
MORE_PX = 24
CHAT_ID = Qt.ItemDataRole.UserRole
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Row:
    """A day (``chat_id`` is None), or a chat of it."""

    title: str
    time: str = ""
    chat_id: int | None = None


def untitled() -> str:
    """What a chat without a title is called."""
    return QCoreApplication.translate("ChatList", "New chat")


def rows_by_day(chats: Sequence[ChatSummary], today: QDate | None = None) -> tuple[Row, ...]:
    """The chats (newest first) under Today, Yesterday, and the dates before."""
    today = today or QDate.currentDate()
    rows: list[Row] = []
    last_day: QDate | None = None
    for chat in chats:
        day = QDateTime.fromSecsSinceEpoch(int(chat.updated_at)).date()
        if day != last_day:
            rows.append(Row(_day_name(chat.updated_at, day, today)))
            last_day = day
        rows.append(Row(chat.title or untitled(), time_text(chat.updated_at), chat.id))
    return tuple(rows)


def _day_name(at: float, day: QDate, today: QDate) -> str:
    if day == today:
        return QCoreApplication.translate("ChatList", "Today")
    if day == today.addDays(-1):
        return QCoreApplication.translate("ChatList", "Yesterday")
    return day_text(at, today=today)


class ChatRows(QAbstractListModel):
    """The rows as a model; a chat can be renamed in place."""

    renamed = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Row, ...] = ()

    def show_rows(self, rows: tuple[Row, ...]) -> None:
        """Show other rows."""
        if rows != self._rows:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown."""
        return self._rows

    def index_of(self, chat_id: int | None) -> QModelIndex:
        """Where a chat stands; an invalid index when it is not shown."""
        for number, row in enumerate(self._rows):
            if chat_id is not None and row.chat_id == chat_id:
                return self.index(number)
        return QModelIndex()

    def rowCount(self, parent: Index | None = None) -> int:
        """Headings and chats."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401
        """Title, id, and what a screen reader says."""
        row = self._rows[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole):
            return row.title
        if role == Qt.ItemDataRole.ToolTipRole and row.chat_id is not None:
            return row.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.title} {row.time}".strip()
        return row.chat_id if role == CHAT_ID else None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: ANN401
        """A title was typed."""
        chat_id = self._rows[index.row()].chat_id
        title = " ".join(str(value).split())
        if role != Qt.ItemDataRole.EditRole or chat_id is None or not title:
            return False
        self.renamed.emit(chat_id, title)
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        """A heading is only looked at."""
        if self._rows[index.row()].chat_id is None:
            return Qt.ItemFlag.NoItemFlags
        flag = Qt.ItemFlag
        return flag.ItemIsEnabled | flag.ItemIsSelectable | flag.ItemIsEditable

    def row(self, index: Index) -> Row:
        """The row at an index."""
        return self._rows[index.row()]


def more_rect(row: QRect) -> QRect:
    """Where the button for rename and delete is, in a row under the mouse."""
    top = row.top() + (row.height() - MORE_PX) // 2
    return QRect(row.right() - MORE_PX - 3, top, MORE_PX, MORE_PX)


class ChatRowDelegate(QStyledItemDelegate):
    """Draws like ``ListRow``; under the mouse the time gives way to a button for more."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Rows and headings are equally high."""
        del option
        return QSize(120, HEADING_PX if index.data(CHAT_ID) is None else CONTROL_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """One row."""
        model = index.model()
        assert isinstance(model, ChatRows)
        row = model.row(index)
        rect: QRect = option.rect
        state: QStyle.StateFlag = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if row.chat_id is None:
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(tokens().muted))
            place = rect.adjusted(8, 12, -8, -4)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, row.title)
        else:
            self._paint_chat(painter, rect, state, row)
        painter.restore()

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """A field over the row."""
        del option, index
        editor = Field(parent=parent)
        editor.setAccessibleName(QCoreApplication.translate("ChatList", "Name of the chat"))
        return editor

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        """As large as the row."""
        del index
        editor.setGeometry(option.rect)

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """The present title, selected."""
        if isinstance(editor, QLineEdit) and not editor.text():
            editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))
            editor.selectAll()

    def _paint_chat(
        self, painter: QPainter, rect: QRect, state: QStyle.StateFlag, row: Row
    ) -> None:
        t = tokens()
        selected = bool(state & QStyle.StateFlag.State_Selected)
        hover = bool(state & QStyle.StateFlag.State_MouseOver)
        shape = QRectF(rect)
        if selected:
            painter.setClipPath(rounded(shape, RADIUS))
            painter.fillRect(shape, color(t.raised))
            painter.fillRect(QRectF(rect.x(), rect.y(), 2, rect.height()), color(t.accent))
            painter.setClipping(False)
        elif hover:
            box(painter, shape, RADIUS, fill=t.hover)
        place = rect.adjusted(8, 0, -8, 0)
        if hover:
            corner = more_rect(rect).topLeft()
            corner += more_rect(rect).center() - corner - QRect(0, 0, 16, 16).center()
            icons.paint(painter, "more", corner, 16, t.muted)
            place.setRight(more_rect(rect).left() - 4)
        else:
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(t.muted))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, side, row.time)
            width = QFontMetrics(ui_font(SMALL_PX)).horizontalAdvance(row.time)
            place.setRight(place.right() - width - 8)
        font = ui_font(BODY_PX, SEMIBOLD if selected else REGULAR)
        painter.setFont(font)
        painter.setPen(color(t.text))
        title = QFontMetrics(font).elidedText(row.title, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, title)
