"""Check box, switch and choice row: on or off, one or another. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QRadioButton, QSizePolicy, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, mono_font, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, CONTROL_HEIGHT, RADIUS_SMALL, SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import REGULAR, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on

BOX = 16
SWITCH_WIDTH, SWITCH_HEIGHT, KNOB = 32, 18, 14
RADIO = 14


class CheckBox(Focusable, QCheckBox):
    """A square with a check mark, and its words."""

    focus_radius = RADIUS_SMALL

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.setFont(ui_font(BODY_PX))
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """The square and the words."""
        text = QFontMetrics(self.font()).horizontalAdvance(self.text())
        return QSize(BOX + (8 + text + 1 if self.text() else 0), max(20 if self.text() else 0, BOX))

    def minimumSizeHint(self) -> QSize:
        """Never less than that."""
        return self.sizeHint()

    def hitButton(self, place: QPoint) -> bool:
        """A click anywhere on it counts."""
        return self.rect().contains(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Square, mark, words."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        top = (self.height() - BOX) // 2
        square = QRectF(0, top, BOX, BOX)
        if self.isChecked():
            box(painter, square, RADIUS_SMALL, fill=t.accent, border=t.accent, width=1.5)
            icons.paint(painter, "check", QPoint(2, top + 2), 12, t.on_accent)
        else:
            fill = t.hover if self.underMouse() and self.isEnabled() else None
            box(painter, square, RADIUS_SMALL, fill=fill, border=t.control, width=1.5)
        if self.text():
            painter.setFont(self.font())
            painter.setPen(color(t.text if self.isEnabled() else t.muted))
            place = QRect(BOX + 8, 0, self.width() - BOX - 8, self.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()


class Switch(Focusable, QCheckBox):
    """On or off at once. Without words of its own: ``set_label`` names it."""

    focus_radius = SWITCH_HEIGHT // 2

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedSize(SWITCH_WIDTH, SWITCH_HEIGHT)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_label(self, label: str) -> None:
        """The accessible name."""
        self.setAccessibleName(label)

    def sizeHint(self) -> QSize:
        """Its fixed size."""
        return QSize(SWITCH_WIDTH, SWITCH_HEIGHT)

    def hitButton(self, place: QPoint) -> bool:
        """A click anywhere on it counts."""
        return self.rect().contains(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Filled with the knob at the right, or an outline with the knob at the left."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        rect = QRectF(self.rect())
        radius = SWITCH_HEIGHT / 2
        knob_y = (SWITCH_HEIGHT - KNOB) / 2
        if self.isChecked():
            box(painter, rect, radius, fill=t.accent)
            knob = QRectF(SWITCH_WIDTH - KNOB - 2, knob_y, KNOB, KNOB)
            box(painter, knob, KNOB / 2, fill=t.on_accent)
        else:
            fill = t.hover if self.underMouse() and self.isEnabled() else None
            box(painter, rect, radius, fill=fill, border=t.control, width=1.5)
            box(painter, QRectF(2, knob_y, KNOB, KNOB), KNOB / 2, fill=t.control)
        painter.end()


class ChoiceRow(Focusable, QRadioButton):
    """One row of a list to choose from: radio, name, figure, note, and a chip at the end.

    Put the rows of one choice into the same parent: they exclude each other, and the arrow keys
    move between them.
    """

    focus_radius = RADIUS_SMALL

    def __init__(
        self,
        name: str,
        figure: str = "",
        note: str = "",
        parent: QWidget | None = None,
        *,
        chip: QWidget | None = None,
    ) -> None:
        super().__init__(name, parent)
        self._figure = figure
        self._note = note
        self._name_width = 100
        self._rounded = (0, 0)
        self.setFixedHeight(CONTROL_HEIGHT)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(12, 0, 8, 0)
        self._layout.addStretch(1)
        if chip is not None:
            self._layout.addWidget(chip)
        self._chip = chip
        self._name()

    def set_texts(self, name: str, figure: str = "", note: str = "") -> None:
        """Change the words."""
        self.setText(name)
        self._figure, self._note = figure, note
        self._name()
        self.update()

    def set_note(self, note: str) -> None:
        """Change the note alone."""
        if note != self._note:
            self.set_texts(self.text(), self._figure, note)

    def set_name_width(self, width: int) -> None:
        """Room for the name, the same in every row of a list."""
        self._name_width = width
        self.update()

    def set_rounding(self, top: int, bottom: int) -> None:
        """Radii of the corners, for the first and last row of a list with a rounded frame.

        Each is 0 or the frame's radius.
        """
        self._rounded = (top, bottom)
        self.update()

    def sizeHint(self) -> QSize:
        """Wide enough for the columns."""
        chip = self._chip.sizeHint().width() if self._chip else 0
        return QSize(12 + 24 + self._name_width + 76 + 80 + chip, CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """The note may go."""
        return self.sizeHint() - QSize(80, 0)

    def hitButton(self, place: QPoint) -> bool:
        """A click anywhere on the row counts."""
        return self.rect().contains(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, radio, columns."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        if self.isChecked():
            painter.fillPath(self._ground(), color(t.accent_soft))
        elif self.underMouse() and self.isEnabled():
            painter.fillPath(self._ground(), color(t.hover))
        middle = self.height() / 2
        width = 4.0 if self.isChecked() else 1.5
        painter.setPen(QPen(color(t.accent if self.isChecked() else t.control), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        reach = (RADIO - width) / 2
        painter.drawEllipse(QPointF(12 + RADIO / 2, middle), reach, reach)
        x = 12 + 16 + 8
        painter.setPen(color(t.text))
        x = self._column(painter, x, self._name_width, self.text(), self._name_font())
        if self._figure:
            x = self._column(painter, x, 60, self._figure, mono_font(SMALL_PX), right=True)
        painter.setPen(color(t.muted))
        end = self._chip.x() - 8 if self._chip else self.width() - 8
        self._column(painter, x, end - x, self._note, ui_font(SMALL_PX))
        painter.end()

    def _ground(self) -> QPainterPath:
        rect = QRectF(self.rect())
        top, bottom = self._rounded
        radius = max(top, bottom)
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.WindingFill)
        path.addRoundedRect(rect, radius, radius)
        if top < radius:
            path.addRect(rect.adjusted(0, 0, 0, -rect.height() / 2))
        if bottom < radius:
            path.addRect(rect.adjusted(0, rect.height() / 2, 0, 0))
        return path

    def _name_font(self) -> QFont:
        return ui_font(BODY_PX, SEMIBOLD if self.isChecked() else REGULAR)

    def _column(
        self, painter: QPainter, x: int, width: int, text: str, font: QFont, *, right: bool = False
    ) -> int:
        """Draw one column and return where the next begins."""
        shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, width)
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.setFont(font)
        painter.drawText(
            QRect(x, 0, width, self.height()), side | Qt.AlignmentFlag.AlignVCenter, shown
        )
        return x + width + 8

    def _name(self) -> None:
        parts = (self.text(), self._figure, self._note)
        self.setAccessibleName(" ".join(part for part in parts if part))
