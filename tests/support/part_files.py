"""Small partial files with small pieces."""

from __future__ import annotations

import hashlib
import random
from functools import cache
from pathlib import Path

from kimi_desktop.downloads.part_file import PartFile
from kimi_desktop.downloads.types import FileJob

PIECE = 1000
SIZE = 7 * PIECE + 123


@cache
def content_of(size: int = SIZE) -> bytes:
    return random.Random(size).randbytes(size)


def job_of(size: int = SIZE, target: str = "sub/model.gguf") -> FileJob:
    return FileJob(target, size, hashlib.sha256(content_of(size)).hexdigest(), None, ())


def open_part(folder: Path) -> PartFile:
    return PartFile(folder, job_of(), piece_bytes=PIECE)


def fill(part: PartFile, *, up_to: int = SIZE) -> None:
    """Receive in order what is missing, in blocks of 300 bytes."""
    content = memoryview(content_of(part.job.size_bytes))
    while (lease := part.take(part.job.size_bytes)) is not None:
        stop = min(lease.end, up_to)
        while lease.position < stop:
            part.write(lease, content[lease.position : min(stop, lease.position + 300)])
        part.give_back(lease)
        if stop == up_to:
            return
