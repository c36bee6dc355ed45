"""What is asked and told about one download: cancel, files and details. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QHeaderView, QTableView, QWidget

from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.queue_types import (
    DownloadFile,
    DownloadStatus,
    PartState,
    PartStatus,
)
from kimi_desktop.ui.download_words import (
    facts_of,
    full_title,
    hub_name,
    parts_of,
    sentence_of,
    state_of,
)
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.theme import mono_font
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize

Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
SHORT_HASH = 16
ROW = 27


class CancelSheet(Overlay):
    """``on_cancel`` runs with whether the bytes that came are kept."""

    def __init__(
        self, window: QWidget, status: DownloadStatus, on_cancel: Callable[[bool], None]
    ) -> None:
        super().__init__(window, width=480)
        self._on_cancel = on_cancel
        size = format_file_size(status.done_bytes)
        name = full_title(status.title)
        heading = self.tr("Cancel the download of {name}?").format(name=name)
        detail = self.tr(
            "{size} are here. Kept, they count when it is started again; files that are whole and "
            "verified stay in the library either way."
        ).format(size=size)
        self.back_button = Button(self.tr("Go on"))
        self.keep_button = Button(self.tr("Cancel, keep {size}").format(size=size))
        self.delete_button = Button(
            self.tr("Cancel and delete"), kind=ButtonKind.DANGER, icon="trash"
        )
        self.back_button.clicked.connect(self.dismiss)
        self.keep_button.clicked.connect(lambda: self._cancel(keep=True))
        self.delete_button.clicked.connect(lambda: self._cancel(keep=False))
        self.body.addWidget(Label(heading, size=TextSize.HEADING, weight=SEMIBOLD, wrap=True))
        self.body.addWidget(Label(detail, wrap=True, tone="muted"))
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.back_button)
        buttons.addStretch(1)
        buttons.addWidget(self.keep_button)
        buttons.addWidget(self.delete_button)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(f"{heading} {detail}")

    def _cancel(self, *, keep: bool) -> None:
        self.dismiss()
        self._on_cancel(keep)


class DetailsSheet(Overlay):
    """Every file with its size, state, hash and sources; all of it to copy."""

    def __init__(
        self, window: QWidget, status: DownloadStatus, files: Sequence[DownloadFile]
    ) -> None:
        super().__init__(window, width=920)
        self._status = status
        self.table = _FileTable(files, parts_of(status))
        heading = full_title(status.title)
        facts = [status.title, status.folder]
        commit = status.commit[:12]
        if commit:
            facts.append(self.tr("Revision {commit}").format(commit=commit))
        if status.licence:
            facts.append(self.tr("Licence {licence}").format(licence=status.licence))
        self.note = Label(" · ".join(facts), size=TextSize.SMALL, tone="muted", wrap=True)
        text, advice = sentence_of(status)
        self.problem = Label(f"{text} {advice}".strip(), wrap=True, tone="bad")
        self.problem.setVisible(bool(text))
        view = QTableView()
        view.setModel(self.table)
        view.setFont(mono_font(SMALL_PX))
        view.verticalHeader().hide()
        view.setShowGrid(False)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setTabKeyNavigation(False)
        view.setMinimumHeight(360)
        view.setProperty("bare", True)
        view.setFrameShape(QTableView.Shape.NoFrame)
        view.verticalHeader().setDefaultSectionSize(ROW)
        view.setAccessibleName(self.tr("Files"))
        head = view.horizontalHeader()
        head.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        head.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        head.setHighlightSections(False)
        head.setProperty("bare", True)
        head.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        head.setFixedHeight(ROW)
        self.copy_button = Button(self.tr("Copy"), icon="copy")
        self.copy_button.clicked.connect(self._copy)
        close = Button(self.tr("Close"))
        close.clicked.connect(self.dismiss)
        self.body.addWidget(Label(heading, size=TextSize.HEADING, weight=SEMIBOLD))
        self.body.addWidget(self.note)
        self.body.addWidget(self.problem)
        self.body.addWidget(view)
        buttons = QHBoxLayout()
        buttons.addWidget(self.copy_button)
        buttons.addStretch(1)
        buttons.addWidget(close)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(heading)

    def text(self) -> str:
        """All of it, one line a file."""
        status = self._status
        head = [status.title, state_of(status)[2]]
        head += [fact.whole for fact in facts_of(status)]
        rows = [
            "\t".join(self.table.cell(row, column) for column in range(self.table.columnCount()))
            for row in range(self.table.rowCount())
        ]
        return "\n".join([", ".join(head), self.note.text(), self.problem.text(), *rows])

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text())
        self.copy_button.set_icon("check")


class _FileTable(QAbstractTableModel):
    """Name, size, state, SHA-256, sources."""

    def __init__(self, files: Sequence[DownloadFile], parts: Sequence[PartStatus]) -> None:
        super().__init__()
        self._files = tuple(files)
        self._parts = tuple(parts)

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        """One a file."""
        return 0 if parent.isValid() else len(self._files)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        """Five."""
        return 0 if parent.isValid() else 5

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The words of a cell; the whole hash as its tooltip."""
        if role == Qt.ItemDataRole.DisplayRole:
            return self.cell(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 3:
            return self._files[index.row()].sha256 or None
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == 1:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """The names of the columns."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (
                self.tr("File"),
                self.tr("Size"),
                self.tr("State"),
                "SHA-256",
                self.tr("Sources"),
            )[section]
        return None

    def cell(self, row: int, column: int) -> str:
        """What a cell says."""
        file = self._files[row]
        return (
            file.name,
            format_file_size(file.size_bytes),
            self._state(row),
            f"{file.sha256[:SHORT_HASH]}…" if file.sha256 else "–",
            ", ".join(hub_name(endpoint) for endpoint in file.sources),
        )[column]

    def _state(self, row: int) -> str:
        if row >= len(self._parts):
            return "–"
        part = self._parts[row]
        share = f"{int(part.share * 100)}%"
        return {
            PartState.WAITING: self.tr("waiting"),
            PartState.COMING: self.tr("{share} here").format(share=share),
            PartState.CHECKING: self.tr("{share} checked").format(share=share),
            PartState.DONE: self.tr("verified"),
            PartState.DAMAGED: self.tr("damaged"),
        }[part.state]
