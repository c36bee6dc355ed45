"""Where the list and the inspector stand: beside the conversation, folded, or over it. Qt thread.

Both fold by the user's wish, which is remembered. Below 1,440 px of window with the rail open the
list folds by itself, below 1,100 px the inspector does; what has folded by itself opens as a
drawer over the conversation and closes when one goes on.
"""

from __future__ import annotations

import dataclasses
from enum import Enum

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from kimi_desktop.base.settings import Settings
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.chat_list import WIDTH as LIST_WIDTH
from kimi_desktop.ui.chat.chat_list import ChatList
from kimi_desktop.ui.chat.conversation import Conversation
from kimi_desktop.ui.chat.inspector import WIDTH as INSPECTOR_WIDTH
from kimi_desktop.ui.chat.inspector import Inspector

LIST_FROM_PX = 1440
"""The list needs a window of this width while the rail is open."""
INSPECTOR_FROM_PX = 1100


class Side(Enum):
    """A pane at the side."""

    LIST = "list"
    INSPECTOR = "inspector"


class Panes(QObject):
    """Lays the three columns of the page out."""

    def __init__(
        self,
        page: QWidget,
        bridge: Bridge,
        chats: ChatList,
        conversation: Conversation,
        inspector: Inspector,
    ) -> None:
        super().__init__(page)
        self._page = page
        self._bridge = bridge
        self._conversation = conversation
        self._panes: dict[Side, QWidget] = {Side.LIST: chats, Side.INSPECTOR: inspector}
        self._drawer: Side | None = None
        chats.fold_wanted.connect(lambda: self.toggle(Side.LIST))
        inspector.fold_wanted.connect(lambda: self.toggle(Side.INSPECTOR))
        conversation.list_button.clicked.connect(lambda _checked: self.toggle(Side.LIST))
        conversation.inspector_button.clicked.connect(lambda _checked: self.toggle(Side.INSPECTOR))
        conversation.installEventFilter(self)

    @property
    def drawer(self) -> Side | None:
        """What lies over the conversation."""
        return self._drawer

    def is_docked(self, side: Side) -> bool:
        """It stands beside the conversation."""
        window = self._bridge.settings.window
        wanted = window.chat_list_open if side is Side.LIST else window.inspector_open
        return wanted and self._has_room(side)

    def toggle(self, side: Side) -> None:
        """Open or close a pane; one without room opens as a drawer."""
        if self._has_room(side):
            self._remember(side, open_=not self.is_docked(side))
        else:
            self._drawer = None if self._drawer is side else side
        self.lay_out()
        if self._drawer is side:
            self._panes[side].setFocus()

    def close_drawer(self) -> bool:
        """Close what lies over the conversation; False when nothing does."""
        if self._drawer is None:
            return False
        self._drawer = None
        self.lay_out()
        return True

    def lay_out(self) -> None:
        """Give every pane its place."""
        if self._drawer is not None and self._has_room(self._drawer):
            self._drawer = None
        width, height = self._page.width(), self._page.height()
        left = LIST_WIDTH if self.is_docked(Side.LIST) else 0
        right = INSPECTOR_WIDTH if self.is_docked(Side.INSPECTOR) else 0
        self._conversation.setGeometry(left, 0, width - left - right, height)
        for side, pane in self._panes.items():
            wide = LIST_WIDTH if side is Side.LIST else INSPECTOR_WIDTH
            x = 0 if side is Side.LIST else width - wide
            pane.setGeometry(x, 0, wide, height)
            pane.setVisible(self.is_docked(side) or self._drawer is side)
            if self._drawer is side:
                pane.raise_()
        self._conversation.list_button.setVisible(not left)
        self._conversation.inspector_button.setVisible(not right)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A click beside the drawer closes it."""
        if event.type() is QEvent.Type.MouseButtonPress and self._drawer is not None:
            self.close_drawer()
        return super().eventFilter(watched, event)

    def on_focus(self, now: QWidget | None) -> None:
        """The keyboard has left the drawer."""
        if self._drawer is not None and now is not None:
            pane = self._panes[self._drawer]
            if now is not pane and not pane.isAncestorOf(now) and self._page.isAncestorOf(now):
                self.close_drawer()

    def _has_room(self, side: Side) -> bool:
        width = self._page.window().width()
        if side is Side.INSPECTOR:
            return width >= INSPECTOR_FROM_PX
        return width >= LIST_FROM_PX or not self._bridge.settings.window.rail_open

    def _remember(self, side: Side, *, open_: bool) -> None:
        def change(settings: Settings) -> Settings:
            window = settings.window
            if side is Side.LIST:
                window = dataclasses.replace(window, chat_list_open=open_)
            else:
                window = dataclasses.replace(window, inspector_open=open_)
            return dataclasses.replace(settings, window=window)

        self._bridge.save_settings(change)
