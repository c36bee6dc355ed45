"""Verdicts and states: never colour alone, always a shape and a word. Qt thread."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS_SMALL, SMALL_PX
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on

ICON = 12
HEIGHT, LARGE_HEIGHT = 20, 32


class Verdict(Enum):
    """What a chip means: (tone, icon)."""

    OK = ("ok", "check")
    WARN = ("warn", "triangle")
    BAD = ("bad", "cross")
    UNKNOWN = ("", "question")
    WORKING = ("accent", "download")
    CHECKED = ("accent", "check")
    PLAIN = ("", "")


class Chip(QLabel):
    """A word with its icon on a tint. A label, for the sake of its accessible role."""

    def __init__(
        self,
        verdict: Verdict = Verdict.PLAIN,
        text: str = "",
        parent: QWidget | None = None,
        *,
        icon: str | None = None,
        large: bool = False,
    ) -> None:
        super().__init__(parent)
        self._height = LARGE_HEIGHT if large else HEIGHT
        self._padding = 12 if large else 6
        self._verdict = verdict
        self._icon = icon
        self._words = ""
        self._ground: str | None = None
        self.setFont(ui_font(BODY_PX if large else SMALL_PX, SEMIBOLD))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.show_verdict(verdict, text)

    def show_verdict(self, verdict: Verdict, text: str, *, icon: str | None = None) -> None:
        """Change what it says; ``icon`` replaces the verdict's own."""
        if icon is not None:
            self._icon = icon
        self._verdict, self._words = verdict, text
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def set_ground(self, tone: str | None) -> None:
        """Another ground than its tint, where that is what it lies on."""
        if tone != self._ground:
            self._ground = tone
            self.update()

    @property
    def verdict(self) -> Verdict:
        """What it means."""
        return self._verdict

    def text(self) -> str:
        """What it says."""
        return self._words

    def sizeHint(self) -> QSize:
        """By the word."""
        width = QFontMetrics(self.font()).horizontalAdvance(self._words) + 2 * self._padding + 1
        return QSize(width + (ICON + 4 if self._icon_name() else 0), self._height)

    def minimumSizeHint(self) -> QSize:
        """Never less than its word."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Tint, icon, word."""
        del event
        t = tokens()
        tone = self._verdict.value[0]
        ink = getattr(t, tone) if tone else t.muted
        fill = getattr(t, f"{tone}_soft") if tone else t.raised
        if self._ground is not None:
            fill = getattr(t, self._ground)
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS_SMALL, fill=fill)
        x = self._padding
        if name := self._icon_name():
            icons.paint(painter, name, QPoint(x, (self.height() - ICON) // 2), ICON, ink)
            x += ICON + 4
        painter.setFont(self.font())
        painter.setPen(color(ink))
        place = QRect(x, 0, self.width() - x, self.height())
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self._words)
        painter.end()

    def _icon_name(self) -> str:
        return self._verdict.value[1] if self._icon is None else self._icon


class Dot(Enum):
    """The shapes of a state."""

    OK = "ok"
    """Round: runs."""
    BUSY = "busy"
    """Round, amber: on its way."""
    BAD = "bad"
    """Square: failed."""
    OFF = "off"
    """Hollow: stopped."""


class StateDot(QWidget):
    """8 px of state. Always beside a word."""

    def __init__(self, dot: Dot = Dot.OFF, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._dot = dot
        self.setFixedSize(8, 8)

    def show_dot(self, dot: Dot) -> None:
        """Change the state."""
        if dot is not self._dot:
            self._dot = dot
            self.update()

    @property
    def dot(self) -> Dot:
        """What it shows."""
        return self._dot

    def paintEvent(self, event: QPaintEvent) -> None:
        """Disc, square or ring."""
        del event
        painter = painter_on(self)
        paint_dot = QRectF(self.rect())
        t = tokens()
        if self._dot is Dot.OFF:
            box(painter, paint_dot, 4, border=t.muted, width=1.5)
        elif self._dot is Dot.BAD:
            box(painter, paint_dot, 1, fill=t.bad)
        else:
            box(painter, paint_dot, 4, fill=t.ok if self._dot is Dot.OK else t.warn)
        painter.end()


class StateLabel(QWidget):
    """A dot and its word."""

    def __init__(
        self,
        parent: QWidget | None = None,
        *,
        size: TextSize = TextSize.BODY,
        muted: bool = False,
        gap: int = 8,
    ) -> None:
        super().__init__(parent)
        self._dot = StateDot()
        self._label = Label(size=size, tone="muted" if muted else "")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(gap)
        layout.addWidget(self._dot)
        layout.addWidget(self._label)

    def show_state(self, dot: Dot, word: str) -> None:
        """Change both."""
        self._dot.show_dot(dot)
        self._label.setText(word)
        self.setAccessibleName(word)

    @property
    def dot(self) -> Dot:
        """The shape shown."""
        return self._dot.dot

    def text(self) -> str:
        """The word shown."""
        return self._label.text()
