"""How fast a plan will be: two rates as bands, two times, and what each waits for. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import PlanWords, PricedLoad
from kimi_desktop.base.messages import message
from kimi_desktop.base.units import format_context, format_duration, format_tokens_per_s
from kimi_desktop.planner import speed_types
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.band import Band, nice_top
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, Number, TextSize

HEADROOM = 1.15
"""The scale ends so far beyond the likely range."""
TITLE_WIDTH = 56
LOW_RATE = 0.1
"""Below this, rates have two decimals: a tenth is already fast for a disk."""


class SpeedView(QWidget):
    """Decode and prefill as bands, load time and first token beside each other."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.decode = RateView()
        self.prefill = RateView()
        self.load = TimeView()
        self.first_token = TimeView()
        times = QHBoxLayout()
        times.setSpacing(16)
        for view in (self.load, self.first_token):
            times.addWidget(view, 1, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.decode)
        layout.addWidget(self.prefill)
        layout.addWidget(Divider())
        layout.addLayout(times)

    def show_speed(self, priced: PricedLoad, words: PlanWords) -> None:
        """Show the forecast of a plan."""
        speed = priced.speed
        self.decode.show_rate(self.tr("Decode"), speed.decode_tps, words.decode_limit)
        self.prefill.show_rate(self.tr("Prefill"), speed.prefill_tps, words.prefill_limit)
        self.load.show_time(self.tr("Load time"), speed.load_s, "", words.load_limit)
        prompt = self.tr(" for a {size} prompt").format(size=format_context(speed.prompt_tokens))
        after = self.tr("{time} for {size} tokens")
        others = " · ".join(
            after.format(time=format_duration(band.likely, language()), size=format_context(tokens))
            for tokens, band in priced.other_prompts
        )
        self.first_token.show_time(self.tr("First token"), speed.first_token_s, prompt, others)


class RateView(QWidget):
    """One rate: title, value, likely range, scale, band, and why."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Label()
        self._title.setMinimumWidth(TITLE_WIDTH)
        self._value = Label(size=TextSize.HEADING, weight=SEMIBOLD)
        self._likely = Label(tone="muted", size=TextSize.SMALL)
        self._scale = Label(tone="muted", size=TextSize.SMALL)
        self.band = Band()
        self._limit = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        head = QHBoxLayout()
        head.setSpacing(8)
        for label in (self._title, self._value, self._likely):
            head.addWidget(label)
        head.addStretch(1)
        head.addWidget(self._scale)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self.band)
        layout.addSpacing(2)
        layout.addWidget(self._limit)

    def show_rate(self, title: str, band: speed_types.Band, limit: str) -> None:
        """Show a rate in tokens per second and what it waits for."""
        self._title.setText(title)
        value = _rate(band.likely)
        low, high = _rate(band.low).partition(" ")[0], _rate(band.high).partition(" ")[0]
        likely = self.tr("likely {low} – {high}").format(low=low, high=high)
        top = nice_top(band.high * HEADROOM)
        self._value.setText(value)
        self._likely.setText(likely)
        self._scale.setText(self.tr("scale 0 – {top}").format(top=f"{top:,g}"))
        self._limit.setText(limit)
        self.band.show_band(band.low, band.likely, band.high, top, f"{title} {value}, {likely}")

    def texts(self) -> tuple[str, str, str]:
        """Value, likely range and why."""
        return self._value.text(), self._likely.text(), self._limit.text()


class TimeView(QWidget):
    """One time: a muted title, a strong value, its range, and notes below."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Label(tone="muted", size=TextSize.SMALL)
        self._value = Number(
            size=TextSize.HEADING,
            unit_size=TextSize.SMALL,
            weight=SEMIBOLD,
            align=Qt.AlignmentFlag.AlignLeft,
        )
        self._notes = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._title)
        layout.addWidget(self._value)
        layout.addWidget(self._notes)

    def show_time(self, title: str, band: speed_types.Band, unit: str, note: str) -> None:
        """Show a time in seconds, its range with what it waits for, and a note below."""
        low, high = format_duration(band.low, language()), format_duration(band.high, language())
        self._title.setText(title)
        value = format_duration(band.likely, language())
        self._value.show_number(value, unit)
        likely = self.tr("likely {low} – {high}").format(low=low, high=high)
        waits = message(f"forecast.bottleneck.{band.bottleneck.value}", language())
        self._notes.setText(f"{likely} · {waits}\n{note}")
        self.setAccessibleName(f"{title}: {value}{unit}, {likely}")

    def texts(self) -> tuple[str, str]:
        """Value and notes."""
        return self._value.accessibleName(), self._notes.text()


def _rate(rate: float) -> str:
    if rate < LOW_RATE:
        unit = format_tokens_per_s(1.0, language()).partition(" ")[2]
        return f"{rate:.2f} {unit}"
    return format_tokens_per_s(rate, language())
