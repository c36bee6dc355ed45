"""The frame: rail, top bar, status bar, and the page between them. Qt thread.

How a page fits in
    A page is a ``QWidget`` class in ``ui/<name>/page.py``, built as ``Page(bridge)`` when it is
    first shown, and kept. It asks the window through ``bridge.navigation`` and never imports
    another page. It takes what happens from ``bridge.happened`` and the present state from
    ``bridge.services``. It sets its words in ``retranslate()``, called from its constructor and
    from ``changeEvent`` on LanguageChange; the colours follow by themselves. It handles its own
    empty states and failures in place; what concerns the whole window goes to
    ``navigation.report``. ``showEvent`` tells it that it is shown, ``hideEvent`` that it is not.

The frame owns starting and stopping the engine for everybody, the overlays (model picker, command
palette, log, shortcuts, questions), the notices and the wizard's place.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from kimi_desktop.backends.types import EngineStateChanged, LoadRemarked
from kimi_desktop.base.events import Event
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.chat.types import StoreFailed
from kimi_desktop.diagnosis.types import SlownessSeen
from kimi_desktop.models.types import LibraryChanged
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.engine_control import EngineControl
from kimi_desktop.ui.engine_words import meant
from kimi_desktop.ui.failure_place import FailurePlace
from kimi_desktop.ui.navigation import PAGES
from kimi_desktop.ui.notices import Notices
from kimi_desktop.ui.overlay_host import OverlayHost
from kimi_desktop.ui.pages import Page
from kimi_desktop.ui.rail import Rail
from kimi_desktop.ui.shell import DEFAULT_SIZE, LEAST_SIZE
from kimi_desktop.ui.shortcuts import KEYS, shortcut
from kimi_desktop.ui.status_bar import StatusBar
from kimi_desktop.ui.top_bar import TopBar

if TYPE_CHECKING:
    from kimi_desktop.ui.download_watch import DownloadWatch


class MainWindow(QWidget):
    """Built once, and put into the shell (or shown by itself).

    ``first_painted`` fires when the window stands there: what the first picture does not need
    begins then. ``closed`` fires when the user has left for good.
    """

    first_painted = Signal()
    closed = Signal()

    def __init__(
        self,
        bridge: Bridge,
        pages: Sequence[Page],
        *,
        wizard: Callable[[Bridge], QWidget] | None = None,
    ) -> None:
        """``pages`` in the order of the rail."""
        super().__init__()
        self._bridge = bridge
        self._pages = {page.name: page for page in pages}
        self._built: dict[str, QWidget] = {}
        self._make_wizard = wizard
        self._wizard: QWidget | None = None
        self.in_wizard = False
        self._first: Callable[[], None] | None = None
        self._leaving = False
        self._begun = False
        self._downloads: DownloadWatch | None = None
        self.resize(DEFAULT_SIZE)
        self.setMinimumSize(LEAST_SIZE.boundedTo(self.screen().availableSize()))
        self.top_bar = TopBar()
        self.rail = Rail(tuple((page.name, page.icon) for page in pages))
        self.notices = Notices()
        self.failure = FailurePlace(bridge)
        self.stack = QStackedWidget()
        self.status_bar = StatusBar(bridge)
        self.overlays = OverlayHost(self, bridge)
        self.engine = EngineControl(bridge, self.overlays.ask)
        self._arrange()
        self._connect()
        self._bind_keys()
        self._show_engine()
        self.rail.set_open(open_=bridge.settings.window.rail_open)
        # The page is built after the frame was painted: the window stands there sooner.
        if wizard is not None and not bridge.settings.window.wizard_done:
            self._set_wizard_frame(on=True)
            self._first = self.show_wizard
        else:
            self.rail.select(self.page_name)
            self._first = partial(self.show_page, self.page_name)
        self.retranslate()

    # pages

    @property
    def page_name(self) -> str:
        """The page shown (behind the wizard, the one it will return to)."""
        name = self._bridge.settings.window.page
        return name if name in self._pages else next(iter(self._pages))

    def page(self, name: str) -> QWidget:
        """The page's widget, built now if it was not yet."""
        if name not in self._built:
            widget = self._pages[name].make(self._bridge)
            self._built[name] = widget
            self.stack.addWidget(widget)
        return self._built[name]

    def show_page(self, name: str) -> None:
        """Bring a page to the front; an unknown name falls back to the first page."""
        if name not in self._pages:
            name = next(iter(self._pages))
        self._first = None
        self.failure.hide()
        self.stack.setCurrentWidget(self.page(name))
        self.rail.select(name)
        self._set_wizard_frame(on=False)
        self.top_bar.set_title(self.titles()[name])
        if self._bridge.settings.window.page != name:
            self._save_window(page=name)

    def show_wizard(self) -> None:
        """Open the set-up from its beginning."""
        if self._make_wizard is None:
            return
        self._first = None
        self._drop_wizard()
        self._wizard = self._make_wizard(self._bridge)
        self.stack.addWidget(self._wizard)
        self.stack.setCurrentWidget(self._wizard)
        self._set_wizard_frame(on=True)
        self.top_bar.set_title(self.tr("Set up"))

    def titles(self) -> dict[str, str]:
        """The names of the pages in the language of the window."""
        return {
            "chat": self.tr("Chat"),
            "models": self.tr("Models"),
            "plan": self.tr("Plan"),
            "monitor": self.tr("Monitor"),
            "serve": self.tr("Serve"),
            "settings": self.tr("Settings"),
        }

    # what the frame does for everybody

    def show_unexpected(self, trace: str) -> None:
        """Something failed that nobody expected; the app goes on."""
        self.notices.show_unexpected(trace)

    def show_failure(self) -> None:
        """Why the engine failed: on the page where it has a panel, else above the page."""
        from kimi_desktop.ui.engine_failure import EngineFailurePanel  # noqa: PLC0415 - when asked

        page = self.stack.currentWidget()
        panels = page.findChildren(EngineFailurePanel) if page is not None else []
        shown = next((panel for panel in panels if panel.isVisible()), None)
        if shown is None:
            self.failure.open()
        else:
            shown.panel.log_button().setFocus(Qt.FocusReason.OtherFocusReason)

    def toggle_rail(self) -> None:
        """Open or close the rail."""
        open_ = not self.rail.is_open
        self.rail.set_open(open_=open_)
        self._save_window(rail_open=open_)

    # Qt

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        titles = self.titles()
        self.rail.set_titles(titles, {name: shortcut(f"page_{name}") for name in self._pages})
        self.top_bar.set_title(self.tr("Set up") if self.in_wizard else titles[self.page_name])
        self.top_bar.show_language(self._language_shown())
        if self._downloads is not None:
            self._downloads.retranslate()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The first painting is what the first page waits for."""
        super().paintEvent(event)
        if not self._begun:
            self._begun = True
            QTimer.singleShot(0, self._on_first_painted)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask when leaving would cut something off; else go."""
        reason = self._reason_to_stay()
        if reason and not self._leaving:
            event.ignore()
            self.overlays.ask(self.tr("Quit Kimi Desktop?"), reason, self.tr("Quit"), self.leave)
            return
        super().closeEvent(event)
        self.closed.emit()

    # inside

    def _arrange(self) -> None:
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self.notices)
        right.addWidget(self.failure)
        right.addWidget(self.stack, 1)
        middle = QHBoxLayout()
        middle.setContentsMargins(0, 0, 0, 0)
        middle.setSpacing(0)
        middle.addWidget(self.rail)
        middle.addLayout(right, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.top_bar)
        layout.addLayout(middle, 1)
        layout.addWidget(self.status_bar)

    def _connect(self) -> None:
        go = self._bridge.navigation
        go.page_wanted.connect(self.show_page)
        go.picker_wanted.connect(self.overlays.open_picker)
        go.palette_wanted.connect(self.overlays.open_palette)
        go.shortcuts_wanted.connect(self.overlays.show_shortcuts)
        go.wizard_wanted.connect(self.show_wizard)
        go.log_wanted.connect(self.overlays.show_log)
        go.start_wanted.connect(self.engine.start)
        go.stop_wanted.connect(self.engine.stop)
        go.attach_wanted.connect(self.engine.attach)
        go.problem_met.connect(self._on_failed)
        go.note_made.connect(self.notices.show_note)
        go.offer_made.connect(self.notices.show_offer)
        go.overlay_wanted.connect(self.overlays.open_made)
        go.download_wanted.connect(self.overlays.open_download)
        self.top_bar.picker_wanted.connect(self.overlays.open_picker)
        self.top_bar.start_wanted.connect(self.engine.start)
        self.top_bar.stop_wanted.connect(self.engine.stop)
        self.top_bar.failure_wanted.connect(self.show_failure)
        self.top_bar.language_chosen.connect(self._on_language_chosen)
        self.rail.chosen.connect(self.show_page)
        self.status_bar.clicked.connect(lambda: self.show_page("monitor"))
        self._bridge.happened.connect(self._on_event)

    def _bind_keys(self) -> None:
        go = self._bridge.navigation
        bindings: dict[str, Callable[[], Any]] = {
            "new_chat": go.new_chat,
            "palette": self.overlays.open_palette,
            "picker": self.overlays.open_picker,
            "rail": self.toggle_rail,
            "settings": lambda: self.show_page("settings"),
            "shortcuts": self.overlays.show_shortcuts,
            "quit": self.close,
        }
        for name in PAGES:
            bindings[f"page_{name}"] = partial(self.show_page, name)
        for action, run in bindings.items():
            bound = QShortcut(QKeySequence(KEYS[action]), self)
            bound.activated.connect(partial(self._on_key, action, run))

    def _on_key(self, action: str, run: Callable[[], Any]) -> None:
        """The wizard hides the pages, so their keys rest meanwhile."""
        if not self.in_wizard or action in ("quit", "shortcuts"):
            run()

    def _set_wizard_frame(self, *, on: bool) -> None:
        self.in_wizard = on
        self.rail.setVisible(not on)
        self.status_bar.setVisible(not on)
        self.top_bar.set_wizard(on=on)
        if not on:
            self._drop_wizard()

    def _drop_wizard(self) -> None:
        if self._wizard is not None:
            self.stack.removeWidget(self._wizard)
            self._wizard.hide()
            self._wizard.deleteLater()
            self._wizard = None

    def _on_failed(self, error: object) -> None:
        if isinstance(error, BaseException):
            self.notices.show_error(error)

    def _show_engine(self) -> None:
        services = self._bridge.services
        status = services.engine.status
        self.top_bar.show_engine(
            status, meant(status, services.models.models, self._bridge.settings)
        )

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged | LibraryChanged | SettingsChanged):
            self._show_engine()
        if isinstance(event, SettingsChanged):
            self.top_bar.show_language(self._language_shown())
        elif isinstance(event, StoreFailed):
            self.notices.show_error(event.error)
        elif isinstance(event, LoadRemarked):
            for remark in event.remarks:
                self.notices.show_remark(remark)
        elif isinstance(event, SlownessSeen):
            from kimi_desktop.ui.slow_bar import tell_slowness  # noqa: PLC0415

            tell_slowness(self._bridge, self.notices, event.slowness)

    def _language_shown(self) -> LanguageChoice:
        from kimi_desktop.ui.language import wanted_language  # noqa: PLC0415

        wanted = wanted_language(self._bridge.settings.window.language)
        return LanguageChoice(wanted.value)

    def _on_language_chosen(self, choice: LanguageChoice) -> None:
        self._save_window(language=choice)

    def _save_window(self, **values: object) -> None:
        self._bridge.save_settings(
            lambda s: dataclasses.replace(
                s,
                window=dataclasses.replace(s.window, **values),  # type: ignore[arg-type]
            )
        )

    def _on_first_painted(self) -> None:
        """Build the first page, then say what the user should know once."""
        self.first_painted.emit()
        if self._first is not None:
            self._first()
        for problem in self._bridge.services.store.problems:
            self.notices.show_error(problem)
        self._bridge.services.store.problems.clear()
        from kimi_desktop.ui.download_watch import DownloadWatch  # noqa: PLC0415 - not at the start
        from kimi_desktop.ui.leftovers import offer_to_end_leftovers  # noqa: PLC0415
        from kimi_desktop.ui.missing_font import warn_without_chinese_font  # noqa: PLC0415
        from kimi_desktop.ui.network_watch import (  # noqa: PLC0415
            NetworkWatch,
            network_information,
        )

        self._downloads = DownloadWatch(self._bridge, self, self.rail)
        NetworkWatch(self._bridge, network_information(), self)
        warn_without_chinese_font(self.notices)
        offer_to_end_leftovers(self._bridge, self.notices)

    def _reason_to_stay(self) -> str:
        """What quitting would cut off; "" when nothing."""
        from kimi_desktop.serve.types import ServeState  # noqa: PLC0415

        services = self._bridge.services
        if services.chats.generating_chat is not None:
            return self.tr("An answer is being written. The text so far is kept.")
        serve = services.serve.status
        if serve.state is ServeState.ON:
            return self.tr("Programs that use {url} lose their connection.").format(url=serve.url)
        return ""

    def leave(self) -> None:
        """Close without asking; an open answer keeps its text."""
        self._leaving = True
        self.window().close()
