"""A line of figures: strong numbers, plain words, a muted end that is cut first. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from kimi_desktop.ui.download_words import Fact
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.label import SEMIBOLD
from kimi_desktop.ui.widgets.painting import painter_on

HEIGHT = 20
GAP = 16
SPACE = 4


class FactLine(QLabel):
    """A label, for the sake of its accessible role."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts: tuple[Fact, ...] = ()
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Replace them."""
        shown = tuple(fact for fact in facts if fact.whole)
        if shown != self._facts:
            self._facts = shown
            words = " · ".join(fact.whole for fact in shown)
            self.setAccessibleName(words)
            self.setToolTip(shown[-1].whole if shown else "")
            self.update()

    def words(self) -> list[str]:
        """What it says."""
        return [fact.whole for fact in self._facts]

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(320, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(80, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """One after the other; the last is cut where there is no room."""
        del event
        t = tokens()
        painter = painter_on(self)
        x = 0
        for fact in self._facts:
            for text, font in ((fact.strong, ui_font(SMALL_PX, SEMIBOLD)), (fact.text, None)):
                if not text or x >= self.width():
                    continue
                used = font or ui_font(SMALL_PX)
                metrics = QFontMetrics(used)
                shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, self.width() - x)
                painter.setFont(used)
                painter.setPen(color(getattr(t, fact.tone)))
                place = QRect(x, 0, self.width() - x, HEIGHT)
                painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
                x += metrics.horizontalAdvance(shown) + SPACE
            x += GAP - SPACE
        painter.end()
