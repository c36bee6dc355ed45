"""The inspector's live figures: speed with its last minute, first token, prefill, context. Qt."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.base.units import format_count, format_duration
from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.monitor.types import Phase, Sample
from kimi_desktop.ui.chat.inspector_parts import FactRow, Section
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.gauge import Gauge, SpeedLine
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, Number, TextSize

NONE = "–"
SLOTS = 60
"""Seconds on the line."""


class LiveSection(Section):
    """How fast it is now, and how the answer began."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stats: AnswerStats | None = None
        self._prefill: tuple[int, int] | None = None
        self._phase = Phase.IDLE
        self._speed = Number(
            size=TextSize.TITLE,
            unit_size=TextSize.BODY,
            weight=SEMIBOLD,
            align=Qt.AlignmentFlag.AlignLeft,
        )
        self._what = Label(size=TextSize.SMALL, tone="muted")
        self._line = SpeedLine()
        self._first = FactRow()
        self._read = FactRow()
        row = QHBoxLayout()
        row.addWidget(self._speed, 1)
        row.addWidget(self._what)
        self.body.addLayout(row)
        self.body.addWidget(self._line)
        self.body.addSpacing(2)
        self.body.setSpacing(0)
        self.body.addWidget(self._first)
        self.body.addWidget(self._read)
        self.retranslate()

    def show_stats(self, stats: AnswerStats | None) -> None:
        """The answer that is being written, or the last one of the chat."""
        self._stats = stats
        self._prefill = None
        self._refresh()

    def show_prefill(self, done: int, total: int) -> None:
        """The prompt is being read."""
        self._prefill = (done, total)
        self._refresh()

    def show_samples(self, samples: tuple[Sample, ...]) -> None:
        """The last minute."""
        self._line.show_values([sample.tokens_per_s for sample in samples], slots=SLOTS)
        if samples:
            self._phase = samples[-1].phase
        self._refresh()

    def speed(self) -> str:
        """What it shows."""
        return self._speed.accessibleName()

    def retranslate(self) -> None:
        """Set the words."""
        self.set_title(self.tr("Live"))
        self._first.set_name(self.tr("First token"))
        self._read.set_name(self.tr("Prefill"))
        self._line.setAccessibleName(self.tr("Tokens per second, last 60 seconds"))
        self._refresh()

    def _refresh(self) -> None:
        stats = self._stats
        rate = stats.decode_tokens_per_s if stats is not None else 0.0
        speed = NONE if not rate else f"{rate:,.1f}" if rate < 100 else f"{rate:,.0f}"
        self._speed.show_number(speed, " " + self.tr("tok/s"))
        first = stats.first_token_s if stats is not None else None
        self._first.show_value(NONE if first is None else format_duration(first, language()))
        self._read.show_value(self._prefill_words())
        phase = {
            Phase.IDLE: self.tr("60 s"),
            Phase.LOAD: self.tr("loading · 60 s"),
            Phase.PREFILL: self.tr("prefill · 60 s"),
            Phase.DECODE: self.tr("decode · 60 s"),
        }
        self._what.setText(phase[self._phase])

    def _prefill_words(self) -> str:
        if self._prefill is not None:
            done, total = (format_count(number) for number in self._prefill)
            return self.tr("{done} of {total}").format(done=done, total=total)
        stats = self._stats
        if stats is None or not stats.prompt_tokens:
            return NONE
        new = format_count(max(stats.prompt_tokens - stats.cached_tokens, 0))
        cached = format_count(stats.cached_tokens)
        return self.tr("{new} new · {cached} cached").format(new=new, cached=cached)


class ContextSection(Section):
    """How much of the context the chat fills."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._used = 0
        self._total = 0
        self._number = Number(size=TextSize.SMALL)
        self.head.addWidget(self._number)
        self._gauge = Gauge()
        self.body.addWidget(self._gauge)
        self.retranslate()

    def show_context(self, used: int, total: int) -> None:
        """Tokens of the chat, and of the engine's context (0 while none runs)."""
        self._used, self._total = used, total
        self._refresh()

    def text(self) -> str:
        """What it says."""
        return self._number.accessibleName()

    def retranslate(self) -> None:
        """Set the words."""
        self.set_title(self.tr("Context"))
        self._gauge.setAccessibleName(self.tr("Context used"))
        self._refresh()

    def _refresh(self) -> None:
        if not self._total:
            self._number.show_number(NONE)
            self._gauge.show_share(0.0)
            return
        share = self._used / self._total
        rest = f" / {format_count(self._total)} · {share:.0%}"
        self._number.show_number(format_count(self._used), rest)
        self._gauge.show_share(share, self._number.accessibleName())
