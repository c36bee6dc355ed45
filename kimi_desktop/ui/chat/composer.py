"""Where a message is written: grows with its text, sends, stops, waits for the model. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QInputMethodEvent,
    QKeyEvent,
    QPaintEvent,
    QPalette,
    QTextBlockFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QTextEdit, QVBoxLayout, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import MESSAGE_PX, RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on

LINE_PX = 20
MOST_LINES = 10
PAD_Y = 8
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


class Composer(QWidget):
    """The box below the transcript."""

    sent = Signal(str)
    stop_wanted = Signal()
    thinking_changed = Signal(bool)
    take_back_wanted = Signal()
    edit_left = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._enter_sends = True
        self._generating = False
        self._editing = False
        self._model = ""
        self.input = MessageInput(self)
        self._waiting = _Note("clock", "close")
        self._edit_note = _Note("edit", "close")
        self.thinking = Button(kind=ButtonKind.TOGGLE, icon="sparkle")
        self._hint = Label(size=TextSize.SMALL, tone="muted")
        self.send = Button(kind=ButtonKind.PRIMARY, icon="arrow-up")
        self.stop = Button(icon="stop")
        self.stop.hide()
        self.thinking.hide()
        self._arrange()
        self.input.send_wanted.connect(self._on_send)
        self.input.textChanged.connect(self._on_text)
        self.input.focus_changed.connect(self.update)
        self.send.clicked.connect(lambda _checked: self._on_send())
        self.stop.clicked.connect(lambda _checked: self.stop_wanted.emit())
        self.thinking.clicked.connect(self.thinking_changed)
        self._waiting.closed.connect(self.take_back_wanted)
        self._edit_note.closed.connect(self._on_edit_left)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.retranslate()
        self._on_text()

    # state

    @property
    def is_editing(self) -> bool:
        """The text replaces an earlier message."""
        return self._editing

    def show_model(self, name: str) -> None:
        """To whom one writes; "" while there is no model."""
        self._model = name
        self.retranslate()

    def show_thinking(self, *, known: bool, on: bool) -> None:
        """The model knows a thinking block, and whether it is wanted."""
        self.thinking.setVisible(known)
        self.thinking.setChecked(on)

    def show_generating(self, generating: bool) -> None:
        """Stop stands where Send was."""
        self._generating = generating
        self.stop.setVisible(generating)
        self.send.setVisible(not generating)
        self._show_hint()

    def show_waiting(self, text: str, model: str = "") -> None:
        """A message waits to be sent, for a model or for whatever is ready; "" when none does."""
        first_line = " ".join(text.split())
        words = self.tr("Sends when ready")
        if model:
            words = self.tr("Sends when {model} is ready").format(model=model)
        self._waiting.show_words(words, first_line)
        self._waiting.setVisible(bool(text))
        self.updateGeometry()

    def set_enter_sends(self, enter_sends: bool) -> None:
        """Enter sends and Shift+Enter breaks the line, or Ctrl+Enter sends and Enter breaks it."""
        self._enter_sends = enter_sends
        self.input.enter_sends = enter_sends
        self._show_hint()

    def edit(self, text: str) -> None:
        """Write an earlier message anew."""
        self._editing = True
        self._edit_note.show()
        self.put(text)
        self.retranslate()

    def leave_edit(self) -> None:
        """Write a new message again."""
        if self._editing:
            self._editing = False
            self._edit_note.hide()
            self.input.clear()
            self.retranslate()

    def put(self, text: str) -> None:
        """Let this be the text, ready to be changed."""
        self.input.setPlainText(text)
        self.input.moveCursor(QTextCursor.MoveOperation.End)
        self.input.setFocus()

    def text(self) -> str:
        """What is written."""
        return self.input.toPlainText()

    # Qt

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The box; its border says where the keyboard is."""
        del event
        t = tokens()
        focus = self.input.hasFocus()
        painter = painter_on(self)
        border, width = (t.accent, 2.0) if focus else (t.control, 1.0)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=border, width=width)
        painter.end()

    def retranslate(self) -> None:
        """Set the words."""
        to = self._model
        hint = self.tr("Message {model}").format(model=to) if to else self.tr("Message")
        self.input.setPlaceholderText(hint)
        self.input.setAccessibleName(hint)
        self.thinking.setText(self.tr("Thinking"))
        self.send.setText(self.tr("Save and answer") if self._editing else self.tr("Send"))
        self.stop.setText(self.tr("Stop"))
        self._waiting.set_close_label(self.tr("Take back"))
        self._edit_note.set_close_label(self.tr("Cancel"))
        self._edit_note.show_words(
            self.tr("Editing your message"), self.tr("The answer is written anew; both are kept.")
        )
        self._show_hint()

    # inside

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.thinking)
        row.addStretch(1)
        row.addWidget(self._hint)
        row.addWidget(self.send)
        row.addWidget(self.stop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(0)
        for note in (self._waiting, self._edit_note):
            note.hide()
            layout.addWidget(note)
        layout.addWidget(self.input)
        layout.addLayout(row)

    def _show_hint(self) -> None:
        send = self.tr("Enter to send") if self._enter_sends else self.tr("Ctrl+Enter to send")
        parts = [send, self.tr("Esc to stop")] if self._generating else [send]
        self._hint.setText(" · ".join(parts))

    def _on_text(self) -> None:
        self.send.setEnabled(bool(self.text().strip()))

    def _on_send(self) -> None:
        text = self.text().strip()
        if text:
            self.input.clear()
            self.sent.emit(text)

    def _on_edit_left(self) -> None:
        self.leave_edit()
        self.edit_left.emit()


class MessageInput(QTextEdit):
    """Plain text that grows from one line to ten, then scrolls."""

    send_wanted = Signal()
    focus_changed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.enter_sends = True
        self._composing = False
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("QTextEdit { border: 0; padding: 0; background: transparent; }")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFont(ui_font(MESSAGE_PX))
        self.document().setDocumentMargin(4)
        self.viewport().setAutoFillBackground(False)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        """The height of its text."""
        return QSize(200, self.height())

    def minimumSizeHint(self) -> QSize:
        """One line."""
        return QSize(80, LINE_PX + 2 * PAD_Y)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter sends or breaks the line, as the user wants it."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if is_enter and not self._composing:
            none, control = Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ControlModifier
            if modifiers == control or (self.enter_sends and modifiers == none):
                self.send_wanted.emit()
                return
        super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """While an input method composes, Enter belongs to it."""
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Text alone."""
        if source.hasText():
            self.insertPlainText(source.text())

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The box shows it."""
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """The box shows it."""
        super().focusOutEvent(event)
        self.focus_changed.emit()

    def changeEvent(self, event: QEvent) -> None:
        """The placeholder's colour follows the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            palette = self.palette()
            muted = color(tokens().muted)
            if palette.color(QPalette.ColorRole.PlaceholderText) != muted:
                palette.setColor(QPalette.ColorRole.PlaceholderText, muted)
                self.setPalette(palette)

    def _fit(self) -> None:
        text = round(self.document().size().height())
        least, most = LINE_PX + 2 * PAD_Y, MOST_LINES * LINE_PX + 2 * PAD_Y
        height = min(max(text + PAD_Y, least), most)
        full = text + PAD_Y > most
        policy = Qt.ScrollBarPolicy
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if full else policy.ScrollBarAlwaysOff
        )
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)


class _Note(QWidget):
    """A line above the text: an icon, words, more words, and a cross."""

    closed = Signal()

    def __init__(self, icon: str, close_icon: str) -> None:
        super().__init__()
        self._icon = icon
        self._words = Label(size=TextSize.SMALL)
        self._more = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self._close = IconButton(close_icon, side=20)
        self._close.clicked.connect(lambda _checked: self.closed.emit())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(32, 0, 4, 0)
        layout.setSpacing(8)
        layout.addWidget(self._words)
        layout.addWidget(self._more, 1)
        layout.addWidget(self._close)
        self.setFixedHeight(28)

    def show_words(self, words: str, more: str) -> None:
        """What it says."""
        self._words.setText(words)
        self._more.setText(more)
        self.setAccessibleName(f"{words}: {more}")

    def words(self) -> str:
        """What it says first."""
        return self._words.text()

    def set_close_label(self, label: str) -> None:
        """What the cross does."""
        self._close.set_label(label)

    def close_button(self) -> IconButton:
        """The cross."""
        return self._close

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised box with the icon."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.raised, border=t.line)
        place = QRectF(8, 6, 16, 16).topLeft().toPoint()
        icons.paint(painter, self._icon, place, 16, t.muted)
        painter.end()
