"""Everything that can be known before the first byte. Pure: the facts come in, rows come out.

The facts are what the hubs list, what was chosen, and what ``volume`` saw of the place. The
planner's verdict and the check of the engine are rows that others make and that are put in here.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from kimi_desktop.base.units import GIB, format_file_size
from kimi_desktop.downloads.choose import Choice
from kimi_desktop.downloads.hubs.gather import Gathered
from kimi_desktop.downloads.preflight_types import Level, Preflight, Row, row
from kimi_desktop.downloads.publishers import is_known, looks_like
from kimi_desktop.downloads.surroundings import Surroundings
from kimi_desktop.downloads.types import DownloadSpec, HubKind, RepoListing
from kimi_desktop.downloads.volume import VolumeFacts

SPARE_BYTES = GIB
SPARE_SHARE = 50
"""One part in so many on top, for what file systems take themselves."""
MOST_NAMES = 3
PARTIAL_NAME = ".kimi-partial/0123456789abcdef.pieces"
"""The longest name that a file has while it is fetched."""
_WEIGHTS = (".gguf", ".safetensors")

Judge = Callable[[RepoListing, Choice], Row | None]
"""Another look at what was chosen: the planner's verdict, whether the engine loads it."""


@dataclass(frozen=True, slots=True)
class Question:
    """One download that somebody wants to begin."""

    gathered: Gathered
    choice: Choice
    spec: DownloadSpec
    volume: VolumeFacts
    around: Surroundings = field(default_factory=Surroundings)
    """What is there already, and the other downloads."""
    is_newest: bool = True
    """No commit was named: it is the newest one."""
    more: Sequence[Row] = field(default=())
    """Rows of others."""
    mirrors: Sequence[str] = field(default=())
    """Endpoints that only pass on what others publish."""


def check(question: Question) -> Preflight:
    """The rows, what stops first."""
    total = question.choice.size_bytes
    around = question.around
    missing = max(total - around.there_bytes - around.partial_bytes, 0)
    needed = missing + missing // SPARE_SHARE + SPARE_BYTES if missing else 0
    rows = [
        _space(question, needed),
        _file_size(question),
        _writable(question.volume),
        _version(question),
        _unfinished(question),
        _paths(question),
        _proof(question.choice),
        _sources(question),
        _names(question),
        _pickles(question.choice),
        _code(question.choice),
        _publisher(question.gathered.leading),
        _licence(question.gathered.leading),
        *question.more,
    ]
    order = list(reversed(Level))
    found = sorted((one for one in rows if one), key=lambda one: order.index(one.level))
    return Preflight(tuple(found), total, missing, needed, question.volume.free_bytes)


def _space(question: Question, needed: int) -> Row:
    volume = question.volume
    params = {
        "path": str(volume.folder),
        "needed": format_file_size(needed),
        "free": format_file_size(volume.free_bytes),
        "lacking": format_file_size(max(needed - volume.free_bytes, 0)),
    }
    queued = question.around.queued_bytes if needed else 0
    if volume.free_bytes - queued < needed <= volume.free_bytes:
        lacking = format_file_size(needed + queued - volume.free_bytes)
        params |= {"queued": format_file_size(queued), "lacking": lacking}
        return row("space", Level.STOP, "space_queue", **params)
    if needed <= volume.free_bytes:
        key = "space" if needed else "space_none"
        return row("space", Level.OK, key, **params)
    limited = volume.quota_bytes is not None and volume.quota_bytes <= volume.free_bytes
    return row("space", Level.STOP, "space_quota" if limited else "space_short", **params)


def _version(question: Question) -> Row | None:
    """Files that are there in another version."""
    around = question.around
    if not around.replaced:
        return None
    return row(
        "version",
        Level.WARN,
        "newer_version" if question.is_newest else "other_version",
        path=question.spec.folder,
        there=around.version_there,
        commit=question.spec.commit[:12],
        count=len(around.replaced),
        files=_few(around.replaced),
    )


def _unfinished(question: Question) -> Row | None:
    """Another version of the same files that has not come to its end."""
    around = question.around
    if not around.taken_over:
        return None
    lost = format_file_size(around.lost_bytes)
    return row("unfinished", Level.WARN, "unfinished", commit=around.taken_over, lost=lost)


