"""Downloads that wait, and those that are done: one line each. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeySequence, QPaintEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus
from kimi_desktop.ui import icons
from kimi_desktop.ui.download_words import name_of, source_of, spoken
from kimi_desktop.ui.models.download_row import DownloadAction
from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.widgets.button import IconButton
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.painting import painter_on

HEIGHT = 33
MARK = 16
ARROW, OPEN_HAND = Qt.CursorShape.ArrowCursor, Qt.CursorShape.OpenHandCursor
SIZE_WIDTH, SOURCE_WIDTH, STATE_WIDTH = 88, 104, 144


class IconMark(QWidget):
    """An icon that only shows; the row's words say the same. Presses go to what is behind it."""

    def __init__(self) -> None:
        super().__init__()
        self._icon, self._tone = "", "muted"
        self.setFixedSize(MARK, MARK)

    def set_icon(self, icon: str, tone: str) -> None:
        """Another one, in the colour of ``tone``."""
        self._icon, self._tone = icon, tone
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The icon."""
        del event
        painter = painter_on(self)
        icons.paint(painter, self._icon, QPoint(0, 0), MARK, getattr(tokens(), self._tone))
        painter.end()


class QueueRow(QWidget):
    """``wanted`` fires with an action and the download's id. Alt+Up and Alt+Down move it."""

    wanted = Signal(object, str)

    def __init__(self, status: DownloadStatus) -> None:
        super().__init__()
        self._status = status
        self._word = ""
        self.mark = IconMark()
        self.name = ElidedLabel(weight=MEDIUM)
        self.quantization = Label(size=TextSize.SMALL, tone="muted", mono=True)
        self.size_label = Label(size=TextSize.SMALL, mono=True)
        self.source = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self.state = Label(size=TextSize.SMALL, tone="muted")
        self.up = IconButton("arrow-up")
        self.main = IconButton("close")
        self.more = IconButton("more")
        self.setFixedHeight(HEIGHT)
        keeps_place = self.up.sizePolicy()
        keeps_place.setRetainSizeWhenHidden(True)
        self.up.setSizePolicy(keeps_place)
        self._arrange()
        for keys, action in (("Alt+Up", DownloadAction.UP), ("Alt+Down", DownloadAction.DOWN)):
            bound = QShortcut(QKeySequence(keys), self)
            bound.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            bound.activated.connect(lambda a=action: self._move(a))
        self.up.clicked.connect(lambda: self._ask(DownloadAction.UP))
        self.main.clicked.connect(self._on_main)
        self.more.clicked.connect(self._on_more)

    @property
    def status(self) -> DownloadStatus:
        """What it shows."""
        return self._status

    @property
    def is_ready(self) -> bool:
        """It is done."""
        return self._status.state is DownloadState.READY

    def show_status(self, status: DownloadStatus, word: str, *, can_rise: bool) -> None:
        """How it is now; ``word`` says its state, ``can_rise``: there is a place above."""
        self._status, self._word = status, word
        name, quantization = name_of(status.title)
        self.name.setText(name)
        self.quantization.setText(quantization)
        self.size_label.setText(format_file_size(status.total_bytes))
        self.source.setText(source_of(status))
        self.state.setText(word)
        self.state.set_tone("ok" if self.is_ready else "muted")
        font = self.state.font()
        font.setWeight(SEMIBOLD if self.is_ready else MEDIUM)
        self.state.setFont(font)
        self.up.setVisible(not self.is_ready)
        self.up.setEnabled(can_rise)
        self.mark.set_icon("check" if self.is_ready else "grip", "ok" if self.is_ready else "muted")
        self.mark.setCursor(ARROW if self.is_ready else OPEN_HAND)
        self.main.set_icon("play" if self.is_ready else "close")
        self.up.set_label(self.tr("Move {name} up").format(name=name), "Alt+↑")
        if self.is_ready:
            self.main.set_label(self.tr("Show {name} in the library").format(name=name))
        else:
            self.main.set_label(self.tr("Cancel {name}").format(name=name))
        self.more.set_label(self.tr("More about {name}").format(name=name))
        self.setAccessibleName(spoken(status))

    def menu(self) -> QMenu:
        """Everything that can be done."""
        menu = QMenu(self)
        for action, icon, words in self.choices():
            item = menu.addAction(icons.icon(icon), words)
            item.triggered.connect(lambda _=False, a=action: self._ask(a))
        return menu

    def choices(self) -> list[tuple[DownloadAction, str, str]]:
        """(action, icon, words) of the menu."""
        common = [
            (DownloadAction.DETAILS, "file", self.tr("Files and details…")),
            (DownloadAction.FOLDER, "folder", self.tr("Open folder")),
            (DownloadAction.COPY, "copy", self.tr("Copy name")),
        ]
        if self.is_ready:
            return [
                (DownloadAction.SHOW, "models", self.tr("Show in the library")),
                *common,
                (DownloadAction.FORGET, "close", self.tr("Take off the list")),
            ]
        return [
            (DownloadAction.START_NOW, "play", self.tr("Start now")),
            (DownloadAction.UP, "arrow-up", self.tr("Move up")),
            (DownloadAction.DOWN, "arrow-down", self.tr("Move down")),
            (DownloadAction.PAUSE, "pause", self.tr("Pause")),
            *common,
            (DownloadAction.CANCEL, "trash", self.tr("Cancel…")),
        ]

    # Qt

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """By the right button or the menu key."""
        self._pop_up(event.globalPos())

    # inside

    def _arrange(self) -> None:
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.size_label.setAlignment(right)
        self.size_label.setFixedWidth(SIZE_WIDTH)
        self.source.setFixedWidth(SOURCE_WIDTH)
        self.state.setFixedWidth(STATE_WIDTH)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 0, 8, 0)
        layout.setSpacing(8)
        layout.addWidget(self.mark)
        layout.addWidget(self.name)
        layout.addWidget(self.quantization)
        layout.addStretch(1)
        layout.addWidget(self.size_label)
        layout.addSpacing(8)
        layout.addWidget(self.source)
        layout.addWidget(self.state)
        layout.addWidget(self.up)
        layout.addWidget(self.main)
        layout.addWidget(self.more)

    def _move(self, action: DownloadAction) -> None:
        if not self.is_ready:
            self._ask(action)

    def _on_main(self) -> None:
        self._ask(DownloadAction.SHOW if self.is_ready else DownloadAction.CANCEL)

    def _on_more(self) -> None:
        self._pop_up(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _pop_up(self, place: QPoint) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)

    def _ask(self, action: DownloadAction) -> None:
        self.wanted.emit(action, self._status.id)
