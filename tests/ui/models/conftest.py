"""The Models page on scripted services."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.models.page import ModelsPage
from kimi_desktop.ui.overlay import Overlay


@pytest.fixture
def models_page(qtbot) -> Callable[[Bridge], ModelsPage]:
    """Makes a page at the size that it has in a window of 1280 x 800."""

    def make(bridge: Bridge) -> ModelsPage:
        made = ModelsPage(bridge)
        qtbot.addWidget(made)
        made.setMinimumSize(1, 1)
        made.resize(1224, 732)
        made.show()
        return made

    return make


@pytest.fixture
def page(bridge: Bridge, models_page: Callable[[Bridge], ModelsPage]) -> ModelsPage:
    """A library in use: three Kimis, the demo, a set with holes, a wreck."""
    return models_page(bridge)


@pytest.fixture
def overlays(bridge: Bridge, page: ModelsPage) -> list[Overlay]:
    """The overlays that the page opens, the newest last, over the page itself."""
    opened: list[Overlay] = []

    def open_made(make: Callable[[QWidget], Overlay]) -> None:
        opened.append(make(page))
        opened[-1].open()

    bridge.navigation.overlay_wanted.connect(open_made)
    return opened


@pytest.fixture
def offered(bridge: Bridge) -> list[tuple[str, str, Callable[[], None]]]:
    """Notes with something to do about them."""
    heard: list[tuple[str, str, Callable[[], None]]] = []
    bridge.navigation.offer_made.connect(lambda *values: heard.append(values))
    return heard


@pytest.fixture
def asked(bridge: Bridge) -> dict[str, list[object]]:
    """What the page asks of the window, by the name of the signal."""
    heard: dict[str, list[object]] = {}
    for name in (
        "page_wanted",
        "plan_wanted",
        "start_wanted",
        "problem_met",
        "note_made",
        "new_chat_wanted",
    ):
        heard[name] = []
        signal = getattr(bridge.navigation, name)
        signal.connect(lambda *values, into=heard[name]: into.append(values[0] if values else None))
    return heard
