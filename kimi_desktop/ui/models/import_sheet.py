"""What other programs have on this computer, to be taken into the library. Qt thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.imports.types import FoundModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox

MOST_HEIGHT = 340
ROW = 44


class ImportSheet(Overlay):
    """``on_chosen`` runs with the models to import."""

    def __init__(
        self,
        window: QWidget,
        bridge: Bridge,
        on_chosen: Callable[[tuple[FoundModel, ...]], None],
        folder: Path | None = None,
    ) -> None:
        """``folder``: where to look instead of the usual places."""
        super().__init__(window, width=720)
        self._bridge = bridge
        self._on_chosen = on_chosen
        self._busy = False
        self.rows: list[_FoundRow] = []
        heading = self.tr("Import what is already here")
        note = self.tr(
            "Every file is read and proven by its hash, then linked: nothing is copied, and the "
            "other program keeps it."
        )
        self.status = Label(wrap=True, tone="muted")
        self.failure = Label(wrap=True, tone="bad")
        self.failure.hide()
        self._inside = QWidget()
        self._list = QVBoxLayout(self._inside)
        self._list.setContentsMargins(0, 0, 8, 0)
        self._list.setSpacing(0)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.viewport().setAutoFillBackground(False)
        self._area.setWidget(self._inside)
        self._inside.setAutoFillBackground(False)  # setWidget switches it on
        self.other = Button(self.tr("Choose a folder…"), icon="folder")
        self.cancel_button = Button(self.tr("Cancel"))
        self.import_button = Button(kind=ButtonKind.PRIMARY, icon="link")
        self.other.clicked.connect(self._choose_folder)
        self.cancel_button.clicked.connect(self.dismiss)
        self.import_button.clicked.connect(self._confirm)
        self.body.addWidget(Label(heading, size=TextSize.HEADING, weight=SEMIBOLD))
        self.body.addWidget(Label(note, wrap=True, tone="muted"))
        for widget in (self.status, self._area, self.failure):
            self.body.addWidget(widget)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.other)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.import_button)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(heading)
        self.look(folder)

    def look(self, folder: Path | None) -> None:
        """Look into a folder, or at the usual places."""
        self._busy = True
        self.failure.hide()
        self._show_rows(())
        find = self._bridge.services.imports.find(folder)
        self._bridge.watch(find, self._on_found, self._on_failed)

    def chosen(self) -> tuple[FoundModel, ...]:
        """Those that are ticked."""
        return tuple(row.model for row in self.rows if row.box.isChecked())

    def _on_found(self, models: Sequence[FoundModel]) -> None:
        self._busy = False
        self._show_rows(models)

    def _on_failed(self, error: BaseException) -> None:
        self._busy = False
        self._show_rows(())
        self.status.hide()
        self.failure.setText(" ".join(describe_error(error, language())))
        self.failure.show()
        self._cover()

    def _show_rows(self, models: Sequence[FoundModel]) -> None:
        for row in self.rows:
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = []
        for model in models:
            row = _FoundRow(model)
            row.box.setChecked(len(models) == 1)
            row.box.toggled.connect(self._say)
            self.rows.append(row)
            self._list.addWidget(row)
        self._area.setVisible(bool(models))
        self._area.setFixedHeight(min(MOST_HEIGHT, ROW * len(models) + 2))
        self._say()
        self._cover()
        if self.rows:
            self.rows[0].box.setFocus(Qt.FocusReason.OtherFocusReason)

    def _say(self) -> None:
        chosen = self.chosen()
        if self._busy:
            self.status.setText(
                self.tr("Looking at the places of Hugging Face, ModelScope, LM Studio, Jan, Ollama")
            )
        elif not self.rows:
            self.status.setText(message("imports.no_places", language()))
        self.status.setVisible(self._busy or not self.rows)
        size = format_file_size(sum(model.size_bytes for model in chosen))
        words = self.tr("Import")
        if chosen:
            words = self.tr("Import {count}, {size}").format(count=len(chosen), size=size)
        self.import_button.setText(words)
        self.import_button.setEnabled(bool(chosen))

    def _choose_folder(self) -> None:
        name = QFileDialog.getExistingDirectory(self, self.tr("Import from which folder?"))
        if name:
            self.look(Path(name))

    def _confirm(self) -> None:
        chosen = self.chosen()
        if chosen:
            self.dismiss()
            self._on_chosen(chosen)


class _FoundRow(QWidget):
    """A model of another program: tick, size, whose, where."""

    def __init__(self, model: FoundModel) -> None:
        super().__init__()
        self.model = model
        self.box = CheckBox(model.name)
        origin = message(f"imports.origin.{model.origin.value}", language())
        self.where = ElidedLabel(
            f"{origin} · {model.place}",
            size=TextSize.SMALL,
            tone="muted",
            mode=Qt.TextElideMode.ElideMiddle,
        )
        self.size_label = Label(format_file_size(model.size_bytes), size=TextSize.SMALL, mono=True)
        self.box.setAccessibleDescription(f"{self.size_label.text()}, {self.where.full_text()}")
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self.box)
        texts.addWidget(self.where)
        self.where.setContentsMargins(24, 0, 0, 0)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 2, 2, 2)
        layout.setSpacing(16)
        layout.addLayout(texts, 1)
        layout.addWidget(self.size_label)
        self.setFixedHeight(ROW)
