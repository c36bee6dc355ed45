"""From what a person names to a download that may start. Blocking (pool); writes nothing.

Listings come from every hub that has the repository, hashes from the most trusted of them, sources
in the order of their speed. The rows of the preflight say what was found.
"""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.choose import Choice, Wish, choose_files
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.gather import Gathered, gather
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, TokenOf, hubs_to_ask, known_hubs
from kimi_desktop.downloads.hubs.speed import SourceSpeed, measure
from kimi_desktop.downloads.jobs import Job
from kimi_desktop.downloads.preflight import Judge, Question, check
from kimi_desktop.downloads.preflight_types import Preflight
from kimi_desktop.downloads.surroundings import look_around
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from kimi_desktop.downloads.volume import VolumeFacts, look_at_volume
from kimi_desktop.models import catalogue_types
from kimi_desktop.models.references import RepoReference, parse_reference

MEASURED_ABOVE_BYTES = 256 * MIB
"""A smaller download is over before a measurement pays."""
_KINDS = {
    catalogue_types.Hub.HUGGINGFACE: HubKind.HUGGINGFACE,
    catalogue_types.Hub.MODELSCOPE: HubKind.MODELSCOPE,
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A download with everything that is known about it."""

    spec: DownloadSpec
    preflight: Preflight
    choice: Choice
    gathered: Gathered
    speeds: tuple[SourceSpeed, ...]
    """Of the largest file, the fastest first; empty when nothing was measured."""


class Preparer:
    """Prepares downloads. Thread-safe."""

    def __init__(
        self,
        client: HubClient,
        token_of: TokenOf = lambda _origin: None,
        *,
        hubs: Callable[[], Sequence[Hub]] = known_hubs,
        look_at: Callable[[Path], VolumeFacts] = look_at_volume,
        jobs: Callable[[], Sequence[Job]] = tuple,
    ) -> None:
        """``token_of`` as for the client; ``hubs``: those there are, the preferred first.

        ``jobs``: all downloads that are kept.
        """
        self._jobs = jobs
        self._client = client
        self._token_of = token_of
        self._hubs = hubs
        self._look_at = look_at

    def prepare(
        self,
        reference: RepoReference,
        models_folder: Path,
        *,
        wish: Wish | None = None,
        source: str | None = None,
        judges: Sequence[Judge] = (),
    ) -> Prepared:
        """Ask the hubs, choose, look at the drive.

        Args:
            reference: the repository, and what of it as far as the text said.
            models_folder: the model goes to ``owner/name`` below it.
            wish: more about what of it; what the reference names is added.
            source: id, host or address of the one hub to ask.
            judges: other looks at what was chosen; their rows join the preflight.

        Raises:
            DownloadError: no hub offers it, or nothing in it fits the wish.
            OSError: the folder's drive cannot be looked at.
        """
        hubs = self._asked(reference, source)
        gathered = gather(self._client, _by_trust(hubs, reference), reference.repo,
                          reference.revision)  # fmt: skip
        choice = choose_files(gathered.leading, _merged(wish or Wish(), reference))
        folder = models_folder.expanduser().absolute().joinpath(*reference.repo.split("/"))
        spec = _spec(gathered, choice, folder, [hub.endpoint for hub in hubs])
        speeds: tuple[SourceSpeed, ...] = ()
        around = look_around(spec, self._jobs())
        if choice.size_bytes - around.there_bytes - around.partial_bytes > MEASURED_ABOVE_BYTES:
            speeds = self._measure(spec)
            spec = _ordered(spec, [one.source.endpoint for one in speeds])
        rows = [found for judge in judges if (found := judge(gathered.leading, choice))]
        question = Question(
            gathered=gathered,
            choice=choice,
            spec=spec,
            volume=self._look_at(folder),
            around=around,
            is_newest=reference.revision is None,
            more=rows,
            mirrors=[hub.endpoint for hub in hubs if hub.is_mirror],
        )
        return Prepared(spec, check(question), choice, gathered, speeds)

    def _asked(self, reference: RepoReference, source: str | None) -> list[Hub]:
        """The hubs to ask, the preferred one first."""
        hubs = list(self._hubs())
        if source is not None:
            wanted = source.strip().rstrip("/").casefold()
            named = [hub for hub in hubs if wanted in _names(hub)]
            if not named:
                known = ", ".join(hub.id for hub in hubs)
                params = {"source": source[:100], "known": known}
                raise DownloadError(ErrorCode.HUB_UNKNOWN_SOURCE, params)
            return named[:1]
        return hubs_to_ask(hubs, _KINDS[reference.hub])

    def _measure(self, spec: DownloadSpec) -> tuple[SourceSpeed, ...]:
        largest = max(spec.files, key=lambda job: job.size_bytes)
        if len(largest.sources) < 2:
            return ()
        return measure(largest.sources, largest.size_bytes, token_of=self._token_of)


def read_wanted(text: str) -> RepoReference:
    """A repository as people type it for a download: ``owner/name@revision:QUANTIZATION``.

    Raises:
        DownloadError: HUB_BAD_NAME.
    """
    head, at, rest = text.strip().partition("@")
    revision, colon, quantization = rest.partition(":")
    found = parse_reference(head + colon + quantization if at else text)
    if found is None or (at and not revision):
        raise DownloadError(ErrorCode.HUB_BAD_NAME, {"name": text[:100]})
    return dataclasses.replace(found, revision=revision) if at else found


def _names(hub: Hub) -> tuple[str, ...]:
    host = urllib.parse.urlsplit(hub.endpoint).hostname or ""
    return (hub.id.casefold(), hub.name.casefold(), hub.endpoint.casefold(), host)


def _by_trust(hubs: Sequence[Hub], reference: RepoReference) -> list[Hub]:
    """Publishers' own hubs before mirrors: whose hashes are believed."""
    kind = _KINDS[reference.hub]
    return sorted(hubs, key=lambda hub: (hub.kind is not kind, hub.is_mirror))


def _merged(wish: Wish, reference: RepoReference) -> Wish:
    if wish.include or wish.path or wish.quantization:
        return wish
    return dataclasses.replace(
        wish, path=reference.path, quantization=None if reference.path else reference.quantization
    )


def _spec(
    gathered: Gathered, choice: Choice, folder: Path, preference: Sequence[str]
) -> DownloadSpec:
    leading = gathered.leading
    jobs = tuple(
        FileJob(f.path, f.size_bytes, f.sha256, f.git_sha1, gathered.sources_of(f))
        for f in choice.files
    )
    title = f"{leading.repo} {choice.quantization}".rstrip()
    spec = DownloadSpec(title, str(folder), jobs, leading.licence, leading.commit)
    return _ordered(spec, preference)


def _ordered(spec: DownloadSpec, endpoints: Sequence[str]) -> DownloadSpec:
    """The same with every file's sources in this order of hubs."""

    def rank(source: Source) -> int:
        known = source.endpoint in endpoints
        return endpoints.index(source.endpoint) if known else len(endpoints)

    jobs = tuple(
        dataclasses.replace(job, sources=tuple(sorted(job.sources, key=rank))) for job in spec.files
    )
    return dataclasses.replace(spec, files=jobs)


def source_hosts(spec: DownloadSpec) -> tuple[str, ...]:
    """Origins that the download may ask, for their tokens."""
    return tuple(dict.fromkeys(origin_of(s.endpoint) for job in spec.files for s in job.sources))
