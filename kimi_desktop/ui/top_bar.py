"""The bar at the top: page title, model pill in the true centre, engine state, Start / Stop.

While the wizard is open it shows "Set up" and the language instead. Qt thread.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QWidget

from kimi_desktop.backends.types import Attachment, EngineState, EngineStatus
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui import icons
from kimi_desktop.ui.engine_words import (
    ALIVE,
    DOTS,
    Meant,
    remote_title,
    state_word,
    step_words,
)
from kimi_desktop.ui.shortcuts import shortcut
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, CONTROL_HEIGHT, RADIUS
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.chip import Dot, StateDot
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label
from kimi_desktop.ui.widgets.painting import box, dim_if_disabled, painter_on
from kimi_desktop.ui.widgets.segmented import Segmented

HEIGHT = 44
LOGO = 24
ICON = 16


class TopBar(Surface):
    """Emits what the user asked for; shows what it is told."""

    picker_wanted = Signal()
    start_wanted = Signal()
    stop_wanted = Signal()
    failure_wanted = Signal()
    language_chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, tone="panel", edges="b")
        self.setFixedHeight(HEIGHT)
        self._status = EngineStatus(EngineState.STOPPED)
        self._logo = _Logo()
        self._title = Label(weight=SEMIBOLD)
        self.pill = ModelPill(self)
        self.pill.clicked.connect(self.picker_wanted)
        self._state = EngineStateButton()
        self._state.clicked.connect(self.failure_wanted)
        self._switch = Button(icon="play", small=True)
        self._switch.clicked.connect(self._on_switch)
        self._language_label = Label(tone="muted")
        self._language = Segmented(
            [(LanguageChoice.EN.value, "English"), (LanguageChoice.ZH_CN.value, "简体中文")],
            small=True,
        )
        self._language.chosen.connect(lambda key: self.language_chosen.emit(LanguageChoice(key)))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 0, 12, 1)
        layout.setSpacing(12)
        layout.addWidget(self._logo)
        layout.addWidget(self._title)
        layout.addStretch(1)
        layout.addWidget(self._state)
        layout.addWidget(self._switch)
        layout.addWidget(self._language_label)
        layout.addWidget(self._language)
        self.set_wizard(on=False)
        self.retranslate()

    def set_title(self, title: str) -> None:
        """The name of the page."""
        self._title.setText(title)
        self._place_pill()

    def set_wizard(self, *, on: bool) -> None:
        """Show the language instead of the engine."""
        for widget in (self.pill, self._state, self._switch):
            widget.setVisible(not on)
        for other in (self._language_label, self._language):
            other.setVisible(on)

    def show_language(self, choice: LanguageChoice) -> None:
        """Mark the language in force."""
        self._language.choose(choice.value)

    def show_engine(self, status: EngineStatus, what: Meant) -> None:
        """The pill, the state and the button."""
        self._status = status
        self.pill.show_engine(status, what)
        self._state.show_status(status)
        alive = status.state in ALIVE
        there = what.model is not None or what.remote is not None
        self._switch.set_icon("power" if alive else "play")
        self._switch.setEnabled(status.state is not EngineState.STOPPING and (alive or there))
        if what.remote is not None:
            self._switch.setText(self.tr("Detach") if alive else self.tr("Attach"))
        else:
            self._switch.setText(self.tr("Stop engine") if alive else self.tr("Start"))
        self._place_pill()

    def switch_button(self) -> Button:
        """Start / Stop."""
        return self._switch

    def state_button(self) -> EngineStateButton:
        """The engine's state."""
        return self._state

    def language_control(self) -> Segmented:
        """English or Chinese, shown with the wizard."""
        return self._language

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the pill in the centre."""
        super().resizeEvent(event)
        self._place_pill()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self._language_label.setText(self.tr("Language"))
        self._language.set_label(self.tr("Language"))
        self.show_engine(self._status, self.pill.what)

    def _place_pill(self) -> None:
        """In the true centre, as wide as it likes, at most what both sides leave."""
        hints = (self._state.sizeHint().width(), self._switch.sizeHint().width())
        right = sum(hints) + 2 * 12 + 12
        left = 16 + LOGO + 12 + self._title.sizeHint().width() + 12
        room = max(120, self.width() - 2 * max(left, right))
        wanted = self.pill.sizeHint()
        width = min(wanted.width(), room)
        self.pill.setGeometry(
            (self.width() - width) // 2,
            (HEIGHT - 1 - wanted.height()) // 2 + 1,
            width,
            wanted.height(),
        )
        self.pill.raise_()

    def _on_switch(self) -> None:
        (self.stop_wanted if self._status.state in ALIVE else self.start_wanted).emit()


class _Logo(QWidget):
    """The app's mark, bolder at this size."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(LOGO, LOGO)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it with a line around, so that it does not sink into a dark bar."""
        del event
        painter = painter_on(self)
        painter.drawPixmap(QPoint(0, 0), icons.logo(LOGO, self.devicePixelRatioF(), tokens().line))
        painter.end()


