"""A model in Hugging Face's layout: config, index, safetensors parts. Blocking (pool).

Where the files are is behind ``HfFiles``: a folder here, a repository on a hub elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.gguf import FileSource, HeaderSource
from kimi_desktop.models.hf_config import HfConfig, parse_config
from kimi_desktop.models.safetensors import SafeTensor, SafetensorsHeader, read_header

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
MAX_CONFIG_BYTES = 4 * 2**20
MAX_INDEX_BYTES = 32 * 2**20


class HfFiles(Protocol):
    """The files of one model, wherever they are."""

    @property
    def title(self) -> str:
        """A path or a repository, for people."""

    @property
    def workers(self) -> int:
        """How many headers may be read at once."""

    def label(self, name: str) -> str:
        """What an error calls the file."""

    def small(self, name: str, most: int) -> bytes | None:
        """A whole small file, None when there is none.

        Args:
            name: within the model's folder.
            most: bytes; one more is returned of a larger file.

        Raises:
            OSError: it is there and cannot be read.
            KimiError: the server failed.
        """

    def open(self, name: str) -> AbstractContextManager[HeaderSource]:
        """A large file, read in pieces.

        Raises:
            FileNotFoundError: there is none.
            OSError: it is there and cannot be read.
            KimiError: the server failed.
        """


@dataclass(frozen=True, slots=True, eq=False)
class HfModel:
    """What a folder or a repository holds. Compared by identity: a table can have 200,000 rows."""

    path: Path
    """Of the folder; for a repository its id."""
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


class FolderFiles:
    """``HfFiles`` of a folder on this computer."""

    workers = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def title(self) -> str:
        """The folder."""
        return str(self._folder)

    def label(self, name: str) -> str:
        """The file's path."""
        return str(self._folder / name)

    def small(self, name: str, most: int) -> bytes | None:
        """The file's bytes."""
        try:
            with (self._folder / name).open("rb") as file:
                return file.read(most + 1)
        except FileNotFoundError:
            return None

    def open(self, name: str) -> AbstractContextManager[HeaderSource]:
        """The file itself."""
        return FileSource(self._folder / name)


def read_folder(folder: Path) -> HfModel:
    """Read a folder; parts that are missing are listed, not an error.

    Raises:
        ModelError: no config or weights, or one of the files is damaged or cut short.
    """
    return read_model(FolderFiles(folder))


def read_model(files: HfFiles) -> HfModel:
    """Read a model by its config, its index and the headers of its parts.

    Raises:
        ModelError: no config or weights, or one of the files is damaged or cut short.
        KimiError: the server failed.
    """
    config = read_config(files)
    parts, _ = weight_parts(files)
    headers = _headers(files, parts)
    missing = tuple(name for name in parts if headers[name] is None)
    there = [header for header in headers.values() if header is not None]
    tensors = tuple(tensor for header in there for tensor in header.tensors)
    return HfModel(
        path=Path(files.title),
        config=config,
        tensors=tensors,
        size_bytes=sum(header.size_bytes for header in there),
        weights_bytes=sum(tensor.size_bytes for tensor in tensors),
        parts=parts,
        missing=missing,
    )


def _headers(files: HfFiles, parts: tuple[str, ...]) -> dict[str, SafetensorsHeader | None]:
    if files.workers == 1:
        return {name: part_header(files, name) for name in parts}
    with ThreadPoolExecutor(files.workers, "header") as pool:
        # The first failure ends the rest: what is queued is dropped.
        jobs = {name: pool.submit(part_header, files, name) for name in parts}
        try:
            return {name: job.result() for name, job in jobs.items()}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def read_config(files: HfFiles) -> HfConfig:
    """The config alone.

    Raises:
        ModelError: there is none, or it is damaged.
        KimiError: the server failed.
    """
    return parse_config(_needed_json(files, CONFIG, MAX_CONFIG_BYTES))


def weight_parts(files: HfFiles) -> tuple[tuple[str, ...], int | None]:
    """File names of the weights, from the index when there is one.

    Returns:
        The names, and the bytes of all tensors as far as the index says.

    Raises:
        ModelError: the index is damaged.
        KimiError: the server failed.
    """
    index = _json(files, INDEX, MAX_INDEX_BYTES)
    if index is None:
        return (SINGLE,), None
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, Mapping) or not weight_map:
        raise _bad(files, INDEX, "weight_map", "missing")
    names = sorted({name for name in weight_map.values() if isinstance(name, str)})
    for name in names:
        # An index must not lead out of its folder.
        if Path(name).name != name or not name.endswith(".safetensors") or "\\" in name:
            raise _bad(files, INDEX, "weight_map", name[:80])
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    return tuple(names), total if isinstance(total, int) else None


def part_header(files: HfFiles, name: str) -> SafetensorsHeader | None:
    """The header of one part, None when the part is not there.

    Raises:
        ModelError: it is damaged, or its end is missing.
        KimiError: the server failed.
    """
    label = files.label(name)
    try:
        with files.open(name) as source:
            header = read_header(source, label=label)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(label, error) from error
    if header.size_bytes != header.expected_bytes:
        raise ModelError(
            ErrorCode.MODEL_TOO_SHORT,
            {"path": label, "size": header.size_bytes, "expected": header.expected_bytes},
        )
    return header


def _needed_json(files: HfFiles, name: str, most: int) -> Mapping[str, Any]:
    data = _json(files, name, most)
    if data is None:
        raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": files.label(name)})
    return data


def _json(files: HfFiles, name: str, most: int) -> Mapping[str, Any] | None:
    try:
        raw = files.small(name, most)
    except OSError as error:
        raise _unreadable(files.label(name), error) from error
    if raw is None:
        return None
    if len(raw) > most:
        raise _bad(files, name, "length", len(raw))
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _bad(files, name, "JSON", str(error)[:80]) from error
    if not isinstance(data, Mapping):
        raise _bad(files, name, "JSON", "no object")
    return data


def _bad(files: HfFiles, name: str, field: str, value: str | int) -> ModelError:
    return ModelError(
        ErrorCode.MODEL_BAD_HEADER,
        {"path": files.label(name), "field": field, "offset": 0, "value": value},
    )


def _unreadable(label: str, error: OSError) -> ModelError:
    return ModelError(
        ErrorCode.MODEL_UNREADABLE,
        {"path": label, "detail": error.strerror or str(error)},
        cause=error,
    )
