"""The transcript: every message of the shown chat, drawn only where one looks. Qt thread.

A scroll area with a pool of views (``view_pool``), placed by ``column`` from an anchor. While an
answer streams only its open piece is rendered again. What is measured is in
``docs/decisions/0003-transcript.md`` and printed by ``benchmarks/transcript.py``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPaintEvent, QResizeEvent, QShowEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QWidget

from kimi_desktop.base.errors import KimiError
from kimi_desktop.chat.types import Message, TokensArrived
from kimi_desktop.ui.chat.code_view import CodeView
from kimi_desktop.ui.chat.column import Column, Placed
from kimi_desktop.ui.chat.inset_ring import InsetRing
from kimi_desktop.ui.chat.item_views import Act, ItemView
from kimi_desktop.ui.chat.line_keeper import LineKeeper
from kimi_desktop.ui.chat.message_views import StatsView
from kimi_desktop.ui.chat.text_pane import BLEED_PX
from kimi_desktop.ui.chat.transcript_keys import TranscriptKeys
from kimi_desktop.ui.chat.transcript_model import Entry, Item, Prefill
from kimi_desktop.ui.chat.transcript_select import TranscriptSelect
from kimi_desktop.ui.chat.view_pool import Place, ViewPool
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import MESSAGE_LINE_PX
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.painting import painter_on

COLUMN_MAX_PX = 760
SIDE_PX = 24
MARGIN_PX = 240
"""Views are ready this far outside of the viewport."""
STEP_PX = 2 * MESSAGE_LINE_PX
_TAB_REASONS = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
BUSY_SHARE = 0.4
"""An update that takes long is not repeated before it was this share of the time."""


class Transcript(QAbstractScrollArea):
    """Shows one chat."""

    acted = Signal(object, object)
    """Message id and Act: copy, edit, regenerate, older, newer."""
    link_activated = Signal(str, QPoint)
    """Address and where it was pressed, in global coordinates."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("bare", True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self._column = Column(self._measure)
        self._pool = ViewPool(self.viewport(), self._on_act)
        self._placed: list[Placed] = []
        self._width = COLUMN_MAX_PX
        self._syncing = False
        self._keyboard = False
        self._due = QTimer(self)
        self._due.setSingleShot(True)
        self._due.timeout.connect(self._relayout)
        self._keeper = LineKeeper(self)
        self._ring = InsetRing(self.viewport())
        self._last_end = 0.0
        self._last_cost = 0.0
        self.select = TranscriptSelect(self)
        self._keys = TranscriptKeys(self)
        self._latest = Button(icon="arrow-down", small=True, parent=self)
        self._latest.setObjectName("to-latest")
        self._latest.clicked.connect(lambda _checked: self.to_latest())
        self._latest.hide()
        self.verticalScrollBar().sliderReleased.connect(self._relayout)
        self.retranslate()

    # content

    @property
    def entries(self) -> Sequence[Entry]:
        """The messages shown."""
        return self._column.entries

    @property
    def column(self) -> Column:
        """Where everything stands."""
        return self._column

    @property
    def pool(self) -> ViewPool:
        """The views."""
        return self._pool

    @property
    def placed(self) -> Sequence[Placed]:
        """What is near the viewport, top down."""
        return self._placed

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show another chat, from its end."""
        self.select.clear()
        self._pool.drop_from(0)
        self._column.replace(0, [Entry(message) for message in messages])
        self._column.to_end()
        self._relayout()

    def update_messages(self, messages: Sequence[Message]) -> None:
        """The same chat with other messages at its end (a version, an edit)."""
        same = 0
        for entry, message in zip(self._column.entries, messages, strict=False):
            if entry.message != message:
                break
            same += 1
        if same == len(messages) == len(self._column.entries):
            return
        self.select.forget_from(same)
        self._pool.drop_from(same)
        self._column.replace(same, [Entry(message) for message in messages[same:]])
        self._relayout()

    def feed(self, arrived: TokensArrived) -> None:
        """Text has joined the live answer. Drawn at once unless drawing takes long."""
        index = self._index_of(arrived.message_id)
        if index is None:
            return
        entry = self._column.entries[index]
        if not entry.is_live:
            return
        entry.take(arrived)
        self._column.touch(index)
        wait_s = self._last_cost / BUSY_SHARE - (time.perf_counter() - self._last_end)
        if wait_s <= self._last_cost:
            self._relayout()
        elif not self._due.isActive():
            self._due.start(int(wait_s * 1000))

    def flush(self) -> None:
        """Draw now what waits for its turn."""
        if self._due.isActive():
            self._relayout()

    def progress(self, message_id: int, done_tokens: int, total_tokens: int) -> None:
        """The engine reads the prompt of the live answer."""
        index = self._index_of(message_id)
        if index is not None:
            self._column.entries[index].progress(Prefill(done_tokens, total_tokens))
            self._refresh(index)

    def finish(self, message: Message, error: KimiError | None) -> None:
        """The live answer is complete."""
        index = self._index_of(message.id)
        if index is None:
            return
        self._column.entries[index].finish(message, error)
        self._column.touch(index)
        self._refresh(index)
        self._relayout()

    def unfold(self, index: int, shown: bool) -> None:
        """Show or hide the thinking of one message."""
        self.select.forget_from(index)
        self._column.entries[index].unfold(shown)
        self._column.touch(index)
        self._relayout()

    def retranslate(self) -> None:
        """Words in the language in force."""
        self._latest.setText(self.tr("To latest"))
        self.viewport().setAccessibleName(self.tr("Conversation"))
        self.setAccessibleName(self.tr("Conversation"))

    # scrolling

    @property
    def at_end(self) -> bool:
        """Sticks to the bottom."""
        return self._column.follow

    def to_latest(self) -> None:
        """Go to the end and stay there."""
        self._column.to_end()
        self._relayout()

    def scroll_by(self, pixels: int) -> None:
        """Move by exactly this many pixels, down when positive."""
        self._column.scroll_by(pixels)
        self._relayout()

    def reveal(self, rect: QRect) -> None:
        """Scroll just as far as a rectangle of the viewport needs to be seen."""
        height = self.viewport().height()
        if rect.top() < 0:
            self.scroll_by(rect.top() - MESSAGE_LINE_PX)
        elif rect.bottom() > height:
            self.scroll_by(rect.bottom() - height + MESSAGE_LINE_PX)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """The scroll bar was moved by its user: dragged, or stepped by an exact distance."""
        del dx
        if self._syncing:
            return
        bar = self.verticalScrollBar()
        if bar.isSliderDown():
            self._column.to_value(bar.value(), bar.maximum())
        else:
            self._column.scroll_by(-dy)
        self._relayout()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """By pixels where the device tells, else by lines; sideways moves the code below it."""
        pixels, angle = event.pixelDelta(), event.angleDelta()
        lines = QApplication.wheelScrollLines() * MESSAGE_LINE_PX
        dx = pixels.x() or round(angle.x() / 120 * lines)
        dy = pixels.y() or round(angle.y() / 120 * lines)
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not dx:
            dx, dy = dy, 0
        if dx and abs(dx) > abs(dy):
            view = self.view_at(event.position().toPoint())
            if isinstance(view, CodeView):
                view.scroll_sideways(-dx)
        elif dy:
            self.scroll_by(-dy)
        event.accept()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """A ring inside says that the keyboard is here."""
        super().focusInEvent(event)
        self._ring.setVisible(event.reason() in _TAB_REASONS)
        self._ring.raise_()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """No focus, no ring."""
        super().focusOutEvent(event)
        self._ring.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Selection keys first, then scrolling."""
        if self._keys.on_key(event):
            event.accept()
            return
        page = self.viewport().height() - STEP_PX
        steps = {
            Qt.Key.Key_Up: -STEP_PX,
            Qt.Key.Key_Down: STEP_PX,
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_PageDown: page,
        }
        key = Qt.Key(event.key())
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.ignore()
        elif key in steps:
            self.scroll_by(steps[key])
        elif key == Qt.Key.Key_Home:
            self._column.to_start()
            self._relayout()
        elif key == Qt.Key.Key_End:
            self.to_latest()
        else:
            event.ignore()

    # placing

    def view_at(self, point: QPoint) -> ItemView | None:
        """The view under a point of the viewport."""
        for _, view in self._pool:
            if view.isVisible() and view.geometry().contains(point):
                return view
        return None

    def relayout(self) -> None:
        """Place everything again after a change of the column."""
        self._relayout()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The line at the top stays at the top; a transcript at its end stays there."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """The first layout with real sizes."""
        super().showEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        """Theme and language change while it is shown."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.LanguageChange):
            self._dress()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The ground."""
        del event
        painter = painter_on(self.viewport())
        painter.fillRect(self.viewport().rect(), color(tokens().window))
        painter.end()

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes through the controls of the messages in view, top down, then on."""
        return self._keys.focus_step(forward=next) or super().focusNextPrevChild(next)

    def _fit(self) -> None:
        width = min(self.width() - 2 * SIDE_PX, COLUMN_MAX_PX)
        if width <= 0:
            return
        line = self._keeper.line() if width != self._width else None
        self._width = width
        self._column.resize(width, self.viewport().height())
        self._latest.adjustSize()
        self._latest.move(
            (self.width() - self._latest.width()) // 2, self.height() - self._latest.height() - 12
        )
        self._relayout()
        if line is not None:
            self._keeper.restore(line)
        self._ring.setGeometry(self.viewport().rect())

    def _measure(self, index: int, item: Item) -> int:
        entry = self._column.entries[index]
        return self._pool.view((index, item.key), entry, item, self._width)[1]

    def _relayout(self) -> None:
        self._due.stop()
        if not self.isVisible():
            return  # another page is shown: an answer streams on without being drawn
        begun = time.perf_counter()
        placed = self._column.place(MARGIN_PX)
        self._pool.keep(((p.entry, p.item.key) for p in placed), self.select.pinned)
        left = (self.width() - self._width) // 2
        last = len(self._column.entries) - 1
        for p in placed:
            entry = self._column.entries[p.entry]
            view, _ = self._pool.view((p.entry, p.item.key), entry, p.item, self._width)
            if isinstance(view, StatsView):
                view.set_last(p.entry == last)
            if entry.is_live:
                view.refresh(entry)
            view.setGeometry(left, p.y, self._width + BLEED_PX, p.height)
            view.show()
        self._placed = placed
        self.select.mend(last)
        self.select.paint()
        self._sync_bar()
        self._latest.setVisible(not self._column.follow and bool(placed))
        if self._ring.isVisible():
            self._ring.raise_()
        self._last_end = time.perf_counter()
        self._last_cost = self._last_end - begun

    def _refresh(self, index: int) -> None:
        entry = self._column.entries[index]
        for (place, _), view in self._pool:
            if place == index:
                view.refresh(entry)

    def _sync_bar(self) -> None:
        bar = self.verticalScrollBar()
        if bar.isSliderDown():
            return  # a range that changes under the mouse would make the thumb run away
        self._syncing = True
        bar.setPageStep(max(self.viewport().height() - STEP_PX, 1))
        bar.setSingleStep(STEP_PX)
        bar.setRange(0, self._column.maximum)
        bar.setValue(self._column.value)
        self._syncing = False

    def _dress(self) -> None:
        self.retranslate()
        self._pool.dress()
        self._fit()

    def _index_of(self, message_id: int) -> int | None:
        for index in range(len(self._column.entries) - 1, -1, -1):
            if self._column.entries[index].message.id == message_id:
                return index
        return None

    def _on_act(self, place: Place, act: Act) -> None:
        index = place[0]
        entry = self._column.entries[index]
        if act is Act.FOLD:
            self.unfold(index, not entry.unfolded)
        elif act is Act.WRAP:
            self._pool.wrapped ^= {place}
            view, item = self._pool.get(place), self._pool.item_at(place)
            if isinstance(view, CodeView) and item is not None:
                view.set_wrap(place in self._pool.wrapped)
                self._column.forget(index, item)
                self._relayout()
        else:
            self.acted.emit(entry.message.id, act)
