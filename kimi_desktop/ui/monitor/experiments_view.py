"""Experiments: one setting value by value or more and more users, as curves. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.operation import Cancelled, Operation
from kimi_desktop.monitor.experiment_types import (
    Experiment,
    ExperimentProgressed,
    ExperimentWish,
    Point,
    Variable,
)
from kimi_desktop.monitor.users import other_engine, users_rows
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.engine_words import loaded_model
from kimi_desktop.ui.language import language
from kimi_desktop.ui.monitor.curve import CurvePlot, Series
from kimi_desktop.ui.monitor.figures_table import FiguresTable
from kimi_desktop.ui.monitor.scale import Quantity
from kimi_desktop.ui.monitor.strokes import DASH, SOLID, Stroke
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Card, Heading, ScrollPage
from kimi_desktop.ui.widgets.field import Field, LabeledField, Select
from kimi_desktop.ui.widgets.label import Label, TextSize

MARGIN = 24
NOTHING = -1


class ExperimentsView(QWidget):
    """A form, the curve of what is chosen beside another one, and its figures."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._kept: tuple[Experiment, ...] = ()
        self._chosen_beside: int | None = None
        """What the user put beside; None: the newest of another engine, for users at once."""
        self._shown: Experiment | None = None
        self._running: Operation[Experiment] | None = None
        self._now = ""
        self.variable = Select()
        self.values = LabeledField(Field())
        self._variable_field = LabeledField(self.variable)
        self.start_button = Button(kind=ButtonKind.PRIMARY, icon="play")
        self.cancel_button = Button()
        self._state = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self.which = Select(small=True)
        self.beside = Select(small=True)
        self._beside_label = Label(tone="muted", size=TextSize.SMALL)
        self._heading = Heading()
        self.speed = CurvePlot()
        self.prefill = CurvePlot()
        self.first_token = CurvePlot()
        self.figures = FiguresTable()
        self._result = Card()
        self._lay_out()
        for variable in Variable:
            self.variable.addItem("", variable)
        self.variable.currentIndexChanged.connect(lambda _: self._suggest())
        self.start_button.clicked.connect(self._start)
        self.cancel_button.clicked.connect(self._cancel)
        self.which.activated.connect(lambda _: self._choose())
        self.beside.activated.connect(lambda _: self._on_beside())
        bridge.happened.connect(self._on_event)
        self.retranslate()
        self._suggest()

    def _lay_out(self) -> None:
        form = QHBoxLayout()
        form.setSpacing(16)
        self.variable.setMinimumWidth(220)
        form.addWidget(self._variable_field)
        form.addWidget(self.values, 1)
        column = QVBoxLayout()
        column.addStretch(1)
        buttons = QHBoxLayout()
        buttons.addWidget(self.start_button)
        buttons.addWidget(self.cancel_button)
        column.addLayout(buttons)
        form.addLayout(column)
        card = Card()
        card.body.addLayout(form)
        card.body.addWidget(self._state)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._heading, 1)
        head.addWidget(self.which)
        head.addWidget(self._beside_label)
        head.addWidget(self.beside)
        self._result.body.addLayout(head)
        self._result.body.addWidget(self.speed)
        self._result.body.addWidget(self.prefill)
        self._result.body.addWidget(self.first_token)
        self._result.body.addWidget(self.figures)
        page = ScrollPage()
        inside = page.widget()
        if inside is not None:  # the page around it has margins of its own
            inside.setContentsMargins(-MARGIN, 0, 0, 0)
        page.body.addWidget(card)
        page.body.addWidget(self._result)
        page.body.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(page)
        self.cancel_button.hide()
        self._result.hide()

    def retranslate(self) -> None:
        """Set the words."""
        self._variable_field.set_label(self.tr("What to change"))
        self.values.set_label(self.tr("Values, with commas between them"))
        self.start_button.setText(self.tr("Measure"))
        self.cancel_button.setText(self.tr("Cancel"))
        self._beside_label.setText(self.tr("beside"))
        self.which.set_label(self.tr("Experiment"))
        self.beside.set_label(self.tr("Compare with"))
        for place in range(self.variable.count()):
            self.variable.setItemText(place, self._word(self.variable.itemData(place)))
        self._show_state()
        self._list()
        self._draw()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Read what was measured before."""
        super().showEvent(event)
        self._read()

    def _word(self, variable: Variable) -> str:
        return {
            Variable.THREADS: self.tr("Threads"),
            Variable.UBATCH: self.tr("Micro-batch"),
            Variable.CACHE: self.tr("KV type"),
            Variable.EXPERTS: self.tr("Expert layers in RAM"),
            Variable.LAYERS: self.tr("Layers on GPU"),
            Variable.CONTEXT: self.tr("Context"),
            Variable.USERS: self.tr("Users at once"),
        }[variable]

    def _settings(self) -> tuple[LoadSettings, str] | None:
        """Of the model that is loaded, else of the one that is chosen."""
        services = self._bridge.services
        status = services.engine.status
        model = loaded_model(status, services.models.models, self._bridge.settings.models.selected)
        if model is None:
            return None
        if status.settings is not None and status.settings.model_path == model.path:
            return status.settings, model.title
        return services.engine.settings_for(model), model.title

    def _suggest(self) -> None:
        """Values that usually tell something, around what is set now."""
        found = self._settings()
        settings = found[0] if found is not None else None
        machine = self._bridge.services.machine.machine
        cores = machine.cpu.usable_physical_cores if machine is not None else 4
        experts = settings.n_cpu_moe if settings is not None else 0
        layers = settings.n_gpu_layers if settings is not None else 0
        numbers: Sequence[object] = {
            Variable.THREADS: sorted({max(cores // 4, 1), max(cores // 2, 1), cores}),
            Variable.UBATCH: (256, 512, 1024, 2048),
            Variable.CACHE: ("f16", "q8_0"),
            Variable.EXPERTS: sorted({max(experts + step, 0) for step in (-2, 0, 2, 4)}),
            Variable.LAYERS: sorted({max(layers - step, 0) for step in (0, 4, 8)}),
            Variable.CONTEXT: (4096, 16_384, 32_768),
            Variable.USERS: (1, 2, 4, 8, 16, 32),
        }[self.variable.currentData()]
        field = self.values.control
        assert isinstance(field, Field)
        field.setText(", ".join(map(str, numbers)))
        self.values.set_note("")

    def _start(self) -> None:
        found = self._settings()
        field = self.values.control
        assert isinstance(field, Field)
        values = tuple(text.strip() for text in field.text().replace("，", ",").split(","))
        values = tuple(text for text in values if text)
        if found is None:
            self.values.set_note(self.tr("Choose a model first."), error=True)
            return
        if not values:
            self.values.set_note(self.tr("Type at least one value."), error=True)
            return
        self.values.set_note("")
        settings, title = found
        wish = ExperimentWish(settings, title, self.variable.currentData(), values)
        self._running = self._bridge.services.experiments.run(wish)
        self._now = values[0]
        self._show_state()
        self._bridge.watch(self._running, self._on_ended, self._on_failed)

    def _cancel(self) -> None:
        if self._running is not None:
            self._running.cancel()

    def _on_ended(self, _experiment: Experiment) -> None:
        self._running, self._now = None, ""
        self._show_state()
        self._read()

    def _on_failed(self, error: BaseException) -> None:
        self._running, self._now = None, ""
        self._show_state()
        self._read()
        if isinstance(error, KimiError):
            self.values.set_note(" ".join(describe_error(error, language())), error=True)
        elif not isinstance(error, Cancelled):
            self._bridge.navigation.report(error)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ExperimentProgressed):
            self._shown, self._now = event.experiment, event.now
            self._show_state()
            self._draw()

    def _show_state(self) -> None:
        runs = self._running is not None
        self.start_button.setVisible(not runs)
        self.cancel_button.setVisible(runs)
        if runs:
            text = self.tr("Measuring {name} {value}: the engine starts with each value in turn.")
            if self.variable.currentData() is Variable.USERS:
                text = self.tr("Measuring {name}: {value}.")
            word = self._word(self.variable.currentData())
            self._state.setText(text.format(name=word, value=self._now))
        else:
            self._state.setText(
                self.tr(
                    "Each value gets a prompt of about 512 tokens and an answer of 64. Afterwards"
                    " the engine is as it was before."
                )
            )

    # what was measured

    def _read(self) -> None:
        if self.isVisible():
            self._bridge.watch(self._bridge.services.experiments.kept(), self._take)

    def _take(self, kept: Sequence[Experiment]) -> None:
        self._kept = tuple(kept)
        if self._running is None and self._kept:
            known = {experiment.id for experiment in self._kept}
            if self._shown is None or self._shown.id not in known:
                self._shown = self._kept[0]
        self._list()
        self._draw()

    def _list(self) -> None:
        """All, and those of the same variable to compare with."""
        shown = self._shown
        self.which.clear()
        self.beside.clear()
        self.beside.addItem(self.tr("nothing"), NOTHING)
        for one in self._kept:
            self.which.addItem(self._title(one), one.id)
            if shown is not None and one.variable is shown.variable and one.id != shown.id:
                self.beside.addItem(self._title(one), one.id)
        if shown is not None:
            self.which.choose(shown.id)
        self.beside.choose(self._chosen_beside or self._suggested_beside())
        several = self.beside.count() > 1
        self.beside.setVisible(several)
        self._beside_label.setVisible(several)
        self.which.setVisible(bool(self._kept))

    def _suggested_beside(self) -> int:
        shown = self._shown
        if shown is None or shown.variable is not Variable.USERS:
            return NOTHING
        other = other_engine(shown, self._kept)
        return other.id if other is not None else NOTHING

    def _on_beside(self) -> None:
        self._chosen_beside = self.beside.currentData()
        self._draw()

    def _title(self, one: Experiment) -> str:
        when = f"{day_text(one.at)} {time_text(one.at)}"
        return f"{one.title} · {self._word(one.variable)} · {one.engine} · {when}"

    def _choose(self) -> None:
        number = self.which.currentData()
        self._shown = next((one for one in self._kept if one.id == number), self._shown)
        self._chosen_beside = None
        self._list()
        self._draw()

    def _other(self) -> Experiment | None:
        number = self.beside.currentData()
        return next((one for one in self._kept if one.id == number), None)

    def _draw(self) -> None:
        shown, other = self._shown, self._other()
        self._result.setVisible(shown is not None)
        if shown is None:
            return
        self._heading.setText(f"{shown.title} · {self._word(shown.variable)}")
        each = [shown] if other is None else [shown, other]
        by_users = shown.variable is Variable.USERS
        for plot in (self.prefill, self.first_token):
            plot.setVisible((plot is self.first_token) == by_users)
        if by_users:
            self._draw_users(each)
        else:
            self._draw_values(each)

    def _names(self, each: Sequence[Experiment]) -> list[str]:
        """What tells two of them apart, behind the name of a line."""
        return [f" ({one.engine or one.title})" if len(each) > 1 else "" for one in each]

    def _draw_values(self, each: Sequence[Experiment]) -> None:
        labels = tuple(dict.fromkeys(point.value for one in each for point in one.points))
        speed, prefill = [], []
        for one, name, pattern in zip(each, self._names(each), (SOLID, DASH), strict=False):
            points = {point.value: point for point in one.points}
            row = [points.get(label, Point(label)) for label in labels]
            decode = tuple(point.decode_tps for point in row)
            read = tuple(point.prefill_tps for point in row)
            speed.append(Series(self.tr("Decode, tok/s") + name, decode, Stroke("kv", pattern)))
            stroke = Stroke("compute", pattern)
            prefill.append(Series(self.tr("Prefill, tok/s") + name, read, stroke))
        self.speed.show_series(labels, speed)
        self.prefill.show_series(labels, prefill)
        self.figures.show_points(self._word(each[0].variable), each[0].points)

    def _draw_users(self, each: Sequence[Experiment]) -> None:
        rows = users_rows(each)
        labels = [count for count, _ in rows]
        speed, first = [], []
        for place, (name, pattern) in enumerate(
            zip(self._names(each), (SOLID, DASH), strict=False)
        ):
            column = [points[place] or Point("") for _, points in rows]
            for word, tone, found in (
                (self.tr("Together, tok/s"), "weights", [one.total_tps for one in column]),
                (self.tr("Per user, tok/s"), "kv", [one.decode_tps for one in column]),
            ):
                speed.append(Series(word + name, tuple(found), Stroke(tone, pattern)))
            seconds = tuple(one.first_token_s for one in column)
            word = self.tr("First token (median), s")
            first.append(Series(word + name, seconds, Stroke("compute", pattern)))
        self.speed.show_series(labels, speed)
        self.first_token.show_series(labels, first, Quantity.SECONDS)
        self.figures.show_users(self._word(Variable.USERS), each, rows)
