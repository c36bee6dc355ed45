"""Where models are looked for: one row per folder, to open or to forget. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.units import format_file_size
from kimi_desktop.models.companions import is_companion
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.button import IconButton
from kimi_desktop.ui.widgets.card import Divider, Heading
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on

ROW = 36


class FolderList(QWidget):
    """``open_wanted`` and ``forget_wanted`` fire with a folder."""

    open_wanted = Signal(object)
    forget_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._folders: tuple[Path, ...] = ()
        self._models: tuple[LocalModel, ...] = ()
        self._missing: tuple[Path, ...] = ()
        self._title = Heading()
        self._frame = _Frame()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._title)
        layout.addWidget(self._frame)
        self.retranslate()

    def show_folders(
        self,
        folders: Sequence[Path],
        models: Sequence[LocalModel],
        missing: Sequence[Path] = (),
    ) -> None:
        """The default folder first; it cannot be forgotten. Those that are missing say so."""
        self._folders, self._models = tuple(folders), tuple(models)
        self._missing = tuple(missing)
        self._frame.clear()
        for number, folder in enumerate(self._folders):
            row = _FolderRow(folder, is_default=number == 0)
            is_missing = folder in self._missing
            row.set_words(self._contents(folder), is_missing=is_missing)
            row.open.clicked.connect(lambda _=False, f=folder: self.open_wanted.emit(f))
            row.forget.clicked.connect(lambda _=False, f=folder: self.forget_wanted.emit(f))
            self._frame.add(row)

    def rows(self) -> tuple[_FolderRow, ...]:
        """The rows, in order."""
        return self._frame.rows()

    def retranslate(self) -> None:
        """Set the words."""
        self._title.setText(self.tr("Folders"))
        self.show_folders(self._folders, self._models, self._missing)

    def _contents(self, folder: Path) -> str:
        """How many models are there and how large they are; nothing is read from the disk."""
        inside = [model for model in self._models if model.path.is_relative_to(folder)]
        if folder in self._missing:
            return self.tr("not there: is its drive connected?")
        if not inside:
            return self.tr("no models found")
        size = format_file_size(sum(model.size_bytes for model in inside))
        whole = sum(not is_companion(model) for model in inside)
        one, several = self.tr("One model, {size}"), self.tr("{count} models, {size}")
        return (one if whole == 1 else several).format(count=whole, size=size)


class _Frame(QWidget):
    """A panel with a line around, rows divided by lines."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        self._layout.setSpacing(0)

    def clear(self) -> None:
        while (item := self._layout.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()

    def add(self, row: _FolderRow) -> None:
        if self._layout.count():
            self._layout.addWidget(Divider())
        self._layout.addWidget(row)

    def rows(self) -> tuple[_FolderRow, ...]:
        items = (self._layout.itemAt(i) for i in range(self._layout.count()))
        widgets = (item.widget() for item in items if item is not None)
        return tuple(widget for widget in widgets if isinstance(widget, _FolderRow))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The panel."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.line)
        painter.end()


class _FolderRow(QWidget):
    """One folder."""

    def __init__(self, folder: Path, *, is_default: bool) -> None:
        super().__init__()
        self.folder = folder
        self.path = ElidedLabel(str(folder), mode=Qt.TextElideMode.ElideMiddle)
        self._default = Label(self.tr("default"), size=TextSize.SMALL, tone="muted")
        self._default.setVisible(is_default)
        self.contents = Label(size=TextSize.SMALL, tone="muted")
        self.open = IconButton("folder", self.tr("Open {path}").format(path=folder))
        self.forget = IconButton("close", self.tr("Forget {path}").format(path=folder))
        self.forget.setToolTip(self.tr("Forget this folder. Its files stay where they are."))
        self.forget.setEnabled(not is_default)
        self.forget.setVisible(not is_default)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 0, 4, 0)
        layout.setSpacing(8)
        layout.addWidget(self.path, 1)
        layout.addWidget(self._default)
        layout.addWidget(self.contents)
        layout.addWidget(self.open)
        layout.addWidget(self.forget)
        self.setFixedHeight(ROW)

    def set_words(self, contents: str, *, is_missing: bool) -> None:
        self.contents.setText(contents)
        self.contents.set_tone("warn" if is_missing else "muted")
        self.open.setEnabled(not is_missing)
