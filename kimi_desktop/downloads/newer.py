"""Whether a hub has another version of a model that is here. On the IO thread; asks in the pool.

Known are models whose record names repository and commit. A hub is asked once a day for each
repository, and when somebody wants to know. What counts is a file of the model whose hash is
another one at the newest commit: a commit that changes a picture or a text is none. Implements the
window's NewerService; publishes NewerVersionsFound.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.files import write_atomically
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, hubs_to_ask
from kimi_desktop.downloads.kept_hashes import (
    SHORT_DIGITS,
    KeptHash,
    common_commit,
    find_record,
    read_hashes,
)
from kimi_desktop.downloads.newer_types import NewerVersion, NewerVersionsFound
from kimi_desktop.downloads.types import HubKind
from kimi_desktop.models.facts import quantization_label
from kimi_desktop.models.types import LocalModel

log = logging.getLogger(__name__)

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class _Look:
    """What a hub said of a repository."""

    at: float
    """time.time()"""
    commit: str
    hashes: Mapping[str, str]
    """Path -> SHA-256 of every file that has one."""


class NewerVersions:
    """Asks about the models of one profile.

    Args:
        io: whose thread works.
        bus: where it publishes.
        file: what hubs said, kept for a day.
        client: of the hubs.
        hubs: those there are, the preferred first.
        wanted: whether it asks by itself.
    """

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        file: Path,
        client: HubClient,
        hubs: Callable[[], Sequence[Hub]],
        *,
        wanted: Callable[[], bool],
    ) -> None:
        self._io = io
        self._bus = bus
        self._file = file
        self._client = client
        self._hubs = hubs
        self._wanted = wanted
        self.found: tuple[NewerVersion, ...] = ()

    def look(
        self, models: Sequence[LocalModel], *, again: bool = False
    ) -> Operation[tuple[NewerVersion, ...]]:
        """Ask about these models; ``again``: somebody wants to know now.

        Fails with a DownloadError when a hub could not be asked, and only when ``again``.
        """

        async def run() -> tuple[NewerVersion, ...]:
            if again or self._wanted():
                found = await self._io.in_pool(self._look, tuple(models), again)
                if found != self.found:
                    self.found = found
                    self._bus.publish(NewerVersionsFound(found))
            return self.found

        return self._io.submit(run)

    def _look(self, models: Sequence[LocalModel], again: bool) -> tuple[NewerVersion, ...]:
        known = _read(self._file)
        read = cache(read_hashes)
        records = {model.id: _record_of(model, read) for model in models}
        failed: list[DownloadError] = []
        for repo in sorted({repo for repo, _, _ in records.values() if repo}):
            kept = known.get(repo)
            if not again and kept is not None and 0 <= time.time() - kept.at < DAY_S:
                continue
            try:
                known[repo] = self._ask(repo)
            except DownloadError as error:
                failed.append(error)
                log.info("no newer version is known of %s: %s", repo, error)
        _write(self._file, known)
        if again and failed:
            raise failed[0]
        found = (_newer(model, records[model.id], known) for model in models)
        return tuple(one for one in found if one is not None)

    def _ask(self, repo: str) -> _Look:
        kind = HubKind.HUGGINGFACE
        hub = next(one for one in hubs_to_ask(self._hubs(), kind) if one.kind is kind)
        listing = self._client.list_repo(hub, repo)
        hashes = {file.path: file.sha256 for file in listing.files if file.sha256}
        return _Look(time.time(), listing.commit, hashes)


_Record = tuple[str, str, Mapping[str, KeptHash]]
"""Repository, commit, the model's files by their names in it."""


def _record_of(model: LocalModel, read: Callable[[Path], Mapping[str, KeptHash]]) -> _Record:
    """What the record beside a model says of all its files; ("", "", {}) without one."""
    files: dict[str, KeptHash] = {}
    for path in model.files or (model.path,):
        place = find_record(path)
        kept = read(place[0]).get(place[1]) if place is not None else None
        if place is None or kept is None:
            return "", "", {}
        files[place[1]] = kept
    repos = {kept.repo for kept in files.values()}
    commit = common_commit(files.values())
    return (repos.pop(), commit, files) if len(repos) == 1 and commit else ("", "", {})


def _newer(model: LocalModel, record: _Record, known: Mapping[str, _Look]) -> NewerVersion | None:
    repo, commit, files = record
    look = known.get(repo)
    if look is None or look.commit == commit:
        return None
    changed = [
        name
        for name, kept in files.items()
        if kept.sha256 and look.hashes.get(name, kept.sha256) != kept.sha256
    ]
    if not changed:
        return None
    label = quantization_label(Path(changed[0]).name)
    wanted = f"{repo}:{label}" if label else repo
    return NewerVersion(model.id, wanted, commit[:SHORT_DIGITS], look.commit[:SHORT_DIGITS])


def _read(file: Path) -> dict[str, _Look]:
    """What was kept; nothing when it cannot be read."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        raw = json.loads(file.read_text(encoding="utf-8"))
        return {repo: _Look(**look) for repo, look in raw.items()}
    return {}


def _write(file: Path, looks: Mapping[str, _Look]) -> None:
    """Without it the next start asks again."""
    with suppress(OSError):
        text = json.dumps({repo: asdict(look) for repo, look in looks.items()})
        write_atomically(file, text.encode())
