"""The place between the window's notices and its page where a failure is told. Qt thread.

Pages on which the engine failed have the panel themselves; on the others the engine's state in the
top bar opens it here. The page stays as it is and can be used.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.ui.bridge import Bridge

MARGIN, TOP = 24, 12
WIDEST = 760
"""Of the panel, as a column that is read."""
MOST_SHARE = 0.6
"""Of the window's height; a longer panel scrolls."""


class FailurePlace(QScrollArea):
    """Empty and hidden until ``open``; closes with the cross, and when the engine goes on."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._built = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        self.hide()

    def open(self) -> None:
        """Show why the engine failed; nothing unless it has."""
        if not self._built:
            self._build()
        if self.failure.is_failure:
            self.show()
            self._fit()
            self.failure.panel.close_button().setFocus(Qt.FocusReason.OtherFocusReason)

    def _build(self) -> None:
        from kimi_desktop.ui.engine_failure import EngineFailurePanel  # noqa: PLC0415 - when asked

        self._built = True
        self.failure = EngineFailurePanel(self._bridge)
        self.failure.panel.set_closable()
        self.failure.panel.closed.connect(self.hide)
        self.failure.shown_changed.connect(lambda shown: None if shown else self.hide())
        inside = QWidget()
        inside.setAutoFillBackground(False)
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(MARGIN, TOP, MARGIN, 0)
        layout.addWidget(self.failure)
        layout.addStretch(1)
        self.setWidget(inside)
        self.failure.panel.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Other words, another height."""
        if event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width, another height."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The panel as high as its words need at this width; the place never most of the window."""
        width = min(self.width() - 2 * MARGIN, WIDEST)
        layout = self.failure.panel.layout() if self._built else None
        if layout is None or width <= 0:
            return
        height = layout.totalHeightForWidth(width)
        self.failure.setFixedSize(width, height)
        self.setFixedHeight(min(height + TOP, int(self.window().height() * MOST_SHARE)))
