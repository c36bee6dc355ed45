"""Moving a model to another folder of the library, proven before anything is removed. Blocking.

On the same volume only names change. Else every file is copied and hashed on the way, brought to
the disk, read back past the cache and compared; with the hash of its record, too, where there is
one. Copies wait in a hidden folder of the target until the last of them is proven: a library never
sees half a model. What a crash leaves there is taken up by the next try, a cancelled move takes it
away.
"""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, KimiError, ModelError
from kimi_desktop.base.units import GIB, format_file_size
from kimi_desktop.downloads import disk
from kimi_desktop.downloads.keeping.removal import reason
from kimi_desktop.downloads.kept_hashes import (
    KeptHash,
    drop_hashes,
    find_record,
    keep_hashes,
    read_hashes,
)
from kimi_desktop.downloads.volume import VolumeFacts, look_at_volume
from kimi_desktop.models.hash_record import Witness

WAITING_FOLDER = ".kimi-moving"
BLOCK_BYTES = 4 * 2**20
PROGRESS_S = 0.25
SPARE_BYTES = GIB
"""Left free on the target: a full drive helps nobody."""
_DONT_NEED = getattr(os, "POSIX_FADV_DONTNEED", None)


class MoveCancelledError(Exception):
    """Somebody stopped it. Everything is where it was."""


@dataclass(frozen=True, slots=True)
class Item:
    """One file and where it goes."""

    source: Path
    target: Path


Progress = Callable[[int, int, int, str], None]
"""(bytes copied, bytes read back, bytes in all, name of a file)."""
LookAt = Callable[[Path], VolumeFacts]


def items_for(files: Sequence[Path], root: Path, place: Path) -> tuple[Item, ...]:
    """The same tree below another folder.

    Args:
        files: what moves.
        root: the folder of the library that they are in.
        place: the one that they go to.
    """
    return tuple(Item(file, place / file.relative_to(root)) for file in files)


