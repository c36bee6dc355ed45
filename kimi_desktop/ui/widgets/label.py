"""Text on the page, in the sizes and tones of the design. Qt thread."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from kimi_desktop.ui import tokens as t
from kimi_desktop.ui.theme import color, mono_font, tokens, ui_font

REGULAR = QFont.Weight.Normal
MEDIUM = QFont.Weight.Medium
SEMIBOLD = QFont.Weight.DemiBold


class TextSize(Enum):
    """Size and line height in px."""

    SMALL = (t.SMALL_PX, t.SMALL_LINE_PX)
    BODY = (t.BODY_PX, t.BODY_LINE_PX)
    MESSAGE = (t.MESSAGE_PX, t.MESSAGE_LINE_PX)
    HEADING = (t.HEADING_PX, t.HEADING_LINE_PX)
    TITLE = (t.TITLE_PX, t.TITLE_LINE_PX)


class Label(QLabel):
    """Plain text. ``tone`` is "", "muted", "accent", "ok", "warn" or "bad"."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        size: TextSize = TextSize.BODY,
        weight: QFont.Weight = REGULAR,
        tone: str = "",
        mono: bool = False,
        wrap: bool = False,
    ) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        px, line = size.value
        self.setFont(mono_font(px, weight) if mono else ui_font(px, weight))
        self.setWordWrap(wrap)
        self._line = line
        self.setMinimumHeight(line)
        if tone:
            self.setProperty("tone", tone)
        self.setText(text)

    def set_tone(self, tone: str) -> None:
        """Change the colour's meaning."""
        if self.property("tone") != tone:
            self.setProperty("tone", tone)
            self.style().unpolish(self)
            self.style().polish(self)

    def set_weight(self, weight: QFont.Weight) -> None:
        """Change the weight."""
        font = self.font()
        font.setWeight(weight)
        self.setFont(font)


class ElidedLabel(Label):
    """One line that ends in an ellipsis when there is no room; the tooltip has all of it."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        size: TextSize = TextSize.BODY,
        weight: QFont.Weight = REGULAR,
        tone: str = "",
        mono: bool = False,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        self._full = ""
        self._mode = mode
        super().__init__(text, parent, size=size, weight=weight, tone=tone, mono=mono)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def setText(self, text: str) -> None:
        """Set the whole text."""
        self._full = text
        self.setAccessibleName(text)
        self._elide()
        self.updateGeometry()

    def full_text(self) -> str:
        """The whole text, however much of it is shown."""
        return self._full

    def sizeHint(self) -> QSize:
        """Room for all of it."""
        return QSize(QFontMetrics(self.font()).horizontalAdvance(self._full) + 1, self._line)

    def minimumSizeHint(self) -> QSize:
        """Room for the ellipsis."""
        return QSize(QFontMetrics(self.font()).horizontalAdvance("…") * 2, self._line)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide again."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = QFontMetrics(self.font()).elidedText(self._full, self._mode, self.width())
        self.setToolTip(self._full if shown != self._full else "")
        super().setText(shown)


class Number(QWidget):
    """A value and its unit on one base line: the value strong, the unit muted."""

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        size: TextSize = TextSize.BODY,
        unit_size: TextSize | None = None,
        weight: QFont.Weight = MEDIUM,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignRight,
    ) -> None:
        super().__init__(parent)
        self._value = ""
        self._unit = ""
        self._align = align
        self._line = size.value[1]
        self._value_font = ui_font(size.value[0], weight)
        self._unit_font = ui_font((unit_size or size).value[0])
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_number(self, value: str, unit: str = "") -> None:
        """Show ``value`` (strong) and ``unit`` (muted), with the spaces that they bring."""
        if (value, unit) == (self._value, self._unit):
            return
        wider = self.sizeHint().width()
        self._value, self._unit = value, unit
        self.setAccessibleName(f"{value}{unit}")
        if self.sizeHint().width() != wider:
            self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """Both texts on one line."""
        value = QFontMetrics(self._value_font).horizontalAdvance(self._value)
        unit = QFontMetrics(self._unit_font).horizontalAdvance(self._unit)
        return QSize(value + unit + 1, self._line)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw both on the value's base line."""
        del event
        painter = QPainter(self)
        metrics = QFontMetrics(self._value_font)
        width = self.sizeHint().width()
        x = self.width() - width if self._align & Qt.AlignmentFlag.AlignRight else 0
        base = (self.height() - metrics.height()) // 2 + metrics.ascent()
        painter.setFont(self._value_font)
        painter.setPen(color(tokens().text))
        painter.drawText(x, base, self._value)
        x += metrics.horizontalAdvance(self._value)
        painter.setFont(self._unit_font)
        painter.setPen(color(tokens().muted))
        painter.drawText(x, base, self._unit)
        painter.end()
