"""One run in the list: what, when, settings, measured beside forecast, outcome. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.monitor.run_types import Outcome, RunRecord
from kimi_desktop.ui.dates import time_text
from kimi_desktop.ui.monitor.run_words import (
    decode_words,
    forecast_words,
    load_words,
    moment,
    outcome_words,
    settings_words,
    stands,
)
from kimi_desktop.ui.widgets.button import Button, IconButton
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import MEDIUM, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox

SPEED_PX, LOAD_PX, NOTE_PX = 150, 90, 108


class RunRow(QWidget):
    """Tick two to compare them; a star keeps a run and makes its settings the model's own."""

    ticked = Signal()
    starred = Signal(int, bool)
    noted = Signal(int, str)
    again_wanted = Signal(int)
    graphs_wanted = Signal(int)
    reasons_wanted = Signal(int)
    deletion_wanted = Signal(int)

    def __init__(self, run: RunRecord, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.run = run
        self.tick = CheckBox()
        self.star = IconButton("star", checkable=True)
        self.star.setChecked(run.starred)
        self.note = Field(small=True)
        self.note.setText(run.note)
        self.again = Button(small=True, icon="play")
        self.reasons = IconButton("triangle")
        keeps_place = self.reasons.sizePolicy()
        keeps_place.setRetainSizeWhenHidden(True)
        self.reasons.setSizePolicy(keeps_place)
        self.reasons.setVisible(run.n_facts > 0)
        self.graphs = IconButton("monitor")
        self.delete = IconButton("trash")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        line = QHBoxLayout()
        line.setContentsMargins(0, 8, 0, 8)
        line.setSpacing(12)
        line.addWidget(self.tick)
        line.addWidget(self.star)
        line.addLayout(self._what(), 1)
        line.addLayout(_pair(decode_words(run), forecast_words(run), SPEED_PX, _tone(run)))
        line.addLayout(_pair(load_words(run), self.tr("load"), LOAD_PX))
        line.addWidget(self.note)
        line.addWidget(self.reasons)
        line.addWidget(self.graphs)
        line.addWidget(self.again)
        line.addWidget(self.delete)
        layout.addLayout(line)
        layout.addWidget(Divider())
        self.note.setFixedWidth(NOTE_PX)
        self.note.setAlignment(Qt.AlignmentFlag.AlignLeft)
        self.tick.clicked.connect(self.ticked)
        self.star.clicked.connect(lambda on: self.starred.emit(run.id, on))
        self.note.editingFinished.connect(self._on_noted)
        self.again.clicked.connect(lambda: self.again_wanted.emit(run.id))
        self.reasons.clicked.connect(lambda: self.reasons_wanted.emit(run.id))
        self.graphs.clicked.connect(lambda: self.graphs_wanted.emit(run.id))
        self.delete.clicked.connect(lambda: self.deletion_wanted.emit(run.id))
        self._name_all()

    def _what(self) -> QVBoxLayout:
        run = self.run
        name = ElidedLabel(weight=MEDIUM)
        name.setText(f"{run.title} {run.quantization}".strip())
        when = moment(run)
        detail = ElidedLabel(size=TextSize.SMALL, tone="muted")
        detail.setText(f"{when} · {settings_words(run)}")
        ended = ElidedLabel(size=TextSize.SMALL, tone=_outcome_tone(run))
        ended.setText(outcome_words(run))
        column = QVBoxLayout()
        column.setSpacing(0)
        for label in (name, detail, ended):
            column.addWidget(label)
        return column

    def _name_all(self) -> None:
        what = f"{self.run.title} {time_text(self.run.started_at)}"
        self.tick.setAccessibleName(self.tr("Compare {run}").format(run=what))
        self.star.set_label(
            self.tr("Starred: its settings are the model's own")
            if self.run.starred
            else self.tr("Star it: keep it, and start the model with these settings")
        )
        self.note.set_label(self.tr("Note on {run}").format(run=what))
        self.note.setPlaceholderText(self.tr("Note"))
        self.again.setText(self.tr("Start"))
        self.again.setAccessibleDescription(what)
        self.reasons.set_label(
            self.tr("Why {run} failed, was slow or wrote nonsense").format(run=what)
        )
        self.graphs.set_label(self.tr("Graphs of {run}").format(run=what))
        self.delete.set_label(self.tr("Forget {run}").format(run=what))

    def _on_noted(self) -> None:
        if self.note.text() != self.run.note:
            self.noted.emit(self.run.id, self.note.text())


def _pair(value: str, below: str, width: int, tone: str = "text") -> QVBoxLayout:
    figure = Label(value, weight=MEDIUM, tone=tone)
    small = Label(below, size=TextSize.SMALL, tone="muted")
    figure.setFixedWidth(width)
    column = QVBoxLayout()
    column.setSpacing(0)
    column.addWidget(figure)
    column.addWidget(small)
    return column


def _tone(run: RunRecord) -> str:
    return "warn" if stands(run.measured.decode_tps, run.forecast.decode_tps) < 0 else "text"


def _outcome_tone(run: RunRecord) -> str:
    return "bad" if run.outcome is Outcome.FAILED else "muted"
