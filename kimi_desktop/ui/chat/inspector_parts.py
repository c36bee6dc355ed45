"""What the inspector's sections are made of. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.card import Heading
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import Label, Number, TextSize
from kimi_desktop.ui.widgets.painting import dim_if_disabled, painter_on

CHEVRON = 16


class Section(QWidget):
    """A titled part with a line below. ``body`` is its layout, ``head`` the row of the title."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Heading()
        self.head = QHBoxLayout()
        self.head.setContentsMargins(0, 0, 0, 0)
        self.head.setSpacing(4)
        self.head.addWidget(self._title)
        self.head.addStretch(1)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(16, 8, 16, 9)
        self.body.setSpacing(4)
        self.body.addLayout(self.head)

    def set_title(self, title: str) -> None:
        """The heading."""
        self._title.setText(title)
        self.setAccessibleName(title)

    def retranslate(self) -> None:
        """Set the words."""

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line below."""
        del event
        painter = painter_on(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, color(tokens().line))
        painter.end()


class FactRow(QWidget):
    """A muted name at the left, a value and its unit at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = Label(size=TextSize.SMALL, tone="muted")
        self._number = Number(size=TextSize.SMALL)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._name)
        layout.addStretch(1)
        layout.addWidget(self._number)
        self.setFixedHeight(20)

    def set_name(self, name: str) -> None:
        """What it is."""
        self._name.setText(name)

    def show_value(self, value: str, unit: str = "") -> None:
        """How much it is."""
        self._number.show_number(value, unit)
        self.setAccessibleName(f"{self._name.text()} {value}{unit}")

    def value(self) -> str:
        """What it says."""
        return self._number.accessibleName()


class MenuButton(Focusable, QPushButton):
    """Muted words and a chevron: opens a menu."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAutoDefault(False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFont(ui_font(SMALL_PX))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """By the words."""
        return QSize(QFontMetrics(self.font()).horizontalAdvance(self.text()) + CHEVRON + 4, 20)

    def minimumSizeHint(self) -> QSize:
        """Never less than that."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Words, chevron; the text colour under the mouse."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        active = self.isEnabled() and (self.underMouse() or self.isDown())
        ink = t.text if active else t.muted
        painter.setFont(self.font())
        painter.setPen(color(ink))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, self.text())
        corner = QPoint(self.width() - CHEVRON, (self.height() - CHEVRON) // 2)
        icons.paint(painter, "chevron-down", corner, CHEVRON, ink)
        painter.end()
