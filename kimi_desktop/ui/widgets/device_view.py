"""One device of the answer: name, what is used of how much, bar, legend. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.rpc import device_label
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.ui.widgets.label import SEMIBOLD, ElidedLabel, Label, Number
from kimi_desktop.ui.widgets.memory_bar import MemoryBar, MemoryKind, MemoryLegend, parts_of

HOST = "host"


def device_word(device: DeviceMemory) -> str:
    """RAM, or the number of a GPU; "RPC 0" for one that another machine lends."""
    translate = QCoreApplication.translate
    if device.device == HOST:
        return translate("PlanVerdict", "RAM")
    if device.device.startswith("rpc:"):
        return device_label(device.device)
    return translate("PlanVerdict", "GPU {number}").format(number=device.device.partition(":")[2])


class DeviceView(QWidget):
    """Shows a ``DeviceMemory``; parts without a forecast are named as such."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = Label(weight=SEMIBOLD)
        self._kind = ElidedLabel(tone="muted")
        self._figure = Number()
        self.bar = MemoryBar(large=True)
        self.legend = MemoryLegend()
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self._name)
        head.addWidget(self._kind, 1)
        head.addWidget(self._figure)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.bar)
        layout.addWidget(self.legend)

    def show_device(self, device: DeviceMemory) -> None:
        """Show the forecast of one device."""
        word = device_word(device)
        self._name.setText(word)
        self._kind.setText("" if device.device == HOST else device.name)
        missing = [
            kind
            for kind, size in (
                (MemoryKind.COMPUTE, device.compute_bytes),
                (MemoryKind.OVERHEAD, device.overhead_bytes),
            )
            if size is None
        ]
        if device.total_bytes > 0:
            used = self.tr("at least {size}") if missing else "{size}"
            self._figure.show_number(
                used.format(size=format_gib(device.used_bytes, unit=False)),
                self.tr(" of {size}").format(size=format_gib(device.total_bytes)),
            )
        else:
            self._figure.show_number(format_gib(device.used_bytes), self.tr(" of an unknown size"))
        self.bar.show_parts(parts_of(device), device.total_bytes, f"{word} {device.name}".strip())
        self.legend.show_values(parts_of(device), device.total_bytes, not_forecast=missing)
