"""The disk that downloads go to: other files, models, still to come, free. Qt thread."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.base.units import format_file_size
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, hatch, painter_on, rounded

BAR = 8
LEGEND = 20
SQUARE = 8


@dataclass(frozen=True, slots=True)
class DiskUse:
    """Bytes; they add up to the disk. What comes does not fit when ``free`` is negative."""

    others: int
    models: int
    to_come: int
    free: int
    """After all downloads."""

    @property
    def free_now(self) -> int:
        """Before they come."""
        return self.free + self.to_come

    @property
    def total(self) -> int:
        """Of the disk."""
        return self.others + self.models + self.to_come + self.free


class DiskBar(QWidget):
    """Head line, bar and legend. Hidden until the disk was looked at."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._use: DiskUse | None = None
        self._place = ""
        self.title = Label(size=TextSize.SMALL, weight=SEMIBOLD)
        self.place = ElidedLabel(
            size=TextSize.SMALL, tone="muted", mode=Qt.TextElideMode.ElideMiddle
        )
        self.free = Label(size=TextSize.SMALL)
        self._bar = _Bar()
        self._legend = _Legend()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.title)
        head.addWidget(self.place, 1)
        head.addWidget(self.free)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self._bar)
        layout.addWidget(self._legend)
        self.hide()

    def show_use(self, use: DiskUse | None, place: str) -> None:
        """What is on the disk of ``place``."""
        self._use, self._place = use, place
        self.setVisible(use is not None)
        self.retranslate()

    def legend(self) -> list[str]:
        """What it says."""
        return [words for _, words in self._legend.entries]

    def retranslate(self) -> None:
        """Set the words."""
        use = self._use
        if use is None:
            return
        self.title.setText(self.tr("Models disk"))
        self.place.setText(f"{self._place}, {format_file_size(use.total)}")
        now = self.tr("{size} free now").format(size=format_file_size(max(use.free_now, 0)))
        if use.free < 0:
            lacking = format_file_size(-use.free)
            after = self.tr("{size} too little for all downloads").format(size=lacking)
        else:
            after = self.tr("{size} after all downloads").format(size=format_file_size(use.free))
        self.free.setText(f"{now} · {after}" if use.to_come else now)
        self.free.set_tone("bad" if use.free < 0 else "text")
        entries = [
            ("others", self.tr("Other files"), use.others),
            ("models", self.tr("Models"), use.models),
            ("to_come", self.tr("Still to come"), use.to_come),
            ("free", self.tr("Free"), max(use.free, 0)),
        ]
        self._legend.show_entries(
            [(kind, f"{word} {format_file_size(n)}") for kind, word, n in entries if n]
        )
        self._bar.show_use(use, ", ".join(words for _, words in self._legend.entries))


class _Bar(QLabel):
    """8 px."""

    def __init__(self) -> None:
        super().__init__()
        self._use = DiskUse(0, 0, 0, 0)
        self.setFixedHeight(BAR)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_use(self, use: DiskUse, words: str) -> None:
        self._use = use
        self.setAccessibleName(words)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Four parts, none of them by colour alone."""
        del event
        painter = painter_on(self)
        use = self._use
        whole = QRectF(self.rect())
        painter.setClipPath(rounded(whole, 3))
        total = max(use.others + use.models + use.to_come + max(use.free, 0), 1)
        x = 0.0
        for kind, size in (
            ("others", use.others),
            ("models", use.models),
            ("to_come", use.to_come),
            ("free", max(use.free, 0)),
        ):
            if size <= 0:
                continue
            width = max(2.0, whole.width() * size / total)
            _fill(painter, QRectF(x, 0, width - 1, BAR), kind, self.devicePixelRatioF())
            x += width
        painter.end()


class _Legend(QLabel):
    """Squares and words in a line."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[str, str]] = []
        self.setFixedHeight(LEGEND)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_entries(self, entries: list[tuple[str, str]]) -> None:
        self.entries = entries
        self.setAccessibleName(", ".join(words for _, words in entries))
        self.update()

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(200, LEGEND)

    def paintEvent(self, event: QPaintEvent) -> None:
        """One after the other."""
        del event
        painter = painter_on(self)
        font = ui_font(SMALL_PX)
        painter.setFont(font)
        x = 0
        for kind, words in self.entries:
            square = QRectF(x, (LEGEND - SQUARE) / 2, SQUARE, SQUARE)
            painter.save()
            painter.setClipPath(rounded(square, 2))
            _fill(painter, square, kind, self.devicePixelRatioF())
            painter.restore()
            painter.setPen(color(tokens().muted))
            x += SQUARE + 6
            place = QRectF(x, 0, self.width() - x, LEGEND)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, words)
            x += QFontMetrics(font).horizontalAdvance(words) + 16
        painter.end()


def _fill(painter: QPainter, place: QRectF, kind: str, ratio: float) -> None:
    t = tokens()
    if kind == "others":
        painter.save()
        painter.setBrushOrigin(QPointF(place.x(), 0))
        painter.fillRect(place, hatch(t.others, t.hatch, ratio))
        painter.restore()
    elif kind == "models":
        painter.fillRect(place, color(t.accent))
    elif kind == "to_come":
        painter.fillRect(place, color(t.accent_soft))
        x = place.x()
        while x < place.right():
            painter.fillRect(QRectF(x, place.y(), 3, place.height()), color(t.accent))
            x += 6
    else:
        box(painter, place, 2, fill=t.spare, border=t.control)
