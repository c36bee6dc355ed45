"""The table of the library: rows painted in the design, keyboard, menu, actions. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.models.types import ModelState
from kimi_desktop.ui import icons
from kimi_desktop.ui.models.row_painter import ROW, RowPainter, action_places, row_height
from kimi_desktop.ui.models.rows import Row, is_running
from kimi_desktop.ui.models.table_header import WIDTHS, TableHeader, hidden_columns
from kimi_desktop.ui.models.table_model import SORTABLE, Column, Index, LibraryTableModel


class RowAction(Enum):
    """What can be done with a row."""

    START = "start"
    PLAN = "plan"
    SHOW = "show"
    COPY = "copy"
    VERIFY = "verify"
    MOVE = "move"
    REMOVE = "remove"
    LOOK = "look"
    """For newer versions of all models."""
    NEWER = "newer"
    """The sheet of the newer version."""


class _Heights(QStyledItemDelegate):
    """Rows with a problem have a second line; painting is the view's."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        del option
        model = index.model()
        row = model.row_at(index.row()) if isinstance(model, LibraryTableModel) else None
        return QSize(0, row_height(row))


class LibraryTable(QTreeView):
    """``selected`` has the row that the cursor is on (or None), ``wanted`` an action on it."""

    selected = Signal(object)
    wanted = Signal(object, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = LibraryTableModel(self)
        self._hover: QPoint | None = None
        self._keyboard = False
        self._wanted_id = ""
        head = TableHeader(self.rows, self)
        head.sort_wanted.connect(self.sort_by)
        self.setHeader(head)
        head.setSectionsClickable(True)  # setHeader switches it off
        self.setModel(self.rows)
        self.setItemDelegate(_Heights(self))
        self.setProperty("bare", True)
        self.setRootIsDecorated(False)
        self.setItemsExpandable(False)
        self.setIndentation(0)
        self.setAllColumnsShowFocus(True)
        self.setMouseTracking(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        head.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        for column, width in WIDTHS.items():
            head.resizeSection(column, width)
        head.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
        self.doubleClicked.connect(self._on_double_click)
        self.selectionModel().currentRowChanged.connect(self._on_current_changed)

    # from the page

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; the cursor stays on its model, else goes to the first one."""
        self._keep_place(lambda: self.rows.show_rows(rows))

    def set_filter(self, query: str) -> None:
        """Show only what has every word."""
        self._keep_place(lambda: self.rows.set_filter(query))

    def sort_by(self, column: Column, descending: bool) -> None:
        """Order the rows."""
        self._keep_place(lambda: self.rows.sort_by(column, descending=descending))
        self.header().viewport().update()

    def show_status(self, status: EngineStatus) -> None:
        """The engine's state marks its model."""
        self.rows.show_status(status)

    def select(self, model_id: str) -> None:
        """Put the cursor on a model, now or as soon as it is in the library."""
        self._wanted_id = model_id
        line = self.rows.line_of(model_id)
        if line >= 0:
            self._go_to(line)

    def current_row(self) -> Row | None:
        """The row that the cursor is on."""
        return self.rows.row_at(self.currentIndex().row())

    def content_height(self) -> int:
        """Height of the head and all rows."""
        rows = (self.rows.row_at(line) for line in range(self.rows.rowCount()))
        return self.header().height() + sum(row_height(row) for row in rows)

    def actions_for(self, row: Row) -> list[tuple[RowAction, str, bool]]:
        """(action, words, whether it is possible) for the menu and the details."""
        ready = row.model.is_startable or row.model.is_served
        running = is_running(row.model, self.rows.status)
        is_gone = row.model.state is ModelState.MISSING
        return [
            (RowAction.START, self.tr("Chat with it") if running else self.tr("Start"), ready),
            (
                RowAction.PLAN,
                self.tr("Open in Plan"),
                row.model.is_startable and row.model.facts is not None,
            ),
            (RowAction.SHOW, self.tr("Show in folder"), not is_gone),
            (RowAction.COPY, self.tr("Copy path"), True),
            (RowAction.VERIFY, self.tr("Verify again"), not is_gone),
            (RowAction.LOOK, self.tr("Look for newer versions"), True),
            (RowAction.MOVE, self.tr("Move to another folder…"), not is_gone and not running),
            (RowAction.REMOVE, self.tr("Delete…"), not is_gone and not running),
        ]

    def menu_for(self, row: Row) -> QMenu:
        """The menu of a row: its actions, then the order of the table."""
        menu = QMenu(self)
        names = {
            RowAction.START: "play",
            RowAction.PLAN: "plan",
            RowAction.SHOW: "folder",
            RowAction.COPY: "copy",
            RowAction.VERIFY: "check",
            RowAction.MOVE: "disk",
            RowAction.REMOVE: "trash",
            RowAction.LOOK: "refresh",
        }
        for action, words, possible in self.actions_for(row):
            item = menu.addAction(icons.icon(names[action]), words)
            item.setEnabled(possible)
            item.triggered.connect(lambda _=False, a=action: self.wanted.emit(a, row.model))
        menu.addSeparator()
        order = menu.addMenu(self.tr("Sort by"))
        sorted_by, descending = self.rows.sorting
        for column in SORTABLE:
            item = QAction(self.rows.column_name(column), order)
            item.setCheckable(True)
            item.setChecked(column is sorted_by)
            turned = not descending if column is sorted_by else False
            item.triggered.connect(lambda _=False, c=column, d=turned: self.sort_by(c, d))
            order.addAction(item)
        return menu

    # Qt: painting

    def drawRow(self, painter: QPainter, options: QStyleOptionViewItem, index: Index) -> None:
        """Ground, cells, the problem's line, the ring of the keyboard's focus."""
        row = self.rows.row_at(index.row())
        if row is None:
            return
        rect = QRect(0, options.rect.y(), self.viewport().width(), options.rect.height())
        cells = {
            column: QRect(
                self.columnViewportPosition(column), rect.y(), self.columnWidth(column), ROW
            )
            for column in Column
            if not self.isColumnHidden(column)
        }
        current = index.row() == self.currentIndex().row()
        RowPainter(painter, self.rows, self._hover).paint(
            row,
            rect,
            cells,
            current=current,
            ring=current and self._keyboard and self.hasFocus(),
            line_below=index.row() < self.rows.rowCount() - 1,
        )

    # Qt: mouse and keyboard

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Hover is painted."""
        self._hover = event.position().toPoint()
        self.viewport().update()
        super().mouseMoveEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is hovered."""
        self._hover = None
        self.viewport().update()
        super().leaveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on an icon at the end of a row."""
        super().mouseReleaseEvent(event)
        place = event.position().toPoint()
        index = self.indexAt(place)
        row = self.rows.row_at(index.row())
        if (
            row is None
            or event.button() is not Qt.MouseButton.LeftButton
            or index.column() != Column.ACTIONS
        ):
            return
        for name, icon in action_places(self.visualRect(index)):
            if icon.contains(place):
                if name == "more":
                    self._pop_up(row, self.viewport().mapToGlobal(icon.bottomLeft()))
                elif row.model.is_startable or row.model.is_served:
                    self.wanted.emit(RowAction.START, row.model)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter starts, Delete asks; the arrow keys move the cursor."""
        row = self.current_row()
        if event.key() == Qt.Key.Key_Delete and row is not None:
            for action, _, possible in self.actions_for(row):
                if action is RowAction.REMOVE and possible:
                    self.wanted.emit(action, row.model)
            return
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row is not None:
            self.wanted.emit(RowAction.START, row.model)
            return
        self._keyboard = True
        super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The mouse needs no ring."""
        self._keyboard = False
        super().mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """By the right button or the menu key."""
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
            place = self.viewport().mapToGlobal(self.visualRect(index).bottomLeft())
        else:
            index = self.indexAt(event.pos())
            place = event.globalPos()
        row = self.rows.row_at(index.row())
        if row is not None:
            self._pop_up(row, place)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The keyboard's focus is shown on the current row."""
        super().focusInEvent(event)
        self._keyboard = event.reason() is not Qt.FocusReason.MouseFocusReason
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """No focus, no ring."""
        super().focusOutEvent(event)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Columns give way when the name has no room."""
        hidden = hidden_columns(self.viewport().width())
        for column in Column:
            if self.isColumnHidden(column) != (column in hidden):
                self.setColumnHidden(column, column in hidden)
        super().resizeEvent(event)

    # inside

    def _keep_place(self, change: Callable[[], None]) -> None:
        """Change the rows and put the cursor back on its model."""
        row = self.current_row()
        before = self._wanted_id or (row.model.id if row else "")
        change()
        line = self.rows.line_of(before)
        if line >= 0 and before == self._wanted_id:
            self._wanted_id = ""
        if self.rows.rowCount():
            self._go_to(max(line, 0))
        else:
            self.selected.emit(None)

    def _go_to(self, line: int) -> None:
        index = self.rows.index(line, Column.NAME)
        self.setCurrentIndex(index)
        self.scrollTo(index)
        self.selected.emit(self.current_row())

    def _on_current_changed(self, current: QModelIndex, _previous: QModelIndex) -> None:
        self.viewport().update()
        self.selected.emit(self.rows.row_at(current.row()))

    def _on_double_click(self, index: QModelIndex) -> None:
        row = self.rows.row_at(index.row())
        if row is not None and index.column() != Column.ACTIONS:
            self.wanted.emit(RowAction.START, row.model)

    def _pop_up(self, row: Row, place: QPoint) -> None:
        menu = self.menu_for(row)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)
