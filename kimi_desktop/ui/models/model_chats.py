"""In which chats a model answered: their titles, a press opens one. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.chat.types import ChatSummary
from kimi_desktop.ui.dates import day_text
from kimi_desktop.ui.widgets.card import ListRow
from kimi_desktop.ui.widgets.label import Label, TextSize

MOST = 3


class ModelChats(QWidget):
    """Hidden while there are none. ``chat_wanted`` fires with an id."""

    chat_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chats: tuple[ChatSummary, ...] = ()
        self._title = Label(size=TextSize.SMALL, tone="muted")
        self._more = Label(size=TextSize.SMALL, tone="muted")
        self._rows = [ListRow() for _ in range(MOST)]
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._title)
        for number, row in enumerate(self._rows):
            row.setCheckable(False)
            row.clicked.connect(lambda _=False, n=number: self._open(n))
            layout.addWidget(row)
        layout.addWidget(self._more)
        self.hide()

    def show_chats(self, chats: Sequence[ChatSummary]) -> None:
        """The newest first."""
        if tuple(chats) != self._chats:
            self._chats = tuple(chats)
            self.retranslate()

    def titles(self) -> list[str]:
        """Those that are shown."""
        return [row.text() for row in self._rows if not row.isHidden()]

    def row(self, number: int) -> ListRow:
        """One of the rows."""
        return self._rows[number]

    def retranslate(self) -> None:
        """Set the words."""
        self.setVisible(bool(self._chats))
        count = len(self._chats)
        one, several = self.tr("Used in one chat"), self.tr("Used in {count} chats")
        self._title.setText(one if count == 1 else several.format(count=count))
        for number, row in enumerate(self._rows):
            row.setVisible(number < count)
            if number < count:
                chat = self._chats[number]
                row.set_texts(chat.title or self.tr("New chat"), day_text(chat.updated_at))
        self._more.setVisible(count > MOST)
        self._more.setText(self.tr("and {count} more").format(count=count - MOST))

    def _open(self, number: int) -> None:
        self.chat_wanted.emit(self._chats[number].id)
