"""All graphs under one time axis, and the cursor that reads them. Qt thread.

The strip of phases and the clock stay in place while the graphs scroll. The cursor is the mouse's
or the keyboard's: the mouse's keeps its place on the screen, the keyboard's stays on its sample
while time goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.monitor.types import Mark, Sample
from kimi_desktop.ui.dates import day_text
from kimi_desktop.ui.monitor.drawing import LINE, PADDING
from kimi_desktop.ui.monitor.graph_row import GraphRow, plain_height
from kimi_desktop.ui.monitor.graphs import Graph
from kimi_desktop.ui.monitor.reader import Reader
from kimi_desktop.ui.monitor.readout import ReadOut
from kimi_desktop.ui.monitor.run_words import mark_words
from kimi_desktop.ui.monitor.time_axis import PhaseStrip, TimeAxis
from kimi_desktop.ui.monitor.view import PLOT_LEFT, View, view_of
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import Label, TextSize

RIGHT = 16
"""Free at the right of the plots: the scroll bar's place, whether it is there or not."""
MOST_GROWTH = 1.9
MARK_REACH = 8
"""px from a mark that still point at it."""
FAR = 10
"""Samples that Ctrl+Left and Ctrl+Right skip."""


class _Stack(QWidget):
    """The graphs, one below the other. Hands on where the mouse is."""

    def __init__(self, on_pointer: Callable[[QPoint | None], None]) -> None:
        super().__init__()
        self._on_pointer = on_pointer
        self.setMouseTracking(True)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(0)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Also what the graphs did not take."""
        self._on_pointer(event.position().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        """No mouse, no cursor."""
        super().leaveEvent(event)
        self._on_pointer(None)


class GraphBoard(Focusable, QWidget):
    """Shows what ``show_samples`` gives it. One Tab stop; Left and Right move the cursor."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._samples: tuple[Sample, ...] = ()
        self._window = (0.0, 1.0)
        self._view: View | None = None
        self._reader: Reader | None = None
        self._graphs: tuple[Graph, ...] = ()
        self._marks: tuple[Mark, ...] = ()
        self._rows: list[GraphRow] = []
        self._pointer: QPoint | None = None
        self._index: int | None = None
        self._chosen_at: float | None = None
        self.strip = PhaseStrip()
        self.axis = TimeAxis()
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self._note.setContentsMargins(0, PADDING, RIGHT, PADDING)
        self._note.hide()
        self._stack = _Stack(self.point_at)
        self._stack.body.addWidget(self._note)
        self._stack.body.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.viewport().setAutoFillBackground(False)
        self._stack.setAutoFillBackground(False)
        self._scroll.setWidget(self._stack)
        self._scroll.verticalScrollBar().valueChanged.connect(self._show_cursor)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.strip)
        layout.addWidget(self._scroll, 1)
        layout.addWidget(self.axis)
        self.readout = ReadOut(self)
        self.retranslate()

    @property
    def rows(self) -> tuple[GraphRow, ...]:
        """The graphs in use, from the top down."""
        return tuple(self._rows)

    @property
    def plot_width(self) -> int:
        """From the axes to the right edge, in px."""
        return max(1, self.width() - PLOT_LEFT - RIGHT)

    def show_samples(
        self,
        samples: Sequence[Sample],
        newest: Sample,
        window: tuple[float, float],
        reader: Reader,
        marks: Sequence[Mark] = (),
    ) -> None:
        """Newer samples (at least one), or another window of time (start, end)."""
        self._samples, self._window, self._reader = tuple(samples), window, reader
        self._graphs = reader.graphs(samples, newest)
        self._marks = tuple(marks)
        self.strip.show_marks(self._marks)
        while len(self._rows) < len(self._graphs):
            row = GraphRow()
            self._rows.append(row)
            self._stack.body.insertWidget(len(self._rows) - 1, row)
        while len(self._rows) > len(self._graphs):
            row = self._rows.pop()
            row.hide()
            row.deleteLater()
        note = "" if reader.gpu_indices(samples) else reader.why_no_gpu()
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._lay_out()

    def cursor_index(self) -> int | None:
        """The sample that the cursor is on."""
        return self._index

    def clear_cursor(self) -> None:
        """Take the keyboard's cursor away."""
        self._chosen_at = None
        self._show_cursor()

    def retranslate(self) -> None:
        """Set the words."""
        self.setAccessibleName(self.tr("Graphs"))
        self.setAccessibleDescription(
            self.tr("The left and right arrow keys read the graphs, Home and End go to the ends.")
        )

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The graphs share the height."""
        super().resizeEvent(event)
        self._lay_out()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move the cursor, scroll, or let go of it."""
        step = FAR if event.modifiers() & Qt.KeyboardModifier.ControlModifier else 1
        bar = self._scroll.verticalScrollBar()
        key = event.key()
        if key == Qt.Key.Key_Left:
            self._step(-step)
        elif key == Qt.Key.Key_Right:
            self._step(step)
        elif key == Qt.Key.Key_Home:
            self._choose(0)
        elif key == Qt.Key.Key_End:
            self._choose(-1)
        elif key == Qt.Key.Key_Up:
            bar.setValue(bar.value() - bar.singleStep())
        elif key == Qt.Key.Key_Down:
            bar.setValue(bar.value() + bar.singleStep())
        elif key == Qt.Key.Key_PageUp:
            bar.setValue(bar.value() - bar.pageStep())
        elif key == Qt.Key.Key_PageDown:
            bar.setValue(bar.value() + bar.pageStep())
        elif key == Qt.Key.Key_Escape and self._chosen_at is not None:
            self.clear_cursor()
        else:
            super().keyPressEvent(event)

    def _lay_out(self) -> None:
        """Give every graph its height, its samples and the cursor."""
        if not self._samples or self._reader is None:
            return
        self._view = view_of(self._samples, *self._window, self.plot_width)
        plain = [plain_height(graph) for graph in self._graphs]
        frame = len(plain) * (2 * PADDING + LINE)
        note = self._note.heightForWidth(self.width()) if self._note.text() else 0
        room = self._scroll.height() - frame - note
        growth = min(MOST_GROWTH, max(1.0, room / sum(plain)))
        for row, graph, height in zip(self._rows, self._graphs, plain, strict=True):
            row.set_content_height(int(height * growth))
            row.show_graph(graph, self._view, self._reader)
        self.strip.show_view(self._view)
        self.axis.show_view(self._view)
        self._show_cursor()

    def point_at(self, place: QPoint | None) -> None:
        """The mouse is there, in px of the graphs' stack; None: it has left."""
        over = place is not None and 0 <= place.x() - PLOT_LEFT <= self.plot_width
        self._pointer = self._stack.mapTo(self, place) if over and place is not None else None
        self._show_cursor()

    def _step(self, step: int) -> None:
        """Move the keyboard's cursor by so many samples."""
        view, chosen = self._view, self._chosen_at
        if view is None:
            return
        if chosen is None:
            self._choose(-1 if step < 0 else 0)
            return
        shown = view.shown()
        now = min(shown, key=lambda index: abs(view.times[index] - chosen))
        self._choose(min(max(now - shown.start + step, 0), len(shown) - 1))

    def _choose(self, place: int) -> None:
        """Put the keyboard's cursor on a sample of the window, counted as a list is."""
        if self._view is not None:
            self._pointer = None  # a mouse that rests on the graphs gives way
            self._chosen_at = self._view.times[self._view.shown()[place]]
            self._show_cursor()
            self._announce()

    def _announce(self) -> None:
        """Screen readers say what the card shows."""
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.readout.text()))

    def _cursor(self, view: View) -> tuple[float, int | None] | None:
        """Where it is in px of the plot, and on which sample. The mouse goes first."""
        if self._pointer is not None:
            x = float(self._pointer.x() - PLOT_LEFT)
            index = view.index_at(view.at(x))
            on_sample = index is not None and index in view.shown()
            return (view.xs[index], index) if on_sample and index is not None else (x, None)
        if self._chosen_at is None:
            return None
        shown = view.shown()
        index = view.index_at(max(self._chosen_at, view.times[shown.start]))
        return None if index is None else (view.xs[index], index)

    def _show_cursor(self) -> None:
        view, reader = self._view, self._reader
        place = None if view is None else self._cursor(view)
        for row in self._rows:
            row.show_cursor(*(place or (None, None)))
        if place is None or view is None or reader is None:
            self._index = None
            self.readout.hide()
            return
        x, self._index = place
        if self._index is None:
            self.readout.show_moment(self._clock(view.at(x)), self.tr("No sample"), ())
        else:
            sample = view.samples[self._index]
            scales = {graph.key: graph.scale() for graph in self._graphs}
            self.readout.show_moment(
                self._clock(sample.at),
                self.strip.word(sample.phase),
                (*self._said_at(sample.at, view), *reader.readings(sample, scales)),
            )
        top, height = self._scroll.y(), self._scroll.height()
        y = self._pointer.y() + self.readout.height() if self._pointer is not None else top
        area = QRect(PLOT_LEFT, top + PADDING, self.plot_width, height - PADDING)
        self.readout.place(QPointF(PLOT_LEFT + x, y), area)

    def _said_at(self, at: float, view: View) -> list[tuple[str, str]]:
        """The marks under the cursor, as lines without a figure."""
        reach_s = max(view.reach_s, MARK_REACH / view.width * (view.end - view.start))
        return [(mark_words(mark), "") for mark in self._marks if abs(mark.at - at) <= reach_s]

    def _clock(self, at: float) -> str:
        text = time.strftime("%H:%M:%S", time.localtime(at))
        end = self._view.end if self._view is not None else at
        if time.localtime(at)[:3] == time.localtime(end)[:3]:
            return text
        return f"{day_text(at)} {text}"
