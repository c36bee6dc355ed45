"""The views of the transcript's items: what all share, running text, and the fold. Qt thread.

A view is filled with one item after another as it comes into sight (``show_item``) and says how
high it is at a width (``height_at``), the space below it included.
"""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.chat.answer_words import fold_words
from kimi_desktop.ui.chat.markdown_render import ANSWER, THOUGHT
from kimi_desktop.ui.chat.markdown_tables import PARAGRAPH_GAP_PX
from kimi_desktop.ui.chat.text_pane import BLEED_PX, TextPane
from kimi_desktop.ui.chat.transcript_model import Entry, Item, Key
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.painting import box, painter_on

THOUGHT_INDENT_PX = 24
THOUGHT_LINE_X_PX = 7
THOUGHT_GAP_PX = 8
FOLD_PX = 28
FOLD_GAP_PX = 4
AFTER_TABLE_PX = 4


class Act(Enum):
    """What a person can do with a message or an item, by its controls."""

    COPY = "copy"
    EDIT = "edit"
    REGENERATE = "regenerate"
    OLDER = "older"
    NEWER = "newer"
    FOLD = "fold"
    WRAP = "wrap"


class ItemView(QWidget):
    """One item. ``pane`` is its text, None when it has none that can be selected."""

    acted = Signal(object, object)
    """Its place (entry index and key), and an Act."""
    place: tuple[int, Key] | None = None
    pane: TextPane | None = None
    pane_inset = 0
    """Where the text starts, from the left of the column."""

    def show_item(self, entry: Entry, item: Item) -> None:
        """Show another item (or the same one, changed)."""
        raise NotImplementedError

    def height_at(self, width: int) -> int:
        """Lay out at the column's width and return the height."""
        raise NotImplementedError

    def refresh(self, entry: Entry) -> None:
        """The message's figures have changed; the item has not."""

    def dress(self) -> None:
        """The theme or the language has changed; ``show_item`` follows."""
        if self.pane is not None:
            self.pane.dress()

    def stops(self) -> list[QWidget]:
        """The controls that Tab goes to, in order."""
        return []

    def show_stops(self) -> None:
        """The keyboard comes to them: those that wait for the mouse must show."""

    def act(self, act: Act) -> None:
        """Tell the transcript what was asked for."""
        self.acted.emit(self.place, act)


class TextView(ItemView):
    """Running Markdown of an answer, or of its thinking."""

    def __init__(self, parent: QWidget, *, thought: bool) -> None:
        super().__init__(parent)
        self._thought = thought
        self._gap = 0
        self.pane = self._pane = TextPane(self, THOUGHT if thought else ANSWER)
        self.pane_inset = THOUGHT_INDENT_PX if thought else 0
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_item(self, entry: Entry, item: Item) -> None:
        """Render its Markdown."""
        del entry
        self._gap = THOUGHT_GAP_PX if item.ends_thought else 0
        self._pane.show_markdown(item.text)
        self._pane.show_caret(item.open)
        self._pane.setAccessibleName(self.tr("Thinking") if item.thought else self.tr("Answer"))

    def height_at(self, width: int) -> int:
        """The text's."""
        self._pane.set_text_width(width - self.pane_inset)
        height = self._pane.text_height()
        room = width - self.pane_inset + BLEED_PX
        self._pane.setGeometry(self.pane_inset, 0, room, height)
        # A document drops the margin of its last paragraph, and ends a table with an empty one.
        ends_with_table = self._pane.document().lastBlock().length() == 1
        height += AFTER_TABLE_PX if ends_with_table else PARAGRAPH_GAP_PX
        return height + self._gap

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line beside thinking."""
        del event
        if self._thought:
            painter = painter_on(self)
            place = QRect(THOUGHT_LINE_X_PX, 0, 2, self.height() - self._gap)
            painter.fillRect(place, color(tokens().line))
            painter.end()


class FoldView(ItemView):
    """The header of the thinking: opens and closes it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._button = _FoldButton(self)
        self._button.clicked.connect(lambda _checked: self.act(Act.FOLD))

    def show_item(self, entry: Entry, item: Item) -> None:
        """Its words and whether it is open."""
        del item
        self.refresh(entry)

    def refresh(self, entry: Entry) -> None:
        """The seconds go on while it thinks."""
        self._button.show_state(fold_words(entry), entry.unfolded)

    def height_at(self, width: int) -> int:
        """Fixed."""
        del width
        return FOLD_PX + FOLD_GAP_PX

    def stops(self) -> list[QWidget]:
        """The button."""
        return [self._button]


class _FoldButton(Focusable, QPushButton):
    """A chevron and words, muted."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFont(ui_font(BODY_PX))

    def show_state(self, words: str, unfolded: bool) -> None:
        self.setChecked(unfolded)
        if words != self.text():
            self.setText(words)
            width = QFontMetrics(self.font()).horizontalAdvance(words)
            self.setGeometry(0, 0, 16 + 8 + width + 8, FOLD_PX)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground under the mouse, chevron, words."""
        del event
        t = tokens()
        painter = painter_on(self)
        ink = t.muted
        if self.underMouse() or self.isDown():
            ink = t.text
            box(painter, QRectF(self.rect()), RADIUS, fill=t.press if self.isDown() else t.hover)
        chevron = "chevron-down" if self.isChecked() else "chevron-right"
        icons.paint(painter, chevron, QPoint(0, (self.height() - 16) // 2), 16, ink)
        painter.setFont(self.font())
        painter.setPen(color(ink))
        place = self.rect().adjusted(24, 0, 0, 0)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()
