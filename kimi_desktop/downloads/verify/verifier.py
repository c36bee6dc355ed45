"""Verifies a model: reads all of it, judges its parts, and writes down what was found. Blocking."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kimi_desktop.downloads.kept_hashes import KeptHash, keep_hashes
from kimi_desktop.downloads.verify.commits import judge_commits
from kimi_desktop.downloads.verify.expected import Expected, expected_files
from kimi_desktop.downloads.verify.reading import Observed, Progress, observe
from kimi_desktop.downloads.verify.structure import judge_structure
from kimi_desktop.downloads.verify.types import PartState, PartVerdict, VerifyReport
from kimi_desktop.downloads.verify.verdicts import judge
from kimi_desktop.models.hash_record import Witness


def verify(
    path: Path,
    progress: Progress = lambda _done, _total, _rate: None,
    cancelled: threading.Event | None = None,
) -> VerifyReport:
    """Read a model from begin to end and say of every part what it is.

    Args:
        path: its folder, or a file of it.
        progress: see ``reading``.
        cancelled: set it to stop.

    Raises:
        DownloadError: nothing is there.
        VerifyCancelledError: ``cancelled`` was set; nothing is written down.
    """
    began = time.monotonic()
    folder, files = expected_files(path)
    found = observe(files, progress, cancelled)
    parts = judge_structure(judge(files, found), files)
    _write_down(files, found, parts)
    parts = judge_commits(parts, files)
    checked = sum(one.size_bytes for one in found.values())
    return VerifyReport(str(folder), parts, checked, time.monotonic() - began)


def _write_down(
    files: tuple[Expected, ...],
    found: Mapping[str, Observed],
    parts: tuple[PartVerdict, ...],
) -> None:
    """When what is right was seen to be right; and that what is wrong is not proven any more."""
    new: dict[Path, dict[str, KeptHash]] = {}
    for file, part in zip(files, parts, strict=True):
        seen = found.get(file.target)
        if part.state is PartState.OK and seen is not None:
            new.setdefault(file.record, {})[file.name_there] = _proven(file, seen)
        elif part.state is PartState.UNPROVEN and seen is not None:
            new.setdefault(file.record, {})[file.name_there] = KeptHash(
                seen.sha256,
                seen.size_bytes,
                seen.modified_ns,
                Witness.NOBODY,
                proven_at=time.time(),
            )
        elif file.kept is not None and file.kept.modified_ns:
            changed = replace(file.kept, modified_ns=0)
            new.setdefault(file.record, {})[file.name_there] = changed
    for record, hashes in new.items():
        keep_hashes(record, hashes)


def _proven(file: Expected, seen: Observed) -> KeptHash:
    if file.kept is not None:
        return replace(file.kept, modified_ns=seen.modified_ns, proven_at=time.time())
    return KeptHash(
        seen.sha256, seen.size_bytes, seen.modified_ns, file.witness, proven_at=time.time()
    )
