"""Before the first byte: what would be fetched, from where, and what speaks against it. Qt thread.

Anything may lead here (Discover, the set-up, a pasted address), so it belongs to the frame.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.base.units import MB, format_duration, format_file_size, format_rate
from kimi_desktop.downloads.preflight_types import Level, Row
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus, PreparedDownload
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.ui import icons
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.download_words import full_title, hub_name
from kimi_desktop.ui.hub_help import TokenButton
from kimi_desktop.ui.language import language
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.painting import painter_on
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.toggle import CheckBox

WIDTH = 640
LEAST_ROWS, MOST_ROWS = 96, 300
SIGNS = {Level.OK: ("check", "ok"), Level.WARN: ("triangle", "warn"), Level.STOP: ("cross", "bad")}


class DownloadSheet(Overlay):
    """Asks the hubs, shows what they say, and puts the download into the queue."""

    def __init__(self, window: QWidget, bridge: Bridge, wanted: str) -> None:
        """``wanted``: ``owner/name``, ``owner/name:QUANTIZATION`` or a hub's address."""
        super().__init__(window, width=WIDTH)
        self._bridge = bridge
        self._wanted = wanted
        self._operation: Operation[PreparedDownload] | None = None
        self._prepared: PreparedDownload | None = None
        self._error: BaseException | None = None
        self._chosen_source = ""
        self.heading = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self.note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.amount = Label(weight=MEDIUM, wrap=True)
        self.folder = Select(small=True)
        self.sources = Segmented(small=True)
        self.projector = CheckBox()
        self.rows = _Rows()
        self.failure = Label(tone="bad", wrap=True)
        self.advice = Label(tone="muted", wrap=True)
        self.token = TokenButton(bridge)
        self.again = Button(small=True, icon="refresh")
        self.cancel_button = Button()
        self.first_button = Button()
        self.add_button = Button(kind=ButtonKind.PRIMARY, icon="download")
        self._folder_row, self._source_row = _Line(self.folder), _Line(self.sources)
        self._arrange()
        self.folder.activated.connect(self._prepare)
        self.sources.chosen.connect(self._on_source)
        self.projector.toggled.connect(self._show)
        self.again.clicked.connect(self._prepare)
        self.token.clicked.connect(self.dismiss)
        self.cancel_button.clicked.connect(self.dismiss)
        self.first_button.clicked.connect(lambda: self._add(first=True))
        self.add_button.clicked.connect(lambda: self._add(first=False))
        self.closed.connect(self._stop)
        self._fill_folders()
        self._retranslate()
        self._prepare()

    @property
    def spec(self) -> DownloadSpec | None:
        """What would be fetched, with or without the projector."""
        if self._prepared is None:
            return None
        spec = self._prepared.spec
        return spec if self.projector.isChecked() else spec.without_projectors()

    # asking

    def _prepare(self) -> None:
        self._stop()
        self._prepared, self._error = None, None
        folder = Path(self.folder.currentData())
        operation = self._bridge.services.downloads.prepare(self._wanted, folder)
        self._operation = operation

        def done(prepared: PreparedDownload) -> None:
            if operation is self._operation:
                self._operation = None
                self._take(prepared)

        def failed(error: BaseException) -> None:
            if operation is self._operation and not isinstance(error, Cancelled):
                self._operation = None
                self._error = error
                self._show()

        self._show()
        self._bridge.watch(operation, done, failed)

    def _take(self, prepared: PreparedDownload) -> None:
        self._prepared = prepared
        if self._chosen_source not in prepared.sources:
            self._chosen_source = next(iter(prepared.sources), "")
        self.projector.blockSignals(True)
        self.projector.setChecked(True)
        self.projector.blockSignals(False)
        self.sources.set_options(self._source_words(prepared))
        self.sources.choose(self._chosen_source)
        self._show()
        self.add_button.setFocus()

    def _stop(self) -> None:
        if self._operation is not None:
            operation, self._operation = self._operation, None
            operation.cancel()

    def _on_source(self, endpoint: str) -> None:
        self._chosen_source = endpoint
        self._show()

    # adding

    def _add(self, *, first: bool) -> None:
        spec = self.spec
        if spec is None:
            return
        self.add_button.setEnabled(False)
        self.first_button.setEnabled(False)
        operation = self._bridge.services.downloads.add(spec, first=first)
        self._bridge.watch(operation, self._on_added, self._on_not_added)

    def _on_added(self, status: DownloadStatus) -> None:
        prepared = self._prepared
        fastest = next(iter(prepared.sources), "") if prepared else ""
        if self._chosen_source and self._chosen_source != fastest:
            prefer = self._bridge.services.downloads.prefer(status.id, self._chosen_source)
            self._bridge.watch(prefer, on_error=self._bridge.navigation.report)
        go = self._bridge.navigation
        self.dismiss()
        text = self.tr("{name} is in the queue.").format(name=full_title(status.title))
        go.offer(text, self.tr("Show downloads"), go.open_downloads)

    def _on_not_added(self, error: BaseException) -> None:
        self._error = error
        self._show()

    # showing

    def _show(self) -> None:
        prepared, busy = self._prepared, self._operation is not None
        spec = self.spec
        title = full_title(spec.title) if spec is not None else self._wanted
        self.heading.setText(self.tr("Download {name}").format(name=title))
        if busy:
            self.note.setText(
                self.tr("Asking the hubs, measuring their speed, looking at the drive")
            )
        elif spec is not None:
            self.note.setText(self._origin(spec))
        else:
            self.note.setText("")
        self.note.setVisible(bool(self.note.text()))
        self.amount.setVisible(spec is not None)
        if spec is not None and prepared is not None:
            self.amount.setText(self._amount(spec, prepared))
        self._source_row.setVisible(prepared is not None and len(prepared.sources) > 1)
        projectors = prepared.spec.projectors if prepared is not None else ()
        self.projector.setVisible(bool(projectors))
        if projectors:
            size = format_file_size(sum(job.size_bytes for job in projectors))
            self.projector.setText(
                self.tr("With the projector for images ({size})").format(size=size)
            )
        self.rows.show_rows(prepared.preflight.rows if prepared is not None else ())
        self._show_error()
        self._show_buttons()
        self.panel.setAccessibleName(f"{self.heading.text()} {self.amount.text()}")
        self._cover()

    def _show_error(self) -> None:
        text, advice = describe_error(self._error, language()) if self._error else ("", "")
        self.failure.setText(text)
        self.advice.setText(advice)
        self.failure.setVisible(bool(text))
        self.advice.setVisible(bool(advice))
        self.again.setVisible(self._error is not None)
        self.token.show_for(self._error)

    def _show_buttons(self) -> None:
        prepared = self._prepared
        may_start = prepared is not None and prepared.preflight.may_start
        downloads = self._bridge.services.downloads.downloads
        waits = any(one.is_running or one.state is DownloadState.QUEUED for one in downloads)
        self.add_button.setVisible(self._error is None)
        self.add_button.setEnabled(may_start)
        self.add_button.setText(self.tr("Add to queue") if waits else self.tr("Download"))
        self.first_button.setVisible(waits and may_start and self._error is None)

    def _origin(self, spec: DownloadSpec) -> str:
        repo = spec.title.partition(" ")[0]
        words = [repo]
        if spec.commit:
            words.append(self.tr("revision {commit}").format(commit=spec.commit[:12]))
        licence = spec.licence or self.tr("no licence named")
        words.append(self.tr("licence: {licence}").format(licence=licence))
        return " · ".join(words)

    def _amount(self, spec: DownloadSpec, prepared: PreparedDownload) -> str:
        """Size, files, what is here already, and the time at the measured speed."""
        total = spec.total_bytes
        left_out = prepared.spec.total_bytes - total
        missing = max(prepared.preflight.missing_bytes - left_out, 0)
        one, several = self.tr("one file"), self.tr("{count} files")
        count = len(spec.files)
        words = [format_file_size(total), one if count == 1 else several.format(count=count)]
        if missing < total:
            here = format_file_size(total - missing)
            words.append(self.tr("{size} are here already").format(size=here))
        speed = dict(zip(prepared.sources, prepared.speeds, strict=False)).get(self._chosen_source)
        if speed and missing:
            took = format_duration(max(1.0, missing / speed), language())
            text = self.tr("about {time} at {speed}")
            words.append(text.format(time=took, speed=format_rate(speed)))
        return " · ".join(words)

    def _source_words(self, prepared: PreparedDownload) -> list[tuple[str, str]]:
        """Each source, and what it gave just now in MB/s."""
        speeds = dict(zip(prepared.sources, prepared.speeds, strict=False))
        words = []
        for endpoint in prepared.sources:
            speed = speeds.get(endpoint)
            figure = f" {speed / MB:,.{1 if speed < 10 * MB else 0}f}" if speed else ""
            words.append((endpoint, hub_name(endpoint) + figure))
        return words

    # inside

    def _fill_folders(self) -> None:
        models = self._bridge.services.models
        for folder in models.folders:
            if folder not in models.missing_folders:
                self.folder.addItem(str(folder), str(folder))
        if self.folder.count() == 0:
            self.folder.addItem(str(models.folders[0]), str(models.folders[0]))

    def _retranslate(self) -> None:
        self._folder_row.set_word(self.tr("To"))
        self._source_row.set_word(self.tr("From"), self.tr("MB/s, just measured"))
        self.folder.set_label(self.tr("Folder for the model"))
        self.sources.set_label(self.tr("Source"))
        self.again.setText(self.tr("Try again"))
        self.cancel_button.setText(self.tr("Cancel"))
        self.first_button.setText(self.tr("Before the others"))

    def _arrange(self) -> None:
        for widget in (
            *(self.heading, self.note, self.amount),
            *(self._folder_row, self._source_row, self.projector),
            *(self.rows, self.failure, self.advice),
        ):
            self.body.addWidget(widget)
        mend = QHBoxLayout()
        mend.setSpacing(8)
        mend.addWidget(self.again)
        mend.addWidget(self.token)
        mend.addStretch(1)
        self.body.addLayout(mend)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.first_button)
        buttons.addWidget(self.add_button)
        self.body.addLayout(buttons)


