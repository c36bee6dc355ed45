"""The library's view: filter, table (or why it is empty), offers, folders. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QPaintEvent, QResizeEvent, QShortcut
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.models.folders import FolderList
from kimi_desktop.ui.models.library_table import LibraryTable
from kimi_desktop.ui.models.offers import Offers
from kimi_desktop.ui.models.rows import Row
from kimi_desktop.ui.models.tasks import Tasks
from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import PageHeader
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.message_bar import EmptyState
from kimi_desktop.ui.widgets.painting import box, painter_on

LEAST_TABLE = 176
EMPTY_HEIGHT = 240
EDGE = 4
FILTER_WIDTH, LEAST_FILTER = 200, 132
NARROW = 680


class LibraryView(QScrollArea):
    """Scrolls when the window is low. ``add_wanted`` asks for a folder, ``refresh_wanted``."""

    add_wanted = Signal()
    refresh_wanted = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_rows = False
        self._scanning = False
        self.header = PageHeader()
        self.filter = Field(icon="search")
        self.refresh = IconButton("refresh", bordered=True, side=32)
        self.add = Button(icon="folder")
        self.table = LibraryTable()
        self.nothing = EmptyState("models")
        self.no_match = EmptyState()
        self.no_match.button.set_kind(ButtonKind.SECONDARY)
        self._frame = _Frame((self.table, self.nothing, self.no_match))
        self.tasks = Tasks(bridge)
        self.offers = Offers(bridge)
        self.folders = FolderList()
        self._arrange()
        self.filter.textChanged.connect(self._on_filter)
        self.refresh.clicked.connect(self.refresh_wanted)
        self.add.clicked.connect(self.add_wanted)
        self.nothing.button.clicked.connect(self.add_wanted)
        self.no_match.button.clicked.connect(self.filter.clear)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.activated.connect(self._on_find)
        again = QShortcut(QKeySequence(QKeySequence.StandardKey.Refresh), self)
        again.activated.connect(self.refresh_wanted)
        self.retranslate()

    def show_library(
        self,
        rows: Sequence[Row],
        models: tuple[LocalModel, ...],
        folders: Sequence[Path],
        missing: Sequence[Path] = (),
    ) -> None:
        """Replace everything that is shown."""
        self._has_rows = bool(rows)
        self.table.show_rows(rows)
        self.offers.show_models(models)
        self.folders.show_folders(folders, models, missing)
        self._show_frame()

    def show_scanning(self, *, scanning: bool) -> None:
        """An empty library is only called empty when it was looked through."""
        self._scanning = scanning
        self._say_nothing()

    def retranslate(self) -> None:
        """Set the words."""
        self.header.set_title("")
        self.filter.setPlaceholderText(self.tr("Filter"))
        self.filter.set_label(self.tr("Filter the library"))
        self.refresh.set_label(
            self.tr("Read the folders again"),
            QKeySequence(QKeySequence.StandardKey.Refresh).toString(),
        )
        self.add.setText(self.tr("Add a folder…"))
        self.table.setAccessibleName(self.tr("Library"))
        self.table.setAccessibleDescription(
            self.tr("Enter starts the model, the menu key has more")
        )
        self.table.header().viewport().update()
        self._say_nothing()
        self._say_no_match()
        self.offers.retranslate()
        self.folders.retranslate()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The filter gives way first."""
        super().resizeEvent(event)
        narrow = self.width() < NARROW
        self.filter.setFixedWidth(LEAST_FILTER if narrow else FILTER_WIDTH)

    def _arrange(self) -> None:
        self.header.add(self.filter)
        self.header.add(self.refresh)
        self.header.add(self.add)
        inside = QWidget()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(24, 12, 24, 24)
        layout.setSpacing(12)
        layout.addWidget(self.header)
        layout.addWidget(self.tasks)
        layout.addWidget(self._frame, 1)
        layout.addWidget(self.offers)
        layout.addWidget(self.folders)
        layout.addStretch(0)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # setWidget switches it on

    def _on_filter(self, query: str) -> None:
        self.table.set_filter(query)
        self._say_no_match()
        self._show_frame()

    def _on_find(self) -> None:
        self.filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.filter.selectAll()

    def _say_nothing(self) -> None:
        if self._scanning:
            self.nothing.set_texts(self.tr("Looking through the folders for models"), "")
            return
        self.nothing.set_texts(
            self.tr("No model yet. Add a folder that holds models, or drop one here."),
            self.tr("Add a folder…"),
        )

    def _say_no_match(self) -> None:
        text = self.tr("No model matches “{words}”.").format(words=self.filter.text())
        self.no_match.set_texts(text, self.tr("Clear the filter"))

    def _show_frame(self) -> None:
        shown: QWidget = self.table
        if not self._has_rows:
            shown = self.nothing
        elif self.table.rows.is_filtered_empty:
            shown = self.no_match
        wanted = self.table.content_height() if shown is self.table else EMPTY_HEIGHT
        self._frame.show_part(shown, wanted)


class _Frame(QWidget):
    """A panel with a line around the table, or around what stands in its place."""

    def __init__(self, parts: Sequence[QWidget]) -> None:
        super().__init__()
        self._stack = QStackedWidget()
        for part in parts:
            self._stack.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, EDGE, 1, EDGE)
        layout.addWidget(self._stack)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_part(self, part: QWidget, wanted_height: int) -> None:
        """Show one of the parts, no higher than it needs; the table scrolls when it is lower."""
        self._stack.setCurrentWidget(part)
        height = wanted_height + 2 * EDGE
        self.setMinimumHeight(min(height, LEAST_TABLE))
        self.setMaximumHeight(height)

    def sizeHint(self) -> QSize:
        return QSize(480, self.minimumHeight())

    def paintEvent(self, event: QPaintEvent) -> None:
        """The panel."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.line)
        painter.end()
