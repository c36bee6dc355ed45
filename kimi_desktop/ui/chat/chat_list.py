"""The list of chats: search, new chat, folders by day, rename, delete with undo. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QListView,
    QMenu,
    QVBoxLayout,
    QWidget,
)

from kimi_desktop.ui import icons
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.chat_rows import (
    CHAT_ID,
    ChatRowDelegate,
    ChatRows,
    Index,
    more_rect,
    rows_by_day,
    untitled,
)
from kimi_desktop.ui.shortcuts import shortcut
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.label import ElidedLabel, Label, TextSize

WIDTH = 240
SEARCH_MS = 150
UNDO_MS = 8000


class ChatList(Surface):
    """All chats; tells which one is wanted."""

    chosen = Signal(object)
    new_wanted = Signal()
    fold_wanted = Signal()
    deleted = Signal(object)
    restored = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent, tone="panel", edges="r")
        self._bridge = bridge
        self._current: int | None = None
        self._search = Field(icon="search")
        self._new = IconButton("plus", side=32, bordered=True)
        self._fold = IconButton("panel-left", side=24)
        self._rows = ChatRows(self)
        self.view = _ChatView(self._rows)
        self._nothing = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self.undo = UndoBar()
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(SEARCH_MS)
        self._arrange()
        self._search.textChanged.connect(self._wait.start)
        self._search.returnPressed.connect(self._on_search_entered)
        self._wait.timeout.connect(self.refresh)
        self._new.clicked.connect(lambda _checked: self.new_wanted.emit())
        self._fold.clicked.connect(lambda _checked: self.fold_wanted.emit())
        self._rows.renamed.connect(self._on_renamed)
        self.view.chosen.connect(self.chosen)
        self.view.delete_wanted.connect(self.delete)
        self.undo.undone.connect(self._on_undone)
        self.retranslate()
        self.refresh()

    @property
    def rows(self) -> ChatRows:
        """What is listed."""
        return self._rows

    @property
    def search(self) -> Field:
        """The search field."""
        return self._search

    def refresh(self) -> None:
        """Ask for the chats again."""
        found = self._bridge.services.chats.chats(self._search.text().strip())
        if not self.view.is_renaming:
            self._rows.show_rows(rows_by_day(found))
        self.view.select(self._rows.index_of(self._current))
        self._nothing.setVisible(not found and bool(self._search.text().strip()))

    def select(self, chat_id: int) -> None:
        """Mark the chat that is shown."""
        self._current = chat_id
        self.view.select(self._rows.index_of(chat_id))

    def delete(self, chat_id: int) -> None:
        """Delete a chat, with a way back."""
        title = str(self._rows.index_of(chat_id).data() or untitled())
        self._bridge.services.chats.delete(chat_id)
        self.undo.offer(chat_id, title)
        self.deleted.emit(chat_id)

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
            self.refresh()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self._search.setPlaceholderText(self.tr("Search chats"))
        self._search.set_label(self.tr("Search chats"))
        self._search.set_hint(shortcut("palette").replace("+", " "))
        self._new.set_label(self.tr("New chat"), shortcut("new_chat"))
        self._fold.set_label(self.tr("Hide the list of chats"))
        self._nothing.setText(self.tr("No chat has these words."))
        self.view.setAccessibleName(self.tr("Chats"))

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(8)
        head.addWidget(self._search, 1)
        head.addWidget(self._new)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 12, 9, 8)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._nothing)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.undo)
        layout.addSpacing(4)
        layout.addWidget(self._fold)
        self._nothing.setContentsMargins(8, 12, 8, 0)
        self._nothing.hide()

    def _on_renamed(self, chat_id: int, title: str) -> None:
        self._bridge.services.chats.rename(chat_id, title)

    def _on_undone(self, chat_id: int) -> None:
        self._bridge.services.chats.restore(chat_id)
        self.restored.emit(chat_id)

    def _on_search_entered(self) -> None:
        """Enter opens the first chat found."""
        self._wait.stop()
        self.refresh()
        for row in self._rows.rows:
            if row.chat_id is not None:
                self.chosen.emit(row.chat_id)
                return


class _ChatView(Focusable, QListView):
    """The rows: click or Enter opens, F2 renames, Del deletes, a menu offers both."""

    chosen = Signal(object)
    delete_wanted = Signal(object)

    def __init__(self, rows: ChatRows) -> None:
        super().__init__()
        self.setModel(rows)
        self.setItemDelegate(ChatRowDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setStyleSheet("QListView { border: 0; background: transparent; padding: 0; }")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.activated.connect(self._on_activated)

    @property
    def is_renaming(self) -> bool:
        """A title is being typed."""
        return self.state() is QAbstractItemView.State.EditingState

    def select(self, index: QModelIndex) -> None:
        """Mark a row without opening it."""
        if index.isValid():
            self.setCurrentIndex(index)
        else:
            self.clearSelection()

    def rename(self, index: Index) -> None:
        """Type another title."""
        self.setCurrentIndex(index)
        self.edit(index)

    def menu_for(self, index: Index) -> QMenu:
        """Rename and delete."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(icons.icon("edit"), self.tr("Rename"), lambda: self.rename(index))
        chat_id = int(index.data(CHAT_ID))
        menu.addAction(
            icons.icon("trash"), self.tr("Delete"), lambda: self.delete_wanted.emit(chat_id)
        )
        return menu

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click opens; on the button at the right it shows the menu."""
        super().mouseReleaseEvent(event)
        point = event.position().toPoint()
        index = self.indexAt(point)
        if event.button() is not Qt.MouseButton.LeftButton or index.data(CHAT_ID) is None:
            return
        if more_rect(self.visualRect(index)).contains(point):
            self.menu_for(index).popup(self.viewport().mapToGlobal(point))
        else:
            self.chosen.emit(index.data(CHAT_ID))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Del deletes the current chat."""
        index = self.currentIndex()
        if event.key() == Qt.Key.Key_Delete and index.data(CHAT_ID) is not None:
            self.delete_wanted.emit(index.data(CHAT_ID))
            return
        super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The menu by the right button or the menu key."""
        index = self.indexAt(event.pos())
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            index = self.currentIndex()
        if index.data(CHAT_ID) is not None:
            where = self.visualRect(index).bottomLeft() + QPoint(8, 0)
            keyboard = event.reason() is QContextMenuEvent.Reason.Keyboard
            self.menu_for(index).popup(
                self.viewport().mapToGlobal(where) if keyboard else event.globalPos()
            )

    def sizeHint(self) -> QSize:
        """As high as there is room."""
        return QSize(WIDTH, 200)

    def _on_activated(self, index: Index) -> None:
        if index.data(CHAT_ID) is not None:
            self.chosen.emit(index.data(CHAT_ID))


class UndoBar(Surface):
    """Says what was deleted, and takes it back for some seconds."""

    undone = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, tone="raised", edges="tblr")
        self._chat_id: int | None = None
        self._title = ""
        self._words = ElidedLabel(size=TextSize.SMALL)
        self.button = Button(kind=ButtonKind.QUIET, small=True)
        self.button.clicked.connect(self._on_undo)
        self._over = QTimer(self)
        self._over.setSingleShot(True)
        self._over.setInterval(UNDO_MS)
        self._over.timeout.connect(self.hide)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 4, 4)
        layout.addWidget(self._words, 1)
        layout.addWidget(self.button)
        self.hide()
        self.retranslate()

    def offer(self, chat_id: int, title: str) -> None:
        """This chat was deleted."""
        self._chat_id, self._title = chat_id, title
        self.retranslate()
        self.show()
        self._over.start()

    def hideEvent(self, event: QEvent) -> None:
        """The offer ends."""
        self._over.stop()
        super().hideEvent(event)  # type: ignore[arg-type]

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def retranslate(self) -> None:
        """Set the words."""
        self._words.setText(self.tr("Deleted: {title}").format(title=self._title))
        self.button.setText(self.tr("Undo"))

    def _on_undo(self) -> None:
        self.hide()
        if self._chat_id is not None:
            self.undone.emit(self._chat_id)
