"""What a search of the hub found: one row per repository. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.base.units import format_count
from kimi_desktop.downloads.discover_types import SearchRow
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.card import Card, Divider
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, painter_on

ROW_HEIGHT = 48


class ResultList(QWidget):
    """``wanted`` fires with the repository of a row."""

    wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: list[ResultRow] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def show_rows(self, found: tuple[SearchRow, ...]) -> None:
        """Replace the rows."""
        while (item := self._layout.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self.rows = []
        if not found:
            return
        card = Card(padding=1)
        card.body.setSpacing(0)
        for number, one in enumerate(found):
            row = ResultRow(one)
            row.clicked.connect(lambda _=False, repo=one.repo: self.wanted.emit(repo))
            if number:
                card.body.addWidget(Divider())
            card.body.addWidget(row)
            self.rows.append(row)
        self._layout.addWidget(card)

    def retranslate(self) -> None:
        """Set the words."""
        for row in self.rows:
            row.retranslate()


class ResultRow(Focusable, QPushButton):
    """Name, and what the hub says of it."""

    def __init__(self, found: SearchRow) -> None:
        super().__init__()
        self.found = found
        self._detail = ""
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(ROW_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.retranslate()

    def retranslate(self) -> None:
        """Set the words."""
        found = self.found
        one, several = self.tr("one download"), self.tr("{count} downloads")
        downloads = _counted(found.downloads, one, several)
        likes = _counted(found.likes, self.tr("one like"), self.tr("{count} likes"))
        terms = self.tr("terms to accept first") if found.is_gated else ""
        parts = (found.catalogue_name, downloads, likes, found.licence, terms, found.changed[:10])
        self._detail = " · ".join(filter(None, parts))
        self.setAccessibleName(f"{found.repo}. {self._detail}")
        self.update()

    def detail(self) -> str:
        """The second line."""
        return self._detail

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(400, ROW_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(200, ROW_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Two lines."""
        del event
        t = tokens()
        painter = painter_on(self)
        if self.underMouse() or self.isDown():
            fill = t.press if self.isDown() else t.hover
            box(painter, QRectF(self.rect()), RADIUS, fill=fill)
        room = self.width() - 32
        for text, font, ink, top in (
            (self.found.repo, ui_font(BODY_PX, SEMIBOLD), t.text, 5),
            (self._detail, ui_font(SMALL_PX), t.muted, 25),
        ):
            painter.setFont(font)
            painter.setPen(color(ink))
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, room)
            painter.drawText(QRect(16, top, room, 18), Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()


def _counted(count: int, one: str, several: str) -> str:
    return one if count == 1 else several.format(count=format_count(count))
