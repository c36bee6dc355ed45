"""The focus ring: 2 px of accent, 2 px outside the control that the keyboard is on. Qt thread.

A ring outside the control does not fit into the control's own rectangle, so it is a widget of its
own, transparent to the mouse, that follows the focused one. It shows after the keyboard moved the
focus, not after a click.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.painting import box, painter_on

REACH = 4
"""2 px of ring after 2 px of air."""
RETURNS = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)


class FocusRing(QWidget):
    """One ring around one control. Lives in the nearest ancestor that does not clip it."""

    def __init__(self, target: QWidget, radius: int) -> None:
        super().__init__(self._home_of(target))
        self.setObjectName("focus-ring")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._target = target
        self._radius = radius
        self._watched: list[QWidget] = []
        ancestor: QWidget | None = target
        home = self.parentWidget()
        while ancestor is not None and ancestor is not home:
            ancestor.installEventFilter(self)
            self._watched.append(ancestor)
            ancestor = ancestor.parentWidget()
        self._follow()
        self.raise_()
        self.show()

    def dismiss(self) -> None:
        """Take the ring away."""
        for widget in self._watched:
            widget.removeEventFilter(self)
        self.hide()
        self.setParent(None)
        self.deleteLater()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow when the target or what holds it moves."""
        if event.type() in (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show):
            self._follow()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ring."""
        del event
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), self._radius + REACH, border=tokens().accent, width=2)
        painter.end()

    def _follow(self) -> None:
        home = self.parentWidget()
        if home is None:
            return
        corner = self._target.mapTo(home, QPoint(0, 0))
        self.setGeometry(QRect(corner, self._target.size()).adjusted(-REACH, -REACH, REACH, REACH))

    @staticmethod
    def _home_of(target: QWidget) -> QWidget:
        """The nearest ancestor with room around the target; a scroll area's page at most."""
        home = target.parentWidget() or target
        while not home.isWindow():
            corner = target.mapTo(home, QPoint(0, 0))
            wanted = QRect(corner, target.size()).adjusted(-REACH, -REACH, REACH, REACH)
            holder = home.parentWidget()
            scrolled = holder is not None and isinstance(holder.parentWidget(), QAbstractScrollArea)
            if home.rect().contains(wanted) or scrolled or holder is None:
                break
            home = holder
        return home


class Focusable:
    """Mix into a QWidget class before it, to get the ring. ``focus_radius`` shapes it."""

    focus_radius = RADIUS
    _ring: FocusRing | None = None
    _had_ring = False

    def focus_target(self) -> QWidget:
        """What the ring goes around; as a rule the control itself."""
        assert isinstance(self, QWidget)
        return self

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the ring unless the mouse brought the focus.

        When window or popup gives the focus back, it is as it was before.
        """
        super().focusInEvent(event)  # type: ignore[misc]
        if event.reason() in RETURNS:
            if self._had_ring:
                self.show_ring()
        elif event.reason() is not Qt.FocusReason.MouseFocusReason:
            self.show_ring()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Take it away."""
        super().focusOutEvent(event)  # type: ignore[misc]
        self._had_ring = self._ring is not None
        self.hide_ring()

    def show_ring(self) -> None:
        """Draw the ring now."""
        if self._ring is None:
            self._ring = FocusRing(self.focus_target(), self.focus_radius)

    def hide_ring(self) -> None:
        """Take the ring away."""
        if self._ring is not None:
            self._ring.dismiss()
            self._ring = None

    def hideEvent(self, event: QEvent) -> None:
        """A hidden control has no ring."""
        super().hideEvent(event)  # type: ignore[misc]
        self.hide_ring()
