"""The Monitor page: live graphs of the session, and their export. Qt thread.

It reads the monitor's history anew at every sample, but only while it is shown.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from PySide6.QtCore import QEvent, QStandardPaths, QUrl
from PySide6.QtGui import QDesktopServices, QHideEvent, QShowEvent
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from kimi_desktop.backends.types import EngineStateChanged, PlanChoices
from kimi_desktop.base.errors import SettingsError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import HOUR_S, MINUTE_S
from kimi_desktop.machine.types import MachineProbed
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_types import RunRecord
from kimi_desktop.monitor.types import Sample, SampleTaken
from kimi_desktop.serve.types import ServeChanged
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import USABLE, state_word
from kimi_desktop.ui.language import language
from kimi_desktop.ui.monitor.board import RIGHT, GraphBoard
from kimi_desktop.ui.monitor.experiments_view import ExperimentsView
from kimi_desktop.ui.monitor.reader import Reader
from kimi_desktop.ui.monitor.run_words import moment
from kimi_desktop.ui.monitor.runs_view import RunsView
from kimi_desktop.ui.monitor.time_axis import PhaseLegend
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import PageHeader
from kimi_desktop.ui.widgets.message_bar import EmptyState, MessageBar
from kimi_desktop.ui.widgets.segmented import Segmented

SPANS_S = {"5min": 5.0 * MINUTE_S, "1h": 1.0 * HOUR_S, "session": math.inf}
SHORTEST_S = float(MINUTE_S)
"""A session that has just begun is drawn on an axis of a minute."""
LEAD_S = 20.0
"""Samples from before the window, so that lines begin at its edge (two coarse steps)."""
NOW_S = 2.0
"""The finest samples there are, whatever the span shown."""
MARGIN = 24
LIVE, RUNS, EXPERIMENTS = "live", "runs", "experiments"


class MonitorPage(QWidget):
    """Header, graphs, and a bar with the result of an export."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._dialog: QFileDialog | None = None
        self._saved_folder = ""
        self._run: RunRecord | None = None
        """Whose graphs are shown; None = the live ones."""
        self._run_samples: tuple[Sample, ...] = ()
        self._header = PageHeader()
        self._legend = PhaseLegend()
        self.view = Segmented(small=True)
        self.span = Segmented(small=True)
        self.export_button = Button(icon="download", small=True)
        self.back_button = Button(icon="chevron-left", small=True)
        self._header.add(self.back_button)
        self.back_button.hide()
        for control in (self.view, self._legend, self.span, self.export_button):
            self._header.add(control)
        self.saved_bar = MessageBar("ok")
        self._show_folder = Button(small=True)
        self._show_folder.clicked.connect(self._open_folder)
        self.saved_bar.add_button(self._show_folder)
        self.error_bar = MessageBar("bad")
        self._retry = Button(small=True)
        self._retry.clicked.connect(self.ask_for_file)
        self.error_bar.add_button(self._retry)
        self.board = GraphBoard()
        self.empty = EmptyState("monitor")
        self.runs = RunsView(bridge)
        self.runs.hide()
        self.experiments = ExperimentsView(bridge)
        self.experiments.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 14, MARGIN - RIGHT, 10)
        layout.setSpacing(0)
        top = QVBoxLayout()
        top.setContentsMargins(0, 0, RIGHT, 0)
        top.setSpacing(8)
        top.addWidget(self._header)
        top.addWidget(self.saved_bar)
        top.addWidget(self.error_bar)
        layout.addLayout(top)
        layout.addSpacing(6)
        layout.addWidget(self.board, 1)
        layout.addWidget(self.empty, 1)
        layout.addWidget(self.runs, 1)
        layout.addWidget(self.experiments, 1)
        self.saved_bar.hide()
        self.error_bar.hide()
        self._connect()
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def _connect(self) -> None:
        self.view.chosen.connect(lambda _key: self._show_view())
        self.runs.start_wanted.connect(self._start_again)
        self.runs.star_wanted.connect(self._make_own)
        self.runs.graphs_wanted.connect(self._open_run)
        self.back_button.clicked.connect(self._show_view)
        self.span.chosen.connect(self._on_span_chosen)
        self.export_button.clicked.connect(self.ask_for_file)

    def retranslate(self) -> None:
        """Set the words."""
        self._header.set_title(self.tr("Monitor"))
        self.view.set_label(self.tr("View"))
        self.view.set_options(
            (
                (LIVE, self.tr("Live")),
                (RUNS, self.tr("Runs")),
                (EXPERIMENTS, self.tr("Experiments")),
            )
        )
        self.span.set_label(self.tr("Time shown"))
        self.span.set_options(
            (
                ("5min", self.tr("5 min")),
                ("1h", self.tr("1 h")),
                ("session", self.tr("Session")),
            )
        )
        self.export_button.setText(self.tr("Export CSV"))
        self.back_button.setText(self.tr("All runs"))
        self._show_folder.setText(self.tr("Show folder"))
        self._retry.setText(self.tr("Choose another place"))
        self.empty.set_texts(self.tr("The first sample arrives within a second."), "")
        self.board.strip.retranslate()
        self._legend.set_words(self.board.strip)
        self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with what was sampled meanwhile."""
        super().showEvent(event)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        """The keyboard's cursor does not wait."""
        super().hideEvent(event)
        self.board.clear_cursor()

    def refresh(self) -> None:
        """Read the history and draw it; nothing while the page is hidden."""
        if not self.isVisible():
            return
        self._show_note()
        if self._run is not None:
            self._draw_run()
        elif self.view.key() == LIVE:
            self._draw_live()

    def _draw_run(self) -> None:
        """The whole of a run; redrawn with the language, the theme and the size."""
        samples = self._run_samples
        if samples:
            reader = Reader(language(), None)
            start = samples[0].at
            end = max(samples[-1].at, start + SHORTEST_S)
            self.board.show_samples(samples, samples[-1], (start, end), reader)

    def _draw_live(self) -> None:
        span_s = SPANS_S[self.span.key()]
        samples = self._bridge.services.monitor.history(span_s + LEAD_S)
        self.board.setVisible(bool(samples))
        self.empty.setVisible(not samples)
        self.export_button.setEnabled(bool(samples))
        if not samples:
            return
        end = samples[-1].at
        if math.isinf(span_s):
            span_s = max(SHORTEST_S, end - samples[0].at)
            # A short session is kept in finer steps than a long one.
            samples = self._bridge.services.monitor.history(span_s) or samples
        reader = Reader(language(), self._bridge.services.machine.machine)
        newest = self._bridge.services.monitor.history(NOW_S)[-1]
        marks = self._bridge.services.monitor.marks()
        self.board.show_samples(samples, newest, (end - span_s, end), reader, marks=marks)

    def _show_view(self) -> None:
        """The live graphs, the notebook, or the experiments."""
        self._run, self._run_samples = None, ()
        self.back_button.hide()
        self.view.show()
        live = self.view.key() == LIVE
        for part in (self._legend, self.span, self.export_button):
            part.setVisible(live)
        self.board.setVisible(live)
        self.empty.setVisible(False)
        self.runs.setVisible(self.view.key() == RUNS)
        self.experiments.setVisible(self.view.key() == EXPERIMENTS)
        self.board.clear_cursor()
        self.refresh()

    def _open_run(self, run: RunRecord) -> None:
        """The graphs of a run of the notebook, in place of the list."""

        def show(rows: tuple[Row, ...]) -> None:
            if not rows:
                self._bridge.navigation.tell(self.tr("No samples of this run were kept."))
                return
            self._run, self._run_samples = run, tuple(row.sample for row in rows)
            self.runs.hide()
            self.view.hide()
            for part in (self.back_button, self._legend, self.export_button, self.board):
                part.show()
            self.export_button.setEnabled(True)
            self.refresh()

        self._bridge.watch(
            self._bridge.services.notebook.samples(run.id), show, self._bridge.navigation.report
        )

    def _start_again(self, run: RunRecord) -> None:
        settings = self._bridge.services.notebook.settings_of(run)
        if settings is None:
            self._bridge.navigation.tell(self.tr("These settings are of another version."))
        else:
            self._bridge.navigation.start_engine(settings)

    def _make_own(self, run: RunRecord, on: bool) -> None:
        """A starred run's settings are what the model starts with; without the star, the plan."""
        services = self._bridge.services
        settings = services.notebook.settings_of(run)
        path = Path(run.model_path)
        model = next((one for one in services.models.models if one.path == path), None)
        if model is None or settings is None:
            return
        wishes = services.plans.choices(model).wishes
        try:
            services.plans.remember(model, PlanChoices(wishes, settings if on else None))
        except SettingsError as error:
            self._bridge.navigation.report(error)
            return
        self._bridge.navigation.tell(
            self.tr("{model} starts with these settings from now on.").format(model=run.title)
            if on
            else self.tr("{model} is planned by itself again.").format(model=run.title)
        )

    # export

    def ask_for_file(self) -> None:
        """Ask where the samples should go."""
        if self._dialog is not None:
            return
        folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        name = time.strftime("kimi-desktop-%Y-%m-%d-%H%M.csv")
        dialog = QFileDialog(self, self.tr("Export the samples"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(self.tr("Table (*.csv)"))
        dialog.setDefaultSuffix("csv")
        dialog.setDirectory(folder)
        dialog.selectFile(name)
        dialog.fileSelected.connect(lambda file: self.export_to(Path(file)))
        dialog.finished.connect(self._on_dialog_closed)
        self._dialog = dialog
        dialog.open()

    def export_to(self, file: Path) -> None:
        """Write the session's samples and say how it went."""
        self.saved_bar.hide()
        self.error_bar.hide()
        self.export_button.setEnabled(False)
        services = self._bridge.services
        if self._run is not None:
            operation = services.notebook.export_csv(self._run.id, file)
        else:
            operation = services.monitor.export_csv(file)
        self._bridge.watch(operation, self._on_exported, self._on_export_failed)

    def _on_dialog_closed(self, _result: int) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    def _on_exported(self, file: Path) -> None:
        self.export_button.setEnabled(True)
        self._saved_folder = str(file.parent)
        self.saved_bar.show_message(self.tr("The samples are saved."), str(file))
        self.saved_bar.show()

    def _on_export_failed(self, error: BaseException) -> None:
        self.export_button.setEnabled(True)
        self.error_bar.show_message(*describe_error(error, language()))
        self.error_bar.show()

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(self._saved_folder))

    # what happens

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SampleTaken | MachineProbed):
            if self._run is None:
                self.refresh()
        elif isinstance(event, EngineStateChanged | ServeChanged):
            self._show_note()

    def _on_span_chosen(self, _key: str) -> None:
        self.board.clear_cursor()
        self.refresh()

    def _show_note(self) -> None:
        """Requests of the window and of the gateway; what the slots cannot take waits."""
        services = self._bridge.services
        status = services.engine.status
        if self._run is not None:
            what = f"{self._run.title} {self._run.quantization}".strip()
            self._header.set_note(f"{what} · {moment(self._run)}")
            return
        if status.state not in USABLE:
            self._header.set_note(self.tr("Engine: {state}").format(state=state_word(status)))
            return
        own = services.chats.generating_chat is not None
        waiting = sum(request.waits for request in services.serve.status.live)
        requests = services.serve.status.running + waiting + own
        running = requests - waiting  # a server of others does not tell how many it takes at once
        if status.attached is None:
            slots = status.settings.n_parallel if status.settings is not None else 1
            running = min(requests, slots)
        text = self.tr("{running} running · {waiting} waiting")
        self._header.set_note(text.format(running=running, waiting=requests - running))
