"""One of a few, side by side. One Tab stop; the arrow keys choose. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import (
    BODY_PX,
    CONTROL_HEIGHT,
    RADIUS,
    SMALL_CONTROL_HEIGHT,
    SMALL_PX,
)
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import REGULAR, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on

INNER_RADIUS = 6


class Segmented(QWidget):
    """Options as (key, label). ``chosen`` fires when the user picks another one."""

    chosen = Signal(str)

    def __init__(
        self,
        options: Sequence[tuple[str, str]] = (),
        parent: QWidget | None = None,
        *,
        small: bool = False,
        stretch: bool = False,
    ) -> None:
        super().__init__(parent)
        self._small = small
        self._stretch = stretch
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._segments: dict[str, _Segment] = {}
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(3, 3, 3, 3)
        self._layout.setSpacing(0)
        self.setFixedHeight(SMALL_CONTROL_HEIGHT if small else CONTROL_HEIGHT)
        policy = QSizePolicy.Policy.Expanding if stretch else QSizePolicy.Policy.Fixed
        self.setSizePolicy(policy, QSizePolicy.Policy.Fixed)
        self.set_options(options)
        self._group.buttonClicked.connect(self._on_clicked)

    def set_label(self, label: str) -> None:
        """The accessible name of the group."""
        self.setAccessibleName(label)

    def set_options(self, options: Sequence[tuple[str, str]]) -> None:
        """Replace the options; the same keys keep the choice and only change their words."""
        if [key for key, _ in options] == list(self._segments):
            for key, label in options:
                self._segments[key].set_text(label)
            return
        before = self.key()
        for segment in self._segments.values():
            self._group.removeButton(segment)
            self._layout.removeWidget(segment)
            segment.hide()
            segment.deleteLater()
        self._segments = {}
        for key, label in options:
            segment = _Segment(key, label, small=self._small, parent=self)
            self._segments[key] = segment
            self._group.addButton(segment)
            self._layout.addWidget(segment, 1 if self._stretch else 0)
        self.choose(before if before in self._segments else (options[0][0] if options else ""))

    def key(self) -> str:
        """The chosen option, "" when there are none."""
        checked = self._group.checkedButton()
        return checked.key if isinstance(checked, _Segment) else ""

    def choose(self, key: str) -> None:
        """Choose without telling."""
        if key in self._segments:
            self._segments[key].setChecked(True)

    def set_option_enabled(self, key: str, *, enabled: bool, why: str = "") -> None:
        """Switch one option off, with the reason as its tooltip."""
        self._segments[key].setEnabled(enabled)
        self._segments[key].setToolTip("" if enabled else why)

    def segment(self, key: str) -> QPushButton:
        """The button of one option, for tests and shortcuts."""
        return self._segments[key]

    def paintEvent(self, event: QPaintEvent) -> None:
        """The frame around the options."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        border = t.control if self.isEnabled() else t.line
        box(painter, QRectF(self.rect()), RADIUS, fill=t.window, border=border)
        painter.end()

    def _on_clicked(self, button: QPushButton) -> None:
        if isinstance(button, _Segment):
            self.chosen.emit(button.key)


class _Segment(Focusable, QPushButton):
    """One option."""

    def __init__(self, key: str, text: str, *, small: bool, parent: Segmented) -> None:
        super().__init__(text, parent)
        self.key = key
        self._px = SMALL_PX if small else BODY_PX
        self._padding = 8 if small else 12
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setAutoDefault(False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def focus_target(self) -> QWidget:
        """The ring goes around the whole control."""
        return self.parentWidget() or self

    def set_text(self, text: str) -> None:
        """Change the words."""
        self.setText(text)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        """Wide enough for the selected, bolder form: nothing moves when the choice does."""
        metrics = QFontMetrics(ui_font(self._px, SEMIBOLD))
        return QSize(metrics.horizontalAdvance(self.text()) + 2 * self._padding, 22)

    def minimumSizeHint(self) -> QSize:
        """Never less than its text."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Raised with an accent line when chosen."""
        del event
        t = tokens()
        painter = painter_on(self)
        dim_if_disabled(painter, self)
        rect = QRectF(self.rect())
        chosen = self.isChecked()
        if chosen:
            box(painter, rect, INNER_RADIUS, fill=t.raised, border=t.accent)
        elif self.isEnabled() and (self.underMouse() or self.isDown()):
            box(painter, rect, INNER_RADIUS, fill=t.press if self.isDown() else t.hover)
        painter.setFont(ui_font(self._px, SEMIBOLD if chosen else REGULAR))
        bright = chosen or (self.underMouse() and self.isEnabled())
        painter.setPen(color(t.text if bright else t.muted))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, self.text())
        painter.end()
