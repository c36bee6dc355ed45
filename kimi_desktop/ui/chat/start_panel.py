"""What an empty chat shows: no model, a model that is not loaded, or where to begin. Qt thread."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStackedLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import Attachment, EngineState, EngineStatus
from kimi_desktop.base.hosts import is_loopback
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import (
    ALIVE,
    USABLE,
    Meant,
    meant,
    remote_title,
    state_word,
    step_words,
)
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.gauge import Gauge
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.message_bar import EmptyState
from kimi_desktop.ui.widgets.painting import box, painter_on

COLUMN_PX = 440


class Beginning(Enum):
    """Which of the three is shown."""

    NO_MODEL = "no model"
    NOT_LOADED = "not loaded"
    LOADED = "loaded"


class StartPanel(QWidget):
    """Follows the library and the engine; ``refresh`` after their events."""

    prompt_chosen = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.nothing = EmptyState("models")
        self.nothing.button.clicked.connect(lambda _checked: bridge.navigation.run_wizard())
        self._name = Label(size=TextSize.TITLE, weight=SEMIBOLD)
        self._name.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._state = ElidedLabel(tone="muted")
        self._state.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.where = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.where.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._gauge = Gauge(limits=False)
        self.load_button = Button(kind=ButtonKind.PRIMARY, icon="play")
        self.load_button.clicked.connect(lambda _checked: bridge.navigation.start_engine())
        self.prompts = tuple(_Prompt() for _ in range(3))
        for prompt in self.prompts:
            prompt.clicked.connect(lambda _checked, p=prompt: self.prompt_chosen.emit(p.text()))
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.nothing)
        self._stack.addWidget(self._model_panel())
        self.retranslate()

    @property
    def beginning(self) -> Beginning:
        """What is shown now."""
        if self._stack.currentIndex() == 0:
            return Beginning.NO_MODEL
        status = self._bridge.services.engine.status
        return Beginning.LOADED if status.state in USABLE else Beginning.NOT_LOADED

    def state_text(self) -> str:
        """The line below the model's name."""
        return self._state.full_text()

    def refresh(self) -> None:
        """Look at the library and the engine again."""
        services = self._bridge.services
        status, models = services.engine.status, services.models.models
        what = meant(status, models, self._bridge.settings)
        self._stack.setCurrentIndex(0 if what == Meant() else 1)
        if what.remote is not None:
            self._show_remote(what.remote, status)
        elif what.model is not None:
            self._show_model(what.model, status)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self.nothing.set_texts(
            self.tr("No model yet. See what this machine can run."),
            self.tr("See what this machine can run"),
        )
        self._gauge.setAccessibleName(self.tr("Loading"))
        self.refresh()

    def _model_panel(self) -> QWidget:
        column = QWidget()
        column.setFixedWidth(COLUMN_PX)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(8)
        inner.addWidget(self._name)
        inner.addWidget(self._state)
        inner.addWidget(self.where)
        inner.addWidget(self._gauge)
        inner.addWidget(self.load_button, 0, Qt.AlignmentFlag.AlignCenter)
        inner.addSpacing(16)
        for prompt in self.prompts:
            inner.addWidget(prompt)
        panel = QWidget()
        outer = QVBoxLayout(panel)
        outer.addStretch(2)
        outer.addWidget(column, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
        return panel

    def _show_model(self, model: LocalModel, status: EngineStatus) -> None:
        quantization = model.facts.quantization if model.facts is not None else ""
        self._name.setText(model.title)
        self.where.hide()
        self.load_button.setText(self.tr("Load the model"))
        word = self.tr("Not loaded") if status.state is EngineState.STOPPED else state_word(status)
        parts = [quantization] if quantization else []
        if status.state in USABLE:
            parts.append(self.tr("ready"))
        else:
            parts.append(word)
            if step := step_words(status):
                parts.append(step)
        self._state.setText(" · ".join(parts))
        loading = status.state in (EngineState.STARTING, EngineState.LOADING)
        self._gauge.setVisible(loading)
        self._gauge.show_share(status.load_fraction, word)
        self.load_button.setVisible(status.state not in ALIVE and not loading)
        prompts = self._base_prompts() if model.is_starter else self._prompts()
        for button, text in zip(self.prompts, prompts, strict=True):
            button.setText(text)
            button.setVisible(status.state in ALIVE)

    def _show_remote(self, remote: Attachment, status: EngineStatus) -> None:
        """A model of another server: there is nothing to load."""
        self._name.setText(remote_title(remote))
        self.load_button.setText(self.tr("Attach"))
        detached = status.state is EngineState.STOPPED
        word = self.tr("Not attached") if detached else state_word(status)
        program = f"{remote.program} {remote.version}".strip()
        parts = (remote.server if remote.model else "", program, word)
        self._state.setText(" · ".join(part for part in parts if part))
        host = QUrl(remote.url).host()
        self.where.setText(self.tr("What you write is sent to {host}.").format(host=host))
        self.where.setVisible(not is_loopback(host))
        self._gauge.hide()
        self.load_button.setVisible(status.state not in ALIVE)
        for button, text in zip(self.prompts, self._prompts(), strict=True):
            button.setText(text)
            button.setVisible(status.state in ALIVE)

    def _prompts(self) -> tuple[str, str, str]:
        return (
            self.tr("Explain mixture of experts to a colleague in five sentences."),
            self.tr("Write a Python function that merges overlapping intervals."),
            self.tr("Plan a three-day reading list about the history of computing."),
        )

    def _base_prompts(self) -> tuple[str, str, str]:
        """For the demo model, which only continues text."""
        return (
            self.tr("What is the capital of France?"),
            self.tr("Name three planets."),
            self.tr("What colour is the sky on a clear day?"),
        )


class _Prompt(Focusable, QPushButton):
    """A prompt to begin with: a wide button with its text at the left."""

    def __init__(self) -> None:
        super().__init__()
        self.setAutoDefault(False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFont(ui_font(BODY_PX))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """One line, roomy."""
        return QSize(COLUMN_PX, 40)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised box with the text."""
        del event
        t = tokens()
        painter = painter_on(self)
        fill = t.press if self.isDown() else t.hover if self.underMouse() else t.raised
        box(painter, QRectF(self.rect()), RADIUS, fill=fill)
        painter.setFont(self.font())
        painter.setPen(color(t.text))
        place = self.rect().adjusted(12, 0, -12, 0)
        shown = QFontMetrics(self.font()).elidedText(
            self.text(), Qt.TextElideMode.ElideRight, place.width()
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()