class ModelPill(Focusable, QPushButton):
    """Dot, name, quantization, and what is the matter. Opens the picker."""

    focus_radius = 16

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.what = Meant()
        self._status = EngineStatus(EngineState.STOPPED)
        self._dot = StateDot(Dot.OFF, self)
        self.setAutoDefault(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def show_engine(self, status: EngineStatus, what: Meant) -> None:
        """What is loaded or attached, or chosen."""
        self._status, self.what = status, what
        self._dot.show_dot(DOTS[status.state])
        words = " ".join(text for text in self.texts() if text)
        self.setAccessibleName(self.tr("Model: {name}").format(name=words))
        self.setToolTip(self.tr("Choose a model ({shortcut})").format(shortcut=shortcut("picker")))
        self.updateGeometry()
        self.update()

    @property
    def dot(self) -> Dot:
        """The shape of the state."""
        return self._dot.dot

    def texts(self) -> tuple[str, str, str]:
        """Name, quantization (of another server's model the server), note."""
        model = self.what.model
        if self.what.remote is not None:
            return self._remote_texts(self.what.remote)
        if model is None:
            return self.tr("No model loaded"), "", ""
        facts = model.facts
        note = ""
        if self._status.state is EngineState.FAILED:
            note = self.tr("· did not start")
            if self._status.started_at is not None:
                note = self.tr("· has ended")
        elif self._status.state is EngineState.STOPPED:
            note = self.tr("· not loaded")
        return model.title, facts.quantization if facts else "", note

    def _remote_texts(self, remote: Attachment) -> tuple[str, str, str]:
        note = ""
        if self._status.state is EngineState.FAILED:
            note = self.tr("· not reached")
        elif self._status.state is EngineState.STOPPED:
            note = self.tr("· not attached")
        return remote_title(remote), remote.server if remote.model else "", note

    def sizeHint(self) -> QSize:
        """By its words."""
        name, quantization, note = self.texts()
        width = 12 + 8 + 8 + QFontMetrics(ui_font(BODY_PX, SEMIBOLD)).horizontalAdvance(name)
        plain = QFontMetrics(ui_font(BODY_PX))
        for text in (quantization, note):
            if text:
                width += 8 + plain.horizontalAdvance(text)
        return QSize(width + 12 + ICON + 12 + 2, CONTROL_HEIGHT)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The dot stays at its place."""
        super().resizeEvent(event)
        self._dot.move(12, (self.height() - 8) // 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The pill and its words; the name gives way last."""
        del event
        t = tokens()
        painter = painter_on(self)
        fill = t.press if self.isDown() else t.hover if self.underMouse() else t.raised
        box(painter, QRectF(self.rect()), 16, fill=fill, border=t.control)
        name, quantization, note = self.texts()
        x, end = 28, self.width() - 12 - ICON - 8
        strong = ui_font(BODY_PX, SEMIBOLD)
        for text, font, ink in (
            (name, strong, t.text),
            (quantization, ui_font(BODY_PX), t.muted),
            (note, ui_font(BODY_PX), t.muted),
        ):
            if not text or x >= end:
                continue
            metrics = QFontMetrics(font)
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, end - x)
            painter.setFont(font)
            painter.setPen(color(ink))
            place = QRect(x, 0, end - x, self.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
            x += metrics.horizontalAdvance(shown) + 8
        corner = QPoint(self.width() - 12 - ICON, (self.height() - ICON) // 2)
        icons.paint(painter, "chevron-down", corner, ICON, t.muted)
        painter.end()


class EngineStateButton(Focusable, QPushButton):
    """Dot, word, engine name. When it failed, a click shows why."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._dot = StateDot(Dot.OFF)
        self._word = Label()
        self._name = ElidedLabel(tone="muted")
        self.setAutoDefault(True)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(28)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 4, 0)
        layout.setSpacing(8)
        for part in (self._dot, self._word, self._name):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            layout.addWidget(part)

    def show_status(self, status: EngineStatus) -> None:
        """The state in a word; muted while nothing runs."""
        word = state_word(status)
        self._dot.show_dot(DOTS[status.state])
        self._word.setText(word)
        self._word.set_tone("muted" if status.state is EngineState.STOPPED else "")
        step = step_words(status)
        self._name.setText(step or status.engine_name)
        self._name.setVisible(bool(step or status.engine_name))
        self.setAccessibleName(self.tr("Engine: {state}").format(state=word))
        failed = status.state is EngineState.FAILED
        self.setEnabled(failed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if failed else Qt.FocusPolicy.NoFocus)
        self.setToolTip(self.tr("Show what happened") if failed else "")

    def word(self) -> str:
        """The word shown."""
        return self._word.text()

    def sizeHint(self) -> QSize:
        """By its words."""
        layout = self.layout()
        width = layout.sizeHint().width() if layout is not None else 0
        return QSize(width, 28)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A ground only under the mouse, when it leads somewhere."""
        del event
        if self.isEnabled() and (self.underMouse() or self.isDown()):
            painter = painter_on(self)
            dim_if_disabled(painter, self)
            t = tokens()
            box(painter, QRectF(self.rect()), RADIUS, fill=t.press if self.isDown() else t.hover)
            painter.end()
