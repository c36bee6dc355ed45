"""The measured allocations and the headers they were measured on, as in ``tests/data``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.gguf import GgufHeader, read_header
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.types import EVERY_BLOCK, HOST, Placement
from tests.support.gguf_files import BytesSource, Tensor, header_bytes

DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class MeasuredCase:
    """What llama.cpp allocated for one model with one set of flags."""

    id: str
    model: str
    gpus: int
    placement: Placement
    n_ctx: int
    weights: dict[int, int]
    kv: dict[int, int]
    compute: dict[int, int]
    repacked: int

    @property
    def split(self) -> tuple[float, ...]:
        return self.placement.tensor_split or (1.0,) * self.gpus


@cache
def _headers(file: str = "model_headers.json") -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / file).read_text("utf-8"))
    return data


def model_names() -> list[str]:
    """The models with measured cases."""
    return list(_headers())


@cache
def model_header(name: str) -> GgufHeader:
    """The real header of a model, made from its table and read back."""
    return read_header(BytesSource(model_header_bytes(name)), label=name)


def described_model(name: str) -> tuple[dict[str, object], list[Tensor]]:
    """Metadata and tensor table of a model."""
    described = (_headers() | _headers("more_headers.json"))[name]
    arch = described["architecture"]
    metadata = {"general.architecture": arch, "general.name": name, "general.type": "model"}
    metadata |= {f"{arch}.{key}": value for key, value in described["metadata"].items()}
    tensors: list[Tensor] = []
    for pattern, shape, kind, *blocks in described["tensors"]:
        names = [pattern.replace("*", str(n)) for n in _numbers(blocks[0])] if blocks else [pattern]
        tensors += [(tensor, shape, kind) for tensor in names]
    return metadata, tensors


def model_header_bytes(name: str) -> bytes:
    return header_bytes(*described_model(name))


@cache
def model_facts(name: str) -> ModelFacts:
    return facts_of([model_header(name)], f"{name}.gguf", kv_bytes_per_token)


@cache
def measured_cases(file: str = "memory_cases.jsonl") -> tuple[MeasuredCase, ...]:
    lines = (DATA / file).read_text("utf-8").splitlines()
    return tuple(_case(json.loads(line)) for line in lines)


def _case(row: dict[str, Any]) -> MeasuredCase:
    settings = dict(row["settings"])
    gpus = settings.pop("gpus")
    cpu_moe = settings.pop("n_cpu_moe", 0)
    overrides = []
    for item in filter(None, (settings.pop("ot", None) or "").split(",")):
        pattern, _, device = item.rpartition("=")
        overrides.append((pattern, HOST if device == "CPU" else int(device.removeprefix("CUDA"))))
    placement = Placement(
        n_gpu_layers=settings.pop("n_gpu_layers", -1),
        n_cpu_moe=EVERY_BLOCK if cpu_moe == "all" else cpu_moe,
        overrides=tuple(overrides),
        tensor_split=tuple(settings.pop("tensor_split", ())),
        cache_type_k=settings.pop("type_k", "f16").upper(),
        cache_type_v=settings.pop("type_v", "f16").upper(),
        flash_attention=row["flash"],
        **settings,
    )
    by_kind: list[dict[int, int]] = [{}, {}, {}]
    for device, sizes in row["buffers"].items():
        number = HOST if device == "host" else int(device.removeprefix("gpu:"))
        for kind, size in zip(by_kind, sizes, strict=True):
            if size:
                kind[number] = size
    weights, kv, compute = by_kind
    return MeasuredCase(
        id=row["id"],
        model=row["model"],
        gpus=gpus,
        placement=placement,
        n_ctx=row.get("n_ctx", 0),
        weights=weights,
        kv=kv,
        compute=compute,
        repacked=row.get("repacked", 0),
    )


def _numbers(ranges: str) -> list[int]:
    numbers: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
