"""Lines of code with a name and a copy button; they are read and copied, not edited. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent, QTextBlockFormat, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QTextBrowser, QVBoxLayout, QWidget

from kimi_desktop.ui.theme import color, mono_font, tokens
from kimi_desktop.ui.tokens import CODE_LINE_PX, CODE_PX, RADIUS
from kimi_desktop.ui.widgets.copying import CopyButton
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded

HEADER_HEIGHT = 32
PAD_X, PAD_Y = 12, 8
SCROLL_BAR = 12


class _Lines(Focusable, QTextBrowser):
    """Code that can be selected but not edited; long lines scroll sideways."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(mono_font(CODE_PX))
        self.document().setDocumentMargin(0)
        self.setLineWrapMode(QTextBrowser.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)

    def focus_target(self) -> QWidget:
        """The ring goes around the whole block."""
        return self.parentWidget() or self

    def show_text(self, text: str) -> None:
        """Other code, in lines of one height."""
        if text == self.toPlainText():  # a selection stays
            return
        self.setPlainText(text)
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        line = QTextBlockFormat()
        line.setLineHeight(CODE_LINE_PX, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(line)


class CodeBlock(QWidget):
    """What runs the lines, a copy button, and the lines."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._name = Label(size=TextSize.SMALL, tone="muted")
        self.lines = _Lines()
        self.copy = CopyButton(lambda: self._text)
        head = QHBoxLayout()
        head.setContentsMargins(PAD_X, 2, 2, 2)
        head.addWidget(self._name, 1)
        head.addWidget(self.copy)
        inner = QVBoxLayout()
        inner.setContentsMargins(PAD_X, PAD_Y, PAD_X, 0)
        inner.addWidget(self.lines)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addLayout(inner)

    def show_code(self, name: str, text: str, shown: str) -> None:
        """Other lines: ``text`` is copied, ``shown`` is read."""
        self._text = text
        count = shown.rstrip("\n").count("\n") + 1
        self.lines.setFixedHeight(count * CODE_LINE_PX + SCROLL_BAR)
        self._name.setText(name)
        self.lines.setAccessibleName(name)
        self.lines.show_text(shown.rstrip("\n"))

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised header over the code's own ground."""
        del event
        t = tokens()
        painter = painter_on(self)
        frame = QRectF(self.rect())
        box(painter, frame, RADIUS, fill=t.code)
        painter.setClipPath(rounded(frame, RADIUS))
        painter.fillRect(QRectF(0, 0, self.width(), HEADER_HEIGHT), color(t.raised))
        painter.setClipping(False)
        box(painter, frame, RADIUS, border=t.line)
        painter.end()
