"""A choice with room to explain itself: radio, title, a sentence, and a word at the right. Qt."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QRadioButton, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on

RADIO = 14
LEFT = 44


class OptionCard(Focusable, QRadioButton):
    """Put the cards of one choice into the same parent: they exclude each other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Label(weight=SEMIBOLD)
        self._detail = Label(tone="muted", wrap=True)
        self._trailing = Label(size=TextSize.SMALL, tone="muted")
        for label in (self._title, self._detail, self._trailing):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._title)
        texts.addWidget(self._detail)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(LEFT, 12, 16, 12)
        self._layout.setSpacing(16)
        self._layout.addLayout(texts, 1)
        self._layout.addWidget(self._trailing)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_texts(self, title: str, detail: str, trailing: str = "") -> None:
        """The words."""
        self._title.setText(title)
        self._detail.setText(detail)
        self._trailing.setText(trailing)
        self.setAccessibleName(title)
        self.setAccessibleDescription(f"{detail} {trailing}".strip())

    def title(self) -> str:
        """What it is called."""
        return self._title.text()

    def hasHeightForWidth(self) -> bool:
        """The sentence wraps."""
        return True

    def heightForWidth(self, width: int) -> int:
        """As high as the sentence needs."""
        return max(64, self._layout.totalHeightForWidth(width))

    def sizeHint(self) -> QSize:
        """A comfortable width."""
        return QSize(480, self.heightForWidth(480))

    def minimumSizeHint(self) -> QSize:
        """Narrow, two lines."""
        return QSize(240, 64)

    def hitButton(self, place: QPoint) -> bool:
        """A click anywhere on the card counts."""
        return self.rect().contains(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, border, radio."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        on = self.isChecked()
        fill = t.accent_soft if on else t.panel
        if not on and self.underMouse() and self.isEnabled():
            fill = t.hover
        border = t.accent if on else t.line
        box(painter, QRectF(self.rect()), RADIUS, fill=fill, border=border)
        width = 4.0 if on else 1.5
        painter.setPen(QPen(color(t.accent if on else t.control), width))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        reach = (RADIO - width) / 2
        painter.drawEllipse(QPointF(16 + RADIO / 2, 12 + 10), reach, reach)
        painter.end()
