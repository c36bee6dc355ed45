"""ModelScope: its listing, and what it leaves out without a word. Blocking (pool, worker).

A listing ends at 3,000 entries, with no flag and no pages. One that is so long is asked for folder
by folder. Commits cannot be pinned: the hashes of the listing are what a download is held to.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hubs.control import ControlClient, readable
from kimi_desktop.downloads.hubs.entries import (
    MAX_FILES,
    BadEntryError,
    FoundRepo,
    modelscope_file,
    number_of,
    path_of,
    tags_of,
    text_of,
)
from kimi_desktop.downloads.types import HubKind, RepoFile, RepoListing

CUT_ENTRIES = 3000
MAX_LISTINGS = 1000

_OFFLINE = frozenset({ErrorCode.DOWNLOAD_OFFLINE, ErrorCode.DOWNLOAD_PORTAL, ErrorCode.HUB_BUSY})


def list_repo(client: ControlClient, revision: str = "master") -> RepoListing:
    """Every file of a branch.

    Raises:
        DownloadError: no such repository or revision, bad token, busy, trouble, offline, a captive
            portal, or an answer that makes no sense (a folder with too many entries included).
    """
    try:
        files = _Walk(client, revision).run()
    except BadEntryError as error:
        raise client.nonsense(str(error)) from error
    card = _card(client)
    return RepoListing(
        kind=HubKind.MODELSCOPE,
        endpoint=client.endpoint,
        repo=client.repo,
        commit=revision,
        files=files,
        licence=text_of(card.get("license")),
        gated=card.get("gated") is True,
        private=card.get("private") is True,
    )


def search(client: ControlClient, text: str, *, limit: int) -> tuple[FoundRepo, ...]:
    """Repositories that fit the words of ``text``, in ModelScope's own order."""
    query = urllib.parse.urlencode({"search": text, "page_number": 1, "page_size": limit})
    answer = client.json(f"{client.endpoint}/openapi/v1/models?{query}")
    data = answer.get("data") if isinstance(answer, Mapping) else None
    rows = data.get("models") if isinstance(data, Mapping) else None
    if not isinstance(rows, list):
        raise client.nonsense("models")
    return tuple(
        FoundRepo(
            repo=text_of(row["id"]),
            downloads=number_of(row.get("downloads")),
            likes=number_of(row.get("likes")),
            licence=text_of(row.get("license")),
            gated=row.get("gated") is True,
            tags=tags_of(row.get("tags")),
            changed=text_of(row.get("last_modified")),
        )
        for row in rows[:limit]
        if isinstance(row, Mapping) and isinstance(row.get("id"), str)
    )


def who_am_i(client: ControlClient) -> str:
    """Name of the account that the client's token belongs to.

    Raises:
        DownloadError: HUB_BAD_TOKEN and whatever else a control call can meet.
    """
    answer = client.json(f"{client.endpoint}/openapi/v1/users/me")
    data = answer.get("data") if isinstance(answer, Mapping) else None
    keys = ("username", "Username", "name", "preferred_username")
    names = (text_of(data.get(key)) for key in keys) if isinstance(data, Mapping) else ()
    if name := next(filter(None, names), ""):
        return name
    raise client.nonsense("name")


def _card(client: ControlClient) -> Mapping[str, object]:
    """Licence and the like: good to know, not needed. Nothing when it is not to be had."""
    try:
        answer = client.json(f"{client.endpoint}/openapi/v1/models/{client.repo}")
    except DownloadError as error:
        if error.code in _OFFLINE:
            raise
        return {}
    data = answer.get("data") if isinstance(answer, Mapping) else None
    return data if isinstance(data, Mapping) else {}


class _Walk:
    """All files of a repository, past the cut."""

    def __init__(self, client: ControlClient, revision: str) -> None:
        self._client = client
        self._revision = revision
        self._files: dict[str, RepoFile] = {}
        self._listings = 0

    def run(self) -> tuple[RepoFile, ...]:
        waiting = [""]
        while waiting:
            root = waiting.pop()
            entries = self._list(root, recursive=True)
            self._keep(entries)
            if len(entries) < CUT_ENTRIES:
                continue
            direct = self._list(root, recursive=False)
            if len(direct) >= CUT_ENTRIES:  # nothing shows the rest of this folder
                raise BadEntryError("Files")
            self._keep(direct)
            waiting += [path_of(e, "Path") for e in direct if e.get("Type") == "tree"]
        return tuple(self._files.values())

    def _keep(self, entries: list[Mapping[str, object]]) -> None:
        for entry in entries:
            if entry.get("Type") != "tree":
                file = modelscope_file(entry)
                self._files[file.path] = file
        if len(self._files) > MAX_FILES:
            raise BadEntryError("files")

    def _list(self, root: str, *, recursive: bool) -> list[Mapping[str, object]]:
        self._listings += 1
        if self._listings > MAX_LISTINGS:
            raise BadEntryError("folders")
        query = {"Revision": self._revision, "Recursive": str(recursive)}
        if root:
            query["Root"] = root
        base = f"{self._client.endpoint}/api/v1/models/{self._client.repo}/repo/files"
        data = self._data(self._client.json(f"{base}?{urllib.parse.urlencode(query)}"))
        files = data.get("Files") if isinstance(data, Mapping) else None
        if not isinstance(files, list) or not all(isinstance(e, Mapping) for e in files):
            raise BadEntryError("Files")
        return files

    def _data(self, answer: Any) -> Any:  # noqa: ANN401
        """The body says no on its own, whatever the status was."""
        if not isinstance(answer, Mapping):
            raise BadEntryError("JSON")
        if answer.get("Success"):
            return answer.get("Data")
        if answer.get("Code") in (404, None):
            raise self._client.no_repo()
        why = answer.get("Message")
        raise self._client.refused(readable(why) if isinstance(why, str) and why else "ModelScope")
