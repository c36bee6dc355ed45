"""Who is being answered, who waits, and what was answered last; no bodies. Qt thread."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QTime, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from kimi_desktop.base.units import format_duration
from kimi_desktop.serve.types import DoneRequest, LiveRequest, RefusedRequests
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.card import Card, Heading
from kimi_desktop.ui.widgets.label import Label, TextSize

ROWS = 12
GONE = 499
LATELY_S = 600
TICK_MS = 1000
CALLS = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completion",
    "/v1/embeddings": "embeddings",
}


class RequestsCard(Card):
    """The live requests first, the newest of the done ones below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._live: tuple[LiveRequest, ...] = ()
        self._done: tuple[DoneRequest, ...] = ()
        self._heading = Heading()
        self._none = Label(tone="muted", wrap=True)
        self._refused: tuple[RefusedRequests, ...] = ()
        self.refused = Label(size=TextSize.SMALL, tone="warn", wrap=True)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(0, 1)
        self._cells: list[tuple[Label, ...]] = []
        self.body.addWidget(self._heading)
        self.body.addWidget(self._none)
        self.body.addLayout(self._grid)
        self.body.addWidget(self.refused)
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self._fill)
        self.retranslate()

    def show_requests(
        self,
        live: Sequence[LiveRequest],
        done: Sequence[DoneRequest],
        refused: Sequence[RefusedRequests] = (),
    ) -> None:
        """What the gateway told last."""
        self._live, self._done, self._refused = tuple(live), tuple(done), tuple(refused)
        self._fill()

    def rows(self) -> list[tuple[str, ...]]:
        """The words of the rows that are shown."""
        return [
            tuple(cell.text() for cell in cells)
            for cells in self._cells
            if cells[0].isVisibleTo(self)
        ]

    def showEvent(self, event: QShowEvent) -> None:
        """Seconds are counted while somebody looks."""
        super().showEvent(event)
        self._tick.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """And not otherwise."""
        super().hideEvent(event)
        self._tick.stop()

    def retranslate(self) -> None:
        """Set the words."""
        self._heading.setText(self.tr("Requests"))
        self._none.setText(self.tr("Nobody has asked yet."))
        self._fill()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def _fill(self) -> None:
        now = time.time()
        words = [
            (
                row.client,
                CALLS.get(row.path, row.path),
                self.tr("waits") if row.waits else self.tr("running"),
                format_duration(max(round(now - row.began_at), 1), language()),
            )
            for row in self._live
        ]
        words += [
            (
                row.client,
                CALLS.get(row.path, row.path),
                self._status_word(row.status),
                format_duration(row.seconds, language())
                + QTime.currentTime().addSecs(-int(now - row.began_at)).toString("  HH:mm:ss"),
            )
            for row in self._done
        ]
        words = words[:ROWS]
        while len(self._cells) < len(words):
            self._add_row()
        for cells, texts in zip(self._cells, [*words, *[None] * ROWS], strict=False):
            for place, cell in enumerate(cells):
                cell.setVisible(texts is not None)
                cell.setText(texts[place] if texts is not None else "")
        self._none.setVisible(not words)
        text = self._refused_words(now)
        self.refused.setText(text)
        self.refused.setVisible(bool(text))

    def _refused_words(self, now: float) -> str:
        """How many, why, and where the last one came from."""
        lately = [row for row in self._refused if row.at > now - LATELY_S]
        if not lately:
            return ""
        counts: dict[int, int] = {}
        for row in lately:
            counts[row.status] = counts.get(row.status, 0) + row.count
        reasons = {
            400: self.tr("not understood"),
            401: self.tr("no or a wrong key"),
            403: self.tr("another host or a web page"),
            404: self.tr("another address"),
            413: self.tr("too large"),
            429: self.tr("too many"),
            503: self.tr("no model"),
        }
        why = ", ".join(
            f"{count:,} × {reasons.get(status, str(status))}" for status, count in counts.items()
        )
        text = self.tr("Refused in the last ten minutes: {why}. The last one came from {peer}.")
        return text.format(why=why, peer=lately[-1].peer or "–")

    def _status_word(self, status: int) -> str:
        if status == GONE:
            return self.tr("left early")
        return (
            self.tr("answered")
            if status < 400
            else self.tr("refused ({status})").format(status=status)
        )

    def _add_row(self) -> None:
        cells = tuple(
            Label(size=TextSize.SMALL, tone="text" if column == 0 else "muted")
            for column in range(4)
        )
        for column, cell in enumerate(cells):
            self._grid.addWidget(cell, len(self._cells), column)
        self._cells.append(cells)
