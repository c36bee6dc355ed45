"""Looking at folders of other programs without changing or trusting them. Blocking (pool)."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kimi_desktop.downloads.choose import describes_checkpoint
from kimi_desktop.downloads.names import name_problem

log = logging.getLogger(__name__)

MAX_DEPTH = 8
MAX_ENTRIES = 100_000
MAX_JSON_BYTES = 32 * 2**20


def entries_of(folder: Path) -> list[Path]:
    """What is in a folder, sorted; nothing when it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        log.info("%s left out: %s", folder, error)
        return []


def folders_of(folder: Path) -> list[Path]:
    """The folders in a folder, hidden ones left out."""
    return [path for path in entries_of(folder) if path.name[:1] != "." and _is(path, stat.S_ISDIR)]


def files_below(folder: Path, *, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """Plain files, links to them included; hidden folders and loops left out."""
    seen: set[tuple[int, int]] = set()
    waiting = [(folder, 0)]
    count = 0
    while waiting:
        here, level = waiting.pop()
        try:
            status = here.stat()
        except OSError:
            continue
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        for path in entries_of(here):
            count += 1
            if count > MAX_ENTRIES:
                log.warning("stopped looking below %s after %s entries", folder, MAX_ENTRIES)
                return
            if _is(path, stat.S_ISREG):
                yield path
            elif level < depth and path.name[:1] != "." and _is(path, stat.S_ISDIR):
                waiting.append((path, level + 1))


def size_of(path: Path) -> int | None:
    """Of the file behind a name; None when there is none (a link to nothing)."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def read_json(path: Path) -> Any:  # noqa: ANN401
    """A JSON file of another program; None when it is none."""
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def safe_targets(paths: Iterable[str]) -> list[str]:
    """Those of the relative names that may be used below our folder."""
    return [path for path in paths if name_problem(path) is None]


def safe_name(text: str, fallback: str = "model") -> str:
    """A folder or file name made of another program's; never empty, never a path."""
    kept = "".join(c if c.isalnum() or c in "._- +" else "-" for c in text)[:120].strip(" .-")
    return kept if kept and name_problem(kept) is None else fallback


def is_weights(target: str) -> bool:
    """A file that holds a model."""
    return target.lower().endswith((".gguf", ".safetensors"))


def is_used(target: str) -> bool:
    """Weights and what describes them; no pickle files, no pictures."""
    return target.lower().endswith(".gguf") or describes_checkpoint(target)


def relative(path: Path, folder: Path) -> str:
    """With forward slashes."""
    return os.path.relpath(path, folder).replace(os.sep, "/")


def _is(path: Path, kind: Any) -> bool:  # noqa: ANN401
    try:
        return bool(kind(path.stat().st_mode))
    except OSError:
        return False