class _Line(QWidget):
    """A word, a control, and a muted note after it."""

    def __init__(self, control: QWidget) -> None:
        super().__init__()
        self._word = Label(size=TextSize.SMALL, tone="muted")
        self._word.setMinimumWidth(48)
        self._note = Label(size=TextSize.SMALL, tone="muted")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._word)
        layout.addWidget(control)
        layout.addWidget(self._note)
        layout.addStretch(1)

    def set_word(self, word: str, note: str = "") -> None:
        self._word.setText(word)
        self._note.setText(note)


class _Rows(QScrollArea):
    """What was looked at, the gravest first; scrolls when there is much."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[Row, ...] = ()
        self.setWidgetResizable(True)
        self.viewport().setAutoFillBackground(False)
        self.hide()

    def show_rows(self, rows: tuple[Row, ...]) -> None:
        self.setVisible(bool(rows))
        if rows == self._rows:
            return
        self._rows = rows
        inside = QWidget()
        inside.setAutoFillBackground(False)
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(8)
        for row in rows:
            column.addWidget(_RowView(row))
        column.addStretch(1)
        self.setWidget(inside)
        inside.setAutoFillBackground(False)  # setWidget switches it on
        height = column.totalHeightForWidth(WIDTH - 56)
        self.setFixedHeight(max(LEAST_ROWS, min(MOST_ROWS, height)))

    def sentences(self) -> list[str]:
        """What it says."""
        return [row.sentence(language()) for row in self._rows]


class _RowView(QWidget):
    """A sign, what was seen, what to do about it."""

    def __init__(self, row: Row) -> None:
        super().__init__()
        sentence, step = row.sentence(language()), row.next_step(language())
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(Label(sentence, wrap=True))
        if step:
            texts.addWidget(Label(step, wrap=True, tone="muted", size=TextSize.SMALL))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(_Sign(*SIGNS[row.level]))
        layout.addLayout(texts, 1)
        self.setAccessibleName(f"{row.level.value}: {sentence} {step}".strip())


class _Sign(QWidget):
    """16 px at the first line."""

    def __init__(self, icon: str, tone: str) -> None:
        super().__init__()
        self._icon, self._tone = icon, tone
        self.setFixedWidth(16)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The icon in its tone."""
        del event
        painter = painter_on(self)
        icons.paint(painter, self._icon, QPoint(0, 2), 16, getattr(tokens(), self._tone))
        painter.end()
