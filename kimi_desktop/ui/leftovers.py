"""An engine of a crashed run still holds memory: offer to end it. Qt thread."""

from __future__ import annotations

from pathlib import PurePath

from PySide6.QtCore import QCoreApplication

from kimi_desktop.backends.types import Leftover
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.notices import Notices
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.message_bar import MessageBar


def offer_to_end_leftovers(bridge: Bridge, notices: Notices) -> None:
    """Look for them, and ask if there are any."""

    def found(leftovers: tuple[Leftover, ...]) -> None:
        if leftovers:
            notices.add(_bar(bridge, notices, leftovers))

    bridge.watch(bridge.services.engine.find_leftovers(), found, bridge.navigation.report)


def _bar(bridge: Bridge, notices: Notices, leftovers: tuple[Leftover, ...]) -> MessageBar:
    translate = QCoreApplication.translate
    bar = MessageBar("warn")
    if len(leftovers) == 1:
        text = translate("Leftovers", "An engine of an earlier run is still running.")
    else:
        text = translate("Leftovers", "{count} engines of an earlier run are still running.")
    what = [
        translate("Leftovers", "{model}, process {pid}, since {time}").format(
            model=PurePath(one.model_path).name,
            pid=one.pid,
            time=f"{day_text(one.started_at)} {time_text(one.started_at)}",
        )
        for one in leftovers
    ]
    bar.show_message(text.format(count=len(leftovers)), "\n".join(what))
    end = Button(translate("Leftovers", "End it"), kind=ButtonKind.PRIMARY, small=True)
    leave = Button(translate("Leftovers", "Leave it"), small=True)

    def on_end() -> None:
        end.setEnabled(False)
        bridge.watch(
            bridge.services.engine.end_leftovers(leftovers),
            lambda _: notices.remove(bar),
            bridge.navigation.report,
        )

    end.clicked.connect(on_end)
    leave.clicked.connect(lambda: notices.remove(bar))
    bar.add_button(end)
    bar.add_button(leave)
    bar.set_closable(closable=False)
    return bar
