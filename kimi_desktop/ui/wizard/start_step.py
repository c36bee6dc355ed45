"""Step 3: start the engine with the chosen model, watch it load, say hello. Qt thread."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus, LoadSettings
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import format_context, format_duration, format_file_size, format_gib
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.engine_words import DOTS, USABLE, loaded_model, state_word
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.card import Card
from kimi_desktop.ui.widgets.chip import StateLabel
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.memory_bar import MemoryBar
from kimi_desktop.ui.widgets.message_bar import EmptyState
from kimi_desktop.ui.widgets.progress_row import ProgressRow
from kimi_desktop.ui.wizard.step import Step

BUSY = (EngineState.STARTING, EngineState.LOADING)


class StartStep(Step):
    """Next starts the engine; once it runs, Next says hello."""

    model_wanted = Signal()

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._began_at: float | None = None
        self._took_s: float | None = None
        self._memory_shown: tuple[str, LoadSettings, Language] | None = None
        self._name = ElidedLabel(size=TextSize.MESSAGE, weight=SEMIBOLD)
        self._facts = Label(tone="muted", wrap=True)
        self._state = StateLabel()
        head = QHBoxLayout()
        head.addWidget(self._name, 1)
        head.addWidget(self._state)
        self._card = Card()
        self._card.body.addLayout(head)
        self._card.body.addWidget(self._facts)
        self._memory = QVBoxLayout()
        self._memory.setSpacing(4)
        self._card.body.addLayout(self._memory)
        self.progress = ProgressRow()
        self.progress.cancelled.connect(self._cancel)
        self.busy_control = self.progress.cancel_button
        self.progress.hide()
        self._card.body.addWidget(self.progress)
        self._ready_note = Label(tone="muted", wrap=True)
        self._card.body.addWidget(self._ready_note)
        self.failure = EngineFailurePanel(bridge)
        self.no_model = EmptyState("models")
        self.no_model.button.clicked.connect(self.model_wanted)
        self.body.addWidget(self.no_model, 1)
        self.body.addWidget(self._card)
        self.body.addWidget(self.failure)
        self.body.addStretch(1)
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def title(self) -> str:
        """The step's name."""
        return self.tr("Start")

    def next_text(self) -> str:
        """The words on Next."""
        status = self.bridge.services.engine.status
        if status.state in USABLE and self._is_loaded(status):
            return self.tr("Say hello")
        return self.tr("Start the model")

    def can_go_on(self) -> bool:
        """There is a model, and nothing is on its way."""
        state = self.bridge.services.engine.status.state
        waits = state in BUSY or state is EngineState.STOPPING
        return self.model() is not None and not waits

    def model(self) -> LocalModel | None:
        """The model that was chosen in the step before."""
        models = self.bridge.services.models.models
        selected = self.bridge.settings.models.selected
        return next((model for model in models if model.id == selected), None)

    def enter(self) -> None:
        """Show the model of the step before."""
        self.retranslate()
        self.changed.emit()

    def go_on(self) -> None:
        """Start, or say hello."""
        model = self.model()
        status = self.bridge.services.engine.status
        if status.state in USABLE and self._is_loaded(status):
            self.finished.emit()
        elif model is not None:
            settings = self.bridge.services.engine.settings_for(model)
            self.bridge.navigation.start_engine(settings)

    def retranslate(self) -> None:
        """Set the words."""
        super().retranslate()
        self.no_model.set_texts(self.tr("No model is chosen yet."), self.tr("Choose one"))
        self._show(self.bridge.services.engine.status)

    def _is_loaded(self, status: EngineStatus) -> bool:
        selected = self.bridge.settings.models.selected
        loaded = loaded_model(status, self.bridge.services.models.models, selected)
        return loaded is not None and loaded.id == selected

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, EngineStateChanged):
            return
        status = event.status
        if status.state is EngineState.STARTING:
            self._began_at, self._took_s = time.monotonic(), None
            self.progress.begin(self.tr("Starting the engine"))
        elif status.state is EngineState.LOADING:
            warming = status.load_fraction is not None and status.load_fraction >= 1
            self.progress.set_title(
                self.tr("Warming up: the first run of the model")
                if warming
                else self.tr("Loading the model into memory")
            )
            model = self.model()
            if status.load_fraction is not None and model is not None:
                total = model.size_bytes
                self.progress.show_bytes(status.load_fraction * total, total)
        elif status.state is EngineState.READY and self._began_at is not None:
            self._took_s = time.monotonic() - self._began_at
            self._began_at = None
        self.changed.emit()  # takes the keyboard from Cancel before that goes
        self._show(status)
        self.changed.emit()

    def _show(self, status: EngineStatus) -> None:
        model = self.model()
        self._card.setVisible(model is not None)
        self.no_model.setVisible(model is None)
        if model is None:
            return
        facts = model.facts
        self._name.setText(f"{model.title} {facts.quantization if facts else ''}".strip())
        settings = self.bridge.services.engine.settings_for(model)
        context = self.tr("context {size}").format(size=format_context(settings.context))
        self._facts.setText(" · ".join((format_file_size(model.size_bytes), context)))
        self._state.show_state(DOTS[status.state], state_word(status))
        self._show_memory(model, settings)
        self.progress.setVisible(status.state in BUSY)
        ready = status.state in USABLE and self._is_loaded(status)
        self._ready_note.setVisible(ready)
        if self._took_s is not None:
            text = self.tr("Ready after {time}. Everything it says stays on this machine.")
            self._ready_note.setText(text.format(time=format_duration(self._took_s, language())))
        else:
            self._ready_note.setText(self.tr("Everything it says stays on this machine."))

    def _show_memory(self, model: LocalModel, settings: LoadSettings) -> None:
        key = (model.id, settings, language())
        if key == self._memory_shown:
            return
        self._memory_shown = key
        forecast = self.bridge.services.engine.forecast(settings, model)
        while (item := self._memory.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for device in forecast.devices:
            text = self.tr("{device}: {used} of {total}")
            label = Label(
                text.format(
                    device=device.name,
                    used=format_gib(device.used_bytes),
                    total=format_gib(device.total_bytes),
                ),
                size=TextSize.SMALL,
                tone="muted",
            )
            bar = MemoryBar()
            bar.show_device(device)
            self._memory.addWidget(label, 0, Qt.AlignmentFlag.AlignLeft)
            self._memory.addWidget(bar)

    def _cancel(self) -> None:
        self.bridge.navigation.stop_engine()
