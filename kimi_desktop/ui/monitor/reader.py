"""Which graphs there are, and what each says about a stretch of samples. Qt thread.

Where there are GPUs: tok/s, VRAM, RAM, disk read, GPU load, GPU power. Without one, the engine's
own memory and CPU load take the place of the three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.monitor.types import GpuSample, Phase, Sample
from kimi_desktop.ui.monitor.graphs import NONE, Figures, Frame, Graph, Line, Values, graph_of
from kimi_desktop.ui.monitor.scale import Quantity, Scale

MANY = 3
"""More readings than this do not fit side by side below a graph's keys: a range stands for them."""


class Reader:
    """Turns samples into graphs and readings, in one language and for one machine."""

    def __init__(self, language: Language, machine: Machine | None) -> None:
        self._figures = Figures(language)
        self._machine = machine

    def gpu_indices(self, samples: Sequence[Sample]) -> tuple[int, ...]:
        """Every GPU that the machine has or that was ever sampled."""
        found = {gpu.index for sample in samples for gpu in sample.gpus}
        if self._machine is not None:
            found |= {gpu.index for gpu in self._machine.gpus}
        return tuple(sorted(found))

    def graphs(self, drawn: Sequence[Sample], newest: Sample) -> tuple[Graph, ...]:
        """All graphs, from the top down; ``newest`` gives the readings beside them."""
        samples = (*drawn, newest)
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
        pcie = self._pcie(gpus)
        return (
            self._speed(samples),
            *((vram,) if vram.top else ()),
            self._ram(samples),
            self._disk(samples),
            *((pcie,) if not pcie.is_empty else ()),
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
            "hidden": translate(
                "Graphs",
                "CUDA_VISIBLE_DEVICES hides the GPUs, so the engine computes on the CPU: its load "
                "and memory stand here instead.",
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

    def readings(self, sample: Sample, scales: Mapping[str, Scale]) -> tuple[tuple[str, str], ...]:
        """Name and text of everything at one moment, for the card under the cursor.

        ``scales``: the axes of the graphs that there are, by key; their units are those used.
        """
        translate = QCoreApplication.translate
        found = [self._speed_at(sample)]
        found += [(f"GPU {gpu.index}", self._gpu_at(gpu, scales)) for gpu in sample.gpus]
        for key, name, value in (
            ("ram", translate("Graphs", "RAM"), sample.ram_used_bytes),
            ("ram", translate("Graphs", "Page cache"), sample.page_cache_bytes),
            ("ram", translate("Graphs", "Swap"), sample.swap_used_bytes or None),
            ("engine", translate("Graphs", "Engine memory"), sample.engine_rss_bytes),
            ("disk", translate("Graphs", "Disk read"), sample.engine_read_bytes_per_s),
            ("cpu", translate("Graphs", "CPU load"), _cores(sample)),
        ):
            if key in scales and (key != "ram" or value is not None):
                found.append((name, self._figures.text(value, scales[key])))
        return (*found, *self._engine_at(sample))

    def rate(self, tokens_per_s: float) -> str:
        """Tokens per second in words."""
        return self._figures.rate(tokens_per_s)

    def _speed_at(self, sample: Sample) -> tuple[str, str]:
        translate = QCoreApplication.translate
        if sample.phase is Phase.PREFILL and sample.prefill_tokens_per_s is not None:
            return translate("Graphs", "Prefill"), self.rate(sample.prefill_tokens_per_s)
        speed = sample.tokens_per_s
        return translate("Graphs", "Speed"), NONE if speed is None else self.rate(speed)

    def _engine_at(self, sample: Sample) -> list[tuple[str, str]]:
        """What the engine counts of itself, as far as it tells."""
        translate = QCoreApplication.translate
        found: list[tuple[str, str]] = []
        if sample.requests_running is not None:
            counts = translate("Graphs", "{running} running, {waiting} waiting")
            text = counts.format(
                running=round(sample.requests_running), waiting=round(sample.requests_waiting or 0)
            )
            found.append((translate("Graphs", "Requests"), text))
        for name, percent in (
            (translate("Graphs", "KV cache"), sample.kv_cache_percent),
            (translate("Graphs", "Prefix cache hits"), sample.prefix_hit_percent),
        ):
            if percent is not None:
                found.append((name, f"{percent:.0f}%"))
        for name, speed in (
            (translate("Graphs", "Prompts, all requests"), sample.engine_prompt_tokens_per_s),
            (translate("Graphs", "Answers, all requests"), sample.engine_generated_tokens_per_s),
        ):
            if speed:
                found.append((name, self.rate(speed)))
        return found

    def _gpu_at(self, gpu: GpuSample, scales: Mapping[str, Scale]) -> str:
        readings = (
            ("vram", gpu.vram_used_bytes if gpu.vram_total_bytes else None),
            ("load", gpu.load_percent),
            ("power", gpu.power_w),
            ("pcie", gpu.pcie_received_bytes_per_s),
        )
        parts = [
            self._figures.text(value, scales[key])
            for key, value in readings
            if value is not None and key in scales
        ]
        return " · ".join(parts) or NONE

    def _speed(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        frame = Frame(
            "speed",
            translate("Graphs", "tok/s"),
            Quantity.TOKENS,
            empty=translate("Graphs", "Nothing was generated in this time."),
        )
        values = tuple([sample.tokens_per_s for sample in samples])
        return graph_of(frame, [Line(translate("Graphs", "Decode"), values)], self._figures)

    def _ram(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        total = samples[-1].ram_total_bytes
        frame = Frame(
            "ram",
            translate("Graphs", "RAM"),
            Quantity.MEMORY,
            top=total,
            note=format_gib(total),
        )
        lines = [
            Line(translate("Graphs", "In use"), tuple([s.ram_used_bytes for s in samples])),
        ]
        files = tuple([sample.page_cache_bytes for sample in samples])
        if _known(files):
            hint = translate("Graphs", "Files that the system keeps in memory")
            lines.append(Line(translate("Graphs", "Page cache"), files, hint))
        if any(sample.swap_used_bytes for sample in samples):
            swapped = tuple([sample.swap_used_bytes for sample in samples])
            lines.append(Line(translate("Graphs", "Swap"), swapped))
        return graph_of(frame, lines, self._figures)

    def _engine_memory(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        frame = Frame(
            "engine",
            translate("Graphs", "Engine memory"),
            Quantity.MEMORY,
            empty=self._why_no_engine(samples),
        )
        held = tuple([sample.engine_rss_bytes for sample in samples])
        own = tuple([sample.engine_anonymous_bytes for sample in samples])
        lines = [Line(translate("Graphs", "Total"), held)]
        if _known(own) or not _known(held):
            hint = translate("Graphs", "Without the pages of the model's file")
            lines.append(Line(translate("Graphs", "Private"), own, hint))
        return graph_of(frame, lines, self._figures)

    def _disk(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        frame = Frame(
            "disk",
            translate("Graphs", "Disk read"),
            Quantity.RATE,
            empty=self._why_no_engine(samples),
        )
        values = tuple([sample.engine_read_bytes_per_s for sample in samples])
        return graph_of(frame, [Line(translate("Graphs", "Models"), values)], self._figures)

    def _cpu(self, samples: Sequence[Sample]) -> Graph:
        translate = QCoreApplication.translate
        cores = self._machine.cpu.usable_cores if self._machine is not None else None
        note = translate("Graphs", "1 core") if cores == 1 else ""
        if cores and not note:
            note = translate("Graphs", "{count} cores").format(count=cores)
        frame = Frame(
            "cpu",
            translate("Graphs", "CPU load"),
            Quantity.CORES,
            top=cores,
            note=note,
            empty=self._why_no_engine(samples),
        )
        values = tuple([_cores(sample) for sample in samples])
        return graph_of(frame, [Line(translate("Graphs", "Engine"), values)], self._figures)

    def _why_no_engine(self, samples: Sequence[Sample]) -> str:
        if all(sample.engine_rss_bytes is None for sample in samples):
            return QCoreApplication.translate("Graphs", "No engine ran in this time.")
        return QCoreApplication.translate("Graphs", "This system does not report it.")

    def _vram(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        totals = [gpu.vram_total_bytes for gpu in gpus.newest if gpu.vram_total_bytes]
        note = " / ".join(dict.fromkeys(format_gib(total) for total in totals))
        if len(totals) > 1 and len(set(totals)) == 1:
            note = translate("Graphs", "{size} each").format(size=note)
        frame = Frame(
            "vram",
            translate("Graphs", "VRAM"),
            Quantity.MEMORY,
            top=max(totals, default=0),
            note=note,
            empty=translate("Graphs", "The driver does not report it."),
        )
        return graph_of(frame, gpus.lines(lambda gpu: gpu.vram_used_bytes), self._figures)

    def _pcie(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        frame = Frame("pcie", translate("Graphs", "PCIe to GPU"), Quantity.RATE)
        lines = gpus.lines(lambda gpu: gpu.pcie_received_bytes_per_s)
        return graph_of(frame, lines, self._figures)

    def _gpu_load(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        known = [gpu.temperature_c for gpu in gpus.newest if gpu.temperature_c is not None]
        note = f"{min(known)}–{max(known)} °C" if len(known) > MANY else ""
        if known and not note:
            note = f"{' / '.join(map(str, known))} °C"
        frame = Frame(
            "load",
            translate("Graphs", "GPU load"),
            Quantity.PERCENT,
            top=100,
            note=note,
            empty=translate("Graphs", "The driver does not report it."),
        )
        return graph_of(frame, gpus.lines(lambda gpu: gpu.load_percent), self._figures)

    def _gpu_power(self, gpus: _Gpus) -> Graph:
        translate = QCoreApplication.translate
        limits = [gpu.power_limit_w for gpu in gpus.newest if gpu.power_limit_w is not None]
        shown = " / ".join(f"{watts:,.0f}" for watts in dict.fromkeys(limits))
        frame = Frame(
            "power",
            translate("Graphs", "GPU power"),
            Quantity.POWER,
            top=max(limits, default=None),
            note=translate("Graphs", "limit {watts} W").format(watts=shown) if limits else "",
            empty=translate("Graphs", "The driver does not report it."),
        )
        return graph_of(frame, gpus.lines(lambda gpu: gpu.power_w), self._figures)


def _cores(sample: Sample) -> float | None:
    return None if sample.engine_cpu_percent is None else sample.engine_cpu_percent / 100


def _known(values: Values) -> bool:
    return values.count(None) < len(values)


class _Gpus:
    """The samples turned around: one row per GPU."""

    def __init__(self, samples: Sequence[Sample], indices: Sequence[int]) -> None:
        self._indices = indices
        self._by_index = [{gpu.index: gpu for gpu in sample.gpus} for sample in samples]
        self._last: dict[int, GpuSample] = {}
        for row in self._by_index:
            self._last.update(row)

    @property
    def newest(self) -> tuple[GpuSample, ...]:
        """The last that was heard of each."""
        return tuple(self._last[index] for index in self._indices if index in self._last)

    def lines(self, read: Callable[[GpuSample], float | None]) -> list[Line]:
        """A line per GPU, with no value while it was silent."""
        found = []
        for index in self._indices:
            rows = [row.get(index) for row in self._by_index]
            values = tuple([None if gpu is None else read(gpu) for gpu in rows])
            name = self._last[index].name if index in self._last else ""
            found.append(Line(f"GPU {index}", values, name))
        return found
