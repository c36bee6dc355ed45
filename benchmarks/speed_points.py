"""Published speed reports, a few words per field, read as the input of the speed forecast.

The fields are those of ``benchmarks/speed.py``; null = not known. What a report does not say is
taken from the hardware table or guessed, and a guess widens the band.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kimi_desktop.base.units import GB, GIB
from kimi_desktop.planner.hardware import (
    cores_in,
    count_in,
    guessed_memory_bytes_per_s,
    hardware_table,
)
from kimi_desktop.planner.speed_shapes import (
    SpeedShape,
    Traffic,
    find_shape,
    traffic,
    unknown_shape,
    usual_file_bytes,
)
from kimi_desktop.planner.speed_types import (
    EngineKind,
    FileWork,
    GpuSpeed,
    HostSpeed,
    Known,
    PromptWork,
    SpeedInput,
    Split,
    TokenWork,
)

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(tb|gb)", re.IGNORECASE)
_FEWER_EXPERTS = re.compile(r"-ser (\d+)")
_SERVERS = ("vllm", "sglang", "tensorrt", "sparkinfer")
_SHORT_CONTEXT = 500  # tokens of a usual benchmark, when a report does not say
_RESERVE_SHARE = 0.1  # of VRAM, not for experts
_RESERVE_BYTES = 4 * GIB
_UNKNOWN_FILE_BYTES = 400 * GIB


def read_report(row: Mapping[str, Any]) -> SpeedInput:
    """One line of points as the forecast's input."""
    return _Reader(row).read()


