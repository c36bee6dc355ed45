"""Views of one page behind tabs: a line below the chosen one. One Tab stop; arrows move. Qt."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS_SMALL, SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, painter_on

HEIGHT = 36
GAP = 24
LINE = 2


class Tabs(QWidget):
    """Tabs as (key, label). ``chosen`` fires when the user picks another one."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tabs: dict[str, _Tab] = {}
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._group.buttonClicked.connect(self._on_clicked)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 1)
        self._layout.setSpacing(GAP)
        self._layout.addStretch(1)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_tabs(self, tabs: Sequence[tuple[str, str]]) -> None:
        """Make the tabs, or change the words of those that are there."""
        for number, (key, label) in enumerate(tabs):
            if key not in self._tabs:
                tab = _Tab(key, self)
                self._tabs[key] = tab
                self._group.addButton(tab)
                self._layout.insertWidget(number, tab)
            self._tabs[key].set_text(label)
        if tabs and not self.key():
            self.choose(tabs[0][0])

    def set_count(self, key: str, count: int) -> None:
        """A number after the word; 0 shows none."""
        self._tabs[key].set_count(count)

    def set_label(self, label: str) -> None:
        """The accessible name of the group."""
        self.setAccessibleName(label)

    def key(self) -> str:
        """The chosen tab."""
        checked = self._group.checkedButton()
        return checked.key if isinstance(checked, _Tab) else ""

    def choose(self, key: str) -> None:
        """Choose without telling."""
        self._tabs[key].setChecked(True)

    def tab(self, key: str) -> QPushButton:
        """One of the tabs, for tests and shortcuts."""
        return self._tabs[key]

    def add(self, control: QWidget) -> None:
        """One more control at the right end."""
        self._layout.addWidget(control)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line that all tabs stand on."""
        del event
        painter = painter_on(self)
        painter.fillRect(QRect(0, self.height() - 1, self.width(), 1), color(tokens().line))
        painter.end()

    def _on_clicked(self, button: QPushButton) -> None:
        if isinstance(button, _Tab):
            self.chosen.emit(button.key)


class _Tab(Focusable, QPushButton):
    """One tab."""

    focus_radius = RADIUS_SMALL

    def __init__(self, key: str, parent: Tabs) -> None:
        super().__init__(parent)
        self.key = key
        self._count = 0
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setAutoDefault(False)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def set_text(self, text: str) -> None:
        self.setText(text)
        self._say()

    def set_count(self, count: int) -> None:
        if count != self._count:
            self._count = count
            self._say()

    def sizeHint(self) -> QSize:
        """Wide enough for the chosen, bolder form."""
        return QSize(self._word_width() + self._badge_width(), HEIGHT - 1)

    def minimumSizeHint(self) -> QSize:
        """Never less than its word."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The word, the number in a badge, the line."""
        del event
        t = tokens()
        painter = painter_on(self)
        on = self.isChecked()
        painter.setFont(ui_font(BODY_PX, SEMIBOLD if on else MEDIUM))
        painter.setPen(color(t.text if on or self.underMouse() else t.muted))
        word = QRect(0, 0, self._word_width(), self.height())
        painter.drawText(word, Qt.AlignmentFlag.AlignVCenter, self.text())
        if self._count:
            badge = QRectF(word.right() + 7, (self.height() - 20) / 2, self._badge_width() - 6, 20)
            box(painter, badge, RADIUS_SMALL, fill=t.accent_soft if on else t.raised)
            painter.setFont(ui_font(SMALL_PX, SEMIBOLD))
            painter.setPen(color(t.accent if on else t.muted))
            painter.drawText(badge, Qt.AlignmentFlag.AlignCenter, f"{self._count:,}")
        if on:
            line = QRect(0, self.height() - LINE, self.width(), LINE)
            painter.fillRect(line, color(t.accent))
        painter.end()

    def _say(self) -> None:
        name = f"{self.text()}, {self._count:,}" if self._count else self.text()
        self.setAccessibleName(name)
        self.updateGeometry()
        self.update()

    def _word_width(self) -> int:
        return QFontMetrics(ui_font(BODY_PX, SEMIBOLD)).horizontalAdvance(self.text()) + 1

    def _badge_width(self) -> int:
        if not self._count:
            return 0
        digits = QFontMetrics(ui_font(SMALL_PX, SEMIBOLD)).horizontalAdvance(f"{self._count:,}")
        return digits + 18
