"""Which graphs there are, and what each of them says about a stretch of samples. Qt thread.

Where there are GPUs: tok/s, VRAM, RAM, disk read, GPU load, GPU power. Without one, the engine's
own memory and CPU load take the place of the three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import format_gib, format_tokens_per_s
from kimi_desktop.machine.types import Machine
from kimi_desktop.monitor.types import GpuSample, Phase, Sample
from kimi_desktop.ui.monitor.scale import Quantity, Scale, scale_for
from kimi_desktop.ui.monitor.strokes import Stroke, stroke_of

NONE = "–"
MANY = 3
"""More readings than this do not fit side by side below a graph's keys: a range stands for them."""

Values = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a graph, a value per sample."""

    name: str
    values: Values
    largest: float | None
    """Of the values, None where none is known."""
    now: str
    """The newest reading with its unit, an en dash when it is not known."""
    stroke: Stroke
    hint: str = ""
    """The GPU's full name, or what the curve's name means."""


@dataclass(frozen=True, slots=True)
class Graph:
    """One graph of the page."""

    key: str
    title: str
    quantity: Quantity
    curves: tuple[Curve, ...]
    top: float | None = None
    """What can be reached at most, where that is known."""
    note: str = ""
    """A muted line below the keys: the total, the limit."""
    empty: str = ""
    """The sentence that stands in the graph while it has nothing to draw."""

    @property
    def is_empty(self) -> bool:
        """Nothing is known of the whole stretch."""
        return all(curve.largest is None for curve in self.curves)

    def scale(self, intervals: int = 2) -> Scale:
        """The axis that holds every reading."""
        largest = max((curve.largest or 0.0 for curve in self.curves), default=0.0)
        return scale_for(self.quantity, largest, intervals=intervals, top=self.top)


def _largest(values: Values) -> float | None:
    return max([value for value in values if value is not None], default=None)


def _known(values: Values) -> bool:
    return values.count(None) < len(values)


class Reader:
    """Turns samples into graphs and readings, in one language and for one machine."""

    def __init__(self, language: Language, machine: Machine | None) -> None:
        self._language = language
        self._machine = machine

    def gpu_indices(self, samples: Sequence[Sample]) -> tuple[int, ...]:
        """Every GPU that the machine has or that was ever sampled."""
        found = {gpu.index for sample in samples for gpu in sample.gpus}
        if self._machine is not None:
            found |= {gpu.index for gpu in self._machine.gpus}
        return tuple(sorted(found))

    def graphs(self, samples: Sequence[Sample]) -> tuple[Graph, ...]:
        """All graphs, from the top down. There is at least one sample."""
        indices = self.gpu_indices(samples)
        if not indices:
            return (
                self._speed(samples),
                self._ram(samples),
                self._engine_memory(samples),
                self._disk(samples),
                self._cpu(samples),
            )
        gpus = _Gpus(samples, indices)
        vram = self._vram(gpus)
        return (
            self._speed(samples),
            *((vram,) if vram.top else ()),
            self._ram(samples),
            self._disk(samples),
            self._gpu_load(gpus),
            self._gpu_power(gpus),
        )

    def why_no_gpu(self) -> str:
        """Why there are no graphs of a GPU, in a sentence; "" where there are or nobody looked."""
        translate = QCoreApplication.translate
        note = self._machine.gpu_note if self._machine is not None else ""
        return {
            "no_driver": translate(
                "Graphs",
                "No GPU driver was found, so the engine computes on the CPU: its load and memory "
                "stand here instead.",
            ),
            "no_gpu": translate(
                "Graphs",
                "This machine has no GPU that the engine can use, so it computes on the CPU: its "
                "load and memory stand here instead.",
            ),
            "apple": translate(
                "Graphs",
                "The GPU shares the main memory and its driver does not report its load: what the "
                "engine holds and the CPU's load stand here.",
            ),
            "failed": translate(
                "Graphs",
                "The GPU driver does not answer, so nothing can be drawn of the GPU. Look at the "
                "machine again in Settings.",
            ),
        }.get(note, "")

    def readings(self, sample: Sample, scales: dict[str, Scale]) -> tuple[tuple[str, str], ...]:
        """Name and text of everything at one moment, for the card under the cursor.

        ``scales`` (by a graph's key) has the unit of the disk's axis.
        """
        translate = QCoreApplication.translate
        found = [self._speed_at(sample)]
        for gpu in sample.gpus:
            parts = [format_gib(gpu.vram_used_bytes)] if gpu.vram_total_bytes else []
            if gpu.load_percent is not None:
                parts.append(f"{gpu.load_percent}%")
            if gpu.power_w is not None:
                parts.append(f"{gpu.power_w:,.0f} W")
            found.append((f"GPU {gpu.index}", " · ".join(parts) or NONE))
        found.append((translate("Graphs", "RAM"), format_gib(sample.ram_used_bytes)))
        if "engine" in scales:
            text = self._text(Quantity.MEMORY, sample.engine_rss_bytes)
            found.append((translate("Graphs", "Engine memory"), text))
        rate = sample.engine_read_bytes_per_s
        text = NONE
        if rate is not None and (scale := scales.get("disk")):
            text = f"{scale.number(rate)} {scale.unit}"
        found.append((translate("Graphs", "Disk read"), text))
        if "cpu" in scales:
            found.append(
                (translate("Graphs", "CPU load"), self._text(Quantity.CORES, _cores(sample)))
            )
        return tuple(found)

    def rate(self, tokens_per_s: float) -> str:
        """Tokens per second in words."""
        return format_tokens_per_s(tokens_per_s, self._language)

    def _speed_at(self, sample: Sample) -> tuple[str, str]:
        translate = QCoreApplication.translate
        if sample.phase is Phase.PREFILL and sample.prefill_tokens_per_s is not None:
            return translate("Graphs", "Prefill"), self.rate(sample.prefill_tokens_per_s)
        speed = sample.tokens_per_s
        return translate("Graphs", "Speed"), NONE if speed is None else self.rate(speed)

    def _text(self, quantity: Quantity, value: float | None, scale: Scale | None = None) -> str:
        if value is None:
            return NONE
        if quantity is Quantity.TOKENS:
            return self.rate(value)
        if quantity is Quantity.MEMORY:
            return format_gib(value)
        if quantity is Quantity.CORES:
            text = QCoreApplication.translate("Graphs", "{count} cores")
            return text.format(count=f"{value:,.1f}")
        if quantity is Quantity.PERCENT:
            return f"{value:,.0f}%"
        number = f"{value:,.0f}" if scale is None else scale.number(value)
        return f"{number} {'W' if scale is None else scale.unit}"

    def _curve(
        self,
        name: str,
        values: Values,
        quantity: Quantity,
        stroke: Stroke,
        *,
        scale: Scale | None = None,
        hint: str = "",
    ) -> Curve:
        now = self._text(quantity, values[-1], scale)
        return Curve(name, values, _largest(values), now, stroke, hint)

    def _speed(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        values = tuple(sample.tokens_per_s for sample in samples)
        name = translate("Graphs", "Decode")
        return Graph(
            "speed",
            translate("Graphs", "tok/s"),
            Quantity.TOKENS,
            (self._curve(name, values, Quantity.TOKENS, stroke_of(0)),),
            empty=translate("Graphs", "Nothing was generated in this time."),
        )

    def _ram(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        total = samples[-1].ram_total_bytes
        values = tuple(float(sample.ram_used_bytes) for sample in samples)
        name = translate("Graphs", "In use")
        return Graph(
            "ram",
            translate("Graphs", "RAM"),
            Quantity.MEMORY,
            (self._curve(name, values, Quantity.MEMORY, stroke_of(0)),),
            top=total,
            note=format_gib(total),
        )

    def _engine_memory(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        held = tuple(sample.engine_rss_bytes for sample in samples)
        own = tuple(sample.engine_anonymous_bytes for sample in samples)
        curves = [self._curve(translate("Graphs", "Total"), held, Quantity.MEMORY, stroke_of(0))]
        if _known(own) or not _known(held):
            name = translate("Graphs", "Private")
            hint = translate("Graphs", "Without the pages of the model's file")
            curves.append(self._curve(name, own, Quantity.MEMORY, stroke_of(1), hint=hint))
        return Graph(
            "engine",
            translate("Graphs", "Engine memory"),
            Quantity.MEMORY,
            tuple(curves),
            empty=self._why_no_engine(samples),
        )

    def _disk(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        values = tuple(sample.engine_read_bytes_per_s for sample in samples)
        scale = scale_for(Quantity.RATE, _largest(values) or 0.0)
        name = translate("Graphs", "Models")
        return Graph(
            "disk",
            translate("Graphs", "Disk read"),
            Quantity.RATE,
            (self._curve(name, values, Quantity.RATE, stroke_of(0), scale=scale),),
            empty=self._why_no_engine(samples),
        )

    def _cpu(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        values = tuple(_cores(sample) for sample in samples)
        cores = self._machine.cpu.usable_cores if self._machine is not None else None
        note = translate("Graphs", "1 core") if cores == 1 else ""
        if cores and not note:
            note = translate("Graphs", "{count} cores").format(count=cores)
        name = translate("Graphs", "Engine")
        return Graph(
            "cpu",
            translate("Graphs", "CPU load"),
            Quantity.CORES,
            (self._curve(name, values, Quantity.CORES, stroke_of(0)),),
            top=cores,
            note=note,
            empty=self._why_no_engine(samples),
        )

    def _why_no_engine(self, samples: Sequence[Sample]) -> str:
        if not _known(tuple(sample.engine_rss_bytes for sample in samples)):
            return QCoreApplication.translate("Graphs", "No engine ran in this time.")
        return QCoreApplication.translate("Graphs", "This system does not report it.")

    def _gpu_curves(
        self, gpus: _Gpus, read: Callable[[GpuSample], float | None], quantity: Quantity
    ) -> tuple[Curve, ...]:
        return tuple(
            self._curve(
                f"GPU {index}",
                gpus.values(index, read),
                quantity,
                stroke_of(place),
                hint=gpus.name(index),
            )
            for place, index in enumerate(gpus.indices)
        )

    def _vram(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        totals = [gpu.vram_total_bytes for gpu in gpus.newest if gpu.vram_total_bytes]
        note = " / ".join(dict.fromkeys(format_gib(total) for total in totals))
        if len(totals) > 1 and len(set(totals)) == 1:
            note = translate("Graphs", "{size} each").format(size=note)
        return Graph(
            "vram",
            translate("Graphs", "VRAM"),
            Quantity.MEMORY,
            self._gpu_curves(gpus, lambda gpu: gpu.vram_used_bytes, Quantity.MEMORY),
            top=max(totals, default=0),
            note=note,
            empty=translate("Graphs", "The driver does not report it."),
        )

    def _gpu_load(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        known = [gpu.temperature_c for gpu in gpus.newest if gpu.temperature_c is not None]
        note = f"{min(known)}–{max(known)} °C" if len(known) > MANY else ""
        if known and not note:
            note = f"{' / '.join(map(str, known))} °C"
        return Graph(
            "load",
            translate("Graphs", "GPU load"),
            Quantity.PERCENT,
            self._gpu_curves(gpus, lambda gpu: gpu.load_percent, Quantity.PERCENT),
            top=100,
            note=note,
            empty=translate("Graphs", "The driver does not report it."),
        )

    def _gpu_power(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        limits = [gpu.power_limit_w for gpu in gpus.newest if gpu.power_limit_w is not None]
        shown = " / ".join(f"{watts:,.0f}" for watts in dict.fromkeys(limits))
        note = translate("Graphs", "limit {watts} W").format(watts=shown) if limits else ""
        return Graph(
            "power",
            translate("Graphs", "GPU power"),
            Quantity.POWER,
            self._gpu_curves(gpus, lambda gpu: gpu.power_w, Quantity.POWER),
            top=max(limits, default=None),
            note=note,
            empty=translate("Graphs", "The driver does not report it."),
        )


def _cores(sample: Sample) -> float | None:
    return None if sample.engine_cpu_percent is None else sample.engine_cpu_percent / 100


class _Gpus:
    """The samples turned around: one row per GPU."""

    def __init__(self, samples: Sequence[Sample], indices: Sequence[int]) -> None:
        self.indices = indices
        self._by_index = [{gpu.index: gpu for gpu in sample.gpus} for sample in samples]
        last: dict[int, GpuSample] = {}
        for row in self._by_index:
            last.update(row)
        self._last = last

    @property
    def newest(self) -> tuple[GpuSample, ...]:
        """The last that was heard of each."""
        return tuple(self._last[index] for index in self.indices if index in self._last)

    def name(self, index: int) -> str:
        """What it is called, "" when it never answered."""
        return self._last[index].name if index in self._last else ""

    def values(self, index: int, read: Callable[[GpuSample], float | None]) -> Values:
        """One value per sample, None while it was silent."""
        rows = [row.get(index) for row in self._by_index]
        return tuple([None if gpu is None else read(gpu) for gpu in rows])