def _file_size(question: Question) -> Row | None:
    limit = question.volume.max_file_bytes
    too_large = [f for f in question.choice.files if limit is not None and f.size_bytes > limit]
    if not too_large:
        return None
    largest = max(too_large, key=lambda file: file.size_bytes)
    return row(
        "file_size",
        Level.STOP,
        "file_size",
        path=str(question.volume.folder),
        file_system=question.volume.file_system,
        count=len(too_large),
        file=PurePath(largest.path).name,
        size=format_file_size(largest.size_bytes),
    )


def _writable(volume: VolumeFacts) -> Row | None:
    if volume.writable:
        return None
    return row("writable", Level.STOP, "read_only", path=str(volume.folder))


def _paths(question: Question) -> Row | None:
    """The longest path that will be written, and the longest name."""
    volume, spec = question.volume, question.spec
    for target in (*(job.target for job in spec.files), PARTIAL_NAME):
        whole = f"{spec.folder}/{target}"
        name = max((*PurePath(spec.folder).parts, *target.split("/")), key=volume.length_of)
        if volume.length_of(name) > volume.max_name:
            return row("paths", Level.STOP, "name_long", path=whole, limit=volume.max_name)
        if volume.length_of(whole) > volume.max_path:
            return row("paths", Level.STOP, "path_long", path=whole, limit=volume.max_path)
    return None


def _proof(choice: Choice) -> Row:
    """Whether every byte can be proven."""
    bare = choice.unproven
    if not bare:
        return row("proof", Level.OK, "proven", count=len(choice.files))
    weights = [path for path in bare if path.lower().endswith(_WEIGHTS)]
    level = Level.STOP if weights else Level.WARN
    key = "unproven_weights" if weights else "unproven"
    return row("proof", level, key, count=len(bare), files=_few(weights or bare))


def _sources(question: Question) -> Row:
    """Who offers it, and whose hashes are believed."""
    gathered, mirrors = question.gathered, question.mirrors
    host = _host(gathered.leading)
    is_mirror = gathered.leading.endpoint in mirrors
    if gathered.disagreements:
        level = Level.STOP if is_mirror else Level.WARN
        key = "mirror_disagrees" if is_mirror else "disagree"
        return row("sources", level, key, host=host, files=_few(gathered.disagreements))
    largest = max(question.choice.files, key=lambda file: file.size_bytes)
    endpoints = [source.endpoint for source in gathered.sources_of(largest)]
    if is_mirror and all(endpoint in mirrors for endpoint in endpoints):
        return row("sources", Level.WARN, "mirror_alone", host=host)
    hosts = [urllib.parse.urlsplit(endpoint).hostname or "" for endpoint in endpoints]
    if len(hosts) > 1:
        listed = ", ".join(dict.fromkeys(hosts))
        return row("sources", Level.OK, "sources", count=len(hosts), hosts=listed)
    return row("sources", Level.OK, "source", host=host)


def _names(question: Question) -> Row | None:
    names = question.choice.suspicious
    if not names:
        return None
    shown = ", ".join(name.shown for name in names[:MOST_NAMES])
    repo = question.gathered.leading.repo
    return row("names", Level.WARN, "suspicious", repo=repo, count=len(names), names=shown)


def _pickles(choice: Choice) -> Row | None:
    if not choice.pickles:
        return None
    return row(
        "pickles", Level.OK, "pickles", count=len(choice.pickles), files=_few(choice.pickles)
    )


def _code(choice: Choice) -> Row | None:
    if not choice.code:
        return None
    return row("code", Level.WARN, "code", count=len(choice.code), files=", ".join(choice.code))


def _publisher(listing: RepoListing) -> Row | None:
    owner = listing.repo.partition("/")[0]
    if is_known(owner):
        return None
    if known := looks_like(owner):
        return row("publisher", Level.WARN, "look_alike", owner=owner, known=known)
    return row("publisher", Level.OK, "publisher", owner=owner)


def _licence(listing: RepoListing) -> Row:
    params = {
        "repo": listing.repo,
        "host": _host(listing),
        "licence": listing.licence,
        "revision": listing.commit[:12],
    }
    pinned = listing.kind is HubKind.HUGGINGFACE
    if not listing.licence:
        return row("licence", Level.WARN, "no_licence", **params)
    return row("licence", Level.OK, "licence" if pinned else "licence_unpinned", **params)


def _host(listing: RepoListing) -> str:
    return urllib.parse.urlsplit(listing.endpoint).hostname or listing.endpoint


def _few(names: Sequence[str]) -> str:
    more = " …" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
