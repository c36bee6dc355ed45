"""Long work in one row: what, how far, how fast, how long still, Cancel. Qt thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QEvent, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.units import format_duration, format_file_size, format_rate
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.gauge import Gauge
from kimi_desktop.ui.widgets.label import MEDIUM, Label, TextSize

WINDOW_S = 5.0
SURE_AFTER_S = 1.5
"""The first second is the page cache or a slow start: a time left from it is off by a lot."""


class RateMeter:
    """Bytes per second over the last five seconds, and the time that is left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._seen: deque[tuple[float, float]] = deque()

    def reset(self) -> None:
        """Forget; something else is being measured."""
        self._seen.clear()

    def add(self, done: float) -> None:
        """So much is done now."""
        now = self.clock()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Per second; None until two looks are apart, or when nothing moves."""
        if len(self._seen) < 2:
            return None
        (first_at, first), (last_at, last) = self._seen[0], self._seen[-1]
        if last_at <= first_at or last <= first:
            return None
        return (last - first) / (last_at - first_at)

    def seconds_left(self, total: float) -> float | None:
        """At this rate; None when it is not known, or known too short to be believed."""
        rate = self.rate
        if rate is not None and self._seen[-1][0] - self._seen[0][0] < SURE_AFTER_S:
            return None
        return None if rate is None else max(0.0, (total - self._seen[-1][1]) / rate)


class ProgressRow(QWidget):
    """Fed by ``show_bytes``. ``cancelled`` fires when the user has had enough."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.meter = RateMeter()
        self._title = Label(weight=MEDIUM)
        self.gauge = Gauge(limits=False)
        self._facts = Label(size=TextSize.SMALL, tone="muted")
        self.cancel_button = Button(small=True)
        self.cancel_button.clicked.connect(self.cancelled)
        head = QHBoxLayout()
        head.addWidget(self._title, 1)
        head.addWidget(self.cancel_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.gauge)
        layout.addWidget(self._facts)
        self.retranslate()

    def begin(self, title: str) -> None:
        """Something new is under way."""
        self.meter.reset()
        self._facts.setText("")
        self.gauge.show_share(None)
        self.set_title(title)

    def set_title(self, title: str) -> None:
        """What is being done."""
        self._title.setText(title)
        self.gauge.setAccessibleName(title)

    def title(self) -> str:
        """What is being done."""
        return self._title.text()

    def show_bytes(self, done_bytes: float, total_bytes: float) -> None:
        """How far it is, of how much."""
        self.meter.add(done_bytes)
        share = done_bytes / total_bytes if total_bytes > 0 else None
        facts = [
            self.tr("{done} of {total}").format(
                done=format_file_size(done_bytes), total=format_file_size(total_bytes)
            )
            if total_bytes > 0
            else format_file_size(done_bytes)
        ]
        if share is not None:
            facts[0] += f" ({share:.0%})"
        rate = self.meter.rate
        if rate is not None:
            facts.append(format_rate(rate))
            left = self.meter.seconds_left(total_bytes) if total_bytes > 0 else None
            if left is not None and share is not None and share < 1:
                text = self.tr("{time} left")
                facts.append(text.format(time=format_duration(max(1.0, round(left)), language())))
        self._facts.setText(" · ".join(facts))
        self.gauge.show_share(share, self._facts.text())

    def facts(self) -> str:
        """What the line below says."""
        return self._facts.text()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.cancel_button.setText(self.tr("Cancel"))
