"""Selecting in the transcript: mouse, keyboard, links, copying. Qt thread.

A selection crosses panes, so the panes take no mouse: this does. It is kept as places in the
text, not as pixels, and so survives scrolling, recycling of views and a growing answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QClipboard, QGuiApplication, QHelpEvent, QMouseEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QMenu, QToolTip

from kimi_desktop.ui.chat.item_views import ItemView
from kimi_desktop.ui.chat.selection import Selection, Spot
from kimi_desktop.ui.chat.selection_text import SelectionText
from kimi_desktop.ui.chat.view_pool import Place

if TYPE_CHECKING:
    from kimi_desktop.ui.chat.transcript import Transcript

SCROLL_MS = 16
_LEAST_STEP_PX = 4
_MOST_STEP_PX = 64
WORD_CLICKS = 2
PARAGRAPH_CLICKS = 3


class TranscriptSelect(QObject):
    """The selection of one transcript, and the mouse that draws it."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript)
        self._transcript = transcript
        self._viewport = transcript.viewport()
        self.selection = Selection()
        self.texts = SelectionText(transcript)
        self.pinned: Place | None = None
        """The view that holds the mouse: it must not be recycled under it."""
        self._clicks = 0
        self._origin: tuple[Spot, Spot] | None = None
        """What the first press took; the selection never gets smaller than it."""
        self._was_following = False
        self._pressed_at = QPoint()
        self._point = QPoint()
        self._scroll = QTimer(self)
        self._scroll.setInterval(SCROLL_MS)
        self._scroll.timeout.connect(self._on_scroll)
        self._triple = QTimer(self)
        self._triple.setSingleShot(True)
        self._viewport.installEventFilter(self)

    # commands

    @property
    def is_dragging(self) -> bool:
        """The mouse draws it now."""
        return self._origin is not None

    def clear(self) -> None:
        """Select nothing."""
        self.selection.clear()
        self.paint()

    def select_all(self) -> None:
        """From the first character of the chat to the last."""
        first, last = self.texts.first_spot(), self.texts.last_spot()
        if first is not None and last is not None:
            self.selection.start(first)
            self.selection.head = last
            self.paint()

    def copy(self) -> None:
        """The selection as Markdown, to the clipboard."""
        text = self.markdown()
        if text:
            QGuiApplication.clipboard().setText(text)

    def markdown(self) -> str:
        """The selection as Markdown, "" when nothing is selected."""
        bounds = self.selection.bounds
        return "" if bounds is None else self.texts.between(*bounds)

    def extend_to(self, spot: Spot) -> None:
        """Move the head there (a selection begins at the old head, or there)."""
        if self.selection.head is None:
            self.selection.start(spot)
        self.selection.head = spot
        self.paint()

    def forget_from(self, entry: int) -> None:
        """The messages from here on are others now."""
        for spot in (self.selection.anchor, self.selection.head):
            if spot is not None and spot.entry >= entry:
                self.selection.clear()

    def mend(self, entry: int) -> None:
        """The pieces of a live message were cut anew: places move along with their text."""
        anchor, head = self.selection.anchor, self.selection.head
        if anchor is None or head is None or entry not in (anchor.entry, head.entry):
            return
        new_anchor = self.texts.mended(anchor) if anchor.entry == entry else anchor
        new_head = self.texts.mended(head) if head.entry == entry else head
        if (new_anchor, new_head) != (anchor, head):
            self.selection.anchor, self.selection.head = new_anchor, new_head
            self.paint()

    def paint(self) -> None:
        """Let every live view show its part."""
        for (entry, key), view in self._transcript.pool:
            if view.pane is not None:
                view.pane.select_range(*self.selection.range_in(entry, key, view.pane.length))

    def spot_at(self, point: QPoint) -> Spot | None:
        """The text position nearest to a point of the viewport, None without any text."""
        found: tuple[Place, ItemView] | None = None
        for placed in self._transcript.placed:
            place = (placed.entry, placed.item.key)
            view = self._transcript.pool.get(place)
            if not placed.item.has_text or view is None or view.pane is None:
                continue
            found = (place, view)
            if point.y() < placed.y + placed.height:
                break
        if found is None:
            return None
        (entry, key), view = found
        pane = view.pane
        assert pane is not None
        local = point - view.pos() - pane.pos()
        if local.y() < 0:
            return Spot(entry, key, 0)
        if local.y() >= view.height() - pane.y():
            return Spot(entry, key, pane.length)
        local.setY(min(local.y(), pane.height() - 1))
        return Spot(entry, key, pane.position_at(local))

    def link_at(self, point: QPoint) -> str:
        """The address of the link under a point of the viewport."""
        view = self._transcript.view_at(point)
        if view is None or view.pane is None:
            return ""
        local = point - view.pos() - view.pane.pos()
        return view.pane.link_at(local) if view.pane.rect().contains(local) else ""

    def hint_at(self, point: QPoint) -> str:
        """What the mouse is told at a point of the viewport."""
        view = self._transcript.view_at(point)
        if view is None or view.pane is None:
            return ""
        local = point - view.pos() - view.pane.pos()
        return view.pane.hint_at(local) if view.pane.rect().contains(local) else ""

    # the mouse

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The viewport's mouse, and that of the views which pass it on."""
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.hint_at(event.pos()), self._viewport)
            return True
        if event.type() == QEvent.Type.ContextMenu:
            self.menu_at(self._point).popup(self._viewport.mapToGlobal(self._point))
            return True
        if isinstance(event, QMouseEvent) and self._on_mouse(event):
            return True
        return super().eventFilter(watched, event)

    def _on_mouse(self, event: QMouseEvent) -> bool:
        self._point = event.position().toPoint()
        kind = event.type()
        if kind == QEvent.Type.MouseMove:
            self._on_move()
        elif event.button() is not Qt.MouseButton.LeftButton:
            return False
        elif kind == QEvent.Type.MouseButtonPress:
            self._on_press(PARAGRAPH_CLICKS if self._triple.isActive() else 1, event)
        elif kind == QEvent.Type.MouseButtonDblClick:
            self._triple.start(QApplication.doubleClickInterval())
            self._on_press(WORD_CLICKS, event)
        elif kind == QEvent.Type.MouseButtonRelease:
            self._on_release()
        return True

    def _on_press(self, clicks: int, event: QMouseEvent) -> None:
        self._transcript.setFocus(Qt.FocusReason.MouseFocusReason)
        spot = self.spot_at(self._point)
        if spot is None:
            return
        if clicks == PARAGRAPH_CLICKS:
            self._triple.stop()
        self._clicks = clicks
        self._pressed_at = QPoint(self._point)
        view = self._transcript.view_at(self._point)
        self.pinned = view.place if view is not None else None
        column = self._transcript.column
        self._was_following = column.follow
        column.follow, column.held = False, True
        self._origin = self._unit(spot)
        extends = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if extends and self.selection.anchor is not None:
            self._origin = (self.selection.anchor, self.selection.anchor)
            self._draw_to(spot)
        else:
            self.selection.anchor, self.selection.head = self._origin
            self.paint()

    def _on_move(self) -> None:
        if not self.is_dragging:
            self._show_cursor()
            return
        spot = self.spot_at(self._inside(self._point))
        if spot is not None:
            self._draw_to(spot)
        outside = self._inside(self._point).y() != self._point.y()
        if outside and not self._scroll.isActive():
            self._scroll.start()
        elif not outside:
            self._scroll.stop()

    def _on_release(self) -> None:
        if not self.is_dragging:
            return
        self._scroll.stop()
        self._origin = None
        self.pinned = None
        column = self._transcript.column
        column.held = False
        column.follow = self._was_following and self.selection.is_empty
        self._transcript.relayout()
        clipboard = QGuiApplication.clipboard()
        if not self.selection.is_empty:
            if clipboard.supportsSelection():
                clipboard.setText(self.markdown(), QClipboard.Mode.Selection)
        elif link := self.link_at(self._point):
            near = (self._point - self._pressed_at).manhattanLength()
            if near < QApplication.startDragDistance():
                self._transcript.link_activated.emit(link, self._viewport.mapToGlobal(self._point))

    def _on_scroll(self) -> None:
        """The mouse is held above or below the viewport: the further, the faster."""
        beyond = self._point.y() - self._inside(self._point).y()
        step = min(max(abs(beyond) // 3, _LEAST_STEP_PX), _MOST_STEP_PX)
        self._transcript.scroll_by(step if beyond > 0 else -step)
        spot = self.spot_at(self._inside(self._point))
        if spot is not None:
            self._draw_to(spot)

    def _draw_to(self, spot: Spot) -> None:
        assert self._origin is not None
        first, last = self._origin
        start, end = self._unit(spot)
        if spot < first:
            self.selection.anchor, self.selection.head = last, start
        else:
            self.selection.anchor, self.selection.head = first, max(end, last)
        self.paint()

    def _unit(self, spot: Spot) -> tuple[Spot, Spot]:
        """The character, word or paragraph at a spot, by how often was clicked."""
        view = self._transcript.pool.get((spot.entry, spot.key))
        if self._clicks < WORD_CLICKS or view is None or view.pane is None:
            return spot, spot
        cursor = QTextCursor(view.pane.document())
        cursor.setPosition(min(spot.position, view.pane.length))
        if self._clicks == PARAGRAPH_CLICKS:
            cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock)
            cursor.movePosition(
                QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
            )
        else:
            cursor.select(QTextCursor.SelectionType.WordUnderCursor)
        return (
            spot._replace(position=cursor.selectionStart()),
            spot._replace(position=cursor.selectionEnd()),
        )

    def _inside(self, point: QPoint) -> QPoint:
        return QPoint(point.x(), min(max(point.y(), 0), self._viewport.height() - 1))

    def _show_cursor(self) -> None:
        shape = Qt.CursorShape.ArrowCursor
        view = self._transcript.view_at(self._point)
        if view is not None and view.pane is not None:
            local = self._point - view.pos() - view.pane.pos()
            if self.link_at(self._point):
                shape = Qt.CursorShape.PointingHandCursor
            elif view.pane.rect().contains(local):
                shape = Qt.CursorShape.IBeamCursor
        if self._viewport.cursor().shape() != shape:
            self._viewport.setCursor(shape)

    def menu_at(self, point: QPoint) -> QMenu:
        """What can be done at a point of the viewport; deleted when it closes."""
        menu = QMenu(self._transcript)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction(self.tr("Copy"), self.copy)
        copy.setEnabled(not self.selection.is_empty)
        if link := self.link_at(point):
            menu.addAction(
                self.tr("Copy link address"), lambda: QGuiApplication.clipboard().setText(link)
            )
        menu.addSeparator()
        menu.addAction(self.tr("Select all"), self.select_all)
        return menu
