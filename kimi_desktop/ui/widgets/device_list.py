"""All devices of the answer: with their legends, or one line each where there are many. Qt."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.widgets.device_view import DeviceView, device_word
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label, Number, TextSize
from kimi_desktop.ui.widgets.memory_bar import MemoryBar, MemoryLegend, parts_of

MOST_WITH_LEGEND = 3
"""More devices than these share one legend, so that the speed below stays in sight."""
NAME_WIDTH = 132


class DeviceList(QWidget):
    """Shows a forecast's devices, the GPUs first and RAM last."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._views: list[DeviceView] = []
        self._lines: list[DeviceLine] = []
        self._full = QWidget()
        self._views_box = QVBoxLayout(self._full)
        self._views_box.setContentsMargins(0, 0, 0, 0)
        self._views_box.setSpacing(10)
        self._short = QWidget()
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnMinimumWidth(0, NAME_WIDTH)
        self._grid.setColumnStretch(1, 1)
        self.legend = MemoryLegend(columns=6)
        inside = QVBoxLayout(self._short)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(8)
        inside.addLayout(self._grid)
        inside.addWidget(self.legend)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._full)
        layout.addWidget(self._short)

    def show_devices(self, devices: Sequence[DeviceMemory]) -> None:
        """Show a forecast."""
        short = len(devices) > MOST_WITH_LEGEND
        self._short.setVisible(short)
        self._full.setVisible(not short)
        if short:
            self._show_lines(devices)
        else:
            self._show_views(devices)

    def views(self) -> tuple[DeviceView, ...]:
        """The devices shown with their legends."""
        return tuple(view for view in self._views if view.isVisibleTo(self))

    def lines(self) -> tuple[DeviceLine, ...]:
        """The devices shown in one line each."""
        return tuple(line for line in self._lines if line.bar.isVisibleTo(self))

    def _show_views(self, devices: Sequence[DeviceMemory]) -> None:
        while len(self._views) < len(devices):
            view = DeviceView()
            self._views.append(view)
            self._views_box.addWidget(view)
        for view, device in zip(self._views, devices, strict=False):
            view.show_device(device)
            view.show()
        for view in self._views[len(devices) :]:
            view.hide()

    def _show_lines(self, devices: Sequence[DeviceMemory]) -> None:
        while len(self._lines) < len(devices):
            self._lines.append(DeviceLine(self._grid, len(self._lines)))
        for number, line in enumerate(self._lines):
            line.set_visible(visible=number < len(devices))
        for line, device in zip(self._lines, devices, strict=False):
            line.show_device(device)


class DeviceLine:
    """One row of the grid: name, bar, what is used of how much."""

    def __init__(self, grid: QGridLayout, row: int) -> None:
        self._name = Label(weight=SEMIBOLD)
        self._kind = ElidedLabel(tone="muted", size=TextSize.SMALL)
        self.bar = MemoryBar()
        self.figure = Number(size=TextSize.SMALL)
        name = QWidget()
        across = QGridLayout(name)
        across.setContentsMargins(0, 0, 0, 0)
        across.setHorizontalSpacing(6)
        across.addWidget(self._name, 0, 0)
        across.addWidget(self._kind, 0, 1)
        across.setColumnStretch(1, 1)
        name.setMaximumWidth(NAME_WIDTH)
        self._widgets = (name, self.bar, self.figure)
        for column, widget in enumerate(self._widgets):
            grid.addWidget(widget, row, column)

    def show_device(self, device: DeviceMemory) -> None:
        """Show the forecast of one device."""
        word = device_word(device)
        self._name.setText(word)
        self._kind.setText("" if device.device == "host" else _short(device.name))
        self.bar.show_parts(parts_of(device), device.total_bytes, f"{word} {device.name}".strip())
        self.figure.show_number(
            format_gib(device.used_bytes, unit=False),
            f" / {format_gib(device.total_bytes)}",
        )

    def set_visible(self, *, visible: bool) -> None:
        """Show or hide the row."""
        for widget in self._widgets:
            widget.setVisible(visible)


def _short(name: str) -> str:
    """Without the maker, whom everybody knows."""
    return name.removeprefix("NVIDIA ").removeprefix("GeForce ")
