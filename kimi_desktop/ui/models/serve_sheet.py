"""How vLLM would serve a folder of safetensors: every choice, what each means, Start. Qt thread.

The code that a model brings along is listed with its hashes; it runs only when that was allowed
here, and a changed file asks again.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QApplication, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.model_names import full_name
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.server_plan.planning import ServerPlanning, engine_title
from kimi_desktop.ui.server_plan.server_answer import ServerAnswer
from kimi_desktop.ui.server_plan.server_form import ServerForm
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize

WIDTH = 680
MARGIN = 12
"""Beside what scrolls: focus rings are not cut, and the bar has its room."""


class ServeSheet(Overlay):
    """Start is possible once a plan fits and its code was allowed."""

    def __init__(self, window: QWidget, bridge: Bridge, model: LocalModel) -> None:
        super().__init__(window, width=WIDTH)
        self._bridge = bridge
        self._model = model
        self.planning = ServerPlanning(bridge, self)
        engine = engine_title(bridge.services.engine.settings_for(model))
        heading = self.tr("Serve {name} with {engine}")
        heading = heading.format(name=full_name(model), engine=engine)
        self.build = Label(tone="muted", wrap=True)
        self.form = ServerForm(self.planning)
        self.answer = ServerAnswer(self.planning)
        self.plan_button = Button(self.tr("Open on the Plan page"))
        self.cancel_button = Button(self.tr("Cancel"))
        self.start_button = Button(self.tr("Start"), kind=ButtonKind.PRIMARY, icon="play")
        self._arrange(heading)
        self.planning.changed.connect(self._show)
        self.plan_button.clicked.connect(self._on_plan)
        self.cancel_button.clicked.connect(self.dismiss)
        self.start_button.clicked.connect(self._on_start)
        self.planning.begin(model)

    def _arrange(self, heading: str) -> None:
        inside = QWidget()
        both = QVBoxLayout(inside)
        both.setContentsMargins(4, 4, MARGIN, 4)
        both.setSpacing(16)
        both.addWidget(self.form)
        both.addWidget(Divider())
        both.addWidget(self.answer)
        self.body.addWidget(Label(heading, size=TextSize.HEADING, weight=SEMIBOLD, wrap=True))
        self.body.addWidget(self.build)
        self.body.addWidget(_Scrolled(inside), 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.plan_button)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.start_button)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(heading)

    def _show(self) -> None:
        self.build.setText(self.planning.build)
        self.build.setVisible(bool(self.planning.build))
        self.start_button.setEnabled(self.planning.can_start)
        self._cover()

    def _on_plan(self) -> None:
        self.dismiss()
        self._bridge.navigation.open_plan(self._model.id)

    def _on_start(self) -> None:
        self.dismiss()
        self.planning.start()


class _Scrolled(QScrollArea):
    """As high as what is in it, and scrolls where the window is lower."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # setWidget switches it on
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._reveal)

    def _reveal(self, _: QWidget | None, now: QWidget | None) -> None:
        """An overlay moves the focus itself, so nobody else scrolls to it."""
        if now is not None and self._inside.isAncestorOf(now):
            self.ensureWidgetVisible(now)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """What is in it has another height: so has this."""
        if event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def sizeHint(self) -> QSize:
        """Of what is in it, at the width that it has."""
        layout = self._inside.layout()
        width = max(self.width(), WIDTH - 32)
        height = layout.totalHeightForWidth(width) if layout is not None else 0
        return QSize(width, height)
