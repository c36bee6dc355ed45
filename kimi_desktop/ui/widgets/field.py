"""Text fields and drop-down choices. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import (
    BODY_PX,
    CONTROL_HEIGHT,
    RADIUS,
    SMALL_CONTROL_HEIGHT,
    SMALL_PX,
)
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on

ICON = 16


class Field(QLineEdit):
    """One line of text. ``icon`` stands inside at the left, ``hint`` (a shortcut) at the right."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        icon: str = "",
        small: bool = False,
        numeric: bool = False,
    ) -> None:
        super().__init__(text, parent)
        self._icon = icon
        self._hint = ""
        self.setFont(ui_font(BODY_PX))
        self.setProperty("small", small)
        self.setProperty("failed", False)
        if small:
            self.setFixedWidth(64)
        if small or numeric:
            self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if icon:
            self.setTextMargins(ICON + 8, 0, 0, 0)

    def set_label(self, label: str) -> None:
        """The accessible name of a field without a visible label."""
        self.setAccessibleName(label)

    def set_hint(self, hint: str) -> None:
        """A muted word at the right end (a shortcut)."""
        self._hint = hint
        right = QFontMetrics(ui_font(SMALL_PX)).horizontalAdvance(hint) + 8 if hint else 0
        self.setTextMargins(ICON + 8 if self._icon else 0, 0, right, 0)
        self.update()

    def set_error(self, text: str) -> None:
        """Mark the value as not allowed and say why; "" clears it."""
        self.setAccessibleDescription(text)
        self.setToolTip(text)
        if self.property("failed") != bool(text):
            self.setProperty("failed", bool(text))
            self.style().unpolish(self)
            self.style().polish(self)

    @property
    def failed(self) -> bool:
        """The value is marked as not allowed."""
        return bool(self.property("failed"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The field, then its icon and hint."""
        super().paintEvent(event)
        if not self._icon and not self._hint:
            return
        painter = painter_on(self)
        t = tokens()
        if self._icon:
            corner = QPoint(8, (self.height() - ICON) // 2)
            icons.paint(painter, self._icon, corner, ICON, t.muted)
        if self._hint and not self.text():
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(t.muted))
            place = self.rect().adjusted(0, 0, -8, 0)
            painter.drawText(
                place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._hint
            )
        painter.end()


class LabeledField(QWidget):
    """A label, the control under it, and a line for its error or a note."""

    def __init__(self, control: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.control = control
        self._label = Label(tone="muted", size=TextSize.SMALL)
        self._label.setBuddy(control)
        self._note = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self._note.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self._label)
        layout.addWidget(control)
        layout.addWidget(self._note)

    def set_label(self, label: str) -> None:
        """The visible label, which is also the control's accessible name."""
        self._label.setText(label)
        self.control.setAccessibleName(label)

    def set_note(self, text: str, *, error: bool = False) -> None:
        """A line below; as an error it also marks the field."""
        self._note.setText(text)
        self._note.set_tone("bad" if error else "muted")
        self._note.setVisible(bool(text))
        if isinstance(self.control, Field):
            self.control.set_error(text if error else "")


class Select(Focusable, QComboBox):
    """A choice of one of several, in a list that drops down."""

    def __init__(self, parent: QWidget | None = None, *, small: bool = False) -> None:
        super().__init__(parent)
        self._small = small
        self.setFont(ui_font(SMALL_PX if small else BODY_PX))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_label(self, label: str) -> None:
        """The accessible name."""
        self.setAccessibleName(label)

    def choose(self, key: object) -> None:
        """Select the item whose data is ``key``; nothing happens when there is none."""
        place = self.findData(key)
        if place >= 0:
            self.setCurrentIndex(place)

    def sizeHint(self) -> QSize:
        """By the widest item."""
        metrics = QFontMetrics(self.font())
        widest = max(
            (metrics.horizontalAdvance(self.itemText(i)) for i in range(self.count())), default=48
        )
        height = SMALL_CONTROL_HEIGHT if self._small else CONTROL_HEIGHT
        return QSize(widest + 12 + 8 + ICON + 8 + 2, height)

    def minimumSizeHint(self) -> QSize:
        """Room for a few letters."""
        return QSize(64, self.sizeHint().height())

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling a page must not change a choice that the pointer happens to cross."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Box, text, chevron."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        hover = self.underMouse() and self.isEnabled()
        border = t.line if not self.isEnabled() else t.text if hover else t.control
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=border)
        corner = QPoint(self.width() - ICON - 8, (self.height() - ICON) // 2)
        icons.paint(painter, "chevron-down", corner, ICON, t.muted)
        painter.setFont(self.font())
        painter.setPen(color(t.text if self.isEnabled() else t.muted))
        place = QRect(12, 0, self.width() - 12 - ICON - 16, self.height())
        shown = QFontMetrics(self.font()).elidedText(
            self.currentText(), Qt.TextElideMode.ElideRight, place.width()
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()
