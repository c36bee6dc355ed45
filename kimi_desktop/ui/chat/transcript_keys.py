"""The keyboard in the transcript: selecting with Shift, Tab through the controls. Qt thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QTextCursor
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.ui.chat.item_views import ItemView
from kimi_desktop.ui.chat.selection import Spot
from kimi_desktop.ui.chat.text_pane import TextPane

if TYPE_CHECKING:
    from kimi_desktop.ui.chat.transcript import Transcript

_Move = QTextCursor.MoveOperation
_MOVES = {
    Qt.Key.Key_Left: _Move.Left,
    Qt.Key.Key_Right: _Move.Right,
    Qt.Key.Key_Up: _Move.Up,
    Qt.Key.Key_Down: _Move.Down,
    Qt.Key.Key_Home: _Move.StartOfLine,
    Qt.Key.Key_End: _Move.EndOfLine,
}
_FAR_MOVES = {Qt.Key.Key_Left: _Move.PreviousWord, Qt.Key.Key_Right: _Move.NextWord}
_BACK = (Qt.Key.Key_Left, Qt.Key.Key_Up)


class TranscriptKeys:
    """What keys do besides scrolling."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._aim: tuple[Spot, int] | None = None
        """Where Up and Down have led, and the x that they keep to."""

    def on_key(self, event: QKeyEvent) -> bool:
        """Use the key; False when it is not for the selection."""
        select = self._transcript.select
        if event.matches(QKeySequence.StandardKey.Copy):
            select.copy()
            return True
        if event.matches(QKeySequence.StandardKey.SelectAll):
            select.select_all()
            return True
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape and not select.selection.is_empty:
            select.clear()
            return True
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return self._open_link()
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        far = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        shift = Qt.KeyboardModifier.ShiftModifier
        if modifiers not in (shift, shift | Qt.KeyboardModifier.ControlModifier):
            return False
        return self._extend(key, far=far)

    def focus_step(self, *, forward: bool) -> bool:
        """Bring the focus to the next control in view; False when it leaves the transcript."""
        stops = self._stops()
        focus = QApplication.focusWidget()
        widgets = [widget for _, widget in stops]
        if focus in widgets:
            place = widgets.index(focus) + (1 if forward else -1)
        elif focus is self._transcript and forward:
            place = 0
        else:
            return False
        if 0 <= place < len(stops):
            view, widget = stops[place]
            view.show_stops()
            widget.setFocus(
                Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
            )
            corner = widget.mapTo(self._transcript.viewport(), QPoint(0, 0))
            self._transcript.reveal(QRect(corner, widget.size()))
            return True
        self._transcript.setFocus(Qt.FocusReason.BacktabFocusReason)
        return not forward

    def _open_link(self) -> bool:
        """Enter follows the link at the end of the selection."""
        head = self._transcript.select.selection.head
        view = None if head is None else self._transcript.pool.get((head.entry, head.key))
        if head is None or view is None or view.pane is None:
            return False
        link = view.pane.link_of(head.position)
        if link:
            place = view.pane.position_rect(head.position).toRect().center()
            self._transcript.link_activated.emit(link, view.pane.mapToGlobal(place))
        return bool(link)

    def _stops(self) -> list[tuple[ItemView, QWidget]]:
        """The controls of what is in view, top down."""
        height = self._transcript.viewport().height()
        found = []
        for placed in self._transcript.placed:
            view = self._transcript.pool.get((placed.entry, placed.item.key))
            if view is not None and placed.y + placed.height > 0 and placed.y < height:
                found += [(view, widget) for widget in view.stops()]
        return found

    def _extend(self, key: Qt.Key, *, far: bool) -> bool:
        select = self._transcript.select
        texts = select.texts
        if far and key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            spot = texts.first_spot() if key == Qt.Key.Key_Home else texts.last_spot()
            if spot is not None:
                self._start_if_none()
                select.extend_to(spot)
                self._reveal(spot)
            return True
        move = (_FAR_MOVES if far else _MOVES).get(key)
        if move is None:
            return False
        head = self._start_if_none()
        if head is None:
            return True
        pane = self._pane_of(head)
        if pane is not None:
            spot = self._moved(head, pane, move, back=key in _BACK)
            select.extend_to(spot)
            self._reveal(spot)
        return True

    def _moved(self, head: Spot, pane: TextPane, move: _Move, *, back: bool) -> Spot:
        cursor = QTextCursor(pane.document())
        cursor.setPosition(min(head.position, pane.length))
        vertical = move in (_Move.Up, _Move.Down)
        x = round(pane.position_rect(head.position).left()) + pane.x()
        if vertical and self._aim is not None and self._aim[0] == head:
            x = self._aim[1]
        cursor.setVerticalMovementX(x - pane.x())
        if cursor.movePosition(move) and cursor.position() != head.position:
            spot = head._replace(position=cursor.position())
        else:
            spot = self._next_piece(head, pane, move, back=back, x=x)
        self._aim = (spot, x) if vertical else None
        return spot

    def _next_piece(self, head: Spot, pane: TextPane, move: _Move, *, back: bool, x: int) -> Spot:
        texts = self._transcript.select.texts
        item = texts.item_of(head)
        if item is None or move in (_Move.StartOfLine, _Move.EndOfLine):
            return head
        step = texts.previous_item if back else texts.next_item
        found = step(head.entry, item)
        if found is None:
            return head._replace(position=0 if back else pane.length)
        entry, other = found
        spot = Spot(entry, other.key, texts.length(entry, other) if back else 0)
        if move in (_Move.Up, _Move.Down):
            target = self._pane_of(spot)
            if target is not None:
                y = target.height() - 1 if back else 0
                spot = spot._replace(position=target.position_at(QPoint(x - target.x(), y)))
        return spot

    def _start_if_none(self) -> Spot | None:
        """The head; a selection that was not there begins at the first text in view."""
        select = self._transcript.select
        if select.selection.head is None:
            spot = select.spot_at(QPoint(self._transcript.viewport().width() // 2, 0))
            if spot is not None:
                select.selection.start(spot._replace(position=0))
        return select.selection.head

    def _pane_of(self, spot: Spot) -> TextPane | None:
        """The pane of a spot; brought into view when it has none."""
        pool, column = self._transcript.pool, self._transcript.column
        view = pool.get((spot.entry, spot.key))
        if view is None:
            column.anchor_to(spot.entry, spot.key, 0)
            self._transcript.relayout()
            view = pool.get((spot.entry, spot.key))
        return None if view is None else view.pane

    def _reveal(self, spot: Spot) -> None:
        pane = self._pane_of(spot)
        view = self._transcript.pool.get((spot.entry, spot.key))
        if pane is not None and view is not None:
            rect = pane.position_rect(spot.position).toRect()
            self._transcript.reveal(rect.translated(view.pos() + pane.pos()))
