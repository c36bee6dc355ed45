"""What is folded away: batch, micro-batch, threads, how weights are held. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import LoadSettings, PlanChoices
from kimi_desktop.base.units import format_count
from kimi_desktop.machine.types import Cpu
from kimi_desktop.planner.plan_types import LoadMode
from kimi_desktop.ui.plan.choices import BATCHES, shares_of
from kimi_desktop.ui.plan.split_field import SplitField
from kimi_desktop.ui.widgets.field import LabeledField, Select
from kimi_desktop.ui.widgets.fold import Fold


class AdvancedSection(QWidget):
    """``changed`` has a field of the plan and its value, None for automatic."""

    changed = Signal(str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices: PlanChoices | None = None
        self._settings: LoadSettings | None = None
        self._cpu: Cpu | None = None
        self.fold = Fold()
        self.batch, self.micro_batch, self.threads, self.load_mode = (Select() for _ in range(4))
        self._fields = {
            "n_batch": LabeledField(self.batch),
            "n_ubatch": LabeledField(self.micro_batch),
            "n_threads": LabeledField(self.threads),
            "load_mode": LabeledField(self.load_mode),
        }
        self.split = SplitField()
        self._n_gpus = 0
        self._body = QWidget()
        grid = QGridLayout(self._body)
        grid.setContentsMargins(0, 4, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(12)
        for place, field in enumerate(self._fields.values()):
            grid.addWidget(field, place // 2, place % 2, Qt.AlignmentFlag.AlignTop)
            grid.setColumnStretch(place % 2, 1)
        grid.addWidget(self.split, 2, 0, 1, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.fold)
        layout.addWidget(self._body)
        self._body.hide()
        self.fold.toggled.connect(self._body.setVisible)
        self.split.taken.connect(lambda shares: self.changed.emit("tensor_split", shares))
        for name, field in self._fields.items():
            select = field.control
            assert isinstance(select, Select)
            select.activated.connect(lambda _, n=name, s=select: self._on_activated(n, s))

    def show_plan(
        self,
        choices: PlanChoices,
        settings: LoadSettings | None,
        cpu: Cpu | None,
        n_gpus: int = 0,
    ) -> None:
        """Show what is planned; threads go up to the logical cores where they are known.

        Args:
            choices: wishes, or settings of the user's own.
            settings: what is planned.
            cpu: of the machine.
            n_gpus: that the engine can use.
        """
        self._choices, self._settings, self._cpu = choices, settings, cpu
        self._n_gpus = n_gpus
        self._fill_all()

    def retranslate(self) -> None:
        """Set the words."""
        names = {
            "n_batch": self.tr("Batch"),
            "n_ubatch": self.tr("Micro-batch"),
            "n_threads": self.tr("Threads"),
            "load_mode": self.tr("Weights in RAM"),
        }
        for name, field in self._fields.items():
            field.set_label(names[name])
        self.split.retranslate()
        self._fill_all()

    def _fill_all(self) -> None:
        settings = self._settings
        if settings is None or self._choices is None:
            self.fold.set_texts(self.tr("Advanced"), "")
            return
        for select, name in ((self.batch, "n_batch"), (self.micro_batch, "n_ubatch")):
            size = getattr(settings, name)
            sizes = sorted({*BATCHES, size})
            items = [(format_count(each), each) for each in sizes]
            self._fill(select, name, items, format_count(size))
        cores = self._cpu.usable_cores if self._cpu else 1
        count = settings.n_threads or 0
        items = [(format_count(each), each) for each in range(1, max(cores, count) + 1)]
        self._fill(self.threads, "n_threads", items, format_count(count) if count else "")
        mode = settings.load_mode
        names = self._mode_names()
        modes = [(names[each], each.value) for each in LoadMode]  # Qt keeps words, not enums
        self._fill(self.load_mode, "load_mode", modes, names[mode] if mode else "")
        wished = self._choices.wishes.tensor_split
        self.split.show_split(self._n_gpus, wished, shares_of(settings, self._n_gpus))
        self._say(settings)

    def _fill(
        self, select: Select, name: str, items: Sequence[tuple[str, object]], found: str
    ) -> None:
        """Put the items in; the first leaves the choice to the planner (or to the engine)."""
        assert self._choices is not None  # callers looked
        own = self._choices.settings
        wished = getattr(own if own is not None else self._choices.wishes, name)
        is_open = own is None or name in ("n_threads", "load_mode")
        automatic = self.tr("Automatic")
        if own is None and found:
            automatic = self.tr("Automatic ({value})").format(value=found)
        choices = [(automatic, None), *items] if is_open else items
        there = [(select.itemText(at), select.itemData(at)) for at in range(select.count())]
        if there != choices:
            select.clear()
            for text, key in choices:
                select.addItem(text, key)
        place = next((at for at, (_, key) in enumerate(choices) if key == wished), 0)
        select.setCurrentIndex(place)

    def _mode_names(self) -> dict[LoadMode, str]:
        return {
            LoadMode.MMAP: self.tr("Mapped from the file"),
            LoadMode.NONE: self.tr("Copied (no mmap)"),
            LoadMode.LOCKED: self.tr("Mapped and locked"),
            LoadMode.DIRECT: self.tr("Copied past the cache (direct I/O)"),
        }

    def _say(self, settings: LoadSettings) -> None:
        physical = self._cpu.usable_physical_cores if self._cpu else None
        threads = settings.n_threads or physical
        parts = [
            self.tr("batch {count}").format(count=format_count(settings.n_batch)),
            self.tr("micro-batch {count}").format(count=format_count(settings.n_ubatch)),
        ]
        if threads:
            one, several = self.tr("1 thread"), self.tr("{count} threads")
            parts.append(one if threads == 1 else several.format(count=threads))
        if settings.load_mode is not None:
            parts.append(self._mode_names()[settings.load_mode])
        self.fold.set_texts(self.tr("Advanced"), " · ".join(parts))
        over = settings.n_ubatch > settings.n_batch
        note = self.tr("The batch limits it.") if over else ""
        self._fields["n_ubatch"].set_note(note)
        crowded = bool(physical and threads and threads > physical)
        self._fields["n_threads"].set_note(
            self.tr("More than physical cores: decode gets slower.") if crowded else ""
        )

    def _on_activated(self, name: str, select: Select) -> None:
        value = select.currentData()
        if name == "load_mode" and value is not None:
            value = LoadMode(value)
        self.changed.emit(name, value)
