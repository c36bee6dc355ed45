"""A folder in Hugging Face's layout: config, index, safetensors parts. Blocking (pool)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.gguf import FileSource
from kimi_desktop.models.hf_config import HfConfig, parse_config
from kimi_desktop.models.safetensors import SafeTensor, SafetensorsHeader, read_header

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
MAX_CONFIG_BYTES = 4 * 2**20
MAX_INDEX_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class HfModel:
    """What a folder holds."""

    path: Path
    config: HfConfig
    tensors: tuple[SafeTensor, ...]
    """Of the parts that are there."""
    size_bytes: int
    """Of the weight files that are there."""
    weights_bytes: int
    """Of all tensors that are there."""
    parts: tuple[str, ...]
    missing: tuple[str, ...]
    """Parts that the index names and that are not there."""


def read_folder(folder: Path) -> HfModel:
    """Read a folder; parts that are missing are listed, not an error.

    Raises:
        ModelError: no config or weights, or one of the files is damaged or cut short.
    """
    config = parse_config(_json(folder / CONFIG, MAX_CONFIG_BYTES))
    parts = _parts(folder)
    tensors: list[SafeTensor] = []
    missing: list[str] = []
    size = 0
    for name in parts:
        path = folder / name
        header = _header(path)
        if header is None:
            missing.append(name)
            continue
        tensors += header.tensors
        size += header.size_bytes
    return HfModel(
        path=folder,
        config=config,
        tensors=tuple(tensors),
        size_bytes=size,
        weights_bytes=sum(tensor.size_bytes for tensor in tensors),
        parts=parts,
        missing=tuple(missing),
    )


def _parts(folder: Path) -> tuple[str, ...]:
    """File names of the weights, from the index when there is one."""
    if not (folder / INDEX).is_file():
        return (SINGLE,)
    weight_map = _json(folder / INDEX, MAX_INDEX_BYTES).get("weight_map")
    if not isinstance(weight_map, Mapping) or not weight_map:
        raise _bad(folder / INDEX, "weight_map", "missing")
    names = sorted({name for name in weight_map.values() if isinstance(name, str)})
    for name in names:
        # An index must not lead out of its folder.
        if Path(name).name != name or not name.endswith(".safetensors") or "\\" in name:
            raise _bad(folder / INDEX, "weight_map", name[:80])
    return tuple(names)


def _header(path: Path) -> SafetensorsHeader | None:
    """The header of one part, None when the part is not there."""
    try:
        with FileSource(path) as source:
            header = read_header(source, label=str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    if header.size_bytes != header.expected_bytes:
        raise ModelError(
            ErrorCode.MODEL_TOO_SHORT,
            {"path": str(path), "size": header.size_bytes, "expected": header.expected_bytes},
        )
    return header


def _json(path: Path, most: int) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except FileNotFoundError as error:
        raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": str(path)}, cause=error) from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(raw) > most:
        raise _bad(path, "length", len(raw))
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _bad(path, "JSON", str(error)[:80]) from error
    if not isinstance(data, Mapping):
        raise _bad(path, "JSON", "no object")
    return data


def _bad(path: Path, field: str, value: str | int) -> ModelError:
    return ModelError(
        ErrorCode.MODEL_BAD_HEADER,
        {"path": str(path), "field": field, "offset": 0, "value": value},
    )


def _unreadable(path: Path, error: OSError) -> ModelError:
    return ModelError(
        ErrorCode.MODEL_UNREADABLE,
        {"path": str(path), "detail": error.strerror or str(error)},
        cause=error,
    )
