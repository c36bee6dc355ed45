"""Changes of a plan, one a row: what, what it means, how fast it would be. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from kimi_desktop.backends.types import Remedial
from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS, SMALL_CONTROL_HEIGHT, SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import MEDIUM
from kimi_desktop.ui.widgets.painting import box, painter_on

PAD = 8
LEAST_TITLE = 128
CHEVRON = 16


class ChangeList(QWidget):
    """``chosen`` has the change that the user wants."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Remedial, ...] = ()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)

    def show_changes(self, changes: Sequence[Remedial]) -> None:
        """List them; the same ones keep their rows (and the focus)."""
        if tuple(changes) == self._shown:
            return
        self._shown = tuple(changes)
        while (item := self._layout.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        metrics = QFontMetrics(ui_font(BODY_PX, MEDIUM))
        widest = max((metrics.horizontalAdvance(each.title) for each in changes), default=0)
        for change in changes:
            row = ChangeRow(change, max(LEAST_TITLE, widest + 16))
            row.clicked.connect(lambda _checked, c=change: self.chosen.emit(c))
            self._layout.addWidget(row)

    def rows(self) -> tuple[ChangeRow, ...]:
        """What it lists."""
        items = (self._layout.itemAt(at) for at in range(self._layout.count()))
        found = (item.widget() for item in items if item is not None)
        return tuple(row for row in found if isinstance(row, ChangeRow))


class ChangeRow(Focusable, QPushButton):
    """One change. Those that nobody can make here (more RAM) cannot be pressed."""

    def __init__(self, change: Remedial, title_width: int) -> None:
        super().__init__(change.title)
        self.change = change
        self._title_width = title_width
        self.setAutoDefault(True)
        self.setEnabled(change.wishes is not None)
        self.setFixedHeight(SMALL_CONTROL_HEIGHT)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        parts = (change.title, change.detail, change.speed)
        self.setAccessibleName(", ".join(part for part in parts if part))
        self.setToolTip(self.tr("Plan with this change") if self.isEnabled() else "")

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(240, SMALL_CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """The detail may go."""
        return QSize(160, SMALL_CONTROL_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Title, detail, speed, and a chevron where it can be pressed."""
        del event
        t = tokens()
        painter = painter_on(self)
        rect = QRectF(self.rect())
        if self.isEnabled() and (self.underMouse() or self.isDown()):
            box(painter, rect, RADIUS, fill=t.press if self.isDown() else t.hover)
        middle = Qt.AlignmentFlag.AlignVCenter
        right = self.width() - PAD
        if self.isEnabled():
            right -= CHEVRON
            icons.paint(
                painter,
                "chevron-right",
                QRect(right, (self.height() - CHEVRON) // 2, CHEVRON, CHEVRON).topLeft(),
                CHEVRON,
                t.muted,
            )
            right -= 4
        strong, small = ui_font(BODY_PX, MEDIUM), ui_font(SMALL_PX)
        painter.setFont(ui_font(SMALL_PX, MEDIUM))
        painter.setPen(color(t.text))
        width = QFontMetrics(painter.font()).horizontalAdvance(self.change.speed)
        speed = QRect(right - width - 2, 0, width + 2, self.height())
        painter.drawText(speed, Qt.AlignmentFlag.AlignRight | middle, self.change.speed)
        painter.setFont(strong)
        painter.setPen(color(t.accent if self.isEnabled() else t.text))
        title = QRect(PAD, 0, self._title_width, self.height())
        painter.drawText(title, middle, self.change.title)
        painter.setFont(small)
        painter.setPen(color(t.muted))
        rest = QRect(title.right(), 0, speed.left() - title.right() - PAD, self.height())
        shown = QFontMetrics(small).elidedText(
            self.change.detail, Qt.TextElideMode.ElideRight, max(rest.width(), 0)
        )
        painter.drawText(rest, middle, shown)
        painter.end()
