"""The inspector's load settings: three sliders, what they would need, and a reload. Qt thread."""

from __future__ import annotations

import dataclasses

from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.units import format_count, format_file_size, format_gib
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.inspector_parts import Section
from kimi_desktop.ui.engine_words import ALIVE, meant
from kimi_desktop.ui.model_names import shortened, telling_names
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.slider import SliderRow

LEAST_CONTEXT = 1024
MOST_TICKS = 3


def context_steps(trained: int, present: int) -> tuple[int, ...]:
    """Powers of two up to what the model was trained for, and the value in use."""
    steps = {present}
    size = LEAST_CONTEXT
    while size < trained:
        steps.add(size)
        size *= 2
    steps.add(trained or size)
    return tuple(sorted(step for step in steps if step > 0))


def family_of(model: LocalModel, models: tuple[LocalModel, ...]) -> tuple[LocalModel, ...]:
    """The local quantizations of the same model that can be started, smallest first."""
    found = [other for other in models if other.family == model.family and other.is_startable]
    return tuple(sorted(found, key=lambda other: (other.size_bytes, other.id)))


class LoadSection(Section):
    """Edits a copy of the settings in use; nothing happens before the button is pressed."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._model: LocalModel | None = None
        self._base: LoadSettings | None = None
        """What runs, or would run without a change here."""
        self._family: tuple[LocalModel, ...] = ()
        self._steps: tuple[int, ...] = ()
        self.layers = SliderRow()
        self.context = SliderRow()
        self.quantization = SliderRow()
        for row in (self.layers, self.context, self.quantization):
            self.body.addWidget(row)
            row.value_changed.connect(self._on_changed)
        self._needs = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self._state = Label(size=TextSize.SMALL, tone="muted")
        self.button = Button(icon="refresh", small=True)
        self.button.clicked.connect(lambda _checked: self._on_reload())
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.button)
        foot.addWidget(self._state, 1)
        self.body.addWidget(self._needs)
        self.body.addLayout(foot)
        self.retranslate()

    def refresh(self, *, keep_changes: bool = True) -> None:
        """Take over the engine's present settings; changes not yet applied stay."""
        services = self._bridge.services
        status = services.engine.status
        models = services.models.models
        model = meant(status, models, self._bridge.settings).model
        self.setVisible(model is not None and model.facts is not None)
        if model is None or model.facts is None:
            self._model = self._base = None
            return
        runs = status.settings is not None and status.settings.model_path == model.path
        base = status.settings if runs else None
        base = base or services.engine.settings_for(model)
        if keep_changes and base == self._base and model == self._model:
            self._family = family_of(model, models)
            self._show_state()
            return
        self._model, self._base = model, base
        self._family = family_of(model, models)
        self._show_base()

    def wanted(self) -> LoadSettings | None:
        """What the sliders say."""
        model = self._chosen()
        if self._base is None or model is None:
            return None
        base = self._base
        if model.path != base.model_path:
            base = self._bridge.services.engine.settings_for(model)
        return dataclasses.replace(
            base,
            n_gpu_layers=self.layers.value(),
            context=self._steps[min(self.context.value(), len(self._steps) - 1)],
        )

    @property
    def is_changed(self) -> bool:
        """The sliders differ from what runs."""
        return self.wanted() != self._base

    def retranslate(self) -> None:
        """Set the words."""
        self.set_title(self.tr("Load settings"))
        self.layers.set_label(self.tr("GPU layers"))
        self.context.set_label(self.tr("Context"))
        self.quantization.set_label(self.tr("Quantization"))
        self._show_state()

    def _chosen(self) -> LocalModel | None:
        if not self._family:
            return self._model
        return self._family[min(self.quantization.value(), len(self._family) - 1)]

    def _has_gpu(self) -> bool:
        machine = self._bridge.services.machine.machine
        return machine is None or bool(self._bridge.services.workers.join(machine).gpus)

    def _show_base(self) -> None:
        """Put the sliders where the settings are."""
        model, base = self._model, self._base
        if model is None or base is None or model.facts is None:
            return
        rows = (self.layers, self.context, self.quantization)
        for row in rows:
            row.slider.blockSignals(True)
        self._steps = context_steps(model.facts.context_train, base.context)
        self.layers.set_range(0, model.facts.n_layer + 1)
        self.layers.set_value(base.n_gpu_layers)
        self.context.set_range(0, len(self._steps) - 1)
        self.context.set_value(self._steps.index(base.context))
        self.quantization.set_range(0, max(len(self._family) - 1, 0))
        place = next((i for i, other in enumerate(self._family) if other.id == model.id), 0)
        self.quantization.set_value(place)
        names = [_short(other) for other in self._family]
        shown = (
            {0, len(names) // 2, len(names) - 1}
            if len(names) >= MOST_TICKS
            else {*range(len(names))}
        )
        self.quantization.set_ticks([(i, names[i]) for i in sorted(shown)])
        for row in rows:
            row.slider.blockSignals(False)
        self.layers.setEnabled(self._has_gpu())
        self.quantization.setEnabled(len(self._family) > 1)
        self._show_state()

    def _on_changed(self, value: int) -> None:
        del value
        self._show_state()

    def _show_state(self) -> None:
        wanted, model = self.wanted(), self._chosen()
        if wanted is None or model is None or model.facts is None or self._base is None:
            return
        most = model.facts.n_layer + 1
        of = self.tr("{count} of {total}").format(count=wanted.n_gpu_layers, total=most)
        self.layers.set_value_text(of if self._has_gpu() else self.tr("no GPU"))
        tokens = self.tr("{count} tokens").format(count=format_count(wanted.context))
        self.context.set_value_text(tokens)
        size = format_file_size(model.size_bytes)
        told = telling_names(self._family).get(model.id)
        self.quantization.set_value_text(f"{shortened(told)} · {size}" if told else size)
        changed = wanted != self._base
        alive = self._bridge.services.engine.status.state in ALIVE
        self.button.setText(self.tr("Reload with changes") if alive else self.tr("Load the model"))
        self.button.setEnabled(changed or not alive)
        self._state.setText("" if changed or not alive else self.tr("No changes"))
        forecast = self._bridge.services.engine.forecast(wanted, model) if changed else None
        self._needs.setVisible(forecast is not None and bool(forecast.devices))
        if forecast is not None:
            self._show_needs(forecast)

    def _show_needs(self, forecast: LoadForecast) -> None:
        words = []
        for device in forecast.devices:
            index = device.device.partition(":")[2]
            name = self.tr("GPU {index}").format(index=index) if index else self.tr("RAM")
            used = format_gib(device.used_bytes, unit=False)
            words.append(f"{name} {used} / {format_gib(device.total_bytes)}")
        text = self.tr("Will use {devices}.").format(devices=", ".join(words))
        if not forecast.fits:
            text = self.tr("Does not fit: {devices}.").format(devices=", ".join(words))
        self._needs.setText(text)
        self._needs.set_tone("muted" if forecast.fits else "bad")

    def _on_reload(self) -> None:
        wanted = self.wanted()
        if wanted is not None:
            self._bridge.navigation.start_engine(wanted)


def _short(model: LocalModel) -> str:
    """The quantization without its maker's prefix."""
    name = model.facts.quantization if model.facts else model.title
    return name.removeprefix("UD-")
