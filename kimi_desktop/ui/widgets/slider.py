"""A slider, and the row that names it, shows its value and labels its ends. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSlider, QVBoxLayout, QWidget

from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_LINE_PX, SMALL_PX
from kimi_desktop.ui.widgets.label import MEDIUM, Label
from kimi_desktop.ui.widgets.painting import box, painter_on

THUMB = 16
TRACK = 4
ROW = 20


class Slider(QSlider):
    """Horizontal. A click on the track moves the thumb there; arrow keys step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._keyboard = False
        self._is_quiet = False
        self.setFixedHeight(ROW)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setPageStep(1)

    def set_label(self, label: str) -> None:
        """The accessible name."""
        self.setAccessibleName(label)

    def set_quiet(self, *, quiet: bool) -> None:
        """Grey, because something else sets it; it can still be taken."""
        if quiet != self._is_quiet:
            self._is_quiet = quiet
            self.update()

    @property
    def is_quiet(self) -> bool:
        """Something else sets it."""
        return self._is_quiet

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(120, ROW)

    def thumb_x(self) -> float:
        """Centre of the thumb."""
        span = self.maximum() - self.minimum()
        share = (self.sliderPosition() - self.minimum()) / span if span else 0.0
        return THUMB / 2 + share * (self.width() - THUMB)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Track, filled part, thumb, and the ring around the thumb."""
        del event
        t = tokens()
        painter = painter_on(self)
        touched = self.underMouse() or self.isSliderDown() or self._keyboard
        on = self.isEnabled() and (touched or not self._is_quiet)
        middle, x = self.height() / 2, self.thumb_x()
        track = QRectF(0, middle - TRACK / 2, self.width(), TRACK)
        box(painter, track, TRACK / 2, fill=t.control if on else t.line)
        track.setWidth(x)
        box(painter, track, TRACK / 2, fill=t.accent if on else t.control)
        fill = t.panel
        if on and self.isSliderDown():
            fill = t.accent
        elif on and self.underMouse():
            fill = t.accent_soft
        thumb = QRectF(x - THUMB / 2, middle - THUMB / 2, THUMB, THUMB)
        border = t.accent if on else t.control
        box(painter, thumb, THUMB / 2, fill=fill, border=border, width=2)
        if self._keyboard:
            painter.setPen(QPen(color(t.accent), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(QPointF(x, middle), THUMB / 2 + 1.25, THUMB / 2 + 1.25)
        painter.end()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The keyboard's focus is shown."""
        super().focusInEvent(event)
        self._keyboard = event.reason() is not Qt.FocusReason.MouseFocusReason
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """No focus, no ring."""
        super().focusOutEvent(event)
        self._keyboard = False
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the thumb, or bring it to the pointer first."""
        if event.button() is not Qt.MouseButton.LeftButton:
            event.ignore()
            return
        self.setSliderDown(True)
        self._move_to(event.position().x())
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag."""
        if self.isSliderDown():
            self._move_to(event.position().x())
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        if self.isSliderDown():
            self.setSliderDown(False)
            self.update()
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling a page must not move a slider that the pointer happens to cross."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def _move_to(self, x: float) -> None:
        room = max(1, self.width() - THUMB)
        share = min(1.0, max(0.0, (x - THUMB / 2) / room))
        self.setSliderPosition(self.minimum() + round(share * (self.maximum() - self.minimum())))
        self.update()


class SliderRow(QWidget):
    """Label and value above, the slider, and labels of some positions below."""

    value_changed = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = Slider()
        self._label = Label(tone="muted")
        self._label.setBuddy(self.slider)
        self._value = Label(weight=MEDIUM)
        self._ticks = _Ticks(self.slider)
        self._ticks.hide()
        self._head = QHBoxLayout()
        self._head.addWidget(self._label)
        self._head.addStretch(1)
        self._head.addWidget(self._value)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._head)
        layout.addSpacing(2)
        layout.addWidget(self.slider)
        layout.addWidget(self._ticks)
        self.setFocusProxy(self.slider)
        self.slider.valueChanged.connect(self.value_changed)

    def set_label(self, label: str) -> None:
        """The name, also for screen readers."""
        self._label.setText(label)
        self.slider.set_label(label)

    def add_to_head(self, control: QWidget) -> None:
        """A small control before the value."""
        self._head.insertWidget(2, control)

    def set_range(self, low: int, high: int) -> None:
        """The steps, both included."""
        self.slider.setRange(low, high)

    def set_value(self, value: int) -> None:
        """Move the thumb."""
        self.slider.setValue(value)

    def value(self) -> int:
        """Where the thumb is."""
        return self.slider.value()

    def set_value_text(self, text: str) -> None:
        """What the position means, with its unit."""
        self._value.setText(text)
        self.slider.setAccessibleDescription(text)

    def set_ticks(self, ticks: Sequence[tuple[int, str]]) -> None:
        """Labels below, each at its position; none hides the line."""
        self._ticks.show_ticks(ticks)
        self._ticks.setVisible(bool(ticks))


class _Ticks(QWidget):
    """The labels below a slider; the first and last stay inside."""

    def __init__(self, slider: QSlider) -> None:
        super().__init__()
        self._slider = slider
        self._shown: tuple[tuple[int, str], ...] = ()
        self.setFixedHeight(SMALL_LINE_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_ticks(self, ticks: Sequence[tuple[int, str]]) -> None:
        self._shown = tuple(ticks)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Each text centred under its position."""
        del event
        painter = QPainter(self)
        font = ui_font(SMALL_PX)
        metrics = QFontMetrics(font)
        painter.setFont(font)
        painter.setPen(color(tokens().muted))
        low, high = self._slider.minimum(), self._slider.maximum()
        base = (self.height() + metrics.ascent() - metrics.descent()) // 2
        for position, text in self._shown:
            share = (position - low) / (high - low) if high > low else 0.0
            width = metrics.horizontalAdvance(text)
            x = THUMB / 2 + share * (self.width() - THUMB) - width / 2
            x = min(max(0.0, x), self.width() - width)
            painter.drawText(QPoint(round(x), base), text)
        painter.end()
