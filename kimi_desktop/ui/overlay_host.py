"""Opens what lies over the window, one at a time, each built when it is asked for. Qt thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.bridge import Bridge

if TYPE_CHECKING:
    from kimi_desktop.ui.main_window import MainWindow
    from kimi_desktop.ui.overlay import Overlay


class OverlayHost(QObject):
    """``current`` is the overlay shown. While the wizard is open, lists that lead away rest."""

    def __init__(self, window: MainWindow, bridge: Bridge) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self.current: Overlay | None = None

    def ask(self, question: str, detail: str, confirm: str, on_confirm: Callable[[], None]) -> None:
        """A question; ``on_confirm`` runs when the answer is yes."""
        from kimi_desktop.ui.window_overlays import Question  # noqa: PLC0415 - built when asked

        self._open(
            Question(
                self._window,
                question=question,
                detail=detail,
                confirm=confirm,
                on_confirm=on_confirm,
            )
        )

    def open_made(self, make: Callable[[QWidget], Overlay]) -> None:
        """An overlay of a page's own."""
        self._open(make(self._window))

    def open_download(self, wanted: str) -> None:
        """What is to be known before a download."""
        from kimi_desktop.ui.download_sheet import DownloadSheet  # noqa: PLC0415

        self._open(DownloadSheet(self._window, self._bridge, wanted))

    def open_picker(self) -> None:
        """Drop down the list of models."""
        from kimi_desktop.ui.model_picker import ModelPicker  # noqa: PLC0415

        if not self._window.in_wizard:
            self._open(ModelPicker(self._bridge, self._window))

    def open_palette(self) -> None:
        """Search chats and commands."""
        from kimi_desktop.ui.command_palette import CommandPalette  # noqa: PLC0415

        window = self._window
        if not window.in_wizard:
            titles, toggle_rail = window.titles(), window.toggle_rail
            self._open(CommandPalette(self._bridge, window, titles, toggle_rail))

    def show_shortcuts(self) -> None:
        """List the keyboard shortcuts."""
        from kimi_desktop.ui.shortcuts import shortcut_rows  # noqa: PLC0415
        from kimi_desktop.ui.window_overlays import ShortcutList  # noqa: PLC0415

        enter_sends = self._bridge.settings.window.enter_sends
        self._open(ShortcutList(self._window, shortcut_rows(enter_sends=enter_sends)))

    def show_log(self) -> None:
        """Show the engine's log."""
        from kimi_desktop.ui.log_view import LogView, read_log  # noqa: PLC0415

        services = self._bridge.services
        log = services.engine.log_text()
        shown = read_log(services.engine.status, services.diagnosis.latest, log)
        self._open(LogView(self._window, *shown))

    def _open(self, overlay: Overlay) -> None:
        if self.current is not None:
            self.current.dismiss()
        self.current = overlay
        overlay.closed.connect(lambda: self._on_closed(overlay))
        overlay.open()

    def _on_closed(self, overlay: Overlay) -> None:
        if self.current is overlay:
            self.current = None
