"""The file that was picked in Discover: what it would do here, by its size or its header. Qt."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, OfferedModel, PlannedFile
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.hub_help import TokenButton
from kimi_desktop.ui.language import language
from kimi_desktop.ui.offer_row import CHIPS
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Surface
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.memory_bar import MemoryBar, MemoryLegend, parts_of

REASONS = 6


class DiscoverDetails(Surface):
    """Plans the file by its header when asked. ``copy_wanted`` has its name."""

    copy_wanted = Signal(str)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent, tone="panel", edges="l")
        self._bridge = bridge
        self._model: OfferedModel | None = None
        self._file: OfferedFile | None = None
        self._planned: dict[str, PlannedFile] = {}
        self._operation: Operation[PlannedFile] | None = None
        self._error: BaseException | None = None
        self.title = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self._quantization = Label(size=TextSize.SMALL, tone="muted", mono=True)
        self.chip = Chip()
        self.basis = Chip()
        self.sentence = Label(wrap=True)
        self._speed = Label(size=TextSize.HEADING, weight=SEMIBOLD)
        self._waits = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self._details = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.download = Button(icon="download", kind=ButtonKind.PRIMARY)
        self.plan = Button(icon="plan")
        self.cancel = Button(kind=ButtonKind.SECONDARY)
        self._reading = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.failure = Label(tone="bad", wrap=True)
        self._advice = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.token = TokenButton(bridge)
        self._devices = QWidget()
        self._bars = QVBoxLayout(self._devices)
        self._bars.setContentsMargins(0, 0, 0, 0)
        self._bars.setSpacing(4)
        self.reasons = Label(size=TextSize.SMALL, wrap=True)
        self._facts = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self.copy = Button(icon="copy", kind=ButtonKind.QUIET, small=True)
        self._arrange()
        self.download.clicked.connect(self._download)
        self.plan.clicked.connect(self._read)
        self.cancel.clicked.connect(self._stop)
        self.copy.clicked.connect(self._copy)
        self.retranslate()

    def show_file(self, model: OfferedModel | None, file: OfferedFile | None) -> None:
        """Show a file; None empties the pane."""
        if file != self._file:
            self._stop()
            self._error = None
        self._model, self._file = model, file
        self.setVisible(file is not None)
        self._show()

    def retranslate(self) -> None:
        """Set the words."""
        self.download.setText(self.tr("Download…"))
        self.plan.setText(self.tr("Plan by its header"))
        self.token.retranslate()
        self.cancel.setText(self.tr("Cancel"))
        self.copy.setText(self.tr("Copy its name"))
        self._show()

    def facts(self) -> str:
        """The lines below the figures."""
        return self._facts.text()

    def _arrange(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._quantization)
        line.addStretch(1)
        line.addWidget(self.basis)
        chips = QHBoxLayout()
        chips.setSpacing(8)
        chips.addWidget(self.chip)
        chips.addStretch(1)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.download)
        buttons.addWidget(self.plan)
        buttons.addWidget(self.cancel)
        buttons.addStretch(1)
        copy = QHBoxLayout()
        copy.setContentsMargins(-8, 0, 0, 0)  # the quiet button's icon in line with the rest
        copy.addWidget(self.copy)
        copy.addStretch(1)
        inside = QWidget()
        layout = QVBoxLayout(inside)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(8)
        layout.addWidget(self.title)
        layout.addLayout(line)
        layout.addLayout(chips)
        layout.addWidget(self.sentence)
        layout.addSpacing(4)
        layout.addWidget(self._speed)
        layout.addWidget(self._waits)
        layout.addWidget(self._details)
        layout.addSpacing(4)
        layout.addLayout(buttons)
        for label in (self._reading, self.failure, self._advice, self.token):
            layout.addWidget(label)
        layout.addWidget(self._devices)
        layout.addWidget(self.reasons)
        layout.addWidget(self._facts)
        layout.addLayout(copy)
        layout.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.viewport().setAutoFillBackground(False)
        area.setWidget(inside)
        inside.setAutoFillBackground(False)  # setWidget switches it on
        outer = QVBoxLayout(self)
        outer.setContentsMargins(1, 0, 0, 0)
        outer.addWidget(area)

    def _download(self) -> None:
        if self._file is not None:
            self._bridge.navigation.download(self._file.id)

    def _copy(self) -> None:
        if self._file is not None:
            self.copy_wanted.emit(self._file.id)

    # what is shown

    def _show(self) -> None:
        file, model = self._file, self._model
        if file is None or model is None:
            return
        discover = self._bridge.services.discover
        planned = self._planned.get(file.id)
        words = (
            discover.words(file, language())
            if planned is None
            else discover.planned_words(file, planned, language())
        )
        self.title.setText(model.name)
        self._quantization.setText(file.quantization)
        tone = CHIPS[file.use]
        if planned is not None:
            tone = Verdict.OK if planned.plan.fits else Verdict.BAD
        self.chip.show_verdict(tone, words.fit)
        if planned is None:
            self.basis.show_verdict(Verdict.PLAIN, self.tr("Estimate by size"))
        else:
            self.basis.show_verdict(Verdict.CHECKED, self.tr("By its header"))
        self.basis.setVisible(bool(words.decode))
        self.sentence.setText(words.sentence)
        self._speed.setText(words.decode)
        self._waits.setText(words.waits)
        self._details.setText(words.details.replace(" · ", "\n"))
        for label in (self.sentence, self._speed, self._waits, self._details):
            label.setVisible(bool(label.text()))
        self._show_work(file, planned)
        self._show_devices(file, planned)
        self.reasons.setText("\n".join(f"• {text}" for text in words.reasons[:REASONS]))
        self.reasons.setVisible(bool(words.reasons))
        self._show_facts(model, file, words)

    def _show_work(self, file: OfferedFile, planned: PlannedFile | None) -> None:
        """The button, or what is going on, or what went wrong."""
        busy = self._operation is not None
        can_plan = planned is None and file.is_readable
        self.plan.setVisible(can_plan and not busy)
        self.cancel.setVisible(busy)
        self._reading.setVisible(busy)
        self._reading.setText(
            self.tr("Reading the header of {name}: a few megabytes, not the model.").format(
                name=file.id
            )
        )
        failed = self._error is not None and not busy
        text, advice = describe_error(self._error, language()) if self._error else ("", "")
        self.failure.setText(text)
        self._advice.setText(advice)
        self.failure.setVisible(failed)
        self._advice.setVisible(failed)
        self.token.show_for(self._error if failed else None)

    def _show_devices(self, file: OfferedFile, planned: PlannedFile | None) -> None:
        while (item := self._bars.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        forecast = planned.plan.forecast if planned else file.sized.memory if file.sized else None
        rows = [row for row in forecast.devices if _is_used(row)] if forecast else []
        for row in rows:
            name = Label(size=TextSize.SMALL, weight=MEDIUM)
            number = row.device.partition(":")[2]
            word = self.tr("RAM") if not number else self.tr("GPU {number}").format(number=number)
            name.setText(
                self.tr("{device}: {used} of {total}").format(
                    device=word,
                    used=format_gib(row.used_bytes),
                    total=format_gib(row.total_bytes),
                )
            )
            bar, legend = MemoryBar(), MemoryLegend()
            bar.show_device(row)
            legend.show_values(parts_of(row), row.total_bytes)
            for widget in (name, bar, legend):
                self._bars.addWidget(widget)
        self._devices.setVisible(bool(rows))

    def _show_facts(self, model: OfferedModel, file: OfferedFile, words: FileWords) -> None:
        size = " · ".join(filter(None, (words.size, words.download)))
        lines = [self.tr("Size: {size}").format(size=size)]
        if file.shards:
            lines.append(self.tr("Parts: {count}").format(count=file.shards))
        if words.quality:
            lines.append(self.tr("Quality: {word}").format(word=words.quality))
        if words.note:
            lines.append(words.note)
        lines.append(self.tr("Repository: {name}").format(name=file.repo))
        if model.license.name:
            licence = self.tr("Licence: {name}").format(name=model.license.name)
            if not model.license.confirmed:
                licence += " " + self.tr("(not confirmed)")
            lines.append(licence)
        if model.license.note is not None:
            lines.append(model.license.note.text(language()))
        self._facts.setText("\n".join(lines))

    # the header

    def _read(self) -> None:
        if self._file is None or self._operation is not None:
            return
        file = self._file
        self._error = None
        operation = self._bridge.services.discover.plan(file.repo, file.quantization)
        self._operation = operation
        self._show()
        self.cancel.setFocus(Qt.FocusReason.OtherFocusReason)

        def take(planned: PlannedFile) -> None:
            self._planned[file.id] = planned  # read is read, whatever is shown by now
            self._end(operation, None)

        self._bridge.watch(operation, take, lambda error: self._end(operation, error))

    def _end(self, operation: Operation[PlannedFile], error: BaseException | None) -> None:
        if operation is not self._operation:
            return
        had_focus = self.cancel.hasFocus()
        self._operation = None
        self._error = None if isinstance(error, Cancelled) else error
        self._show()
        if had_focus:
            target = self.plan if self.plan.isVisible() else self.copy
            target.setFocus(Qt.FocusReason.OtherFocusReason)

    def _stop(self) -> None:
        if self._operation is not None:
            operation, self._operation = self._operation, None
            operation.cancel()
            self._show()


def _is_used(row: DeviceMemory) -> bool:
    """The file has a part there."""
    return row.total_bytes > 0 and bool(row.weights_bytes or row.kv_bytes or row.compute_bytes)
