"""What lies over the window for a moment: lists, the log, a question. Qt thread.

An overlay is a child of the window, not a window of its own: it moves with it, looks the same on
every desktop, and closes on Esc, a click beside it, or when the keyboard leaves it.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QVBoxLayout,
    QWidget,
)

from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.painting import box, painter_on


class Overlay(QWidget):
    """Covers its window; ``panel`` is what is seen. Deletes itself when closed."""

    closed = Signal()

    def __init__(self, window: QWidget, *, width: int, top: int | None = None) -> None:
        """``top`` is the panel's distance from the top; None centres it."""
        super().__init__(window)
        self._top = top
        self._width = width
        self._before = QApplication.focusWidget()
        self.panel = _Panel(self)
        self.body = QVBoxLayout(self.panel)
        self.body.setContentsMargins(16, 16, 16, 16)
        self.body.setSpacing(12)
        window.installEventFilter(self)

    def open(self) -> None:
        """Show it, with the keyboard in it."""
        self._cover()
        self.show()
        self.raise_()
        self.panel.setFocus(Qt.FocusReason.PopupFocusReason)
        self.panel.focusNextChild()

    def dismiss(self) -> None:
        """Close it and give the keyboard back."""
        window = self.parentWidget()
        if window is not None:
            window.removeEventFilter(self)
        self.hide()
        if self._before is not None and self._before.isVisible():
            self._before.setFocus(Qt.FocusReason.PopupFocusReason)
        self.closed.emit()
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep covering the window."""
        if event.type() is QEvent.Type.Resize:
            self._cover()
        return super().eventFilter(watched, event)

    def event(self, event: QEvent) -> bool:
        """Keep Tab inside."""
        if event.type() is QEvent.Type.LayoutRequest:
            self._cover()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc closes; other keys do not reach the window."""
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click beside the panel closes it."""
        if not self.panel.geometry().contains(event.position().toPoint()):
            self.dismiss()
        event.accept()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes round inside the panel."""
        controls = [
            child
            for child in self.panel.findChildren(QWidget)
            if child.focusPolicy() & Qt.FocusPolicy.TabFocus
            and child.isVisibleTo(self)
            and child.isEnabled()
        ]
        if not controls:
            return True
        current = QApplication.focusWidget()
        place = controls.index(current) if current in controls else -1 if forward else 0
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        controls[(place + (1 if forward else -1)) % len(controls)].setFocus(reason)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        """Weaken what is behind a centred panel; a drop-down leaves it as it is."""
        del event
        if self._top is None:
            painter = painter_on(self)
            shade = QColor(tokens().window)
            shade.setAlphaF(0.6)
            painter.fillRect(self.rect(), shade)
            painter.end()

    def _cover(self) -> None:
        window = self.parentWidget()
        if window is None:
            return
        self.setGeometry(window.rect())
        width = min(self._width, self.width() - 32)
        self.panel.setFixedWidth(width)
        wanted = self.panel.sizeHint().height()
        if self.body.hasHeightForWidth():
            wanted = self.body.totalHeightForWidth(width)
        height = min(wanted, self.height() - 32 - (self._top or 0))
        top = (self.height() - height) // 2 if self._top is None else self._top
        self.panel.setGeometry((self.width() - width) // 2, top, width, height)


class _Panel(QWidget):
    """The box."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A panel with the border of a control."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.control)
        painter.end()
