"""The Plan page for a folder of safetensors: what vLLM would do with it, and Start. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.events import Event
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.engine_words import ALIVE
from kimi_desktop.ui.server_plan.nodes_view import NodesView
from kimi_desktop.ui.server_plan.planning import ServerPlanning
from kimi_desktop.ui.server_plan.server_answer import ServerAnswer
from kimi_desktop.ui.server_plan.server_form import ServerForm
from kimi_desktop.ui.widgets.button import Button, ButtonKind


class ServedSide(QObject):
    """``form`` goes to the left of the page, ``panel`` to the right."""

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._shown = False
        self.planning = ServerPlanning(bridge, self, keeps=True)
        self.form = ServerForm(self.planning)
        self.panel = _Panel(self)
        self.failure = EngineFailurePanel(bridge, here="plan")
        self.answer = ServerAnswer(self.planning)
        self.nodes = NodesView(bridge, self.planning)
        self.start = Button(kind=ButtonKind.PRIMARY, icon="play")
        self.answer.head.addWidget(self.start)
        self.answer.notes.addWidget(self.failure)
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.addWidget(self.answer)
        layout.addWidget(self.nodes)
        self.planning.changed.connect(self.show_start)
        self.start.clicked.connect(self.planning.start)
        self.failure.shown_changed.connect(lambda _: self._show_failure())
        bridge.happened.connect(self._on_event)
        self.show_start()

    @property
    def model(self) -> LocalModel | None:
        """What the page shows; None while it plans a file for llama.cpp."""
        return self.planning.model if self._shown else None

    def begin(self, model: LocalModel) -> None:
        """The page shows this one now."""
        self._shown = True
        self.planning.begin(model)

    def follow(self, model: LocalModel) -> None:
        """The library was read again: the same model, maybe with other files."""
        if model != self.planning.model:
            self.planning.model = model
            self.planning.refresh()

    def leave(self) -> None:
        """The page shows another one; what was chosen is kept."""
        self.planning.keep()
        self._shown = False

    def show_start(self) -> None:
        """Whether it can be started, or runs already."""
        running = self._is_running()
        self.start.setText(
            self.tr("Running with this plan") if running else self.tr("Start with this plan")
        )
        self.start.set_icon("check" if running else "play")
        self.start.setEnabled(self.planning.can_start and not running)
        self._show_failure()

    def _is_running(self) -> bool:
        """With just these choices: what the start settled beside them does not count."""
        status = self._bridge.services.engine.status
        settings, model = status.settings, self.planning.model
        if settings is None or model is None or status.state not in ALIVE:
            return False
        special = settings.server
        return (
            settings.model_path == model.path
            and special is not None
            and special.wishes == self.planning.wishes
            and special.served_name == self.planning.special.served_name
        )

    def _show_failure(self) -> None:
        model, status = self.planning.model, self._bridge.services.engine.status
        settings = status.settings
        ours = model is not None and settings is not None and settings.model_path == model.path
        self.failure.setVisible(self.failure.is_failure and ours)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            self.show_start()


class _Panel(QWidget):
    """The right side; its words follow the language."""

    def __init__(self, side: ServedSide) -> None:
        super().__init__()
        self._side = side

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self._side.show_start()
        super().changeEvent(event)
