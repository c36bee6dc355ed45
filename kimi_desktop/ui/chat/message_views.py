"""The views around a message: the question, the line of figures, what broke off. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget

from kimi_desktop.base.units import format_count
from kimi_desktop.chat.types import Finish, Message
from kimi_desktop.ui import icons
from kimi_desktop.ui.chat.answer_words import notice_words, stats_words
from kimi_desktop.ui.chat.item_views import Act, ItemView
from kimi_desktop.ui.chat.markdown_render import render_plain
from kimi_desktop.ui.chat.text_pane import TextPane
from kimi_desktop.ui.chat.transcript_model import Entry, Item
from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import box, painter_on

SIDE = 24
"""Of an action's icon."""
BUBBLE_PAD_X = 12
BUBBLE_PAD_Y = 8
BUBBLE_SHARE = 0.88
BUBBLE_GAP_PX = 12
VERSIONS_PX = 24
STATS_PX = 28
STATS_GAP_PX = 8
NOTICE_GAP_PX = 8
CHECK_MS = 1500


def action_button(icon: str, parent: QWidget) -> IconButton:
    """A small icon; Tab comes to it through the transcript alone, in the order of the page."""
    button = IconButton(icon, "", parent, side=SIDE)
    button.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
    return button


class HoverActions(QObject):
    """Buttons that show while the mouse is over their view, or the keyboard on one of them."""

    def __init__(self, view: ItemView, buttons: Sequence[tuple[IconButton, Act]]) -> None:
        super().__init__(view)
        self._view = view
        self._acts = tuple(buttons)
        self._allowed = True
        self._hidden: frozenset[IconButton] = frozenset()
        self._copied = QTimer(self)
        self._copied.setSingleShot(True)
        self._copied.setInterval(CHECK_MS)
        self._copied.timeout.connect(self._end_check)
        view.installEventFilter(self)
        for button, act in self._acts:
            button.installEventFilter(self)
            button.clicked.connect(lambda _checked, b=button, a=act: self._on_clicked(b, a))
            button.hide()

    def allow(self, allowed: bool, *, hidden: frozenset[IconButton] = frozenset()) -> None:
        """Whether there is anything to do now; ``hidden`` are those that do not apply."""
        self._allowed, self._hidden = allowed, hidden
        if not allowed or any(button.isVisibleTo(self._view) for button in hidden):
            self.show(allowed and self._wanted())

    def buttons(self) -> list[QWidget]:
        """Those that apply."""
        if not self._allowed:
            return []
        return [button for button, _ in self._acts if button not in self._hidden]

    def show(self, shown: bool) -> None:
        """Show or hide them."""
        applying = self.buttons()
        for button, _ in self._acts:
            button.setVisible(shown and button in applying)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The mouse comes and goes; the keyboard leaves."""
        kind = event.type()
        if watched is self._view and kind in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.show(kind == QEvent.Type.Enter or self._has_focus())
        elif watched is not self._view and kind == QEvent.Type.FocusOut:
            self.show(self._wanted())
        return super().eventFilter(watched, event)

    def _wanted(self) -> bool:
        return self._view.underMouse() or self._has_focus()

    def _has_focus(self) -> bool:
        return QApplication.focusWidget() in [button for button, _ in self._acts]

    def _on_clicked(self, button: IconButton, act: Act) -> None:
        self._view.act(act)
        if act is Act.COPY:
            button.set_icon("check")
            self._copied.start()

    def _end_check(self) -> None:
        for button, act in self._acts:
            if act is Act.COPY:
                button.set_icon("copy")


class QuestionView(ItemView):
    """What the user wrote, in a bubble at the right; its actions appear under the mouse."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.pane = self._pane = TextPane(self)
        self._bubble = QRect()
        self._copy = action_button("copy", self)
        self._edit = action_button("edit", self)
        self._actions = HoverActions(self, [(self._copy, Act.COPY), (self._edit, Act.EDIT)])
        self._versions = VersionSwitch(self)
        self._versions.acted.connect(self.act)
        self._all = Button(kind=ButtonKind.QUIET, icon="chevron-down", small=True, parent=self)
        self._all.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._all.clicked.connect(lambda _checked: self.act(Act.FOLD))
        self._is_long = False
        self.dress()

    def show_item(self, entry: Entry, item: Item) -> None:
        """As it was typed: a user's text is not Markdown."""
        render_plain(self._pane.document(), item.text)
        self._is_long = item.text != item.source or entry.unfolded
        self._all.set_icon("chevron-up" if entry.unfolded else "chevron-down")
        self._all.setText(self.tr("Show less") if entry.unfolded else self._all_words(item))
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
        self._all.setVisible(self._is_long)
        if self._is_long:
            size = self._all.sizeHint()
            self._all.setGeometry(left + 4, BUBBLE_PAD_Y + high, size.width(), size.height())
            high += size.height()
        self._bubble = QRect(left, 0, wide + 2 * BUBBLE_PAD_X, high + 2 * BUBBLE_PAD_Y)
        bottom = self._bubble.y() + self._bubble.height()
        self._edit.move(left - 4 - SIDE, bottom - SIDE - 8)
        self._copy.move(left - 4 - 2 * SIDE, bottom - SIDE - 8)
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
        """Its actions."""
        switch = self._versions.stops() if self._versions.isVisibleTo(self) else []
        long = [self._all] if self._is_long else []
        return [*self._actions.buttons(), *long, *switch]

    def show_stops(self) -> None:
        """The keyboard comes to the actions."""
        self._actions.show(True)

    def _all_words(self, item: Item) -> str:
        count = format_count(len(item.source))
        return self.tr("Show all {count} characters").format(count=count)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The bubble."""
        del event
        painter = painter_on(self)
        box(painter, QRectF(self._bubble), RADIUS, fill=tokens().raised)
        painter.end()


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
        button = action_button(icon, self)
        button.clicked.connect(lambda _checked: self.acted.emit(act))
        return button


class NoticeView(ItemView):
    """Why an answer broke off, and a button to try again."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._ground = QRectF()
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
        self._copy = action_button("copy", self)
        self._edit = action_button("edit", self)
        self._again = action_button("refresh", self)
        self._actions = HoverActions(
            self,
            [(self._copy, Act.COPY), (self._edit, Act.EDIT), (self._again, Act.REGENERATE)],
        )
        self._live = False
        self._is_last = False
        self.dress()

    def show_item(self, entry: Entry, item: Item) -> None:
        """The figures."""
        del item
        self.refresh(entry)

    def set_last(self, is_last: bool) -> None:
        """Only the last answer can be made again."""
        if is_last != self._is_last:
            self._is_last = is_last
            self._allow()

    def refresh(self, entry: Entry) -> None:
        """The figures as they are now."""
        self._live = entry.is_live
        words = stats_words(entry)
        if words != self._words.full_text():
            self._words.setText(words)
        self._versions.show_versions(entry.message)
        self._allow()

    def height_at(self, width: int) -> int:
        """Fixed."""
        right = width
        for button in (self._again, self._edit, self._copy):
            right -= SIDE
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
        switch = self._versions.stops() if self._versions.isVisibleTo(self) else []
        return [*switch, *self._actions.buttons()]

    def show_stops(self) -> None:
        """The keyboard comes to the actions."""
        self._actions.show(True)

    def _allow(self) -> None:
        hidden = frozenset() if self._is_last else frozenset((self._again,))
        self._actions.allow(not self._live, hidden=hidden)
