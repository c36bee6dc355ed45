"""The window's only door to the rest: the services, and one signal for what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot
from shiboken6 import isValid

from kimi_desktop.base.errors import SettingsError
from kimi_desktop.base.events import Event
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings
from kimi_desktop.ui.navigation import Navigation
from kimi_desktop.ui.services.everything import Services

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SettingsChanged(Event):
    """The settings were replaced (published by ``Bridge.update_settings``)."""


class Bridge(QObject):
    """Crosses the threads. ``happened`` carries every published Event to the Qt thread."""

    happened = Signal(object)
    _ended = Signal(object)

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.services = services
        self.navigation = Navigation(self)
        self._unsubscribe = services.bus.subscribe(self.happened.emit)
        self._ended.connect(self._call, Qt.ConnectionType.QueuedConnection)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.services.store.settings

    def update_settings(self, change: Callable[[Settings], Settings]) -> None:
        """Replace the settings, save them and tell everybody.

        Raises:
            SettingsError: not saved; they hold in memory and everybody was told.
        """
        try:
            self.services.store.update(change)
        finally:
            self.services.bus.publish(SettingsChanged())

    def save_settings(self, change: Callable[[Settings], Settings]) -> None:
        """The same for pages: when saving fails, the frame says so and the change still holds."""
        try:
            self.update_settings(change)
        except SettingsError as error:
            self.navigation.report(error)

    def watch(
        self,
        operation: Operation[T],
        on_done: Callable[[T], None] | None = None,
        on_error: Callable[[BaseException], None] | None = None,
        *,
        owner: QObject | None = None,
    ) -> Operation[T]:
        """Call back on the Qt thread when the operation ends; not when ``owner`` is gone by then.

        Without an ``owner`` it is the object whose method is called back (a lambda has none).

        A cancelled one reports ``base.operation.Cancelled``; ``Navigation.report`` drops
        that, because who cancels knows.
        """
        keeper = owner or _keeper(on_done) or _keeper(on_error)

        def call(function: Callable[[Any], None], argument: Any) -> None:  # noqa: ANN401
            if keeper is None or isValid(keeper):
                function(argument)

        def ended(result: Any, error: BaseException | None) -> None:  # noqa: ANN401
            if error is None:
                if on_done is not None:
                    self._ended.emit(lambda: call(on_done, result))
            elif on_error is not None:
                self._ended.emit(lambda: call(on_error, error))

        operation.on_done(ended)
        return operation

    def close(self) -> None:
        """Stop listening; late events are dropped."""
        self._unsubscribe()

    @Slot(object)
    def _call(self, function: Callable[[], None]) -> None:
        function()


def _keeper(callback: Callable[[Any], None] | None) -> QObject | None:
    """The object that a bound method belongs to."""
    found = getattr(callback, "__self__", None)
    return found if isinstance(found, QObject) else None
