"""The inspector's sampling: temperature, top-p, max tokens, and presets for them. Qt thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from kimi_desktop.base.settings import ChatSettings, Settings
from kimi_desktop.chat.presets import SAMPLING, Preset
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.chat.inspector_parts import MenuButton, Section
from kimi_desktop.ui.widgets.field import Field
from kimi_desktop.ui.widgets.label import Label, TextSize

OFFERED = (Preset.THINKING, Preset.INSTANT)


@dataclass(frozen=True, slots=True)
class _Option:
    """One field: the setting it writes, how it reads and shows it."""

    name: str
    show: Callable[[float], str]
    read: Callable[[str], float]


def _whole(text: str) -> int:
    return int(text.replace(",", "").replace("\u00a0", "").replace(" ", ""))


OPTIONS = (
    _Option("temperature", lambda value: f"{value:.2f}", float),
    _Option("top_p", lambda value: f"{value:.2f}", float),
    _Option("max_tokens", lambda value: f"{int(value):,}", _whole),
)


def limits(name: str) -> tuple[float, float]:
    """The lowest and highest value that the settings allow."""
    for option in dataclasses.fields(ChatSettings):
        if option.name == name:
            return option.metadata["low"], option.metadata["high"]
    raise KeyError(name)


class SamplingSection(Section):
    """Three fields that save when they are left, and a menu of presets."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._demo = False
        self.preset = MenuButton()
        self.head.addWidget(self.preset)
        self._labels: dict[str, Label] = {}
        self.fields: dict[str, Field] = {}
        for option in OPTIONS:
            label, field = Label(size=TextSize.SMALL, tone="muted"), Field(small=True)
            row = QHBoxLayout()
            row.addWidget(label, 1)
            row.addWidget(field)
            self.body.addLayout(row)
            self._labels[option.name], self.fields[option.name] = label, field
            field.editingFinished.connect(lambda option=option: self._on_edited(option))
            field.textEdited.connect(lambda _text, option=option: self._check(option))
        self._error = Label(size=TextSize.SMALL, tone="bad", wrap=True)
        self._error.hide()
        self._note = Label(size=TextSize.SMALL, tone="muted", wrap=True)
        self._note.hide()
        self.body.addWidget(self._error)
        self.body.addWidget(self._note)
        self.preset.clicked.connect(lambda _checked: self._open_menu())
        self.retranslate()

    def show_settings(self, settings: Settings) -> None:
        """What holds now; a field that is being typed in is left alone."""
        holds = SAMPLING[Preset.BASE_DEMO] if self._demo else settings.chat
        for option in OPTIONS:
            field = self.fields[option.name]
            if not field.hasFocus():
                field.setText(option.show(getattr(holds, option.name)))
                field.set_error("")
        self._show_preset(settings.chat)

    def show_demo(self, demo: bool) -> None:
        """A base model without a template has a sampling of its own."""
        self._demo = demo
        for field in self.fields.values():
            field.setEnabled(not demo)
        self.preset.setEnabled(not demo)
        self._note.setVisible(demo)
        self.show_settings(self._bridge.settings)

    def menu(self) -> QMenu:
        """The presets; deleted when it closes."""
        menu = QMenu(self)
        for preset in OFFERED:
            action = QAction(self._names()[preset], menu)
            action.setCheckable(True)
            action.setChecked(self._matches(self._bridge.settings.chat, preset))
            action.triggered.connect(lambda _checked, preset=preset: self._on_preset(preset))
            menu.addAction(action)
        menu.aboutToHide.connect(menu.deleteLater)
        return menu

    def retranslate(self) -> None:
        """Set the words."""
        self.set_title(self.tr("Sampling"))
        names = {
            "temperature": self.tr("Temperature"),
            "top_p": self.tr("Top-p"),
            "max_tokens": self.tr("Max tokens"),
        }
        for name, text in names.items():
            self._labels[name].setText(text)
            self.fields[name].set_label(text)
        self._note.setText(self.tr("This base model is shown with a sampling of its own."))
        self.preset.setAccessibleDescription(self.tr("Choose a preset"))
        self.show_settings(self._bridge.settings)

    def _names(self) -> dict[Preset, str]:
        return {
            Preset.THINKING: self.tr("Thinking preset"),
            Preset.INSTANT: self.tr("Instant preset"),
        }

    def _matches(self, chat: ChatSettings, preset: Preset) -> bool:
        wanted = SAMPLING[preset]
        return (chat.temperature, chat.top_p) == (wanted.temperature, wanted.top_p)

    def _show_preset(self, chat: ChatSettings) -> None:
        names = self._names()
        fitting = [names[preset] for preset in OFFERED if self._matches(chat, preset)]
        own = self.tr("Base model") if self._demo else self.tr("Custom")
        self.preset.setText(fitting[0] if fitting and not self._demo else own)

    def _open_menu(self) -> None:
        corner = self.preset.rect().bottomLeft()
        self.menu().popup(self.preset.mapToGlobal(corner))

    def _on_preset(self, preset: Preset) -> None:
        wanted = SAMPLING[preset]
        self._save(temperature=wanted.temperature, top_p=wanted.top_p)

    def _check(self, option: _Option) -> float | None:
        """The typed value if it is allowed; else the field says what is."""
        field = self.fields[option.name]
        low, high = limits(option.name)
        try:
            value = option.read(field.text().strip())
        except ValueError:
            value = float("nan")
        good = low <= value <= high
        shown = (option.show(low), option.show(high))
        text = self.tr("From {low} to {high}.").format(low=shown[0], high=shown[1])
        field.set_error("" if good else text)
        self._error.setText(f"{self._labels[option.name].text()}: {text}")
        self._error.setVisible(any(other.failed for other in self.fields.values()))
        return value if good else None

    def _on_edited(self, option: _Option) -> None:
        value = self._check(option)
        if value is None:
            return
        self.fields[option.name].setText(option.show(value))
        if value != getattr(self._bridge.settings.chat, option.name):
            self._save(**{option.name: value})

    def _save(self, **values: float) -> None:
        def change(settings: Settings) -> Settings:
            chat = dataclasses.replace(settings.chat, **values)  # type: ignore[arg-type]
            return dataclasses.replace(settings, chat=chat)

        self._bridge.save_settings(change)
