"""What another program has already need not be fetched again. Blocking (pool)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from kimi_desktop.downloads.imports.importer import Importer, Progress
from kimi_desktop.downloads.imports.types import FoundFile, FoundModel, Origin, Witness
from kimi_desktop.downloads.types import DownloadSpec, FileJob


def reusable(spec: DownloadSpec, models: Iterable[FoundModel]) -> tuple[FoundFile, ...]:
    """Files of other programs that may be files of a download.

    They are equal in size and not known to be something else; their bytes were not looked at yet.

    Args:
        spec: the download.
        models: what there is, as ``layouts.find_in_places`` finds it.
    """
    by_size: dict[int, list[FoundFile]] = {}
    for model in models:
        for file in model.files:
            by_size.setdefault(file.size_bytes, []).append(file)
    found = []
    for job in spec.files:
        if job.sha256 is None or not job.size_bytes or _is_there(spec, job):
            continue
        same = [f for f in by_size.get(job.size_bytes, ()) if f.sha256 in (None, job.sha256)]
        if same:
            # One whose own store says the same hash is the likeliest.
            best = max(same, key=lambda file: file.sha256 is not None)
            found.append(
                FoundFile(best.path, job.target, job.size_bytes, job.sha256, None, Witness.LISTING)
            )
    return tuple(found)


def reuse(
    spec: DownloadSpec,
    files: Iterable[FoundFile],
    progress: Progress = lambda _done, _total, _name: None,
    cancelled: threading.Event | None = None,
) -> tuple[str, ...]:
    """Prove files and link them into the download's folder; the targets that are in place now.

    Raises:
        ImportCancelledError: ``cancelled`` was set.
    """
    folder = Path(spec.folder)
    model = FoundModel(Origin.FOLDER, f"{folder.parent.name}/{folder.name}", folder, tuple(files))
    if not model.files:
        return ()
    (result,) = Importer(folder.parents[1], progress, cancelled).run([model])
    return tuple(file.file.target for file in result.files if file.outcome.is_good)


def _is_there(spec: DownloadSpec, job: FileJob) -> bool:
    return Path(spec.folder).joinpath(*job.target.split("/")).exists()
