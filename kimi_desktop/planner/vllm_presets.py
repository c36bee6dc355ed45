"""Ways to serve a model with vLLM that are worth one press: data, resolved for a machine. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from kimi_desktop.models.catalogue_types import Note
from kimi_desktop.planner.vllm_types import CacheFormat, Problem, ServerWishes, Split

ALL = "all"
TENSOR = "tensor"


@dataclass(frozen=True, slots=True)
class Preset:
    """One of them, for the models of the catalogue that it names."""

    id: str
    models: tuple[str, ...]
    title: Note
    note: Note
    tensor: int | str | None = None
    """A number of GPUs, ``ALL``, or None = the split is planned."""
    data: int | str = 1
    decode_context: int | str = 1
    """Or ``TENSOR``."""
    experts: bool = False
    cache: CacheFormat | None = None
    batched_tokens: int | None = None
    text_only: bool = False

    def wishes(self, now: ServerWishes, n_gpu: int) -> ServerWishes:
        """What it means on a machine; context, users and the rest stay as they are."""
        return dataclasses.replace(
            now,
            split=self._split(n_gpu),
            cache=self.cache,
            n_batched_tokens=self.batched_tokens,
            text_only=self.text_only,
        )

    def _split(self, n_gpu: int) -> Split | None:
        if self.tensor is None:
            return None
        tensor = n_gpu if self.tensor == ALL else int(self.tensor)
        return Split(
            tensor=tensor,
            data=n_gpu if self.data == ALL else int(self.data),
            decode_context=tensor if self.decode_context == TENSOR else int(self.decode_context),
            experts=self.experts,
        )


@dataclass(frozen=True, slots=True)
class OfferedPreset:
    """A preset on this machine."""

    preset: Preset
    wishes: ServerWishes
    problem: Problem | None
    """Why it is not possible here."""


def presets_for(raw: Mapping[str, Any], model_id: str) -> tuple[Preset, ...]:
    """Those for a model of the catalogue, in the order of the file.

    Args:
        raw: ``assets/engines/vllm-presets.json``.
        model_id: its id, "" = not in the catalogue.
    """
    found: dict[str, Preset] = {}
    for entry in raw["presets"]:
        if model_id and any(fnmatchcase(model_id, pattern) for pattern in entry["models"]):
            found.setdefault(entry["id"], _preset(entry))
    return tuple(found.values())


def _preset(entry: Mapping[str, Any]) -> Preset:
    values = dict(entry)
    values["models"] = tuple(values["models"])
    for name in ("title", "note"):
        values[name] = Note(**values[name])
    if "cache" in values:
        values["cache"] = CacheFormat(values["cache"])
    return Preset(**values)
