"""What pages ask of the window around them, so that no page knows another. Qt thread.

Reached as ``bridge.navigation``. The frame (``main_window.py``) listens; a page that wants to
react (Chat to ``chat_wanted``) connects in its constructor and is built before the signal fires.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.operation import Cancelled
from kimi_desktop.downloads.imports.types import FoundModel

PAGES = ("chat", "models", "plan", "monitor", "serve", "settings")
"""The six pages, in the order of the rail and of Ctrl+1 ... Ctrl+6."""


class Navigation(QObject):
    """Requests. Every method returns at once."""

    page_wanted = Signal(str)
    picker_wanted = Signal()
    palette_wanted = Signal()
    shortcuts_wanted = Signal()
    wizard_wanted = Signal()
    log_wanted = Signal()
    start_wanted = Signal(object)
    stop_wanted = Signal()
    attach_wanted = Signal(str, str)
    chat_wanted = Signal(object)  # an id has more bits than Qt's int
    plan_wanted = Signal(str)
    new_chat_wanted = Signal()
    problem_met = Signal(object)
    note_made = Signal(str)
    settings_wanted = Signal(str)
    download_wanted = Signal(str)
    downloads_wanted = Signal()
    library_wanted = Signal(str)
    verify_wanted = Signal(str)
    import_wanted = Signal(object)
    offer_made = Signal(str, str, object)
    overlay_wanted = Signal(object)

    def show_page(self, name: str) -> None:
        """Bring one of ``PAGES`` to the front.

        Raises:
            ValueError: there is no page of that name.
        """
        if name not in PAGES:
            raise ValueError(name)
        self.page_wanted.emit(name)

    def open_chat(self, chat_id: int) -> None:
        """Show the Chat page with this chat."""
        self.page_wanted.emit("chat")
        self.chat_wanted.emit(chat_id)

    def new_chat(self) -> None:
        """Show the Chat page with an empty chat."""
        self.page_wanted.emit("chat")
        self.new_chat_wanted.emit()

    def open_plan(self, model_id: str) -> None:
        """Show the Plan page with this model."""
        self.page_wanted.emit("plan")
        self.plan_wanted.emit(model_id)

    def download(self, wanted: str) -> None:
        """Ask before something is fetched: ``owner/name:QUANTIZATION``, or a hub's address."""
        self.download_wanted.emit(wanted)

    def open_downloads(self) -> None:
        """Show the Models page with its downloads."""
        self.page_wanted.emit("models")
        self.downloads_wanted.emit()

    def open_library(self, model_id: str) -> None:
        """Show the library with the cursor on a model; "" leaves it where it is."""
        self.page_wanted.emit("models")
        self.library_wanted.emit(model_id)

    def verify(self, model_id: str) -> None:
        """Show the library and verify a model there."""
        self.page_wanted.emit("models")
        self.verify_wanted.emit(model_id)

    def import_model(self, found: FoundModel) -> None:
        """Show the library and take in what another program has."""
        self.page_wanted.emit("models")
        self.import_wanted.emit(found)

    def open_settings(self, section: str) -> None:
        """Show a section of the Settings page: "hubs", "builds", "servers"."""
        self.page_wanted.emit("settings")
        self.settings_wanted.emit(section)

    def open_picker(self) -> None:
        """Drop down the list of models."""
        self.picker_wanted.emit()

    def open_palette(self) -> None:
        """Search chats and commands."""
        self.palette_wanted.emit()

    def show_shortcuts(self) -> None:
        """List the keyboard shortcuts."""
        self.shortcuts_wanted.emit()

    def run_wizard(self) -> None:
        """Go through the set-up again."""
        self.wizard_wanted.emit()

    def show_log(self) -> None:
        """Show the log of the engine's last start."""
        self.log_wanted.emit()

    def start_engine(self, settings: LoadSettings | None = None) -> None:
        """Start, or restart with other settings; None takes the chosen model and its last ones.

        The frame asks first when an answer is being written, and reports a failure.
        """
        self.start_wanted.emit(settings)

    def attach(self, server: str, model: str) -> None:
        """Use a model of another server instead of an engine; asks first as ``start_engine``."""
        self.attach_wanted.emit(server, model)

    def stop_engine(self) -> None:
        """End the engine."""
        self.stop_wanted.emit()

    def report(self, error: BaseException) -> None:
        """Say what went wrong and what to do, in a bar at the top. Cancelling is no news."""
        if not isinstance(error, Cancelled):
            self.problem_met.emit(error)

    def offer(self, text: str, action: str, run: Callable[[], None]) -> None:
        """Say something with one thing to do about it, such as undoing it."""
        self.offer_made.emit(text, action, run)

    def open_overlay(self, make: Callable[[QWidget], QWidget]) -> None:
        """Lay an ``Overlay`` over the window; ``make`` gets the window."""
        self.overlay_wanted.emit(make)

    def tell(self, text: str) -> None:
        """Say something good or neutral in a bar that goes away by itself."""
        self.note_made.emit(text)
