"""The models on this computer: files found, headers read once, rows made. Blocking (pool).

A header is read again only when the file's size or time of change is another one, so a second
scan of a large library takes milliseconds.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.blocks import block_problem
from kimi_desktop.models.checkpoint_row import checkpoint_row
from kimi_desktop.models.choose import choose_model
from kimi_desktop.models.facts import KvRule, clean_text, companion_kind, facts_of
from kimi_desktop.models.files import FoundCheckpoint, FoundFile, FoundSet, find_models
from kimi_desktop.models.gguf import GgufHeader, read_file
from kimi_desktop.models.hash_record import HashReader
from kimi_desktop.models.starter import STARTER_BYTES, STARTER_FILE
from kimi_desktop.models.types import CompanionKind, LocalModel, ModelFacts, ModelState

SHORT_DIGITS = 12
"""Of a commit, for people."""
MOST_NAMES = 3

Found = FoundSet | FoundCheckpoint


class Library:
    """Scans folders. Thread-safe; one scan at a time."""

    def __init__(self, kv_rule: KvRule) -> None:
        self._kv_rule = kv_rule
        self._lock = threading.Lock()
        self._headers: dict[FoundFile, GgufHeader | ModelError] = {}
        self._rows: dict[Found, LocalModel | None] = {}
        self._hashes = HashReader()

    def scan(
        self,
        folders: Sequence[Path],
        progress: Callable[[int, int], None] = lambda _done, _total: None,
        *,
        depth: int | None = None,
    ) -> tuple[LocalModel, ...]:
        """One row per model below the folders, in the order of their titles.

        Never fails because of a file: a broken one is a row that says what is wrong.

        Args:
            folders: where to look.
            progress: told (models looked at, models found) after each one.
            depth: how many folders further down; None = as deep as a library goes.
        """
        with self._lock:
            sets, checkpoints = find_models(folders, depth=depth)
            everything: tuple[Found, ...] = (*sets, *checkpoints)
            rows: dict[Found, LocalModel | None] = {}
            for number, found in enumerate(everything, start=1):
                # Kept from scan to scan, and so are the tables that the planner's caches know.
                known = found in self._rows
                rows[found] = self._rows[found] if known else self._row_of(found)
                progress(number, len(everything))
            # What could not be read now may be readable next time.
            unsure = (ErrorCode.MODEL_NOT_FOUND, ErrorCode.MODEL_UNREADABLE)
            self._rows = {f: row for f, row in rows.items() if not _says(row, *unsure)}
            files = {file for found in sets for _, file in found.parts}
            self._headers = {file: read for file, read in self._headers.items() if file in files}
            self._hashes.begin()
            models = [
                _verified(row, found, self._hashes)
                for found, row in rows.items()
                if row is not None and not _says(row, ErrorCode.MODEL_NOT_FOUND)
            ]
            return tuple(sorted(models, key=_order))

    def _row_of(self, found: Found) -> LocalModel | None:
        """None for a folder that only looks like a model."""
        return checkpoint_row(found) if isinstance(found, FoundCheckpoint) else self._row(found)

    def _row(self, found: FoundSet) -> LocalModel:
        headers, problem, state = self._read_parts(found)
        first = headers.get(found.parts[0][0])
        companion = facts = None
        if first is not None:
            companion = companion_kind(first, found.first.path.name)
            if companion is None and found.parts[0][0] == 1:
                facts = self._facts(found, headers)
        if companion is not None and state is ModelState.READY:
            state = ModelState.COMPANION
        path = found.first.path
        return LocalModel(
            id=str(path),
            path=path,
            title=facts.name if facts else clean_text(path.stem),
            size_bytes=found.size_bytes,
            parts_present=len(found.parts),
            parts_total=found.total,
            state=state,
            facts=facts,
            problem=problem,
            is_starter=path.name == STARTER_FILE and found.size_bytes == STARTER_BYTES,
            companion=companion,
            files=tuple(file.path for _, file in found.parts),
        )

    def _facts(self, found: FoundSet, headers: dict[int, GgufHeader]) -> ModelFacts:
        parts = [headers[number] for number, _ in found.parts if number in headers]
        return facts_of(parts, found.first.path.name, self._kv_rule)

    def _read_parts(
        self, found: FoundSet
    ) -> tuple[dict[int, GgufHeader], ModelError | None, ModelState]:
        """The headers that could be read, the gravest problem, and the state that follows."""
        headers: dict[int, GgufHeader] = {}
        broken: ModelError | None = None
        partial: ModelError | None = None
        for number, file in found.parts:
            read = self._header(file)
            if isinstance(read, ModelError):
                broken = broken or read
                continue
            headers[number] = read
            broken = broken or _foreign(found, number, file, read)
            partial = partial or _too_short(file, read)
        if found.missing:
            partial = _missing(found)
        elif not broken:
            broken = _wrong_count(found, headers) or _wrong_blocks(found, headers)
        if broken:
            return headers, broken, ModelState.BROKEN
        return headers, partial, ModelState.PARTIAL if partial else ModelState.READY

    def _header(self, file: FoundFile) -> GgufHeader | ModelError:
        read = self._headers.get(file)
        if read is None:
            try:
                read = read_file(file.path)
            except ModelError as error:
                read = error
            if not isinstance(read, ModelError) or read.code is not ErrorCode.MODEL_UNREADABLE:
                self._headers[file] = read
        return read


def find_named(models: Sequence[LocalModel], wanted: str, library: Library) -> LocalModel:
    """The model that a person means: a file or a checkpoint's folder, or a name in ``models``.

    A part of a name does where only one has it.

    Raises:
        ModelError: there is none, several fit, or the file is broken.
    """
    path = existing_path(wanted)
    if path is None:
        return choose_model(models, wanted)
    if path.is_dir():
        folder = path.absolute()
        here = [row for row in library.scan((folder,), depth=0) if row.path == folder]
        return choose_model(here or models, wanted)
    beside = library.scan((path.absolute().parent,), depth=0)
    known = {model.id for model in models}
    rows = (*models, *(row for row in beside if row.id not in known))
    whole = next((row for row in rows if path.absolute() in row.files), None)
    if whole is None:
        raise _no_model(path)
    if whole.state is ModelState.COMPANION:
        without = whole.companion is CompanionKind.VOCABULARY
        code = ErrorCode.MODEL_NO_WEIGHTS if without else ErrorCode.MODEL_COMPANION
        raise ModelError(code, {"path": str(path)})
    return choose_model(rows, whole.id)


def existing_path(text: str) -> Path | None:
    """The file or folder that a text names; None when there is none, or no name is so long."""
    try:
        path = Path(text).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):  # too long, no home, a zero byte
        return None


def _no_model(path: Path) -> ModelError:
    """What a file is that no scan takes for a model."""
    if not path.is_file():  # a pipe, a device: to read it may never end
        return ModelError(ErrorCode.MODEL_NOT_GGUF, {"path": str(path)})
    try:
        read_file(path)
    except ModelError as error:
        return error
    return ModelError(ErrorCode.MODEL_NO_SUFFIX, {"path": str(path)})


def _says(model: LocalModel | None, *codes: ErrorCode) -> bool:
    return model is not None and model.problem is not None and model.problem.code in codes


def _verified(model: LocalModel, found: Found, hashes: HashReader) -> LocalModel:
    """With what the records of its folder say now; the same row when that is nothing new."""
    files = found.files if isinstance(found, FoundCheckpoint) else [f for _, f in found.parts]
    facts = [(f.path, f.size_bytes, f.modified_ns) for f in files]
    if mixed := hashes.mixed(facts):
        problem = _mixed(model, mixed)
        return dataclasses.replace(model, state=ModelState.BROKEN, problem=problem)
    verified, change = hashes.verified(facts), hashes.change(facts)
    if (verified, change) == (model.verified, model.change):
        return model
    return dataclasses.replace(model, verified=verified, change=change)


def _mixed(model: LocalModel, commits: Mapping[Path, str]) -> ModelError:
    """Which file is of which commit."""
    names: dict[str, list[str]] = {}
    for path, commit in commits.items():
        names.setdefault(commit[:SHORT_DIGITS], []).append(path.name)
    which = "; ".join(
        f"{commit}: {', '.join(of[:MOST_NAMES])}{', …' if len(of) > MOST_NAMES else ''}"
        for commit, of in names.items()
    )
    params = {"path": str(model.path), "which": which}
    return ModelError(ErrorCode.MODEL_PARTS_MIXED, params)


def _order(model: LocalModel) -> tuple[bool, str, int, str]:
    return (model.state is ModelState.COMPANION, model.title.lower(), model.size_bytes, model.id)


def _too_short(file: FoundFile, header: GgufHeader) -> ModelError | None:
    if header.size_bytes >= header.expected_bytes:
        return None
    return ModelError(
        ErrorCode.MODEL_TOO_SHORT,
        {"path": str(file.path), "size": header.size_bytes, "expected": header.expected_bytes},
    )


def _missing(found: FoundSet) -> ModelError:
    return ModelError(
        ErrorCode.MODEL_PART_MISSING,
        {
            "path": str(found.first.path),
            "missing": len(found.missing),
            "total": found.total,
            "which": _ranges(found.missing),
        },
    )


def _foreign(
    found: FoundSet, number: int, file: FoundFile, header: GgufHeader
) -> ModelError | None:
    """A part whose header says another number, or a part that lost its number."""
    count = header.number("split.count")
    expected: dict[str, tuple[int | None, int]] = {}
    if found.total > 1 or (count or 1) > 1:
        expected = {
            "split.count": (count, found.total),
            "split.no": (header.number("split.no"), number - 1),
        }
    for field, (value, wanted) in expected.items():
        if value != wanted:
            return _part_error(file, field, value, wanted)
    return None


def _wrong_count(found: FoundSet, headers: dict[int, GgufHeader]) -> ModelError | None:
    """All parts are there, but together they do not have the tensors that the first names."""
    if found.total == 1 or len(headers) < found.total:
        return None
    wanted = headers[1].number("split.tensors.count")
    there = sum(len(header.tensors) for header in headers.values())
    if wanted is None or there == wanted:
        return None
    return _part_error(found.first, "split.tensors.count", there, wanted)


def _wrong_blocks(found: FoundSet, headers: dict[int, GgufHeader]) -> ModelError | None:
    """A model whose header counts other blocks than its tensors make."""
    first = headers.get(1)
    if first is None or companion_kind(first, found.first.path.name) is not None:
        return None
    tensors = (tensor for header in headers.values() for tensor in header.tensors)
    return block_problem(first, tensors, str(found.first.path))


def _part_error(file: FoundFile, field: str, value: int | None, expected: int) -> ModelError:
    return ModelError(
        ErrorCode.MODEL_PART_FOREIGN,
        {
            "path": str(file.path),
            "field": field,
            "value": "—" if value is None else value,
            "expected": expected,
        },
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers as people list them: ``1-3, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in runs[:8]]
    return ", ".join(shown) + (", …" if len(runs) > 8 else "")
