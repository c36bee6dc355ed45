"""The library as a table: what each cell says, how rows are sorted and filtered. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.base.units import format_context, format_file_size
from kimi_desktop.ui.dates import day_text
from kimi_desktop.ui.models.rows import Row, matches, note_of, problem_of, state_of

Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()


class Column(IntEnum):
    """The columns from left to right."""

    NAME = 0
    QUANTIZATION = 1
    PARTS = 2
    SIZE = 3
    ARCHITECTURE = 4
    CONTEXT = 5
    VERIFIED = 6
    STATE = 7
    ACTIONS = 8


SORTABLE = tuple(column for column in Column if column is not Column.ACTIONS)


class LibraryTableModel(QAbstractTableModel):
    """Rows in the order and selection of the user. ``row_at`` gives what a line shows."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: tuple[Row, ...] = ()
        self._shown: list[Row] = []
        self._status = EngineStatus(EngineState.STOPPED)
        self._query = ""
        self._sort: tuple[Column, bool] = (Column.NAME, False)

    # what the page sets

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the library."""
        self._all = tuple(rows)
        self._arrange()

    def show_status(self, status: EngineStatus) -> None:
        """The engine's state marks its model."""
        self._status = status
        if self._shown:
            last = self.index(len(self._shown) - 1, Column.STATE)
            self.dataChanged.emit(self.index(0, Column.STATE), last)

    def set_filter(self, query: str) -> None:
        """Show only what has every word."""
        if query != self._query:
            self._query = query
            self._arrange()

    def sort_by(self, column: Column, *, descending: bool) -> None:
        """Order the rows; companions stay at the end."""
        if (column, descending) != self._sort:
            self._sort = (column, descending)
            self._arrange()

    @property
    def sorting(self) -> tuple[Column, bool]:
        """The column and whether it descends."""
        return self._sort

    @property
    def is_filtered_empty(self) -> bool:
        """There are rows, and the filter hides them all."""
        return bool(self._all) and not self._shown

    def row_at(self, line: int) -> Row | None:
        """What a line shows."""
        return self._shown[line] if 0 <= line < len(self._shown) else None

    def line_of(self, model_id: str) -> int:
        """Where a model is shown, alone or with its owner; -1 when it is not."""
        for line, row in enumerate(self._shown):
            if row.stands_for(model_id):
                return line
        return -1

    @property
    def status(self) -> EngineStatus:
        """The engine's state, for the chips."""
        return self._status

    # Qt

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        """Lines shown."""
        return 0 if parent.isValid() else len(self._shown)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        """All columns, hidden ones too."""
        return 0 if parent.isValid() else len(Column)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: ANN401
        """Texts for painting, tooltips and screen readers."""
        row = self.row_at(index.row())
        if row is None:
            return None
        column = Column(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(row) if column is Column.NAME else self.text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            problem = " ".join(part for part in problem_of(row.model) if part)
            return problem or (str(row.model.path) if column is Column.NAME else None)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:  # noqa: ANN401
        """The names of the columns."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.column_name(Column(section))
        return None

    def column_name(self, column: Column) -> str:
        """A column's name; the actions have none."""
        return {
            Column.NAME: self.tr("Name"),
            Column.QUANTIZATION: self.tr("Quantization"),
            Column.PARTS: self.tr("Parts"),
            Column.SIZE: self.tr("Size"),
            Column.ARCHITECTURE: self.tr("Architecture"),
            Column.CONTEXT: self.tr("Context"),
            Column.VERIFIED: self.tr("Verified"),
            Column.STATE: self.tr("State"),
            Column.ACTIONS: "",
        }[column]

    def text(self, row: Row, column: Column) -> str:
        """What a cell says."""
        model, facts = row.model, row.model.facts
        match column:
            case Column.NAME:
                text = model.title
            case Column.PARTS:
                text = f"{model.parts_present}/{model.parts_total}"
            case Column.SIZE:
                text = format_file_size(model.size_bytes)
            case Column.STATE:
                text = state_of(row, self._status)[1]
            case Column.VERIFIED if model.verified is not None:
                text = day_text(model.verified.at)
            case Column.QUANTIZATION if facts is not None:
                text = facts.quantization
            case Column.ARCHITECTURE if facts is not None:
                text = facts.architecture
            case Column.CONTEXT if facts is not None and facts.context_train:
                text = format_context(facts.context_train)
            case _:
                text = ""
        return text

    def _spoken(self, row: Row) -> str:
        """The whole row for a screen reader."""
        columns = (Column.QUANTIZATION, Column.SIZE, Column.STATE)
        parts = [row.model.title, note_of(row), *(self.text(row, column) for column in columns)]
        if row.model.parts_total > 1:
            parts.append(
                self.tr("{count} of {total} parts").format(
                    count=row.model.parts_present, total=row.model.parts_total
                )
            )
        if row.model.verified is not None:
            parts.append(self.tr("verified {day}").format(day=day_text(row.model.verified.at)))
        parts.append(problem_of(row.model)[0])
        return ", ".join(part for part in parts if part)

    def _arrange(self) -> None:
        self.beginResetModel()
        shown = [row for row in self._all if matches(row, self._query)]
        column, descending = self._sort
        shown.sort(key=lambda row: self._key(row, column), reverse=descending)
        shown.sort(key=lambda row: row.is_companion)
        self._shown = shown
        self.endResetModel()

    def _key(self, row: Row, column: Column) -> tuple[Any, ...]:
        model, facts = row.model, row.model.facts
        first: Any
        match column:
            case Column.SIZE:
                first = model.size_bytes
            case Column.PARTS:
                first = model.parts_total
            case Column.CONTEXT:
                first = facts.context_train if facts else 0
            case Column.VERIFIED:
                first = model.verified.at if model.verified else 0.0
            case _:
                first = self.text(row, column).casefold()
        return (first, model.title.casefold(), model.size_bytes, model.id)
