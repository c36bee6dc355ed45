"""What the library held at its last look, kept on disk: a drive that is gone is not forgotten.

Blocking (pool). A folder counts as missing when it is not there, or when the drive that it was on
is not mounted at its place (what remains is an empty mount point, which looks like an empty
library).
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.files import write_atomically
from kimi_desktop.models.types import (
    CompanionKind,
    LocalModel,
    ModelFacts,
    ModelFormat,
    ModelState,
)

VERSION = 1
_KEPT_STATES = (ModelState.READY, ModelState.PARTIAL, ModelState.COMPANION)


@dataclass(frozen=True, slots=True)
class _Shelf:
    """One folder at its last look."""

    mount: str
    """Where the volume was mounted that it is on."""
    rows: tuple[dict[str, Any], ...]


class Inventory:
    """The memory of one profile. Not thread-safe: one scan at a time uses it."""

    def __init__(
        self,
        file: Path,
        default: Path,
        is_mount: Callable[[str], bool] = os.path.ismount,
    ) -> None:
        """``default``: the folder that is made with the first model, and empty until then."""
        self._file = file
        self._default = default
        self._is_mount = is_mount
        self._shelves = self._read()

    def missing(self, folders: Iterable[Path]) -> tuple[Path, ...]:
        """Those of the folders that are not there now."""
        return tuple(folder for folder in folders if self._is_missing(folder))

    def remembered(self, missing: Iterable[Path]) -> tuple[LocalModel, ...]:
        """The models that the missing folders had, as rows that say so."""
        found: dict[str, LocalModel] = {}
        for folder in missing:
            shelf = self._shelves.get(str(folder))
            for raw in shelf.rows if shelf else ():
                with suppress(KeyError, TypeError, ValueError):
                    model = _model(raw, folder)
                    found.setdefault(model.id, model)
        return tuple(found.values())

    def note(
        self, present: Iterable[Path], missing: Iterable[Path], models: Sequence[LocalModel]
    ) -> None:
        """Remember what the folders that are there hold; forget those that are in neither list."""
        shelves: dict[str, _Shelf] = {}
        for folder in present:
            rows = [m for m in models if m.path.is_relative_to(folder) and m.state in _KEPT_STATES]
            if rows:
                shelves[str(folder)] = _Shelf(self._mount_of(folder), tuple(map(_raw, rows)))
        for folder in missing:
            if (kept := self._shelves.get(str(folder))) is not None:
                shelves[str(folder)] = kept
        if shelves != self._shelves:
            self._shelves = shelves
            self._write()

    def _is_missing(self, folder: Path) -> bool:
        shelf = self._shelves.get(str(folder))
        if not folder.is_dir():
            return shelf is not None or folder != self._default
        return shelf is not None and bool(shelf.mount) and not self._is_mount(shelf.mount)

    def _mount_of(self, folder: Path) -> str:
        place = folder
        with suppress(OSError):
            place = folder.resolve()
        for parent in (place, *place.parents):
            if self._is_mount(str(parent)):
                return str(parent)
        return ""

    def _read(self) -> dict[str, _Shelf]:
        try:
            data = json.loads(self._file.read_text(encoding="utf-8"))
            return {
                folder: _Shelf(str(shelf["mount"]), tuple(dict(row) for row in shelf["models"]))
                for folder, shelf in data["folders"].items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return {}

    def _write(self) -> None:
        content = {
            "version": VERSION,
            "folders": {
                folder: {"mount": shelf.mount, "models": shelf.rows}
                for folder, shelf in self._shelves.items()
            },
        }
        with suppress(OSError, UnicodeEncodeError):  # a memory that cannot be kept is no failure
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps(content) + "\n")


def _raw(model: LocalModel) -> dict[str, Any]:
    facts = model.facts
    return {
        "id": model.id,
        "path": str(model.path),
        "title": model.title,
        "size_bytes": model.size_bytes,
        "parts": model.parts_total,
        "format": model.format.value,
        "companion": model.companion.value if model.companion else None,
        "quantization": facts.quantization if facts else "",
        "architecture": facts.architecture if facts else "",
        "context": facts.context_train if facts else 0,
        "parameters": facts.parameter_count if facts else 0,
        "files": [str(file) for file in model.files],
    }


def _model(raw: dict[str, Any], folder: Path) -> LocalModel:
    facts = ModelFacts(
        name=str(raw["title"]),
        architecture=str(raw["architecture"]),
        quantization=str(raw["quantization"]),
        parameter_count=int(raw["parameters"]),
        n_layer=0,
        n_expert=0,
        n_expert_used=0,
        context_train=int(raw["context"]),
        weights_bytes=int(raw["size_bytes"]),
        kv_bytes_per_token=0,
        chat_template=None,
        has_thinking=False,
    )
    companion = CompanionKind(raw["companion"]) if raw["companion"] else None
    return LocalModel(
        id=str(raw["id"]),
        path=Path(raw["path"]),
        title=str(raw["title"]),
        size_bytes=int(raw["size_bytes"]),
        parts_present=0,
        parts_total=int(raw["parts"]),
        state=ModelState.MISSING,
        facts=facts,
        problem=ModelError(ErrorCode.MODEL_FOLDER_MISSING, {"path": str(folder)}),
        companion=companion,
        format=ModelFormat(raw["format"]),
        files=tuple(Path(file) for file in raw["files"]),
    )


def same_rows(first: Sequence[LocalModel], second: Sequence[LocalModel]) -> bool:
    """Nothing that is shown differs. Errors compare by what they say."""
    return len(first) == len(second) and all(map(_same, first, second))


def _same(first: LocalModel, second: LocalModel) -> bool:
    if first is second:
        return True
    problems = [(p.code, p.params) if p else None for p in (first.problem, second.problem)]
    bare = [dataclasses.replace(model, problem=None) for model in (first, second)]
    return problems[0] == problems[1] and bare[0] == bare[1]
