"""The views of the transcript's items, all but code. Qt thread.

A view is filled with one item after another as it comes into sight (``show_item``) and says how
high it is at a width (``height_at``), the space below it included.
"""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from kimi_desktop.chat.types import Finish, Message
from kimi_desktop.ui import icons
from kimi_desktop.ui.chat.answer_words import fold_words, notice_words, stats_words
from kimi_desktop.ui.chat.markdown_render import (
    ANSWER,
    PARAGRAPH_GAP_PX,
    THOUGHT,
    render_plain,
)
from kimi_desktop.ui.chat.text_pane import BLEED_PX, TextPane
from kimi_desktop.ui.chat.transcript_model import Entry, Item, Key
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, RADIUS
from kimi_desktop.ui.widgets.button import Button, IconButton
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on

THOUGHT_INDENT_PX = 24
THOUGHT_LINE_X_PX = 7
ACTION_SIDE = 24
BUBBLE_PAD_X = 12
BUBBLE_PAD_Y = 8
BUBBLE_SHARE = 0.88
BUBBLE_GAP_PX = 12
VERSIONS_PX = 24
FOLD_PX = 28
FOLD_GAP_PX = 4
STATS_PX = 28
STATS_GAP_PX = 8
NOTICE_GAP_PX = 8
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

    def _action(self, icon: str, act: Act) -> IconButton:
        button = IconButton(icon, "", self, side=ACTION_SIDE)
        button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        button.clicked.connect(lambda _checked: self.act(act))
        return button


