"""A running engine is slower than forecast: what, why, and what helps. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import Language, cause_sentences, message
from kimi_desktop.diagnosis.report import slow_sentence
from kimi_desktop.diagnosis.types import Slowness, WayOut
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.notices import Notices
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.message_bar import MessageBar

MOST_WAYS = 1
"""Beside the way to the Monitor; a bar is one line."""


def tell_slowness(bridge: Bridge, notices: Notices, slowness: Slowness) -> None:
    """One more bar, with the way out that costs least."""
    bar = MessageBar("warn")
    bar.show_message(*slow_words(slowness))

    def take(way: WayOut) -> None:
        notices.remove(bar)
        bridge.services.diagnosis.note_tried(way)
        bridge.navigation.start_engine(way.settings)

    for way in slowness.ways[:MOST_WAYS]:
        button = Button(
            message(f"diagnosis.way.{way.key}", language(), **way.params),
            kind=ButtonKind.PRIMARY,
            small=True,
        )
        button.setToolTip(message(f"diagnosis.way.{way.key}.detail", language(), **way.params))
        button.clicked.connect(lambda _=False, way=way: take(way))
        bar.add_button(button)
    look = Button(QCoreApplication.translate("SlowBar", "Open Monitor"), small=True)
    look.clicked.connect(lambda: bridge.navigation.show_page("monitor"))
    bar.add_button(look)
    notices.add(bar)


def slow_words(slowness: Slowness) -> tuple[str, str]:
    """What is slow, and the reason with what helps."""
    spoken = language()
    what = slow_sentence(slowness.figure, spoken)
    if slowness.finding is None:
        return what, message("diagnosis.slow.unknown", spoken)
    reason, _, helps = cause_sentences(slowness.finding.cause, spoken)
    return what, ("" if spoken is Language.ZH_CN else " ").join((reason, helps))
