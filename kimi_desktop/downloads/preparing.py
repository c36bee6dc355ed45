"""From what a person names to a download that may be added, in one call. Blocking (pool)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kimi_desktop.downloads.choose import Wish
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, TokenOf, known_hubs
from kimi_desktop.downloads.jobs import Job
from kimi_desktop.downloads.preflight import Judge
from kimi_desktop.downloads.prepare import Preparer, read_wanted
from kimi_desktop.downloads.queue_types import PreparedDownload

Prepare = Callable[[str, Path, Sequence[str], str | None], PreparedDownload]
"""(what is wanted, the models folder, patterns, the one source to ask)"""


def preparing(
    token_of: TokenOf = lambda _origin: None,
    *,
    hubs: Callable[[], Sequence[Hub]] = known_hubs,
    judges: Callable[[], Sequence[Judge]] = lambda: (),
    jobs: Callable[[], Sequence[Job]] = tuple,
) -> Prepare:
    """The usual way to prepare.

    Args:
        token_of: the token that belongs to an origin.
        hubs: those there are, the preferred first.
        judges: asked each time, for what they need may be known only later.
        jobs: all downloads that are kept.
    """
    preparer = Preparer(HubClient(token_of), token_of, hubs=hubs, jobs=jobs)

    def prepare(
        text: str, folder: Path, include: Sequence[str], source: str | None
    ) -> PreparedDownload:
        found = preparer.prepare(
            read_wanted(text),
            folder,
            wish=Wish(include=tuple(include)),
            source=source,
            judges=judges(),
        )
        largest = max(found.spec.files, key=lambda job: job.size_bytes, default=None)
        sources = largest.sources if largest else ()
        endpoints = tuple(source.endpoint for source in sources)
        measured = {one.source.endpoint: one.bytes_per_s for one in found.speeds}
        speeds = tuple(measured.get(endpoint, 0.0) for endpoint in endpoints) if measured else ()
        return PreparedDownload(found.spec, found.preflight, endpoints, speeds)

    return prepare
