"""The inspector: live figures, memory, context, sampling, load settings. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.backends.rpc.types import WorkersChanged
from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.events import Event
from kimi_desktop.chat.types import AnswerFinished, AnswerStats, PrefillProgressed, TokensArrived
from kimi_desktop.machine.types import MachineProbed
from kimi_desktop.models.types import LibraryChanged
from kimi_desktop.monitor.types import SampleTaken
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.chat.inspector_live import SLOTS, ContextSection, LiveSection
from kimi_desktop.ui.chat.inspector_load import LoadSection
from kimi_desktop.ui.chat.inspector_memory import MemorySection, memory_now
from kimi_desktop.ui.chat.inspector_sampling import SamplingSection
from kimi_desktop.ui.engine_words import ALIVE, USABLE, context_of, loaded_model
from kimi_desktop.ui.widgets.button import IconButton
from kimi_desktop.ui.widgets.card import Surface

WIDTH = 300


class Inspector(Surface):
    """Follows the engine, the samples and the shown chat."""

    fold_wanted = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent, tone="panel", edges="l")
        self._bridge = bridge
        self._chat_id: int | None = None
        self._stats: AnswerStats | None = None
        self._forecast: LoadForecast | None = None
        self.live = LiveSection()
        self.memory = MemorySection()
        self.context = ContextSection()
        self.sampling = SamplingSection(bridge)
        self.load = LoadSection(bridge)
        self._fold = IconButton("panel-right", side=20)
        self._fold.clicked.connect(lambda _checked: self.fold_wanted.emit())
        self.live.head.addWidget(self._fold)
        self._arrange()
        self.retranslate()
        self._take_engine()
        self._take_samples()
        bridge.happened.connect(self._on_event)

    def show_chat(self, chat_id: int, stats: AnswerStats | None) -> None:
        """Another chat is shown; its last answer's figures."""
        self._chat_id = chat_id
        self._show_stats(stats)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.setAccessibleName(self.tr("Inspector"))
        self._fold.set_label(self.tr("Hide the inspector"))

    def _arrange(self) -> None:
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for section in (self.live, self.memory, self.context, self.sampling, self.load):
            column.addWidget(section)
        column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(inside)
        inside.setAutoFillBackground(False)  # which setWidget has switched on
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 0, 0, 0)
        layout.addWidget(area)

    def _show_stats(self, stats: AnswerStats | None) -> None:
        self._stats = stats
        self.live.show_stats(stats)
        self._show_context()

    def _show_context(self) -> None:
        status = self._bridge.services.engine.status
        total = context_of(status) if status.state in USABLE else 0
        stats = self._stats
        used = stats.prompt_tokens + stats.tokens if stats is not None else 0
        self.context.show_context(used, total)

    def _take_engine(self) -> None:
        """The engine has other settings: what it was forecast to need, and its context."""
        services = self._bridge.services
        status = services.engine.status
        models, selected = services.models.models, self._bridge.settings.models.selected
        model = loaded_model(status, models, selected)
        self._forecast = None
        if model is not None and status.settings is not None and status.state in ALIVE:
            self._forecast = services.engine.forecast(status.settings, model)
        settings = status.settings if status.state in ALIVE else None
        self.sampling.show_demo(settings is not None and settings.chat_template is not None)
        self.load.refresh()
        self._show_context()

    def _take_samples(self) -> None:
        samples = self._bridge.services.monitor.history(SLOTS)
        self.live.show_samples(samples)
        self.memory.setVisible(bool(samples))
        if samples:
            self.memory.show_uses(memory_now(samples[-1], self._forecast))

    def _on_event(self, event: Event) -> None:
        match event:
            case TokensArrived() if event.chat_id == self._chat_id:
                self._show_stats(event.stats)
            case AnswerFinished() if event.chat_id == self._chat_id:
                self._show_stats(event.message.stats or self._stats)
            case PrefillProgressed() if event.chat_id == self._chat_id:
                self.live.show_prefill(event.done_tokens, event.total_tokens)
            case SampleTaken():
                self._take_samples()
            case EngineStateChanged():
                if event.status.state not in USABLE:
                    self._show_stats(None)  # an engine that is gone has no speed
                self._take_engine()
            case LibraryChanged() | MachineProbed() | WorkersChanged():
                self._take_engine()
            case SettingsChanged():
                self.sampling.show_settings(self._bridge.settings)
                self.load.refresh()
            case _:
                pass