class TextView(ItemView):
    """Running Markdown of an answer, or of its thinking."""

    def __init__(self, parent: QWidget, *, thought: bool) -> None:
        super().__init__(parent)
        self._thought = thought
        self.pane = self._pane = TextPane(self, THOUGHT if thought else ANSWER)
        self.pane_inset = THOUGHT_INDENT_PX if thought else 0
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_item(self, entry: Entry, item: Item) -> None:
        """Render its Markdown."""
        del entry
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
        return height + (AFTER_TABLE_PX if ends_with_table else PARAGRAPH_GAP_PX)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line beside thinking."""
        del event
        if self._thought:
            painter = painter_on(self)
            place = QRect(THOUGHT_LINE_X_PX, 0, 2, self.height())
            painter.fillRect(place, color(tokens().line))
            painter.end()


class QuestionView(ItemView):
    """What the user wrote, in a bubble at the right; its actions appear under the mouse."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.pane = self._pane = TextPane(self)
        self._bubble = QRect()
        self._copy = self._action("copy", Act.COPY)
        self._edit = self._action("edit", Act.EDIT)
        self._versions = VersionSwitch(self)
        self._versions.acted.connect(self.act)
        self._show_actions(False)
        self.dress()

    def show_item(self, entry: Entry, item: Item) -> None:
        """As it was typed: a user's text is not Markdown."""
        render_plain(self._pane.document(), item.text)
        self._pane.setAccessibleName(self.tr("Your message"))
        self.refresh(entry)

    def refresh(self, entry: Entry) -> None:
        """Which version it is."""
        self._versions.show_versions(entry.message)

    def height_at(self, width: int) -> int:
        """Bubble, and the versions below it."""
        most = int(width * BUBBLE_SHARE) - 2 * BUBBLE_PAD_X
        self._pane.set_text_width(most)
        wide = min(int(self._pane.document().idealWidth()) + 1, most)
        high = self._pane.text_height()
        self.pane_inset = width - wide - BUBBLE_PAD_X
        self._pane.setGeometry(self.pane_inset, BUBBLE_PAD_Y, wide + BUBBLE_PAD_X, high)
        left = self.pane_inset - BUBBLE_PAD_X
        self._bubble = QRect(left, 0, wide + 2 * BUBBLE_PAD_X, high + 2 * BUBBLE_PAD_Y)
        bottom = self._bubble.y() + self._bubble.height()
        self._edit.move(left - 4 - ACTION_SIDE, bottom - ACTION_SIDE - 8)
        self._copy.move(left - 4 - 2 * ACTION_SIDE, bottom - ACTION_SIDE - 8)
        if self._versions.isVisibleTo(self):
            self._versions.adjustSize()
            self._versions.move(width - self._versions.width(), bottom)
            bottom += VERSIONS_PX
        return bottom + BUBBLE_GAP_PX

    def dress(self) -> None:
        """The words of the buttons."""
        super().dress()
        self._copy.set_label(self.tr("Copy message"))
        self._edit.set_label(self.tr("Edit message"))
        self._versions.retranslate()

    def stops(self) -> list[QWidget]:
        """Its actions (they show while one of them has the focus)."""
        switch = self._versions.stops() if self._versions.isVisibleTo(self) else []
        return [self._copy, self._edit, *switch]

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the actions."""
        self._show_actions(True)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Hide them, unless the keyboard is on one."""
        self._show_actions(self._has_focus())
        super().leaveEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The bubble."""
        del event
        painter = painter_on(self)
        box(painter, QRectF(self._bubble), RADIUS, fill=tokens().raised)
        painter.end()

    def show_stops(self) -> None:
        """The keyboard comes to the actions."""
        self._show_actions(True)

    def _show_actions(self, shown: bool) -> None:
        self._copy.setVisible(shown)
        self._edit.setVisible(shown)

    def _has_focus(self) -> bool:
        return self._copy.hasFocus() or self._edit.hasFocus()


class VersionSwitch(QWidget):
    """``< 1/3 >``: goes through the versions of a message."""

    acted = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._older = self._button("chevron-left", Act.OLDER)
        self._newer = self._button("chevron-right", Act.NEWER)
        self._label = Label(size=TextSize.SMALL, tone="muted")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._older)
        layout.addWidget(self._label)
        layout.addWidget(self._newer)

    def show_versions(self, message: Message) -> None:
        """Hidden when there is only one, or while an answer is being written."""
        self.setVisible(message.versions > 1 and message.finish is not Finish.GENERATING)
        self._label.setText(f"{message.version}/{message.versions}")
        self._older.setEnabled(message.version > 1)
        self._newer.setEnabled(message.version < message.versions)

    def retranslate(self) -> None:
        """The words of the buttons."""
        self._older.set_label(self.tr("Older version"))
        self._newer.set_label(self.tr("Newer version"))

    def stops(self) -> list[QWidget]:
        """Those that can be pressed."""
        return [button for button in (self._older, self._newer) if button.isEnabled()]

    def _button(self, icon: str, act: Act) -> IconButton:
        button = IconButton(icon, "", self, side=ACTION_SIDE)
        button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        button.clicked.connect(lambda _checked: self.acted.emit(act))
        return button


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


class NoticeView(ItemView):
    """Why an answer broke off, and a button to try again."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._cause = Label(wrap=True)
        self._advice = Label(wrap=True, tone="muted", size=TextSize.SMALL)
        for label in (self._cause, self._advice):
            label.setParent(self)
        self._again = Button(icon="refresh", small=True, parent=self)
        self._again.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._again.clicked.connect(lambda _checked: self.act(Act.REGENERATE))

    def show_item(self, entry: Entry, item: Item) -> None:
        """The cause, by the error's code."""
        del item
        cause, advice = notice_words(entry)
        self._cause.setText(cause)
        self._advice.setText(advice)
        self._again.setText(self.tr("Try again"))
        self.setAccessibleName(f"{cause} {advice}")

    def height_at(self, width: int) -> int:
        """Two texts beside the button."""
        button = self._again.sizeHint()
        room = width - 44 - button.width() - 24
        first = max(self._cause.heightForWidth(room), 20)
        second = max(self._advice.heightForWidth(room), 16)
        self._cause.setGeometry(44, 8, room, first)
        self._advice.setGeometry(44, 8 + first, room, second)
        height = first + second + 16
        self._again.setGeometry(
            width - button.width() - 12, (height - button.height()) // 2, button.width(), 28
        )
        self._ground = QRectF(0, 0, width, height)
        return height + NOTICE_GAP_PX

    def stops(self) -> list[QWidget]:
        """The button."""
        return [self._again]

    def paintEvent(self, event: QPaintEvent) -> None:
        """A tinted box with a sign."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, self._ground, RADIUS, fill=t.bad_soft, border=t.bad)
        icons.paint(painter, "triangle", QPoint(12, 8), icons.GRID, t.bad)
        painter.end()


class StatsView(ItemView):
    """The line under an answer: its figures, and what can be done with it under the mouse."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self._words.setParent(self)
        self._versions = VersionSwitch(self)
        self._versions.acted.connect(self.act)
        self._copy = self._action("copy", Act.COPY)
        self._edit = self._action("edit", Act.EDIT)
        self._again = self._action("refresh", Act.REGENERATE)
        self._is_last = False
        self._live = False
        self.dress()
        self._show_actions(False)

    def show_item(self, entry: Entry, item: Item) -> None:
        """The figures."""
        del item
        self.refresh(entry)

    def set_last(self, is_last: bool) -> None:
        """Only the last answer can be made again; its actions stay in sight."""
        self._is_last = is_last

    def refresh(self, entry: Entry) -> None:
        """The figures as they are now."""
        self._live = entry.is_live
        words = stats_words(entry)
        if words != self._words.full_text():
            self._words.setText(words)
        self._versions.show_versions(entry.message)
        if self._live:
            self._show_actions(False)

    def height_at(self, width: int) -> int:
        """Fixed."""
        right = width
        for button in (self._again, self._edit, self._copy):
            right -= ACTION_SIDE
            button.move(right, 2)
        if self._versions.isVisibleTo(self):
            self._versions.adjustSize()
            right -= self._versions.width() + 8
            self._versions.move(right, 2)
        self._words.setGeometry(0, 4, max(right - 8, 0), 20)
        return STATS_PX + STATS_GAP_PX

    def dress(self) -> None:
        """The words of the buttons."""
        super().dress()
        self._copy.set_label(self.tr("Copy answer"))
        self._edit.set_label(self.tr("Edit the question"))
        self._again.set_label(self.tr("Answer again"), "Ctrl+R")
        self._versions.retranslate()

    def stops(self) -> list[QWidget]:
        """Its actions."""
        if self._live:
            return []
        switch = self._versions.stops() if self._versions.isVisibleTo(self) else []
        again = [self._again] if self._is_last else []
        return [*switch, self._copy, self._edit, *again]

    def show_stops(self) -> None:
        """The keyboard comes to the actions."""
        self._show_actions(True)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Show the actions."""
        self._show_actions(not self._live)
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Hide them, unless the keyboard is on one."""
        buttons = (self._copy, self._edit, self._again)
        self._show_actions(any(button.hasFocus() for button in buttons))
        super().leaveEvent(event)

    def _show_actions(self, shown: bool) -> None:
        self._copy.setVisible(shown)
        self._edit.setVisible(shown)
        self._again.setVisible(shown and self._is_last)
