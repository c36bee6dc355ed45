"""Why a run of the notebook failed, was slow or wrote nonsense: the same panel as at that time.

Qt thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.messages import Language, cause_sentences, describe_error, message
from kimi_desktop.base.units import format_count
from kimi_desktop.diagnosis.report import slow_sentence
from kimi_desktop.diagnosis.types import KeptFailure
from kimi_desktop.monitor.run_types import RunRecord
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.dates import time_text
from kimi_desktop.ui.language import language
from kimi_desktop.ui.monitor.run_words import moment
from kimi_desktop.ui.way_out import way_fix
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import MEDIUM, Label
from kimi_desktop.ui.widgets.message_bar import FailurePanel, Fix

EVIDENCE_LINES = 4
MOST_FIXES = 3


class RunFailure(QWidget):
    """Hidden until ``show_run``; the cross hides it again."""

    start_wanted = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._run: RunRecord | None = None
        self._kept: tuple[KeptFailure, ...] = ()
        self._title = Label(weight=MEDIUM)
        self.which = Select(small=True)
        self.panel = FailurePanel()
        self.panel.set_closable()
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._title, 1)
        head.addWidget(self.which)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(self.panel)
        self.which.activated.connect(lambda _: self._fill())
        self.panel.closed.connect(self.hide)
        self.panel.log_wanted.connect(self._show_log)
        self.panel.diagnostics_wanted.connect(self._copy)
        self.hide()

    @property
    def run_id(self) -> int | None:
        """Of which run it tells."""
        return self._run.id if self._run is not None else None

    def show_run(self, run: RunRecord, kept: Sequence[KeptFailure]) -> None:
        """What was kept of a run, at least one; the newest first."""
        self._run, self._kept = run, tuple(reversed(kept))
        self.retranslate()
        self.show()
        self.panel.close_button().setFocus()

    def retranslate(self) -> None:
        """Set the words."""
        if self._run is None:
            return
        what = f"{self._run.title} {self._run.quantization}".strip()
        self._title.setText(f"{what} · {moment(self._run)}")
        place = max(self.which.currentIndex(), 0)
        self.which.clear()
        for kept in self._kept:
            self.which.addItem(f"{time_text(kept.at)} {_words(kept)[0]}")
        self.which.setCurrentIndex(min(place, len(self._kept) - 1))
        self.which.set_label(self.tr("What was seen"))
        self.which.setVisible(len(self._kept) > 1)
        self._fill()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _shown(self) -> KeptFailure:
        return self._kept[max(self.which.currentIndex(), 0)]

    def _fill(self) -> None:
        kept, run = self._shown(), self._run
        self.panel.show_cause(*_words(kept), time_text(kept.at))
        best = kept.reading.diagnosis.cause
        if best is not None and best.line_number is not None and kept.figure is None:
            title = self.tr("Evidence, line {number} of the engine's log")
            number = format_count(best.line_number + 1)
            self.panel.show_evidence((best.line,), title.format(number=number))
        elif best is not None and best.line:
            self.panel.show_evidence((best.line,), self.tr("Evidence: facts of that time"))
        else:
            lines = kept.log.splitlines()[-EVIDENCE_LINES:]
            self.panel.show_evidence(lines, self.tr("Evidence: the end of the engine's log"))
        ways = [way_fix(self._bridge, way) for way in kept.reading.ways]
        again = Fix(
            self.tr("Start it once more"),
            self.tr("With the settings of this run."),
            self.tr("Start"),
            lambda: self.start_wanted.emit(run),
        )
        self.panel.show_fixes([*ways[: MOST_FIXES - 1], again])

    def _show_log(self) -> None:
        from kimi_desktop.ui.log_view import LogView, marked_lines  # noqa: PLC0415 - when asked

        kept = self._shown()
        is_failure = kept.log == kept.reading.evidence.log
        lines = marked_lines(kept.reading.diagnosis) if is_failure else ((), ())
        self._bridge.navigation.open_overlay(lambda window: LogView(window, kept.log, *lines))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._shown().bundle)
        self._bridge.navigation.tell(
            self.tr("Diagnostics copied. Keys, names and home folders are removed.")
        )


def _words(kept: KeptFailure) -> tuple[str, str]:
    """The cause, and why with what helps."""
    spoken, best, error = language(), kept.reading.diagnosis.cause, kept.reading.error
    between = "" if spoken is Language.ZH_CN else " "
    sentences: tuple[str, ...] = cause_sentences(best.cause, spoken) if best is not None else ()
    if kept.figure is not None:
        rest = between.join(sentences) or message("diagnosis.slow.unknown", spoken)
        return slow_sentence(kept.figure, spoken), rest
    if kept.odd is not None:
        rest = between.join(sentences) or message("diagnosis.unknown", spoken)
        return message("diagnosis.odd_answer", spoken), rest
    if sentences:
        return sentences[0], between.join(sentences[1:])
    if error is not None:
        return describe_error(error, spoken)
    return message("diagnosis.unknown", spoken), message("diagnosis.unknown.do", spoken)
