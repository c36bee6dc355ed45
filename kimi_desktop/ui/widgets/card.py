"""What holds other things: cards, lines between, page titles, headings, list rows. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, CONTROL_HEIGHT, RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import REGULAR, SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on, rounded


class Surface(QWidget):
    """A plain ground in a colour of the tokens, with a 1 px line at some of its edges."""

    def __init__(
        self, parent: QWidget | None = None, *, tone: str = "panel", edges: str = ""
    ) -> None:
        super().__init__(parent)
        self._tone = tone
        self._edges = edges

    def paintEvent(self, event: QPaintEvent) -> None:
        """Fill, then the lines (``edges`` has letters of "tblr")."""
        del event
        t = tokens()
        painter = painter_on(self)
        painter.fillRect(self.rect(), color(getattr(t, self._tone)))
        line, w, h = color(t.line), self.width(), self.height()
        sides = {"t": (0, 0, w, 1), "b": (0, h - 1, w, 1), "l": (0, 0, 1, h), "r": (w - 1, 0, 1, h)}
        for edge in self._edges:
            painter.fillRect(QRect(*sides[edge]), line)
        painter.end()


class Card(QWidget):
    """A panel with a line around it and rounded corners. ``body`` is its layout."""

    def __init__(self, parent: QWidget | None = None, *, padding: int = 16) -> None:
        super().__init__(parent)
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(padding, padding, padding, padding)
        self.body.setSpacing(8)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The panel."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.line)
        painter.end()


class Divider(QWidget):
    """A 1 px line."""

    def __init__(self, parent: QWidget | None = None, *, vertical: bool = False) -> None:
        super().__init__(parent)
        if vertical:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Fill."""
        del event
        painter = painter_on(self)
        painter.fillRect(self.rect(), color(tokens().line))
        painter.end()


class PageHeader(QWidget):
    """The title of a page, a muted word beside it, and room for buttons at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Label(size=TextSize.TITLE, weight=SEMIBOLD)
        self._title.setContentsMargins(0, 0, 8, 0)
        self._note = ElidedLabel(tone="muted")
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self._layout.addWidget(self._title)
        self._layout.addWidget(self._note, 1)
        self.setMinimumHeight(CONTROL_HEIGHT)

    def set_title(self, title: str) -> None:
        """The page's name."""
        self._title.setText(title)
        self._title.setVisible(bool(title))

    def set_note(self, note: str) -> None:
        """A muted word after it."""
        self._note.setText(note)

    def add(self, control: QWidget) -> None:
        """One more control at the right."""
        self._layout.addWidget(control)


class Heading(Label):
    """The heading of a section: body size, semibold."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(text, parent, weight=SEMIBOLD)


class ScrollPage(QScrollArea):
    """A page that scrolls when it must, its content in a column of at most ``width`` px."""

    def __init__(self, parent: QWidget | None = None, *, width: int | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        inside = QWidget()
        inside.setAutoFillBackground(False)
        across = QHBoxLayout(inside)
        across.setContentsMargins(24, 16, 24, 24)
        column = QWidget()
        if width is not None:
            column.setMaximumWidth(width)
            across.addWidget(column, 100)
            across.addStretch(1)
        else:
            across.addWidget(column)
        self.body = QVBoxLayout(column)
        self.body.setContentsMargins(0, 0, 0, 0)
        self.body.setSpacing(12)
        self.setWidget(inside)


class ListRow(Focusable, QPushButton):
    """A row of a list: a title, and a muted word at the right. Checked means selected."""

    def __init__(self, title: str = "", trailing: str = "", parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self._trailing = trailing
        self.setCheckable(True)
        self.setAutoDefault(True)
        self.setFixedHeight(CONTROL_HEIGHT)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_texts(self, title: str, trailing: str = "") -> None:
        """Change the words."""
        self.setText(title)
        self._trailing = trailing
        self.setAccessibleName(f"{title} {trailing}".strip())
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(120, CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """Room for a few letters."""
        return QSize(64, CONTROL_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, accent line when selected, title, trailing word."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        rect = QRectF(self.rect())
        if self.isChecked():
            painter.setClipPath(rounded(rect, RADIUS))
            painter.fillRect(rect, color(t.raised))
            painter.fillRect(QRectF(0, 0, 2, rect.height()), color(t.accent))
            painter.setClipping(False)
        elif self.isEnabled() and (self.underMouse() or self.isDown()):
            box(painter, rect, RADIUS, fill=t.press if self.isDown() else t.hover)
        place = self.rect().adjusted(8, 0, -8, 0)
        if self._trailing:
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(t.muted))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, side, self._trailing)
            taken = QFontMetrics(ui_font(SMALL_PX)).horizontalAdvance(self._trailing)
            place.adjust(0, 0, -taken - 8, 0)
        font = ui_font(BODY_PX, SEMIBOLD if self.isChecked() else REGULAR)
        painter.setFont(font)
        painter.setPen(color(t.text if self.isEnabled() else t.muted))
        shown = QFontMetrics(font).elidedText(
            self.text(), Qt.TextElideMode.ElideRight, place.width()
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()
