"""Asks the engine itself about the plan, when the hand rests. Qt thread."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.operation import Operation
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.types import ExactCheck
from kimi_desktop.ui.bridge import Bridge

REST_MS = 600


class Checking(QObject):
    """``found`` has the engine's word about the newest plan, None as soon as that is another."""

    found = Signal(object)

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._wanted: tuple[LoadSettings, LocalModel] | None = None
        self._operation: Operation[ExactCheck | None] | None = None
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(REST_MS)
        self._rest.timeout.connect(self._ask)

    def want(self, settings: LoadSettings | None, model: LocalModel) -> None:
        """The plan is this one now; the same one is asked about once."""
        wanted = None if settings is None else (settings, model)
        if wanted == self._wanted:
            return
        self.drop()
        self._wanted = wanted
        if wanted is not None:
            self._rest.start()

    def drop(self) -> None:
        """Nobody wants to know any more."""
        self._rest.stop()
        self._wanted = None
        if self._operation is not None:
            self._operation.cancel()
            self._operation = None
        self.found.emit(None)

    def _ask(self) -> None:
        if self._wanted is None:
            return
        operation = self._bridge.services.engine.check(*self._wanted)
        self._operation = operation
        found = partial(self._on_found, self._wanted)
        self._bridge.watch(operation, found, self._on_failed, owner=self)

    def _on_found(self, asked: tuple[LoadSettings, LocalModel], check: ExactCheck | None) -> None:
        if asked == self._wanted:
            self._operation = None
            self.found.emit(check)

    def _on_failed(self, error: BaseException) -> None:
        """The badge stays away; a forecast does not need it."""
        del error
        self._operation = None
