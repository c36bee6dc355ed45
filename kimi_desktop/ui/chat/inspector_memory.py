"""The inspector's memory bars: what is measured, split by what the forecast knows. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from kimi_desktop.base.units import format_gib
from kimi_desktop.monitor.types import (
    GpuSample,
    MemorySplit,
    Sample,
    ram_split,
    split_memory,
    vram_split,
)
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from kimi_desktop.ui.chat.inspector_parts import FactRow, Section
from kimi_desktop.ui.widgets.memory_bar import MemoryBar, MemoryKind, MemoryLegend, MemoryPart

HOST = "host"


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """The memory of one device at one moment."""

    device: str
    """"gpu:0", "host"."""
    total_bytes: int
    parts: tuple[MemoryPart, ...]

    @property
    def used_bytes(self) -> int:
        """By the engine and by others."""
        return sum(part.size_bytes for part in self.parts)


def memory_now(sample: Sample, forecast: LoadForecast | None) -> tuple[DeviceUse, ...]:
    """Every GPU, then RAM. ``forecast`` is that of the running engine, None without one."""
    known = {device.device: device for device in forecast.devices} if forecast else {}
    uses = [_gpu_use(gpu, known.get(f"gpu:{gpu.index}")) for gpu in sample.gpus]
    return (*uses, _host_use(sample, known.get(HOST)))


def _gpu_use(gpu: GpuSample, forecast: DeviceMemory | None) -> DeviceUse:
    if forecast is not None and gpu.engine_vram_bytes is None:
        # The driver does not say whose it is: as forecast, as far as it goes.
        planned = forecast.used_bytes - forecast.others_bytes
        split = split_memory(gpu.vram_total_bytes, gpu.vram_used_bytes, planned)
    else:
        split = vram_split(gpu)
    return _use(f"gpu:{gpu.index}", split, _split(split.engine_bytes, forecast))


def _host_use(sample: Sample, forecast: DeviceMemory | None) -> DeviceUse:
    """The engine's file pages are its weights, whatever the forecast says."""
    split = ram_split(sample)
    anonymous = sample.engine_anonymous_bytes
    if anonymous is None:
        return _use(HOST, split, _split(split.engine_bytes, forecast))
    mapped = max(split.engine_bytes - anonymous, 0)
    parts = [(MemoryKind.WEIGHTS, mapped)] if mapped else []
    parts += _split(split.engine_bytes - mapped, forecast, with_weights=False)
    return _use(HOST, split, parts)


def _split(
    engine_bytes: int, forecast: DeviceMemory | None, *, with_weights: bool = True
) -> list[tuple[MemoryKind, int]]:
    """The engine's bytes by kind: as forecast, as far as they go; the rest is overhead."""
    parts: list[tuple[MemoryKind, int]] = []
    rest = engine_bytes
    if forecast is not None:
        wanted = [(MemoryKind.KV, forecast.kv_bytes), (MemoryKind.COMPUTE, forecast.compute_bytes)]
        if with_weights:
            wanted.insert(0, (MemoryKind.WEIGHTS, forecast.weights_bytes))
        for kind, size in wanted:
            taken = min(size or 0, rest)
            if taken:
                parts.append((kind, taken))
                rest -= taken
    if rest:
        parts.append((MemoryKind.OVERHEAD, rest))
    return parts


def _use(device: str, split: MemorySplit, parts: Sequence[tuple[MemoryKind, int]]) -> DeviceUse:
    found = [MemoryPart(kind, size) for kind, size in parts]
    if split.others_bytes:
        found.append(MemoryPart(MemoryKind.OTHERS, split.others_bytes))
    return DeviceUse(device, split.total_bytes, tuple(found))


class MemorySection(Section):
    """A bar per GPU and one for RAM, and the legend."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[FactRow, MemoryBar]] = []
        self._uses: tuple[DeviceUse, ...] = ()
        self._legend = MemoryLegend()
        self.body.addSpacing(1)
        self.body.addWidget(self._legend)
        self.retranslate()

    def show_uses(self, uses: tuple[DeviceUse, ...]) -> None:
        """Every device."""
        self._uses = uses
        while len(self._rows) < len(uses):
            row, bar = FactRow(), MemoryBar()
            row.setFixedHeight(16)
            place = self.body.count() - 2
            self.body.insertWidget(place, row)
            self.body.insertWidget(place + 1, bar)
            self._rows.append((row, bar))
        for number, (row, bar) in enumerate(self._rows):
            row.setVisible(number < len(uses))
            bar.setVisible(number < len(uses))
        self._refresh()

    def rows(self) -> list[tuple[str, MemoryBar]]:
        """What the bars say, and the bars."""
        return [(row.value(), bar) for row, bar in self._rows if row.isVisibleTo(self)]

    def retranslate(self) -> None:
        """Set the words."""
        self.set_title(self.tr("Memory"))
        self._refresh()

    def _refresh(self) -> None:
        for use, (row, bar) in zip(self._uses, self._rows, strict=False):
            index = use.device.partition(":")[2]
            name = self.tr("GPU {index}").format(index=index) if index else self.tr("RAM")
            row.set_name(name)
            used = format_gib(use.used_bytes, unit=False)
            row.show_value(used, f" / {format_gib(use.total_bytes)}")
            bar.show_parts(use.parts, use.total_bytes, name)
