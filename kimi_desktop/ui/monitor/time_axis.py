"""What stands above and below the graphs: the names of the phases, and the clock. Qt thread."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from kimi_desktop.monitor.types import Mark, Phase
from kimi_desktop.ui import icons
from kimi_desktop.ui.dates import day_text
from kimi_desktop.ui.monitor.drawing import PHASE_TONES
from kimi_desktop.ui.monitor.timeline import Span, TickKind, TimeTick, time_ticks
from kimi_desktop.ui.monitor.view import PLOT_LEFT, View
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import RADIUS_SMALL, SMALL_LINE_PX, SMALL_PX
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on

STRIP_HEIGHT = 20
MARK = 3
SWATCH = 12
SIGN = 16
ROOM_PER_TICK = 100
"""px of the axis for each label."""


def local_offset_s(at: float) -> int:
    """Of local time from UTC at that moment."""
    return time.localtime(at).tm_gmtoff


class _OverPlots(QWidget):
    """Keeps to the column of the plots."""

    def __init__(self, height: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view: View | None = None
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_view(self, view: View) -> None:
        """Another stretch of time."""
        self.view = view
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as the graphs."""
        return QSize(PLOT_LEFT + 400, self.height())


class PhaseStrip(_OverPlots):
    """The phases by name, over their shades in the graphs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(STRIP_HEIGHT, parent)
        self._words: dict[Phase, str] = {}
        self._marks: tuple[Mark, ...] = ()
        self.retranslate()

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """The moments to point at; those outside the view are not seen."""
        self._marks = tuple(marks)
        self.update()

    def word(self, phase: Phase) -> str:
        """A phase's name."""
        return self._words[phase]

    def retranslate(self) -> None:
        """Set the words."""
        self._words = {
            Phase.IDLE: self.tr("Idle"),
            Phase.LOAD: self.tr("Load"),
            Phase.PREFILL: self.tr("Prefill"),
            Phase.DECODE: self.tr("Decode"),
        }
        self.update()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """One tab per span, with its name where there is room."""
        del event
        if self.view is None:
            return
        painter = painter_on(self)
        painter.setFont(ui_font(SMALL_PX))
        for span in self.view.spans:
            self._paint_span(painter, self.view, span)
        for mark in self._marks:
            if self.view.start <= mark.at <= self.view.end:
                place = QPoint(round(PLOT_LEFT + self.view.x(mark.at)) - SIGN // 2, 2)
                icons.paint(painter, "triangle", place, SIGN, tokens().warn)
        painter.end()

    def _paint_span(self, painter: QPainter, view: View, span: Span) -> None:
        t = tokens()
        left, right = PLOT_LEFT + view.inside(span.start), PLOT_LEFT + view.inside(span.end)
        if right - left < 1:
            return
        shape = QPainterPath()
        shape.addRoundedRect(
            QRectF(left, 0, right - left, STRIP_HEIGHT + RADIUS_SMALL), RADIUS_SMALL, RADIUS_SMALL
        )
        painter.fillPath(shape, color(getattr(t, PHASE_TONES[span.phase])))
        word = self._words[span.phase]
        if QFontMetrics(painter.font()).horizontalAdvance(word) + 8 <= right - left:
            painter.setPen(color(t.text))
            place = QRectF(left, 0, right - left, STRIP_HEIGHT)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, word)


class TimeAxis(_OverPlots):
    """Round clock times below the graphs; midnight shows the day."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(SMALL_LINE_PX + MARK, parent)

    def ticks(self) -> tuple[TimeTick, ...]:
        """The marks of the present stretch."""
        if self.view is None:
            return ()
        most = max(2, self.view.width // ROOM_PER_TICK)
        offset = local_offset_s(self.view.end)
        return time_ticks(self.view.start, self.view.end, most, utc_offset_s=offset)

    def text(self, tick: TimeTick) -> str:
        """What stands at a mark."""
        if tick.kind is TickKind.DAY:
            return day_text(tick.at)
        pattern = "%H:%M" if tick.kind is TickKind.MINUTE else "%H:%M:%S"
        return time.strftime(pattern, time.localtime(tick.at))

    def changeEvent(self, event: QEvent) -> None:
        """Days follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A mark and a text each; texts at the ends stay inside."""
        del event
        if self.view is None:
            return
        t = tokens()
        painter = painter_on(self)
        font = ui_font(SMALL_PX)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(color(t.muted))
        for tick in self.ticks():
            x = PLOT_LEFT + self.view.x(tick.at)
            painter.fillRect(QRectF(round(x), 0, 1, MARK), color(t.control))
            text = self.text(tick)
            width = metrics.horizontalAdvance(text)
            left = min(max(PLOT_LEFT, x - width / 2), PLOT_LEFT + self.view.width - width)
            painter.drawText(QPointF(round(left), MARK + metrics.ascent()), text)
        painter.end()


class _Swatch(QWidget):
    """A phase's shade, outlined: the tints alone are faint."""

    def __init__(self, phase: Phase) -> None:
        super().__init__()
        self._phase = phase
        self.setFixedSize(SWATCH, SWATCH)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The square."""
        del event
        t = tokens()
        painter = painter_on(self)
        tint = getattr(t, PHASE_TONES[self._phase])
        box(painter, QRectF(self.rect()), 3, fill=tint, border=t.control)
        painter.end()


class PhaseLegend(QWidget):
    """What the shades mean."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 8, 0)
        layout.setSpacing(6)
        self._labels: dict[Phase, Label] = {}
        for phase in PHASE_TONES:
            if self._labels:
                layout.addSpacing(6)
            self._labels[phase] = Label(size=TextSize.SMALL)
            layout.addWidget(_Swatch(phase))
            layout.addWidget(self._labels[phase])

    def set_words(self, words: PhaseStrip) -> None:
        """The strip's words."""
        for phase, label in self._labels.items():
            label.setText(words.word(phase))
