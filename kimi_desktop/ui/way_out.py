"""A way out of a failure, in words and with its button. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_gib
from kimi_desktop.diagnosis.types import WayOut
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.message_bar import Fix


def way_fix(bridge: Bridge, way: WayOut) -> Fix:
    """A change of the load settings: what it frees, and one press that takes it."""
    spoken = language()

    def take() -> None:
        bridge.services.diagnosis.note_tried(way)
        bridge.navigation.start_engine(way.settings)

    detail = message(f"diagnosis.way.{way.key}.detail", spoken, **way.params)
    if way.freed:
        device, size = way.freed[0]
        where, _, number = device.partition(":")
        frees = message(f"diagnosis.frees.{where}", spoken, size=format_gib(size), number=number)
        detail = f"{frees} {detail}" if spoken is Language.EN else f"{frees}{detail}"
    return Fix(
        message(f"diagnosis.way.{way.key}", spoken, **way.params),
        detail,
        QCoreApplication.translate("WayOut", "Apply and start"),
        take,
    )