class Mover:
    """One move. ``run`` once."""

    def __init__(
        self,
        items: Sequence[Item],
        place: Path,
        *,
        kept_folders: Sequence[Path] = (),
        progress: Progress = lambda _copied, _checked, _total, _file: None,
        look_at: LookAt = look_at_volume,
    ) -> None:
        """``place``: the library folder that they go to; ``kept_folders`` stay, though empty."""
        self._items = tuple(items)
        self._place = place
        self._kept = frozenset(kept_folders)
        self._progress = progress
        self._stopped = threading.Event()
        self._keeps = False
        self._look_at = look_at
        self._waiting = place / WAITING_FOLDER
        self._copied = self._checked = self._total = 0
        self._told_at = 0.0

    def stop(self, *, keep: bool) -> None:
        """End it from another thread; the model stays where it is.

        Args:
            keep: what was copied stays for the next try (the app ends); else it is taken away.
        """
        self._keeps = keep
        self._stopped.set()

    def run(self) -> int:
        """Move everything; how many bytes were copied, 0 when only names changed.

        Raises:
            ModelError: MODEL_NAME_TAKEN, MODEL_NO_SPACE, MODEL_FILE_TOO_LARGE, MODEL_MOVE_DAMAGED,
                MODEL_MOVE_MISMATCH or MODEL_NOT_MOVED; the model is whole where it was.
            MoveCancelledError: it was stopped.
        """
        try:
            self._total = sum(item.source.stat().st_size for item in self._items)
            self._place.mkdir(parents=True, exist_ok=True)
            if self._rename_all():
                return 0
            self._check_place()
            return self._copy_all()
        except OSError as error:
            raise self._not_moved(error) from error

    # on one volume

    def _rename_all(self) -> bool:
        """Give every file its new name; False when the volume is another one."""
        device = self._place.stat().st_dev
        if any(item.source.lstat().st_dev != device for item in self._items):
            return False
        for item in self._items:
            if os.path.lexists(item.target):
                raise self._taken(item)
        done: list[Item] = []
        try:
            for item in self._items:
                item.target.parent.mkdir(parents=True, exist_ok=True)
                item.source.rename(item.target)
                done.append(item)
        except OSError as error:
            for item in reversed(done):
                with suppress(OSError):
                    item.target.rename(item.source)
            if error.errno == errno.EXDEV:  # one device, several volumes: overlays, bind mounts
                return False
            raise
        for item in self._items:
            self._move_record(item)
        self._tidy()
        return True

    # to another one

    def _check_place(self) -> None:
        volume = self._look_at(self._place)
        sizes = {item: item.source.stat().st_size for item in self._items}
        largest = max(sizes, key=lambda item: sizes[item])
        if volume.max_file_bytes is not None and sizes[largest] > volume.max_file_bytes:
            raise ModelError(
                ErrorCode.MODEL_FILE_TOO_LARGE,
                {
                    "path": str(self._place),
                    "file": largest.source.name,
                    "size": format_file_size(sizes[largest]),
                    "limit": format_file_size(volume.max_file_bytes),
                },
            )
        there = sum(_size(self._part(item)) for item in self._items)
        needed = max(self._total - there, 0) + SPARE_BYTES
        if volume.free_bytes < needed:
            raise ModelError(
                ErrorCode.MODEL_NO_SPACE,
                {
                    "path": str(self._place),
                    "needed": format_file_size(needed),
                    "free": format_file_size(volume.free_bytes),
                },
            )

    def _copy_all(self) -> int:
        self._waiting.mkdir(exist_ok=True)
        proven: dict[Item, str] = {}
        try:
            for item in self._items:
                proven[item] = self._copy(item)
        except MoveCancelledError:
            if not self._keeps:
                self._sweep()
            raise
        except KimiError as error:
            if error.code is ErrorCode.MODEL_MOVE_MISMATCH:
                self._sweep()
            raise
        for item in self._items:
            item.target.parent.mkdir(parents=True, exist_ok=True)
            part = self._part(item)
            if part.exists():
                disk.replace(part, item.target)
        for folder in {item.target.parent for item in self._items}:
            disk.sync_folder(folder)
        for item, sha256 in proven.items():
            self._move_record(item, sha256)
        for item in self._items:
            item.source.unlink()
        self._tidy()
        with suppress(OSError):
            self._waiting.rmdir()
        return self._total

    def _copy(self, item: Item) -> str:
        """Copy one file, or see that it is there already; its SHA-256 as read from the target."""
        status = item.source.stat()
        expected = _recorded(item.source)
        if os.path.lexists(item.target):  # an earlier try ended between the names
            source, target = self._hash(item.source, copied=True), self._hash(item.target)
            if source != target:
                raise self._taken(item)
            return target
        part = self._part(item)
        source = self._write(item, part)
        if expected is not None and source != expected:
            part.unlink(missing_ok=True)
            params = {"file": item.source.name, "found": source, "expected": expected}
            raise ModelError(ErrorCode.MODEL_MOVE_DAMAGED, params)
        target = self._hash(part)
        if target != source:
            params = {"path": str(self._place), "file": item.source.name}
            raise ModelError(ErrorCode.MODEL_MOVE_MISMATCH, params)
        now = item.source.stat()
        if (now.st_size, now.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(item.source))
        os.utime(part, ns=(status.st_mtime_ns, status.st_mtime_ns))
        return target

    def _write(self, item: Item, part: Path) -> str:
        """Write what is missing of the copy; the SHA-256 of the source."""
        digest = hashlib.sha256()
        buffer = memoryview(bytearray(BLOCK_BYTES))
        with item.source.open("rb", buffering=0) as source, part.open("ab+", buffering=0) as copy:
            kept = self._same_start(source.fileno(), copy.fileno(), digest, item.source.name)
            os.ftruncate(copy.fileno(), kept)
            source.seek(kept)
            while count := source.readinto(buffer):
                self._step(item.source.name, copied=count)
                digest.update(buffer[:count])
                _write_all(copy.fileno(), buffer[:count])
            disk.sync_data(copy.fileno())
            _drop_cache(copy.fileno())
        return digest.hexdigest()

    def _same_start(self, source: int, copy: int, digest: hashlib._Hash, name: str) -> int:
        """How much of an earlier try is good, hashed on the way."""
        at = 0
        first, second = disk.PositionedFile(source), disk.PositionedFile(copy)
        blocks = memoryview(bytearray(BLOCK_BYTES)), memoryview(bytearray(BLOCK_BYTES))
        while True:
            there = second.read_into(blocks[1], at)
            count = first.read_into(blocks[0][:there], at) if there else 0
            if not count or blocks[0][:count] != blocks[1][:count]:
                return at
            self._step(name, copied=count)
            digest.update(blocks[0][:count])
            at += count

    def _hash(self, path: Path, *, copied: bool = False) -> str:
        digest = hashlib.sha256()
        buffer = memoryview(bytearray(BLOCK_BYTES))
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                self._step(path.name, copied=count * copied, checked=count * (not copied))
                digest.update(buffer[:count])
            _drop_cache(file.fileno())
        return digest.hexdigest()

    def _part(self, item: Item) -> Path:
        name = hashlib.sha256(os.fsencode(item.target)).hexdigest()[:24]
        return self._waiting / f"{name}.part"

    def _step(self, name: str, *, copied: int = 0, checked: int = 0) -> None:
        if self._stopped.is_set():
            raise MoveCancelledError
        self._copied += copied
        self._checked += checked
        now = time.monotonic()
        if now - self._told_at >= PROGRESS_S:
            self._told_at = now
            self._progress(self._copied, self._checked, self._total, name)

    # afterwards

    def _move_record(self, item: Item, sha256: str | None = None) -> None:
        """What is known of the file goes with it; a copy that was read back is proven anew."""
        known = _known(item.source)
        kept = known[2] if known is not None else None
        if sha256 is not None:
            status = item.target.stat()
            fresh = kept or KeptHash(sha256, 0, 0, Witness.NOBODY)
            kept = dataclasses.replace(
                fresh,
                size_bytes=status.st_size,
                modified_ns=status.st_mtime_ns,
                proven_at=time.time(),
            )
        if kept is None:
            return
        depth = len(known[1].split("/")) if known is not None else 1
        folder = item.target.parents[depth - 1]
        keep_hashes(folder, {item.target.relative_to(folder).as_posix(): kept})
        if known is not None:
            drop_hashes(known[0], [known[1]])

    def _tidy(self) -> None:
        """Folders that are empty now go, but never one of the library."""
        for item in self._items:
            for folder in item.source.parents:
                if folder in self._kept or len(folder.parts) < 3:
                    break
                try:
                    folder.rmdir()
                except OSError:
                    break

    def _sweep(self) -> None:
        for item in self._items:
            with suppress(OSError):
                self._part(item).unlink()
        with suppress(OSError):
            self._waiting.rmdir()

    def _taken(self, item: Item) -> ModelError:
        return ModelError(ErrorCode.MODEL_NAME_TAKEN, {"path": str(item.target)})

    def _not_moved(self, error: OSError) -> ModelError:
        if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
            free = 0
            with suppress(OSError):
                free = shutil.disk_usage(self._place).free
            missing = format_file_size(max(self._total - self._copied, 0))
            params = {
                "path": str(self._place),
                "needed": missing,
                "free": format_file_size(free),
            }
            return ModelError(ErrorCode.MODEL_NO_SPACE, params, cause=error)
        params = {"path": str(self._place), "detail": reason(error)}
        return ModelError(ErrorCode.MODEL_NOT_MOVED, params, cause=error)


def _known(path: Path) -> tuple[Path, str, KeptHash] | None:
    record = find_record(path)
    if record is None:
        return None
    folder, target = record
    kept: Mapping[str, KeptHash] = read_hashes(folder)
    return (folder, target, kept[target]) if target in kept else None


def _recorded(path: Path) -> str | None:
    """The hash that a file must have: it is as it was when it was proven."""
    known = _known(path)
    if known is None or not known[2].is_unchanged(path):
        return None
    return known[2].sha256 or None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _drop_cache(descriptor: int) -> None:
    """What is read next comes from the drive (Linux; elsewhere the cache may answer)."""
    if _DONT_NEED is not None:
        with suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, _DONT_NEED)
