"""A field and a list under it: type to narrow, arrows to move, Enter to choose. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from kimi_desktop.ui import icons
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box

ROW, HEAD_ROW = 36, 28
MOST_ROWS = 10
AnyIndex = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Entry:
    """One row; without ``run`` it is the heading of those after it."""

    title: str
    detail: str = ""
    trailing: str = ""
    icon: str = ""
    marked: bool = False
    """In force now: a check mark says so."""
    run: Callable[[], None] | None = None


class _Entries(QAbstractListModel):
    """The rows as Qt wants them."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.entries: tuple[Entry, ...] = ()

    def show(self, entries: Sequence[Entry]) -> None:
        self.beginResetModel()
        self.entries = tuple(entries)
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = QModelIndex()) -> int:  # noqa: B008 - Qt's default
        """How many rows."""
        return 0 if parent.isValid() else len(self.entries)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401
        """The title, and all words for screen readers."""
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.title
        if role == Qt.ItemDataRole.AccessibleTextRole:
            words = (entry.title, entry.detail, entry.trailing)
            return ", ".join(word for word in words if word)
        return None

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        """Headings cannot be chosen."""
        if self.entries[index.row()].run is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class _RowPainter(QStyledItemDelegate):
    """Paints an Entry."""

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        """Headings are lower."""
        del option
        model = index.model()
        assert isinstance(model, _Entries)
        return QSize(100, HEAD_ROW if model.entries[index.row()].run is None else ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        """Icon, title, muted detail, trailing word."""
        model = index.model()
        assert isinstance(model, _Entries)
        entry = model.entries[index.row()]
        place: QRect = option.rect
        state = option.state
        t = tokens()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if entry.run is None:
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(t.muted))
            below = place.adjusted(8, 4, -8, 0)
            painter.drawText(below, Qt.AlignmentFlag.AlignVCenter, entry.title)
            painter.restore()
            return
        from_state = state & (state.State_Selected | state.State_MouseOver)
        if from_state:
            box(painter, QRectF(place), RADIUS, fill=t.hover)
        x, middle = place.x() + 8, place.center().y()
        if entry.icon:
            icons.paint(painter, entry.icon, QPoint(x, middle - 8), 16, t.muted)
            x += 24
        end = place.right() - 8
        if entry.marked:
            icons.paint(painter, "check", QPoint(end - 16, middle - 8), 16, t.accent)
            end -= 24
        if entry.trailing:
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(t.muted))
            room = QRect(x, place.y(), end - x, place.height())
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(room, side, entry.trailing)
            end -= QFontMetrics(painter.font()).horizontalAdvance(entry.trailing) + 12
        for text, font, ink in (
            (entry.title, ui_font(BODY_PX, SEMIBOLD if entry.marked else MEDIUM), t.text),
            (entry.detail, ui_font(SMALL_PX), t.muted),
        ):
            metrics = QFontMetrics(font)
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(0, end - x))
            painter.setFont(font)
            painter.setPen(color(ink))
            room = QRect(x, place.y(), end - x, place.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)
            x += metrics.horizontalAdvance(shown) + 8
        painter.restore()


class SearchOverlay(Overlay):
    """Asks ``find`` for the rows of every query."""

    chosen = Signal(object)

    def __init__(
        self,
        window: QWidget,
        find: Callable[[str], Sequence[Entry]],
        *,
        label: str,
        placeholder: str,
        width: int = 560,
        top: int = 48,
        start_at_marked: bool = False,
    ) -> None:
        super().__init__(window, width=width, top=top)
        self._start_at_marked = start_at_marked
        self.body.setContentsMargins(8, 8, 8, 8)
        self.body.setSpacing(8)
        self._find = find
        self.field = Field(icon="search")
        self.field.setPlaceholderText(placeholder)
        self.field.set_label(label)
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self.refresh)
        self._model = _Entries(self)
        self.list = QListView()
        self.list.setProperty("bare", True)
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_RowPainter(self.list))
        self.list.setMouseTracking(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setAccessibleName(label)
        self.list.clicked.connect(self._on_clicked)
        self.body.addWidget(self.field)
        self.body.addWidget(self.list)
        self.refresh()

    def open(self) -> None:
        """Show it, with the keyboard in the field."""
        super().open()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def entries(self) -> tuple[Entry, ...]:
        """The rows shown."""
        return self._model.entries

    def current(self) -> Entry | None:
        """The row that Enter would choose."""
        index = self.list.currentIndex()
        return self._model.entries[index.row()] if index.isValid() else None

    def refresh(self) -> None:
        """Ask again, and stand on the first row that can be chosen."""
        self._model.show(self._find(self.field.text().strip()))
        rows = self._model.entries
        able = [number for number, entry in enumerate(rows) if entry.run is not None]
        first = able[0] if able else None
        if self._start_at_marked:
            first = next((n for n in able if rows[n].marked), first)
        if first is not None:
            self.list.setCurrentIndex(self._model.index(first))
        heights = [HEAD_ROW if entry.run is None else ROW for entry in rows]
        self.list.setFixedHeight(max(ROW, min(sum(heights), MOST_ROWS * ROW)))
        self._cover()

    def refresh_in_place(self) -> None:
        """Ask again, and stay on the row that says the same."""
        before = self.current()
        self.refresh()
        for number, entry in enumerate(self._model.entries):
            if before is not None and (entry.title, entry.detail) == (before.title, before.detail):
                self.list.setCurrentIndex(self._model.index(number))
                return

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Arrows, Page keys and Enter in the field act on the list."""
        pressed = event.type() is QEvent.Type.KeyPress
        if watched is self.field and pressed and self._on_key(event):
            return True
        return super().eventFilter(watched, event)

    def _on_key(self, event: QEvent) -> bool:
        assert isinstance(event, QKeyEvent)
        steps = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_PageDown: MOST_ROWS - 1,
            Qt.Key.Key_PageUp: 1 - MOST_ROWS,
        }
        if event.key() in steps:
            self._move(steps[Qt.Key(event.key())])
            return True
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._choose(self.current())
            return True
        return False

    def _move(self, step: int) -> None:
        able = [n for n, entry in enumerate(self._model.entries) if entry.run is not None]
        if not able:
            return
        now = self.list.currentIndex().row()
        place = able.index(now) if now in able else 0
        wanted = place + step
        if abs(step) == 1:
            wanted %= len(able)
        else:
            wanted = min(max(wanted, 0), len(able) - 1)
        self.list.setCurrentIndex(self._model.index(able[wanted]))

    def _on_clicked(self, index: QModelIndex) -> None:
        self._choose(self._model.entries[index.row()])

    def _choose(self, entry: Entry | None) -> None:
        if entry is None or entry.run is None:
            return
        self.dismiss()
        entry.run()
