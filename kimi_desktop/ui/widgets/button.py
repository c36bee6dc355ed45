"""Buttons: primary, secondary, quiet, toggle, and icons alone. Qt thread."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, CONTROL_HEIGHT, RADIUS, SMALL_CONTROL_HEIGHT, SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on

ICON = 16
ALIGN_CENTRE = int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextShowMnemonic)


class ButtonKind(Enum):
    """How much a button asks for attention."""

    PRIMARY = "primary"
    """One per view."""
    SECONDARY = "secondary"
    QUIET = "quiet"
    TOGGLE = "toggle"
    """Stays down; a check mark says so."""
    DANGER = "danger"
    """Ends or deletes something."""


class Button(Focusable, QPushButton):
    """A button with text, and an icon before it if given."""

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        kind: ButtonKind = ButtonKind.SECONDARY,
        icon: str = "",
        small: bool = False,
    ) -> None:
        super().__init__(text, parent)
        self._kind = kind
        self._icon = icon
        self._small = small
        weight = SEMIBOLD if kind is ButtonKind.PRIMARY else MEDIUM
        self.setFont(ui_font(SMALL_PX if small else BODY_PX, weight))
        self.setCheckable(kind is ButtonKind.TOGGLE)
        self.setAutoDefault(True)  # Return presses it, not Space alone
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    @property
    def kind(self) -> ButtonKind:
        """What kind of button it is."""
        return self._kind

    def set_kind(self, kind: ButtonKind) -> None:
        """Change between kinds that do not stay down."""
        self._kind = kind
        font = self.font()
        font.setWeight(SEMIBOLD if kind is ButtonKind.PRIMARY else MEDIUM)
        self.setFont(font)
        self.updateGeometry()
        self.update()

    def set_icon(self, icon: str) -> None:
        """Change the icon by name; "" for none."""
        if icon != self._icon:
            self._icon = icon
            self.updateGeometry()
            self.update()

    def icon_name(self) -> str:
        """The icon shown; a toggle that is on shows a check mark."""
        if self._kind is ButtonKind.TOGGLE and self.isChecked():
            return "check"
        return self._icon

    def sizeHint(self) -> QSize:
        """By the text, with the padding of the design."""
        metrics = QFontMetrics(self.font())
        width = (
            metrics.size(Qt.TextFlag.TextShowMnemonic, self.text()).width() if self.text() else 0
        )
        has_icon = bool(self._icon) or self._kind is ButtonKind.TOGGLE
        if has_icon:
            width += ICON + (self._gap() if self.text() else 0)
        height = SMALL_CONTROL_HEIGHT if self._small else CONTROL_HEIGHT
        return QSize(width + 2 * self._padding() + 2, height)

    def minimumSizeHint(self) -> QSize:
        """Never less than its text."""
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        """Hover is painted."""
        super().enterEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw box, icon and text for the state it is in."""
        del event
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        fill, border, ink = self._colors()
        box(painter, QRectF(self.rect()), RADIUS, fill=fill, border=border)
        painter.setFont(self.font())
        painter.setPen(color(ink))
        metrics = QFontMetrics(self.font())
        text_width = metrics.size(Qt.TextFlag.TextShowMnemonic, self.text()).width()
        name = self.icon_name()
        width = text_width + (ICON + (self._gap() if self.text() else 0) if name else 0)
        x = (self.width() - width) // 2
        if name:
            tint = tokens().accent if name == "check" and self.isChecked() else ink
            icons.paint(painter, name, QPoint(x, (self.height() - ICON) // 2), ICON, tint)
            x += ICON + self._gap()
        if self.text():
            place = QRect(x, 0, text_width + 1, self.height())
            painter.drawText(place, ALIGN_CENTRE, self.text())
        painter.end()

    def _padding(self) -> int:
        return 8 if self._small else 12

    def _gap(self) -> int:
        return 4 if self._small else 8

    def _colors(self) -> tuple[str | None, str | None, str]:
        t = tokens()
        hover = self.underMouse() and self.isEnabled()
        if not self.isEnabled():
            quiet = self._kind is ButtonKind.QUIET
            return (None if quiet else t.panel, None if quiet else t.line, t.muted)
        if self._kind is ButtonKind.PRIMARY:
            fill = t.accent_press if self.isDown() else t.accent_hover if hover else t.accent
            return fill, fill, t.on_accent
        if self._kind is ButtonKind.TOGGLE and self.isChecked():
            return t.press if self.isDown() else t.accent_soft, t.accent, t.text
        fill = t.press if self.isDown() else t.hover if hover else t.panel
        if self._kind is ButtonKind.QUIET:
            return (fill if self.isDown() or hover else None), None, t.text
        if self._kind is ButtonKind.DANGER:
            return fill, t.bad, t.bad
        return fill, t.control, t.text


class IconButton(Focusable, QPushButton):
    """An icon alone. ``set_label`` gives its accessible name and tooltip: never leave it out."""

    def __init__(
        self,
        icon: str,
        label: str = "",
        parent: QWidget | None = None,
        *,
        side: int = 28,
        bordered: bool = False,
        checkable: bool = False,
    ) -> None:
        super().__init__(parent)
        self._icon = icon
        self._bordered = bordered
        self.setFixedSize(side, side)
        self.setCheckable(checkable)
        self.setAutoDefault(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.set_label(label)

    def set_label(self, label: str, shortcut: str = "") -> None:
        """Say what it does; the shortcut joins the tooltip."""
        self.setAccessibleName(label)
        self.setToolTip(f"{label} ({shortcut})" if shortcut else label)

    def set_icon(self, icon: str) -> None:
        """Change the icon by name."""
        if icon != self._icon:
            self._icon = icon
            self.update()

    def icon_name(self) -> str:
        """The icon shown."""
        return self._icon

    def sizeHint(self) -> QSize:
        """Its fixed square."""
        return self.size()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the icon, muted until the mouse or a press is on it."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        active = self.isEnabled() and (self.underMouse() or self.isDown() or self.isChecked())
        fill = None
        if active:
            fill = t.press if self.isDown() or self.isChecked() else t.hover
        border = t.control if self._bordered else None
        if fill or border:
            box(painter, QRectF(self.rect()), RADIUS, fill=fill, border=border)
        ink = t.text if active or self._bordered else t.muted
        size = ICON if self.width() < 40 else icons.GRID
        corner = QPoint((self.width() - size) // 2, (self.height() - size) // 2)
        icons.paint(painter, self._icon, corner, size, ink)
        painter.end()
