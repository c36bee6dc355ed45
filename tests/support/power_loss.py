"""Records every write and sync of the download engine, and plays what a power loss leaves."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from kimi_desktop.downloads import disk


@dataclass(frozen=True)
class _Write:
    file: Path
    offset: int
    data: bytes


@dataclass(frozen=True)
class _Cut:
    file: Path
    length: int


@dataclass(frozen=True)
class _Sync:
    file: Path


class RecordedDisk:
    """Use as a context manager around the engine's work; then ``crash``."""

    def __init__(self) -> None:
        self.log: list[_Write | _Cut | _Sync] = []
        self._patches: list[Any] = []

    def __enter__(self) -> RecordedDisk:
        write = disk.PositionedFile.write
        append, cut, sync = disk.append, disk.cut_file, disk.sync_data
        reserve = disk.reserve

        def on_write(file: disk.PositionedFile, data: memoryview, offset: int) -> None:
            self.log.append(_Write(_name(file.descriptor), offset, bytes(data)))
            write(file, data, offset)

        def on_append(descriptor: int, data: bytes) -> None:
            self.log.append(_Write(_name(descriptor), os.fstat(descriptor).st_size, bytes(data)))
            append(descriptor, data)

        def on_cut(descriptor: int, length: int) -> None:
            self.log.append(_Cut(_name(descriptor), length))
            cut(descriptor, length)

        def on_sync(descriptor: int) -> None:
            sync(descriptor)
            self.log.append(_Sync(_name(descriptor)))

        def on_reserve(descriptor: int, size_bytes: int) -> None:
            self.log.append(_Cut(_name(descriptor), size_bytes))
            reserve(descriptor, size_bytes)

        for target, name, function in (
            (disk.PositionedFile, "write", on_write),
            (disk, "append", on_append),
            (disk, "cut_file", on_cut),
            (disk, "sync_data", on_sync),
            (disk, "reserve", on_reserve),
        ):
            patched = patch.object(target, name, function)
            patched.start()
            self._patches.append(patched)
        return self

    def __exit__(self, *_error: object) -> None:
        for patched in self._patches:
            patched.stop()

    def crash(self, live: Path, image: Path, data: st.DataObject) -> None:
        """Lay out under ``image`` what may be left of the files under ``live``.

        The power fails at any point of the log. What was synced before is there; of the rest any
        part may be, and one write of it may be torn.
        """
        now = data.draw(st.integers(0, len(self.log)), label="power fails after")
        past = self.log[:now]
        for file in sorted({entry.file for entry in self.log}):
            mine = [entry for entry in past if entry.file == file]
            synced = max((n for n, e in enumerate(mine) if isinstance(e, _Sync)), default=-1)
            target = image / file.relative_to(live)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("w+b") as out:
                for number, entry in enumerate(mine):
                    survives = number <= synced or data.draw(st.booleans())
                    if isinstance(entry, _Sync) or not survives:
                        continue
                    if isinstance(entry, _Cut):
                        out.truncate(entry.length)
                        continue
                    torn = number > synced and data.draw(st.integers(0, 9)) == 0
                    length = data.draw(st.integers(0, len(entry.data))) if torn else None
                    out.seek(entry.offset)
                    out.write(entry.data[:length])


def _name(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()
