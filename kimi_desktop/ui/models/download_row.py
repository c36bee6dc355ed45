"""A download that is under way, paused or failed: name, strip, figures, source. Qt thread."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus
from kimi_desktop.ui import icons
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.download_words import (
    amount_of,
    facts_of,
    hub_name,
    measured_words,
    name_of,
    parts_of,
    sentence_of,
    spoken,
    state_of,
)
from kimi_desktop.ui.hub_help import TokenButton
from kimi_desktop.ui.models.fact_line import FactLine
from kimi_desktop.ui.models.part_strip import PartStrip
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.chip import Chip
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.painting import painter_on
from kimi_desktop.ui.widgets.segmented import Segmented


class DownloadAction(Enum):
    """What can be done with a download."""

    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    TRY_NOW = "try_now"
    """It waits for another try."""
    START_NOW = "start_now"
    UP = "up"
    DOWN = "down"
    CANCEL = "cancel"
    FORGET = "forget"
    KEEP = "keep"
    """The version that is there; this download goes."""
    DETAILS = "details"
    FOLDER = "folder"
    COPY = "copy"
    SHOW = "show"
    """In the library."""
    MEASURE = "measure"
    """Its sources, again."""


class DownloadRow(QWidget):
    """``wanted`` fires with an action and the download's id, ``source_chosen`` with an endpoint."""

    wanted = Signal(object, str)
    source_chosen = Signal(str, str)

    def __init__(self, bridge: Bridge, status: DownloadStatus) -> None:
        super().__init__()
        self._status = status
        self._is_measuring = False
        self.name = Label(weight=SEMIBOLD)
        self.quantization = Label(size=TextSize.SMALL, tone="muted", mono=True)
        self.chip = Chip()
        self.main = Button(small=True)
        self.more = IconButton("more")
        self.strip = PartStrip()
        self.facts = FactLine()
        self.advice = Label(size=TextSize.SMALL, wrap=True)
        self.token = TokenButton(bridge)
        self.sources = Segmented(small=True)
        self._source_word = Label(size=TextSize.SMALL, tone="muted")
        self.measured = Label(size=TextSize.SMALL, tone="muted")
        self.measure = IconButton("refresh")
        self._source_row = QWidget()
        self._arrange()
        self.main.clicked.connect(self._on_main)
        self.more.clicked.connect(self._on_more)
        self.measure.clicked.connect(lambda: self._ask(DownloadAction.MEASURE))
        self.sources.chosen.connect(lambda key: self.source_chosen.emit(self._status.id, key))
        self.show_status(status)

    @property
    def status(self) -> DownloadStatus:
        """What it shows."""
        return self._status

    def show_status(self, status: DownloadStatus) -> None:
        """How it is now."""
        self._status = status
        name, quantization = name_of(status.title)
        self.name.setText(name)
        self.name.setToolTip(status.title)
        self.quantization.setText(quantization)
        verdict, icon, word = state_of(status)
        self.chip.show_verdict(verdict, word, icon=icon)
        failed = status.state is DownloadState.FAILED
        self.chip.set_ground("panel" if failed else None)
        share = status.done_bytes / status.total_bytes if status.total_bytes else 0.0
        self.strip.show_parts(parts_of(status), share, amount_of(status))
        self.strip.setAccessibleName(name)
        self.facts.show_facts(facts_of(status))
        what, advice = sentence_of(status)
        advice = f"{what} {advice}" if failed else advice
        self.advice.setText(advice)
        self.advice.setVisible(bool(advice))
        self.token.show_for(status.reason)
        self._show_main(status)
        self._show_sources(status)
        self.setAccessibleName(spoken(status))
        self.update()

    def retranslate(self) -> None:
        """Set the words."""
        self.more.set_label(self.tr("More about {name}").format(name=self.name.text()))
        self._source_word.setText(self.tr("Source"))
        self.sources.set_label(self.tr("Source"))
        self.measure.set_label(self.tr("Measure the sources again"))
        self.token.retranslate()
        self.show_status(self._status)

    def show_measuring(self, *, is_measuring: bool) -> None:
        """The sources are being measured, or no longer."""
        self._is_measuring = is_measuring
        self._show_sources(self._status)

    def main_action(self) -> DownloadAction:
        """What the button does."""
        if self._status.state is DownloadState.DOWNLOADING and self._status.waiting is not None:
            return DownloadAction.TRY_NOW
        if self._is_late():
            return DownloadAction.KEEP
        return {
            DownloadState.PAUSED: DownloadAction.RESUME,
            DownloadState.FAILED: DownloadAction.RETRY,
            DownloadState.VERIFYING: DownloadAction.CANCEL,
        }.get(self._status.state, DownloadAction.PAUSE)

    def menu(self) -> QMenu:
        """Everything that can be done."""
        menu = QMenu(self)
        for action, icon, words in self.choices():
            item = menu.addAction(icons.icon(icon), words)
            item.triggered.connect(lambda _=False, a=action: self._ask(a))
        return menu

    def choices(self) -> list[tuple[DownloadAction, str, str]]:
        """(action, icon, words) of the menu."""
        found = [
            (DownloadAction.DETAILS, "file", self.tr("Files and details…")),
            (DownloadAction.FOLDER, "folder", self.tr("Open folder")),
            (DownloadAction.COPY, "copy", self.tr("Copy name")),
        ]
        if not self._status.is_running:
            found.insert(0, (DownloadAction.START_NOW, "play", self.tr("Start now")))
        if self._is_late():
            found[0] = (
                DownloadAction.RESUME,
                "download",
                self.tr("Fetch this version all the same"),
            )
        if self.main_action() in (DownloadAction.TRY_NOW, DownloadAction.CANCEL):
            found.insert(0, (DownloadAction.PAUSE, "pause", self.tr("Pause")))
        if self._status.state is DownloadState.FAILED:
            found.append((DownloadAction.FORGET, "close", self.tr("Take off the list")))
        found.append((DownloadAction.CANCEL, "trash", self.tr("Cancel…")))
        return found

    def _is_late(self) -> bool:
        """Another version was proven in its place meanwhile: it is for the user to choose."""
        reason = self._status.reason
        return reason is not None and reason.code is ErrorCode.DOWNLOAD_OTHER_VERSION

    # Qt

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """By the right button or the menu key."""
        self._pop_up(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        """What failed has another ground."""
        del event
        if self._status.state is DownloadState.FAILED:
            painter = painter_on(self)
            painter.setClipPath(self._ground())
            painter.fillRect(self.rect(), color(tokens().bad_soft))
            painter.end()

    # inside

    def _ground(self) -> QPainterPath:
        """The row, with the corners of the frame where it is at an end of it."""
        rect = QRectF(self.rect())
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.WindingFill)
        path.addRoundedRect(rect, RADIUS - 1, RADIUS - 1)
        frame = self.parentWidget()
        if self.y() > 1:
            path.addRect(rect.adjusted(0, 0, 0, -RADIUS))
        if frame is not None and self.geometry().bottom() < frame.height() - 2:
            path.addRect(rect.adjusted(0, RADIUS, 0, 0))
        return path

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.name)
        head.addWidget(self.quantization)
        head.addWidget(self.chip)
        head.addStretch(1)
        head.addWidget(self.token)
        head.addWidget(self.main)
        head.addWidget(self.more)
        source = QHBoxLayout(self._source_row)
        source.setContentsMargins(0, 4, 0, 0)
        source.setSpacing(8)
        source.addWidget(self._source_word)
        source.addWidget(self.sources)
        source.addWidget(self.measured)
        source.addWidget(self.measure)
        source.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 8, 16, 8)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.strip)
        layout.addWidget(self.facts)
        layout.addWidget(self.advice)
        layout.addWidget(self._source_row)

    def _show_main(self, status: DownloadStatus) -> None:
        words = {
            DownloadAction.RESUME: self.tr("Resume"),
            DownloadAction.RETRY: self.tr("Retry"),
            DownloadAction.TRY_NOW: self.tr("Try now"),
            DownloadAction.PAUSE: self.tr("Pause"),
            DownloadAction.CANCEL: self.tr("Cancel"),
            DownloadAction.KEEP: self.tr("Keep what is there"),
        }
        names = {
            DownloadAction.RESUME: "play",
            DownloadAction.RETRY: "refresh",
            DownloadAction.TRY_NOW: "refresh",
            DownloadAction.PAUSE: "pause",
            DownloadAction.CANCEL: "close",
            DownloadAction.KEEP: "check",
        }
        action = self.main_action()
        failed = status.state is DownloadState.FAILED
        self.main.set_kind(ButtonKind.PRIMARY if failed else ButtonKind.SECONDARY)
        self.main.set_icon(names[action])
        missing = status.total_bytes - status.done_bytes
        if failed and 0 < missing < status.total_bytes:  # only what is not there comes again
            words[action] = self.tr("Retry {size}").format(size=format_file_size(missing))
        self.main.setText(words[action])
        self.main.setAccessibleName(f"{words[action]}: {self.name.text()}")

    def _show_sources(self, status: DownloadStatus) -> None:
        resting = (DownloadState.PAUSED, DownloadState.VERIFYING)
        can_choose = len(status.sources) > 1 and status.state not in resting
        self._source_row.setVisible(can_choose)
        if not can_choose:
            return
        options, when = measured_words(status)
        self.sources.set_options(options)
        self.measured.setText(self.tr("Measuring…") if self._is_measuring else when)
        self.measure.setEnabled(not self._is_measuring)
        now = [one for one in status.sources if hub_name(one) == hub_name(status.source)]
        self.sources.choose(status.preferred or next(iter(now), status.sources[0]))

    def _on_main(self) -> None:
        self._ask(self.main_action())

    def _on_more(self) -> None:
        self._pop_up(self.more.mapToGlobal(QPoint(0, self.more.height())))

    def _pop_up(self, place: QPoint) -> None:
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(place)

    def _ask(self, action: DownloadAction) -> None:
        self.wanted.emit(action, self._status.id)