class _Reader:
    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row
        self._placement: str = row.get("placement") or "cpu_only"
        self._text_gpu: str = row.get("gpu") or ""
        self._engine: str = (row.get("engine") or "").casefold()
        self._host_text = " ".join(filter(None, (row.get("cpu"), row.get("ram"))))

    def read(self) -> SpeedInput:
        row = self._row
        shape, size, is_estimate = self._model()
        read = traffic(shape, row.get("quant") or "", size)
        cache = shape.kv_bytes_per_token * (row.get("context") or _SHORT_CONTEXT)
        gpus = self._gpus()
        is_unified = self._placement in ("unified", "rpc") and bool(gpus)
        share = self._gpu_share(shape, read, gpus)
        experts_on_gpu = int(read.routed_bytes * share)
        on_gpu = experts_on_gpu + read.other_bytes + cache if gpus else 0
        on_host = read.routed_bytes - experts_on_gpu
        if not gpus:
            on_host += read.other_bytes + cache
        stays = read.expert_bytes * (1 - share)
        routed_flops = 2 * shape.expert_params * shape.routed_share
        other_flops = 2 * shape.other_params
        count = max(len(gpus), 1)
        is_batched = "ik_llama" in self._engine or self._is_ktransformers
        return SpeedInput(
            host=self._host(),
            gpus=gpus,
            work=TokenWork(
                host_bytes=on_host,
                gpu_bytes=(on_gpu // count,) * len(gpus),
                host_flops=routed_flops * (1 - share) + (0.0 if gpus else other_flops),
                gpu_flops=routed_flops * share + other_flops if gpus else 0.0,
                host_expert_flops=routed_flops * (1 - share),
                gpu_expert_flops=routed_flops * share if gpus else 0.0,
                expert_share=shape.routed_share or 1.0,
                n_layer=shape.n_layer,
                n_layer_recurrent=shape.n_layer_recurrent,
                is_i_quant=read.is_i_quant,
            ),
            prompt=PromptWork(
                n_ubatch=2048 if is_batched else 512,
                staged_bytes=int(stays) if gpus and not is_unified else 0,
            ),
            file=FileWork(
                file_bytes=size,
                missing_bytes=self._missing(size, gpus),
                gpu_bytes=int(read.expert_bytes * share) + read.other_bytes if gpus else 0,
                read_bytes_per_token=read.routed_bytes,
            ),
            engine=self._engine_kind(),
            split=self._split(),
            is_unified=is_unified,
            is_estimate=is_estimate,
        )

    def _model(self) -> tuple[SpeedShape, int, bool]:
        row = self._row
        fewer = _FEWER_EXPERTS.search(self._engine)
        shape = find_shape(row.get("model") or "", int(fewer[1]) if fewer else None)
        gib = row.get("file_gib")
        known_size = int(gib * GIB) if gib else None
        if shape is None:
            size = known_size or _UNKNOWN_FILE_BYTES
            return unknown_shape(size), size, True
        return shape, known_size or usual_file_bytes(shape), shape.is_estimate or not known_size

    def _host(self) -> HostSpeed:
        row = self._row
        measured = row.get("ram_bw_measured_gbs")
        specified = row.get("ram_bw_theoretical_gbs")
        sockets = max(row.get("numa_sockets") or 1, 1)
        table = hardware_table()
        rate = specified * GB if specified else None
        is_guess = False
        if not specified and not measured:
            known = table.memory_bytes_per_s(row.get("ram") or "", self._memory_bytes() / GIB)
            row_cpu = table.processor(row.get("cpu") or "")
            if known is None and row_cpu:
                known = row_cpu.memory_bytes_per_s * sockets
            rate = known or guessed_memory_bytes_per_s(
                self._memory_bytes() / GIB, row.get("cpu") or ""
            )
            is_guess = True
        processor = table.processor(row.get("cpu") or "")
        return HostSpeed(
            measured_bytes_per_s=measured * GB if measured else None,
            specified_bytes_per_s=rate,
            sockets=sockets,
            cores=cores_in(row.get("cpu") or ""),
            has_amx=bool(processor and processor.has_amx),
            is_guess=is_guess,
        )

    def _gpus(self) -> tuple[GpuSpeed, ...]:
        if self._placement in ("cpu_only", "disk") or not self._text_gpu:
            return ()
        row = hardware_table().gpu(self._text_gpu)
        told = self._row.get("gpu_bw_gbs_each")
        rate = told * GB if told else row.memory_bytes_per_s if row else None
        guesses = hardware_table().guesses
        one = GpuSpeed(
            memory_bytes_per_s=rate or guesses["gpu_gb_s"] * GB,
            known=Known.SPECIFIED if rate else Known.ASSUMED,
            flops=row.flops if row else None,
        )
        return (one,) * (self._row.get("gpu_count") or count_in(self._text_gpu))

    def _gpu_share(self, shape: SpeedShape, read: Traffic, gpus: tuple[GpuSpeed, ...]) -> float:
        """Of the experts: as told, else all that the cards have room for."""
        if not gpus:
            return 0.0
        if self._placement != "hybrid":
            return 1.0
        told = self._row.get("experts_on_gpu_frac")
        if told is not None:
            return min(max(float(told), 0.0), 1.0)
        row = hardware_table().gpu(self._text_gpu)
        if row is None or not read.expert_bytes:
            return 0.0
        room = row.vram_bytes * len(gpus) * (1 - _RESERVE_SHARE) - _RESERVE_BYTES
        return min(max((room - read.other_bytes) / read.expert_bytes, 0.0), 1.0)

    def _missing(self, size: int, gpus: tuple[GpuSpeed, ...]) -> int:
        """Only where a report says that the file was read from disk."""
        if self._placement != "disk":
            return 0
        return max(size - self._memory_bytes(), 0)

    def _memory_bytes(self) -> int:
        """Main memory as the text has it; 0 when it does not say."""
        found = _SIZE.search(self._host_text)
        if not found:
            return 0
        return int(float(found[1]) * (1024 if found[2].casefold() == "tb" else 1) * GIB)

    @property
    def _is_ktransformers(self) -> bool:
        return "ktransformers" in self._engine

    def _engine_kind(self) -> EngineKind:
        if self._is_ktransformers:
            return EngineKind.KTRANSFORMERS
        is_server = any(name in self._engine for name in _SERVERS)
        return EngineKind.SERVER if is_server else EngineKind.LLAMA_CPP

    def _split(self) -> Split:
        if self._placement in ("tp", "tp_batch"):
            return Split.TENSORS
        return Split.NODES if self._placement == "rpc" else Split.LAYERS
