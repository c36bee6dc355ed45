"""The geometry of published models whose header is not at hand: ``assets/geometry``, any thread.

One JSON file per geometry: the names that models with it go by, the numbers of their header, and
their tensors by name and shape, without number formats, which differ from file to file. A file is
made from any GGUF header by ``tools/geometry.py``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

from kimi_desktop.base.assets import asset
from kimi_desktop.models.geometry import Geometry, TensorTable, read_geometry
from kimi_desktop.models.gguf import GgufHeader, GgufTensor, Value

CONTEXT_KEY = "context_length"


@dataclass(frozen=True, eq=False, slots=True)
class KnownModel:
    """What a header would say, but for the formats of the numbers."""

    metadata: dict[str, Value]
    """As a header has it."""
    tensors: tuple[tuple[str, tuple[int, ...]], ...]
    """(name, shape), the first dimension is the contiguous one."""
    is_generic: bool = False
    """Made up from the sizes in a name."""

    @property
    def n_layer(self) -> int:
        """Blocks."""
        count = self.metadata[f"{self.metadata['general.architecture']}.block_count"]
        assert isinstance(count, int)
        return count

    @property
    def parameter_count(self) -> int:
        """All of them."""
        return sum(prod(shape) for _, shape in self.tensors)

    def geometry(self, tensors: tuple[GgufTensor, ...]) -> tuple[Geometry, TensorTable]:
        """Read as any header, with its tensors in some format."""
        table = TensorTable(tensors)
        header = GgufHeader(
            version=3,
            metadata=self.metadata,
            tensors=tensors,
            data_offset=0,
            expected_bytes=0,
            size_bytes=0,
        )
        return read_geometry(header, table), table


def known_model(name: str) -> KnownModel | None:
    """The geometry that a name stands for.

    Args:
        name: a title, repository or file name; the longest known name in it counts.
    """
    wanted = re.sub(r"[ _]", "-", name.casefold())
    for known, path, context in _names():
        if known in wanted:
            return _read(path, context)
    return None


@cache
def known_names() -> tuple[str, ...]:
    """All names, the longest first."""
    return tuple(name for name, _, _ in _names())


@cache
def _names() -> tuple[tuple[str, Path, int], ...]:
    found = [
        (name, path, context)
        for path in sorted(asset("geometry").glob("*.json"))
        for name, context in json.loads(path.read_text(encoding="utf-8"))["names"].items()
    ]
    return tuple(sorted(found, key=lambda row: (-len(row[0]), row[0])))


@cache
def _read(path: Path, context: int) -> KnownModel:
    data = json.loads(path.read_text(encoding="utf-8"))
    architecture = data["architecture"]
    metadata: dict[str, Value] = {"general.architecture": architecture}
    for key, value in (data["metadata"] | {CONTEXT_KEY: context}).items():
        metadata[f"{architecture}.{key}"] = tuple(value) if isinstance(value, list) else value
    tensors: list[tuple[str, tuple[int, ...]]] = []
    for pattern, shape, *blocks in data["tensors"]:
        for number in _numbers(blocks[0]) if blocks else (0,):
            tensors.append((pattern.replace("*", str(number)), tuple(shape)))
    return KnownModel(metadata, tuple(tensors))


def _numbers(ranges: str) -> list[int]:
    """Of "0-2,4": 0, 1, 2, 4."""
    numbers: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers
