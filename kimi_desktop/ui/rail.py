"""The navigation rail: six pages, 56 px wide, or 200 px with their names. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import REGULAR, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, painter_on

NARROW, WIDE = 56, 200
ITEM = 40
BADGE, BADGE_PX = 14, 10


class Rail(Surface):
    """One item per page, Settings at the bottom. ``chosen`` names the page asked for."""

    chosen = Signal(str)

    def __init__(self, pages: tuple[tuple[str, str], ...], parent: QWidget | None = None) -> None:
        """``pages``: (name, icon), the last one at the bottom."""
        super().__init__(parent, tone="panel", edges="r")
        self._group = QButtonGroup(self)
        self._items: dict[str, _RailItem] = {}
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(4)
        for number, (name, icon) in enumerate(pages):
            if number == len(pages) - 1:
                layout.addStretch(1)
            item = _RailItem(icon)
            item.clicked.connect(lambda _checked, wanted=name: self.chosen.emit(wanted))
            self._items[name] = item
            self._group.addButton(item)
            layout.addWidget(item)
        self.set_open(open_=False)

    def set_open(self, *, open_: bool) -> None:
        """Show or hide the names."""
        self.setFixedWidth(WIDE if open_ else NARROW)
        for item in self._items.values():
            item.set_open(open_=open_)

    @property
    def is_open(self) -> bool:
        """The names are shown."""
        return self.width() == WIDE

    def select(self, name: str) -> None:
        """Mark a page as the one shown."""
        self._items[name].setChecked(True)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground, and the accent bar of the page shown at the window's edge."""
        super().paintEvent(event)
        for item in self._items.values():
            if item.isChecked():
                painter = painter_on(self)
                bar = QRectF(-2, item.y() + (ITEM - 20) / 2, 5, 20)
                box(painter, bar, 2, fill=tokens().accent)
                painter.end()

    def item(self, name: str) -> QPushButton:
        """The button of a page."""
        return self._items[name]

    def set_badge(self, name: str, count: int, words: str, *, tone: str = "accent") -> None:
        """A number at a page's icon, 0 for none; ``words`` say it to screen readers."""
        self._items[name].set_badge(count, words, tone)

    def set_titles(self, titles: dict[str, str], shortcuts: dict[str, str]) -> None:
        """The words, again after a change of the language."""
        for name, item in self._items.items():
            item.setText(titles[name])
            item.say()
            item.setToolTip(f"{titles[name]} ({shortcuts[name]})")


class _RailItem(Focusable, QPushButton):
    """40 x 40, or as wide as the rail with its name."""

    def __init__(self, icon: str) -> None:
        super().__init__()
        self._icon = icon
        self._open = False
        self._badge = (0, "", "accent")
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setAutoDefault(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_open(self, *, open_: bool) -> None:
        self._open = open_
        self.update()

    def set_badge(self, count: int, words: str, tone: str) -> None:
        if self._badge != (count, words, tone):
            self._badge = (count, words, tone)
            self.say()
            self.update()

    def say(self) -> None:
        """The name, and what its badge says."""
        self.setAccessibleName(", ".join(part for part in (self.text(), self._badge[1]) if part))

    def sizeHint(self) -> QSize:
        """A square, however long the name."""
        return QSize(ITEM, ITEM)

    def minimumSizeHint(self) -> QSize:
        """The square."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground, icon, name."""
        del event
        t = tokens()
        painter = painter_on(self)
        rect = QRectF(self.rect())
        if self.isChecked():
            box(painter, rect, RADIUS, fill=t.raised)
        elif self.underMouse() or self.isDown():
            box(painter, rect, RADIUS, fill=t.press if self.isDown() else t.hover)
        ink = t.text if self.isChecked() or self.underMouse() else t.muted
        icons.paint(painter, self._icon, QPoint(10, 10), icons.GRID, ink)
        self._paint_badge(painter)
        if self._open:
            painter.setFont(ui_font(BODY_PX, SEMIBOLD if self.isChecked() else REGULAR))
            painter.setPen(color(ink))
            place = QRect(ITEM + 4, 0, self.width() - ITEM - 12, self.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()

    def _paint_badge(self, painter: QPainter) -> None:
        count, _, tone = self._badge
        if not count:
            return
        t = tokens()
        text = str(count) if count < 100 else "99"
        font = ui_font(BADGE_PX, SEMIBOLD)
        width = max(BADGE, QFontMetrics(font).horizontalAdvance(text) + 8)
        place = QRectF(ITEM - 4 - width, 3, width, BADGE)
        box(painter, place, BADGE / 2, fill=getattr(t, tone))
        painter.setFont(font)
        painter.setPen(color(t.on_accent if tone == "accent" else t.panel))
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
