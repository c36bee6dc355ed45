"""A block of code in the transcript: language, wrap, copy, colours, sideways scrolling. Qt thread.

It never widens the column: long lines scroll inside it, or wrap when the user wants that.
"""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QPaintEvent, QTextBlockFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QScrollBar, QTextEdit, QWidget

from kimi_desktop.ui.chat.highlight import Highlighter
from kimi_desktop.ui.chat.item_views import (
    THOUGHT_INDENT_PX,
    THOUGHT_LINE_X_PX,
    Act,
    ItemView,
)
from kimi_desktop.ui.chat.markdown_render import ANSWER
from kimi_desktop.ui.chat.text_pane import TextPane
from kimi_desktop.ui.chat.transcript_model import Entry, Item
from kimi_desktop.ui.theme import color, mono_font, tokens
from kimi_desktop.ui.tokens import CODE_LINE_PX, CODE_PX, RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.label import ElidedLabel, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded

HEADER_PX = 32
PAD_X = 12
PAD_Y = 8
GAP_PX = 12
BAR_PX = 12
CHECK_MS = 1500
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


class CodeView(ItemView):
    """One fence."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._code = ""
        self._language = ""
        self._thought = self._ends_thought = False
        self._wraps = False
        self._frame = QRectF()
        self.pane = self._pane = TextPane(self, ANSWER)
        self._pane.document().setDefaultFont(mono_font(CODE_PX))
        self._pane.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        self._pane.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        # The pane follows its own cursor into sight; this one stays where it is, at the start.
        still = self._pane.textCursor()
        still.setKeepPositionOnInsert(True)
        self._pane.setTextCursor(still)
        self._highlighter = Highlighter(self._pane.document())
        self._name = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self._name.setParent(self)
        self._wrap = self._header_button("wrap")
        self._wrap.setCheckable(True)
        self._wrap.clicked.connect(lambda _checked: self.act(Act.WRAP))
        self._copy = self._header_button("copy")
        self._copy.clicked.connect(self._on_copy)
        self._copied = QTimer(self)
        self._copied.setSingleShot(True)
        self._copied.setInterval(CHECK_MS)
        self._copied.timeout.connect(self._on_check_over)
        self._bar = QScrollBar(Qt.Orientation.Horizontal, self)
        self._bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = self._pane.horizontalScrollBar()
        inner.rangeChanged.connect(self._on_range)
        inner.valueChanged.connect(self._bar.setValue)
        self._bar.valueChanged.connect(inner.setValue)
        self._bar.hide()
        self.dress()

    def show_item(self, entry: Entry, item: Item) -> None:
        """Show its code; code that has only grown is added to what stands there."""
        del entry
        code = item.text.removesuffix("\n")
        grows = bool(self._code) and code.startswith(self._code) and item.language == self._language
        if not grows:
            self._pane.horizontalScrollBar().setValue(0)
            self._pane.document().clear()
            self._code = ""
        if code != self._code:
            self._append(code[len(self._code) :])
        self._thought, self._ends_thought = item.thought, item.ends_thought
        self._language = item.language
        if code != self._code or not item.open or not grows:
            self._code = code
            self._highlighter.start(code, item.language, grows=item.open)
        self._name.setText(item.language or self.tr("code"))
        self._pane.show_caret(item.open)
        self._pane.setAccessibleName(
            self.tr("Code, {language}").format(language=item.language or self.tr("text"))
        )

    def set_wrap(self, wraps: bool) -> None:
        """Wrap long lines instead of scrolling them."""
        self._wraps = wraps
        self._wrap.setChecked(wraps)
        mode = QTextEdit.LineWrapMode
        self._pane.setLineWrapMode(mode.FixedPixelWidth if wraps else mode.NoWrap)

    def height_at(self, width: int) -> int:
        """Header, lines, and a bar if the lines are too long."""
        left = THOUGHT_INDENT_PX if self._thought else 0
        inner = width - left - 2 - 2 * PAD_X
        if self._wraps:
            self._pane.set_text_width(inner)
        size = self._pane.document().size()
        height = round(size.height())
        scrolls = not self._wraps and size.width() > inner
        self.pane_inset = left + 1 + PAD_X
        top = 1 + HEADER_PX + PAD_Y
        self._pane.setGeometry(self.pane_inset, top, inner + PAD_X, height)
        self._lay_out_header(left, width)
        bottom = top + height + PAD_Y
        self._bar.setVisible(scrolls)
        if scrolls:
            self._bar.setGeometry(left + 4, bottom - 4, width - left - 8, BAR_PX)
            bottom += BAR_PX - 4
        self._frame = QRectF(left, 0, width - left, bottom + 1)
        return bottom + 1 + GAP_PX

    def scroll_sideways(self, pixels: int) -> bool:
        """Move long lines by ``pixels``; False when there is nothing to move."""
        if not self._bar.isVisible():
            return False
        self._bar.setValue(self._bar.value() + pixels)
        return True

    def dress(self) -> None:
        """Words; the colours come with ``show_item``."""
        super().dress()
        self._code = ""
        self._wrap.setText(self.tr("Wrap"))
        self._copy.setText(self.tr("Copy"))
        self._wrap.setAccessibleName(self.tr("Wrap long lines"))
        self._copy.setAccessibleName(self.tr("Copy code"))

    def stops(self) -> list[QWidget]:
        """The two buttons of the header."""
        return [self._wrap, self._copy]

    def paintEvent(self, event: QPaintEvent) -> None:
        """Frame, header, and the line beside thinking."""
        del event
        t = tokens()
        painter = painter_on(self)
        if self._thought:
            below = GAP_PX if self._ends_thought else 0
            line = QRect(THOUGHT_LINE_X_PX, 0, 2, self.height() - below)
            painter.fillRect(line, color(t.line))
        box(painter, self._frame, RADIUS, fill=t.code)
        painter.setClipPath(rounded(self._frame, RADIUS))
        head = QRectF(self._frame.left(), 0, self._frame.width(), HEADER_PX + 1)
        painter.fillRect(head, color(t.raised))
        painter.setClipping(False)
        box(painter, self._frame, RADIUS, border=t.line)
        painter.end()

    def _append(self, text: str) -> None:
        cursor = QTextCursor(self._pane.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not self._code:
            line = QTextBlockFormat()
            line.setLineHeight(CODE_LINE_PX, _FIXED)
            cursor.setBlockFormat(line)
        cursor.insertText(text)

    def _lay_out_header(self, left: int, width: int) -> None:
        right = width - 4
        for button in (self._copy, self._wrap):
            size = button.sizeHint()
            right -= size.width()
            button.setGeometry(right, 5, size.width(), 24)
            right -= 4
        self._name.setGeometry(left + 1 + PAD_X, 7, max(right - left - PAD_X - 8, 0), 20)

    def _header_button(self, icon: str) -> Button:
        button = Button(kind=ButtonKind.QUIET, icon=icon, small=True, parent=self)
        button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        return button

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._code)
        self._copy.set_icon("check")
        self._copy.setAccessibleName(self.tr("Copied"))
        self._copied.start()

    def _on_check_over(self) -> None:
        self._copy.set_icon("copy")
        self._copy.setAccessibleName(self.tr("Copy code"))

    def _on_range(self, low: int, high: int) -> None:
        self._bar.setRange(low, high)
        self._bar.setPageStep(self._pane.horizontalScrollBar().pageStep())
