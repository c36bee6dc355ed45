"""The Chat page in a window of its own size, over scripted services."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.page import ChatPage


class Holder(QWidget):
    """A window whose only content is the page, as large as it is."""

    page: ChatPage

    def resizeEvent(self, event):  # noqa: N802 - Qt's name
        self.page.resize(self.size())


@pytest.fixture
def make_page(qtbot) -> Callable[[Bridge], ChatPage]:
    """Builds a shown page of 1224 x 732 in a window of that size (1280 x 800 less the frame)."""

    holders = []  # qtbot keeps no reference

    def make(bridge: Bridge, width: int = 1224, height: int = 732) -> ChatPage:
        holder = Holder()
        holders.append(holder)
        holder.page = ChatPage(bridge, holder)
        qtbot.addWidget(holder)
        holder.resize(width, height)
        holder.show()
        qtbot.waitExposed(holder)
        holder.activateWindow()
        qtbot.waitUntil(holder.isActiveWindow)
        return holder.page

    return make


@pytest.fixture
def page(make_page, bridge) -> ChatPage:
    """A profile in use, a model loaded."""
    return make_page(bridge)


@pytest.fixture
def fresh_page(make_page, fresh_bridge) -> ChatPage:
    """A first start: no model, no chat."""
    return make_page(fresh_bridge)
