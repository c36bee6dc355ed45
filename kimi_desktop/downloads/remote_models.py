"""Models that are on a hub: found by search or reference, listed, their headers read. Blocking.

Of one repository every hub that may have it is asked in turn, the maker's first. Listings and
headers are kept as long as the program runs: the files of a commit never change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError, ModelError
from kimi_desktop.downloads.hubs.entries import FoundRepo
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, hubs_to_ask, known_hubs
from kimi_desktop.downloads.remote_sets import RemoteSet, gguf_sets, read_remote_facts
from kimi_desktop.downloads.types import HubKind, RepoListing
from kimi_desktop.models import catalogue_types
from kimi_desktop.models.facts import KvRule
from kimi_desktop.models.references import RepoReference
from kimi_desktop.models.types import ModelFacts

MOST_NAMES = 12
_KINDS = {
    catalogue_types.Hub.HUGGINGFACE: HubKind.HUGGINGFACE,
    catalogue_types.Hub.MODELSCOPE: HubKind.MODELSCOPE,
}
# What another hub cannot mend: the wish itself is wrong.
_FINAL = frozenset({ErrorCode.HUB_BAD_NAME})


class RemoteModels:
    """Asks the hubs and remembers the answers. Thread-safe."""

    def __init__(
        self,
        kv_rule: KvRule,
        client: HubClient | None = None,
        hubs: Callable[[], Sequence[Hub]] = known_hubs,
    ) -> None:
        """``kv_rule`` as for local files; ``hubs``: those there are, in order."""
        self._kv_rule = kv_rule
        self._client = client or HubClient()
        self._hubs = hubs
        self._lock = threading.Lock()
        self._listings: dict[tuple[HubKind, str, str | None], RepoListing] = {}
        self._facts: dict[tuple[str, str, str, str], ModelFacts] = {}

    def listing(self, reference: RepoReference) -> RepoListing:
        """The files of a repository, from the first hub that has it.

        Raises:
            DownloadError: what the most telling hub said.
        """
        kind = _KINDS[reference.hub]
        key = (kind, reference.repo, reference.revision)
        with self._lock:
            known = self._listings.get(key)
        if known is not None:
            return known
        problems: list[DownloadError] = []
        for hub in self._in_order(kind):
            # A branch of one hub is no branch of the other.
            revision = reference.revision if hub.kind is kind else None
            try:
                found = self._client.list_repo(hub, reference.repo, revision)
            except DownloadError as error:
                if error.code in _FINAL:
                    raise
                problems.append(error)
                continue
            with self._lock:
                self._listings[key] = found
            return found
        raise _most_telling(problems)

    def facts(self, listing: RepoListing, one: RemoteSet) -> ModelFacts:
        """What the headers of a set say.

        Raises:
            DownloadError, ModelError: see ``remote_sets.read_remote_facts``.
        """
        key = (listing.endpoint, listing.repo, listing.commit, one.path)
        with self._lock:
            known = self._facts.get(key)
        if known is None:
            token = self._client.token_for(listing.endpoint)
            known = read_remote_facts(listing, one, self._kv_rule, token=token)
            with self._lock:
                self._facts[key] = known
        return known

    def search(self, text: str) -> tuple[FoundRepo, ...]:
        """Repositories with GGUF files that fit the words, from the first hub that answers.

        Raises:
            DownloadError: no hub answers.
        """
        problems: list[DownloadError] = []
        for hub in self._in_order(HubKind.HUGGINGFACE):
            try:
                return self._client.search(hub, text, gguf=True)
            except DownloadError as error:
                problems.append(error)
        raise _most_telling(problems)

    def _in_order(self, kind: HubKind) -> list[Hub]:
        """Hubs of the reference's kind first, in their order."""
        return hubs_to_ask(self._hubs(), kind)


def choose_set(listing: RepoListing, reference: RepoReference) -> RemoteSet | None:
    """The set that a reference means; None when it leaves it open and there are several.

    Raises:
        ModelError: the repository has no GGUF file, or none that is called so.
    """
    sets = gguf_sets(listing.files)
    if not sets:
        raise ModelError(ErrorCode.MODEL_NO_GGUF, {"repo": listing.repo})
    wanted = reference.path or reference.quantization
    if wanted is None:
        return sets[0] if len(sets) == 1 else None
    found = [one for one in sets if _is_meant(one, reference)]
    if not found:
        names = ", ".join(dict.fromkeys(one.quantization for one in sets[:MOST_NAMES]))
        params = {"repo": listing.repo, "name": wanted, "names": names}
        raise ModelError(ErrorCode.MODEL_NO_QUANTIZATION, params)
    return found[0]


def _is_meant(one: RemoteSet, reference: RepoReference) -> bool:
    if reference.path is not None:
        folder = reference.path.rstrip("/") + "/"
        return any(part.path == reference.path or part.path.startswith(folder)
                   for part in one.parts)  # fmt: skip
    return one.quantization.casefold() == (reference.quantization or "").casefold()


def _most_telling(problems: Sequence[DownloadError]) -> KimiError:
    """Offline says least."""
    telling = (error for error in problems if error.code is not ErrorCode.DOWNLOAD_OFFLINE)
    return next(telling, problems[0])
