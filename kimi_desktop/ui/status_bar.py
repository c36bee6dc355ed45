"""The bar at the bottom: speed, first token, context, RAM, VRAM, endpoint. A click opens Monitor.

One painted button, fed by the events of chats, engine, monitor and gateway. Qt thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.events import Event
from kimi_desktop.base.units import GIB, format_count, format_duration, format_rate
from kimi_desktop.chat.types import AnswerFinished, AnswerStats, TokensArrived
from kimi_desktop.downloads.queue_types import (
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
)
from kimi_desktop.monitor.types import GpuSample, Sample, SampleTaken
from kimi_desktop.serve.types import ServeChanged, ServeState
from kimi_desktop.ui import icons
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import USABLE, context_of
from kimi_desktop.ui.language import language
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import MEDIUM
from kimi_desktop.ui.widgets.painting import box, painter_on

HEIGHT = 24
PADDING = 12
ICON = 16
NONE = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """``before`` and ``after`` are muted, ``value`` is strong."""

    before: str
    value: str
    after: str

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.before}{self.value}{self.after}"


def _gib(size_bytes: float) -> str:
    return f"{size_bytes / GIB:,.1f}"


class StatusBar(Focusable, QPushButton):
    """Shows the newest figures; an en dash stands for what is not known."""

    focus_radius = 0

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._stats: AnswerStats | None = None
        self._sample: Sample | None = None
        self._fetching: dict[str, float] = {}
        """Bytes per second of each download that is running."""
        self.setFixedHeight(HEIGHT)
        self.setAutoDefault(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        history = bridge.services.monitor.history(2)
        if history:
            self._sample = history[-1]
        self._take_downloads()
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def cells(self) -> tuple[Cell, ...]:
        """What the left side shows, as far as there is room."""
        stats = self._stats
        speed = first = context = NONE
        total = ""
        if stats is not None:
            rate = stats.decode_tokens_per_s
            if rate:
                speed = f"{rate:,.1f}" if rate < 100 else f"{rate:,.0f}"
            if stats.first_token_s is not None:
                first = format_duration(stats.first_token_s, language())
        status = self._bridge.services.engine.status
        if status.state in USABLE and (room := context_of(status)):
            used = stats.prompt_tokens + stats.tokens if stats is not None else 0
            context = format_count(used)
            total = f" / {format_count(room)}"
        found = [
            Cell("", speed, " " + self.tr("tok/s")),
            Cell(self.tr("First token") + " ", first, ""),
            Cell(self.tr("Context") + " ", context, total),
        ]
        if self._sample is not None:
            sample = self._sample
            found.append(
                Cell(
                    self.tr("RAM") + " ",
                    _gib(sample.ram_used_bytes),
                    f" / {_gib(sample.ram_total_bytes)} GiB",
                )
            )
            found.extend(self._gpu_cells(sample.gpus, found))
        return tuple(found)

    def endpoint(self) -> str:
        """The address of the gateway, or that it is off."""
        status = self._bridge.services.serve.status
        if status.state is ServeState.ON:
            address = status.url.partition("://")[2].partition("/")[0]
            is_open = self.tr("Open to the network: {address}")
            return is_open.format(address=address) if status.address else address
        if status.state is ServeState.FAILED:
            return self.tr("Endpoint failed")
        return self.tr("Endpoint off")

    def downloading(self) -> Cell | None:
        """How fast models come in; None while none does."""
        if not self._fetching:
            return None
        rate = sum(self._fetching.values())
        value, _, unit = format_rate(rate).partition(" ")
        return Cell("", value, f" {unit}")

    def sizeHint(self) -> QSize:
        """As wide as the window."""
        return QSize(400, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(200, HEIGHT)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.setAccessibleName(self.tr("Status: open Monitor"))
        self.setToolTip(self.tr("Open Monitor"))
        self._refresh()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Cells with a line after each; the endpoint at the right."""
        del event
        t = tokens()
        painter = painter_on(self)
        ground = t.press if self.isDown() else t.hover if self.underMouse() else t.panel
        painter.fillRect(self.rect(), color(ground))
        painter.fillRect(0, 0, self.width(), 1, color(t.line))
        end = self._paint_download(painter, self._paint_endpoint(painter))
        x = 16
        for cell in self.cells():
            width = self._cell_width(cell)
            if x + width + PADDING > end:
                break
            self._paint_cell(painter, cell, x)
            x += width + PADDING
            painter.fillRect(x, 5, 1, HEIGHT - 9, color(t.line))
            x += PADDING
        painter.end()

    def _gpu_cells(self, gpus: tuple[GpuSample, ...], before: list[Cell]) -> list[Cell]:
        """One per GPU, or all in one when they would not fit."""
        each = [
            Cell(
                f"GPU {gpu.index} ",
                _gib(gpu.vram_used_bytes),
                f" / {_gib(gpu.vram_total_bytes)} GiB",
            )
            for gpu in gpus
            if gpu.vram_total_bytes
        ]
        width = sum(self._cell_width(cell) + 2 * PADDING for cell in [*before, *each])
        if len(each) < 2 or width < self.width() - 180:
            return each
        used = sum(gpu.vram_used_bytes for gpu in gpus)
        total = sum(gpu.vram_total_bytes for gpu in gpus)
        name = self.tr("VRAM, {count} GPUs").format(count=len(gpus))
        return [Cell(f"{name} ", _gib(used), f" / {_gib(total)} GiB")]

    def _cell_width(self, cell: Cell) -> int:
        plain = QFontMetrics(ui_font(SMALL_PX))
        strong = QFontMetrics(ui_font(SMALL_PX, MEDIUM))
        return (
            plain.horizontalAdvance(cell.before)
            + strong.horizontalAdvance(cell.value)
            + plain.horizontalAdvance(cell.after)
        )

    def _paint_cell(self, painter: QPainter, cell: Cell, x: int) -> None:
        t = tokens()
        for text, weight, ink in (
            (cell.before, None, t.muted),
            (cell.value, MEDIUM, t.text),
            (cell.after, None, t.muted),
        ):
            font = ui_font(SMALL_PX) if weight is None else ui_font(SMALL_PX, weight)
            painter.setFont(font)
            painter.setPen(color(ink))
            painter.drawText(
                QRectF(x, 1, self.width(), HEIGHT - 1), Qt.AlignmentFlag.AlignVCenter, text
            )
            x += QFontMetrics(font).horizontalAdvance(text)

    def _paint_endpoint(self, painter: QPainter) -> int:
        """Dot and word at the right; returns where they begin."""
        t = tokens()
        text = self.endpoint()
        font = ui_font(SMALL_PX)
        width = QFontMetrics(font).horizontalAdvance(text)
        x = self.width() - 16 - width
        painter.setFont(font)
        status = self._bridge.services.serve.status
        state = status.state
        is_open = state is ServeState.ON and bool(status.address)
        painter.setPen(color(t.bad if is_open else t.muted))
        painter.drawText(QRectF(x, 1, width + 1, HEIGHT - 1), Qt.AlignmentFlag.AlignVCenter, text)
        x -= 16
        dot = QRectF(x, (HEIGHT - 8) / 2 + 0.5, 8, 8)
        if state is ServeState.ON:
            box(painter, dot, 4, fill=t.bad if is_open else t.ok)
        elif state is ServeState.FAILED:
            box(painter, dot, 1, fill=t.bad)
        elif state is ServeState.STARTING:
            box(painter, dot, 4, fill=t.warn)
        else:
            box(painter, dot, 4, border=t.muted, width=1.5)
        return x

    def _paint_download(self, painter: QPainter, end: int) -> int:
        """Arrow and speed before the endpoint; returns where they begin."""
        cell = self.downloading()
        if cell is None:
            return end
        t = tokens()
        x = end - PADDING
        painter.fillRect(x, 5, 1, HEIGHT - 9, color(t.line))
        x -= PADDING + self._cell_width(cell)
        self._paint_cell(painter, cell, x)
        x -= ICON + 6
        icons.paint(painter, "download", QPoint(x, (HEIGHT - ICON) // 2), ICON, t.muted)
        return x

    def _refresh(self) -> None:
        words = [cell.text for cell in self.cells()]
        if (cell := self.downloading()) is not None:
            words.append(self.tr("downloading {rate}").format(rate=cell.text))
        self.setAccessibleDescription(", ".join([*words, self.endpoint()]))
        self.update()

    def _take_downloads(self) -> None:
        downloads = self._bridge.services.downloads.downloads
        self._fetching = {
            one.id: one.bytes_per_s
            for one in downloads
            if one.state is DownloadState.DOWNLOADING and one.bytes_per_s >= 1
        }

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TokensArrived):
            self._stats = event.stats
        elif isinstance(event, AnswerFinished):
            self._stats = event.message.stats or self._stats
        elif isinstance(event, SampleTaken):
            self._sample = event.sample
        elif isinstance(event, EngineStateChanged):
            if event.status.state not in USABLE:
                self._stats = None
        elif isinstance(event, DownloadProgressed | DownloadsChanged):
            self._take_downloads()
        elif not isinstance(event, ServeChanged):
            return
        self._refresh()
