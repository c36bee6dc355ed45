"""Removing a model: what would go, into the trash, back from it, or for good. Blocking (pool).

All or nothing: when one file cannot go, those that went before come back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.downloads.keeping.sharing import freed_bytes
from kimi_desktop.downloads.keeping.types import Removal, Removed, Trash
from kimi_desktop.downloads.kept_hashes import (
    HASHES_FILE,
    KeptHash,
    drop_hashes,
    find_record,
    keep_hashes,
    read_hashes,
)
from kimi_desktop.models.types import LocalModel, ModelFormat


def look_at_removal(
    model: LocalModel, companions: Sequence[LocalModel], roots: Iterable[Path]
) -> Removal:
    """What removing a model would do.

    Args:
        model: what is to go.
        companions: files that belong to it alone and go with it.
        roots: the library's folders, which stay.
    """
    files = [file for one in (model, *companions) for file in one.files or (one.path,)]
    folder = model.path if model.format is ModelFormat.SAFETENSORS else model.path.parent
    inside = _only_these(folder, set(files), everything=model.path == folder)
    kept = tuple(roots)
    as_one = inside is not None and folder not in kept
    outside = [file for file in files if not file.is_relative_to(folder)]
    paths = (folder, *outside) if as_one else tuple(files)
    counted = [*(inside or ()), *outside] if as_one else files
    return Removal(
        model_id=model.id,
        title=model.title,
        paths=paths,
        n_files=len(files),
        size_bytes=sum(map(_size, counted)),
        freed_bytes=freed_bytes(counted),
        kept_folders=kept,
        companions=tuple(one.path.name for one in companions),
    )


def remove(removal: Removal, trash: Trash) -> Removed:
    """Put everything into the trash.

    Raises:
        ModelError: MODEL_NO_TRASH: it cannot; everything is where it was.
    """
    hashes = _records_of(removal)
    moved: list[tuple[Path, Path]] = []
    for path in removal.paths:
        try:
            moved.append((path, trash(path)))
        except OSError as error:
            for original, place in reversed(moved):
                with suppress(OSError):
                    _bring_back(original, place)
            raise ModelError(
                ErrorCode.MODEL_NO_TRASH, {"path": str(path), "detail": reason(error)}, cause=error
            ) from error
    _drop(hashes)
    _tidy(removal)
    return Removed(removal, tuple(moved), hashes)


def remove_for_good(removal: Removal) -> Removed:
    """Delete everything.

    Raises:
        ModelError: MODEL_NOT_REMOVED: something could not be deleted; what was is gone.
    """
    hashes = _records_of(removal)
    for path in removal.paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            params = {"path": str(path), "detail": reason(error)}
            raise ModelError(ErrorCode.MODEL_NOT_REMOVED, params, cause=error) from error
    _drop(hashes)
    _tidy(removal)
    return Removed(removal)


def restore(removed: Removed) -> None:
    """Bring everything back from the trash.

    Raises:
        ModelError: MODEL_NOT_RESTORED: the trash was emptied, or the place is taken.
    """
    for original, place in removed.moved:
        try:
            if os.path.lexists(original):
                raise FileExistsError(os.strerror(17))
            _bring_back(original, place)
        except OSError as error:
            params = {"path": str(original), "detail": reason(error)}
            raise ModelError(ErrorCode.MODEL_NOT_RESTORED, params, cause=error) from error
    for folder, hashes in (removed.hashes or {}).items():
        keep_hashes(folder, hashes)


def reason(error: OSError) -> str:
    """In the system's words."""
    return error.strerror or str(error) or type(error).__name__


def _only_these(folder: Path, files: set[Path], *, everything: bool) -> list[Path] | None:
    """All files of a folder, when it has nothing but these; None when it has more.

    ``everything``: the folder is the model, whatever else of it lies there, but not another model.
    """
    found: list[Path] = []
    try:
        for place, folders, names in os.walk(folder):
            if everything and any(name.lower().endswith(".gguf") for name in names):
                return None
            for name in (*names, *(f for f in folders if (Path(place) / f).is_symlink())):
                path = Path(place) / name
                if not everything and path not in files and name != HASHES_FILE:
                    return None
                found.append(path)
    except OSError:
        return None
    return found


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _records_of(removal: Removal) -> Mapping[Path, Mapping[str, KeptHash]]:
    """What is known of single files; a folder keeps its own record inside."""
    found: dict[Path, dict[str, KeptHash]] = {}
    for path in removal.paths:
        record = find_record(path)
        if record is not None:
            folder, target = record
            kept = read_hashes(folder)
            within = {t: k for t, k in kept.items() if t == target or t.startswith(f"{target}/")}
            found.setdefault(folder, {}).update(within)
    return {folder: hashes for folder, hashes in found.items() if hashes}


def _drop(hashes: Mapping[Path, Mapping[str, KeptHash]]) -> None:
    for folder, known in hashes.items():
        drop_hashes(folder, known)


def _tidy(removal: Removal) -> None:
    """Folders that are empty now go, too, but never one of the library."""
    for path in removal.paths:
        folder = path.parent
        for _ in range(2):
            if folder in removal.kept_folders:
                break
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent


def _bring_back(original: Path, place: Path) -> None:
    original.parent.mkdir(parents=True, exist_ok=True)
    place.rename(original)
    # The freedesktop.org trash keeps a note beside each file.
    note = place.parent.parent / "info" / f"{place.name}.trashinfo"
    with suppress(OSError):
        note.unlink()
