"""What is folded away: batch, micro-batch, threads. Qt thread."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.units import format_count
from kimi_desktop.ui import icons
from kimi_desktop.ui.plan.choices import BATCHES
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, SMALL_PX
from kimi_desktop.ui.widgets.field import LabeledField, Select
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.painting import painter_on

CHEVRON = 16
FOLD_HEIGHT = 28


class Fold(Focusable, QPushButton):
    """A chevron, a word and a muted summary; opens and closes what is below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary = ""
        self.setCheckable(True)
        self.setAutoDefault(True)
        self.setFixedHeight(FOLD_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_texts(self, word: str, summary: str) -> None:
        """The word, and what is folded away in short."""
        self.setText(word)
        self._summary = summary
        self.setAccessibleName(word)
        self.setAccessibleDescription(summary)
        self.update()

    def summary(self) -> str:
        """The muted text."""
        return self._summary

    def paintEvent(self, event: QPaintEvent) -> None:
        """Chevron, word, summary."""
        del event
        t = tokens()
        painter = painter_on(self)
        ink = t.text if self.underMouse() else t.muted
        name = "chevron-down" if self.isChecked() else "chevron-right"
        icons.paint(painter, name, QPoint(0, (self.height() - CHEVRON) // 2), CHEVRON, ink)
        font = ui_font(BODY_PX)
        painter.setFont(font)
        painter.setPen(color(ink))
        x = CHEVRON + 8
        place = self.rect().adjusted(x, 0, 0, 0)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.text())
        x += QFontMetrics(font).horizontalAdvance(self.text()) + 8
        small = ui_font(SMALL_PX)
        painter.setFont(small)
        painter.setPen(color(t.muted))
        place = self.rect().adjusted(x, 0, 0, 0)
        shown = QFontMetrics(small).elidedText(
            self._summary, Qt.TextElideMode.ElideRight, place.width()
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()


class AdvancedSection(QWidget):
    """``changed`` fires after the user changed something; ``apply_to`` has the result."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._physical_cores: int | None = None
        self._settings: LoadSettings | None = None
        self.fold = Fold()
        self.batch = Select()
        self.micro_batch = Select()
        self.threads = Select()
        self._fields = [LabeledField(s) for s in (self.batch, self.micro_batch, self.threads)]
        self._body = QWidget()
        row = QHBoxLayout(self._body)
        row.setContentsMargins(0, 4, 0, 0)
        row.setSpacing(16)
        for field in self._fields:
            row.addWidget(field, 1, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.fold)
        layout.addWidget(self._body)
        self._body.hide()
        self.fold.toggled.connect(self._body.setVisible)
        for select in (self.batch, self.micro_batch, self.threads):
            select.activated.connect(self._on_activated)
        self.retranslate()

    def show_settings(
        self, settings: LoadSettings, physical_cores: int | None, logical_cores: int | None
    ) -> None:
        """Show a plan; threads go up to the logical cores where they are known."""
        self._settings = settings
        self._physical_cores = physical_cores
        for select, value in (
            (self.batch, settings.n_batch),
            (self.micro_batch, settings.n_ubatch),
        ):
            sizes = sorted({*BATCHES, value})
            _fill(select, [(format_count(size), size) for size in sizes], value)
        most = max(logical_cores or 1, settings.n_threads or 1)
        choices: list[tuple[str, int]] = [(self._automatic(), 0)]
        choices += [(format_count(count), count) for count in range(1, most + 1)]
        _fill(self.threads, choices, settings.n_threads or 0)
        self._say()

    def apply_to(self, settings: LoadSettings) -> LoadSettings:
        """The plan with what is chosen here."""
        return dataclasses.replace(
            settings,
            n_batch=self.batch.currentData(),
            n_ubatch=self.micro_batch.currentData(),
            n_threads=self.threads.currentData() or None,
        )

    def retranslate(self) -> None:
        """Set the words."""
        names = (self.tr("Batch"), self.tr("Micro-batch"), self.tr("Threads"))
        for field, name in zip(self._fields, names, strict=True):
            field.set_label(name)
        if self.threads.count():
            self.threads.setItemText(0, self._automatic())
        self._say()

    def _automatic(self) -> str:
        if self._physical_cores is None:
            return self.tr("Automatic")
        return self.tr("Automatic ({count})").format(count=self._physical_cores)

    def _say(self) -> None:
        if self._settings is None:
            self.fold.set_texts(self.tr("Advanced"), "")
            return
        threads = self._settings.n_threads or self._physical_cores
        parts = [
            self.tr("batch {count}").format(count=format_count(self._settings.n_batch)),
            self.tr("micro-batch {count}").format(count=format_count(self._settings.n_ubatch)),
        ]
        if threads:
            parts.append(self.tr("{count} threads").format(count=threads))
        self.fold.set_texts(self.tr("Advanced"), " · ".join(parts))
        over = self._settings.n_ubatch > self._settings.n_batch
        self._fields[1].set_note(self.tr("The batch limits it.") if over else "")
        crowded = bool(self._physical_cores and threads and threads > self._physical_cores)
        self._fields[2].set_note(
            self.tr("More than physical cores: decode gets slower.") if crowded else ""
        )

    def _on_activated(self) -> None:
        self.changed.emit()


def _fill(select: Select, choices: list[tuple[str, int]], value: int) -> None:
    """Put the items in, unless they are there, and choose one."""
    there = [(select.itemText(place), select.itemData(place)) for place in range(select.count())]
    if there != choices:
        select.clear()
        for text, key in choices:
            select.addItem(text, key)
    select.choose(value)
