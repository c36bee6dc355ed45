"""The memory of one device as a stacked bar, and the legend that names its parts. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_LINE_PX, SMALL_PX
from kimi_desktop.ui.widgets.painting import box, hatch, painter_on, rounded

UNIT = "GiB"
LEAST_SHOWN = 0.005 * 2**30


class MemoryKind(Enum):
    """What memory is used for; the values are token names."""

    WEIGHTS = "weights"
    KV = "kv"
    COMPUTE = "compute"
    OVERHEAD = "overhead"
    OTHERS = "others"
    SPARE = "spare"


def kind_name(kind: MemoryKind) -> str:
    """Its word in the language of the window."""
    translate = QCoreApplication.translate
    return {
        MemoryKind.WEIGHTS: translate("MemoryBar", "Weights"),
        MemoryKind.KV: translate("MemoryBar", "KV"),
        MemoryKind.COMPUTE: translate("MemoryBar", "Compute"),
        MemoryKind.OVERHEAD: translate("MemoryBar", "Overhead"),
        MemoryKind.OTHERS: translate("MemoryBar", "Others"),
        MemoryKind.SPARE: translate("MemoryBar", "Spare"),
    }[kind]


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """One part of a bar."""

    kind: MemoryKind
    size_bytes: int


def parts_of(device: DeviceMemory) -> tuple[MemoryPart, ...]:
    """The parts of a forecast, in the order of the legend; what is not forecast is left out."""
    known = (
        (MemoryKind.WEIGHTS, device.weights_bytes),
        (MemoryKind.KV, device.kv_bytes),
        (MemoryKind.COMPUTE, device.compute_bytes or 0),
        (MemoryKind.OVERHEAD, device.overhead_bytes or 0),
        (MemoryKind.OTHERS, device.others_bytes),
    )
    return tuple(MemoryPart(kind, size) for kind, size in known if size > 0)


def widths(sizes: Sequence[int], total: int, room: int, *, least: int = 2) -> list[int]:
    """Whole pixels for each part: in proportion, never under ``least``, never over ``room``."""
    if total <= 0 or room <= 0:
        return [0 for _ in sizes]
    wanted = [max(least, round(size / total * room)) if size > 0 else 0 for size in sizes]
    over = sum(wanted) - room
    while over > 0:
        widest = max(range(len(wanted)), key=lambda i: wanted[i])
        if wanted[widest] <= least:
            break
        take = min(over, wanted[widest] - least)
        wanted[widest] -= take
        over -= take
    return wanted


class MemoryBar(QLabel):
    """12 px high in the inspector, 20 px (``large``) on Plan.

    Others' memory is hatched and the spare rest outlined. Parts that need more than the device
    has are drawn past a mark at its limit, in an outline of the bad colour.
    """

    def __init__(self, parent: QWidget | None = None, *, large: bool = False) -> None:
        super().__init__(parent)
        self._large = large
        self._total_bytes = 0
        self._parts: tuple[MemoryPart, ...] = ()
        self.setFixedHeight(20 if large else 12)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(160, self.height())

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(24, self.height())

    def show_parts(self, parts: Sequence[MemoryPart], total_bytes: int, name: str = "") -> None:
        """Show ``parts`` of ``total_bytes``; the rest is spare. ``name`` is the device's."""
        self._parts = tuple(parts)
        self._total_bytes = total_bytes
        words = ", ".join(
            f"{kind_name(part.kind)} {format_gib(part.size_bytes)}" for part in self._parts
        )
        self.setAccessibleName(name)
        self.setAccessibleDescription(words)
        self.setToolTip(words)
        self.update()

    def show_device(self, device: DeviceMemory) -> None:
        """Show a forecast."""
        self.show_parts(parts_of(device), device.total_bytes, device.name)

    @property
    def used_bytes(self) -> int:
        """The sum of the parts."""
        return sum(part.size_bytes for part in self._parts)

    @property
    def over_budget(self) -> bool:
        """The parts need more than there is."""
        return self.used_bytes > self._total_bytes > 0

    def paintEvent(self, event: QPaintEvent) -> None:
        """Parts side by side with 1 px between."""
        del event
        painter = painter_on(self)
        radius = 4 if self._large else 3
        scale = max(self._total_bytes, self.used_bytes)
        limit = self.width()
        if self.over_budget:
            limit = round(self.width() * self._total_bytes / scale)
        painter.setClipPath(rounded(QRectF(self.rect()), radius))
        x = 0
        sizes = [part.size_bytes for part in self._parts]
        gaps = max(0, len(sizes) - 1)
        for part, width in zip(self._parts, widths(sizes, scale, self.width() - gaps), strict=True):
            self._paint_part(painter, part.kind, QRectF(x, 0, width, self.height()))
            x += width + 1
        if x < self.width() and not self.over_budget:
            self._paint_spare(painter, QRectF(x, 0, self.width() - x, self.height()))
        painter.setClipping(False)
        if self.over_budget:
            self._paint_shortfall(painter, limit)
        painter.end()

    def _paint_part(self, painter: QPainter, kind: MemoryKind, rect: QRectF) -> None:
        t = tokens()
        if kind is MemoryKind.OTHERS:
            ratio = self.devicePixelRatioF()
            painter.fillRect(rect, hatch(t.others, t.hatch, ratio))
        else:
            painter.fillRect(rect, color(getattr(t, kind.value)))

    def _paint_spare(self, painter: QPainter, rect: QRectF) -> None:
        t = tokens()
        painter.fillRect(rect, color(t.spare))
        painter.setPen(QPen(color(t.control), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        radius = 4 if self._large else 3
        path = rounded(rect.adjusted(0.5, 0.5, -0.5, -0.5), radius if rect.x() == 0 else 2)
        painter.drawPath(path)

    def _paint_shortfall(self, painter: QPainter, limit: int) -> None:
        t = tokens()
        over = QRectF(limit, 0, self.width() - limit, self.height())
        box(painter, over, 2, border=t.bad, width=2)
        painter.fillRect(QRectF(limit - 1, 0, 2, self.height()), color(t.text))


class MemoryLegend(QLabel):
    """Names the colours: the parts of one device with their GiB, or a grid of all kinds.

    With values it is a line that wraps when there is no room, the unit at its right end; parts
    that have no forecast are named as such, never shown as zero.
    """

    SQUARE = 8
    LINE = SMALL_LINE_PX + 2
    GAP = 14

    def __init__(self, parent: QWidget | None = None, *, columns: int = 3) -> None:
        super().__init__(parent)
        self._columns = columns
        self._entries: tuple[_Entry, ...] | None = None
        # Not Fixed: that would cap the height at one line.
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_values(
        self,
        parts: Sequence[MemoryPart],
        total_bytes: int,
        *,
        not_forecast: Sequence[MemoryKind] = (),
    ) -> None:
        """Name the parts present with their GiB, the spare rest (or what is short) last.

        ``total_bytes`` 0 = the device does not say: then there is no rest to name.
        """
        entries = [
            _Entry(part.kind.value, kind_name(part.kind), _gib(part.size_bytes)) for part in parts
        ]
        if not_forecast:
            comma = QCoreApplication.translate("MemoryBar", ", ")
            kinds = comma.join(kind_name(kind) for kind in not_forecast)
            entries.append(_Entry("", kinds, _not_forecast_word()))
        spare = total_bytes - sum(part.size_bytes for part in parts)
        if total_bytes > 0 and spare >= 0:
            word = kind_name(MemoryKind.SPARE)
            entries.append(_Entry("spare", word, _gib(spare)))
        elif total_bytes > 0:
            word = QCoreApplication.translate("MemoryBar", "Short")
            entries.append(_Entry("bad", word, _gib(-spare)))
        if tuple(entries) == self._entries:
            return
        self._entries = tuple(entries)
        self.setAccessibleName(", ".join(f"{entry.name} {entry.value}" for entry in entries))
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        """A line of values wraps."""
        return self._entries is not None

    def heightForWidth(self, width: int) -> int:
        """As many lines as the entries need."""
        places = self._places(width)
        return (places[-1][1] if places else 0) + self.LINE

    def sizeHint(self) -> QSize:
        """One line with values, else as many as the grid needs."""
        if self._entries is not None:
            return QSize(200, self.LINE)
        return QSize(200, -(-len(MemoryKind) // self._columns) * self.LINE)

    def minimumSizeHint(self) -> QSize:
        """Room for one entry."""
        return QSize(80, self.LINE)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Squares and words."""
        del event
        painter = painter_on(self)
        painter.setFont(ui_font(SMALL_PX))
        if self._entries is None:
            column = self.width() / self._columns
            for place, kind in enumerate(MemoryKind):
                entry = _Entry(kind.value, kind_name(kind), "")
                x = round(place % self._columns * column)
                self._paint_entry(painter, entry, x, place // self._columns * self.LINE)
        else:
            for entry, (x, y) in zip(self._entries, self._places(self.width()), strict=True):
                self._paint_entry(painter, entry, x, y)
            painter.setFont(ui_font(SMALL_PX))
            painter.setPen(color(tokens().muted))
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, 0, self.width(), self.LINE), side, UNIT)
        painter.end()

    def _places(self, width: int) -> list[tuple[int, int]]:
        """Top left corners of the entries; the unit keeps its place in the first line."""
        name_metrics = QFontMetrics(ui_font(SMALL_PX))
        value_metrics = QFontMetrics(ui_font(SMALL_PX, QFont.Weight.Medium))
        unit = name_metrics.horizontalAdvance(UNIT) + self.GAP
        places: list[tuple[int, int]] = []
        x = y = 0
        for entry in self._entries or ():
            wide = self.SQUARE + 6 + name_metrics.horizontalAdvance(f"{entry.name} ")
            wide += value_metrics.horizontalAdvance(entry.value)
            room = width - unit if y == 0 else width
            if x > 0 and x + wide > room:
                x, y = 0, y + self.LINE
            places.append((x, y))
            x += wide + self.GAP
        return places

    def _paint_entry(self, painter: QPainter, entry: _Entry, x: int, y: int) -> None:
        t = tokens()
        square = QRectF(x, y + (self.LINE - self.SQUARE) / 2, self.SQUARE, self.SQUARE)
        if entry.tone == "spare":
            box(painter, square, 2, fill=t.spare, border=t.control)
        elif entry.tone == "others":
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(hatch(t.others, t.hatch, self.devicePixelRatioF()))
            painter.drawRoundedRect(square, 2, 2)
        elif entry.tone == "bad":
            box(painter, square, 2, border=t.bad, width=2)
        elif entry.tone:
            box(painter, square, 2, fill=getattr(t, entry.tone))
        else:
            painter.setPen(QPen(color(t.muted), 1, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(square.adjusted(0.5, 0.5, -0.5, -0.5))
        name_font = ui_font(SMALL_PX)
        painter.setFont(name_font)
        painter.setPen(color(t.muted))
        left = x + self.SQUARE + 6
        line = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(left, y, self.width(), self.LINE), line, entry.name)
        if entry.value:
            left += QFontMetrics(name_font).horizontalAdvance(f"{entry.name} ")
            if entry.tone:
                painter.setFont(ui_font(SMALL_PX, QFont.Weight.Medium))
                painter.setPen(color(t.bad if entry.tone == "bad" else t.text))
            painter.drawText(QRectF(left, y, self.width(), self.LINE), line, entry.value)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a legend; without a tone it has no forecast."""

    tone: str
    name: str
    value: str


def _gib(size_bytes: int) -> str:
    """GiB without the unit; what is there is never shown as zero."""
    return "<0.01" if 0 < size_bytes < LEAST_SHOWN else format_gib(size_bytes, unit=False)


def _not_forecast_word() -> str:
    return QCoreApplication.translate("MemoryBar", "not forecast yet")
