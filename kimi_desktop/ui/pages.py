"""The six pages, each loaded when it is first shown: the start pays only for the one it shows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.navigation import PAGES


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the rail. ``name`` is one of ``navigation.PAGES``."""

    name: str
    icon: str
    make: Callable[[Bridge], QWidget]
    """Imports the page's package and builds it."""


def standard_pages() -> tuple[Page, ...]:
    """The pages of the app: ``ui/<name>/page.py`` has the class ``<Name>Page``."""
    return tuple(Page(name, name, partial(_load, name)) for name in PAGES)


def _load(name: str, bridge: Bridge) -> QWidget:
    module = importlib.import_module(f"kimi_desktop.ui.{name}.page")
    page: QWidget = getattr(module, f"{name.title()}Page")(bridge)
    return page
