"""Hugging Face, its mirrors, and every hub that speaks its API. Blocking (pool, worker).

One call pins the branch to a commit, one (or a few pages) lists the tree of that commit with all
sizes and hashes: never one request per file, which runs into the quota.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.control import Answer, ControlClient
from kimi_desktop.downloads.hubs.entries import (
    MAX_FILES,
    BadEntryError,
    FoundRepo,
    huggingface_file,
    huggingface_licence,
    is_repo_name,
    number_of,
    sha1_of,
    tags_of,
    text_of,
)
from kimi_desktop.downloads.types import HubKind, RepoFile, RepoListing

MAX_PAGES = 200

_NEXT = re.compile(r"<([^>]+)>\s*;\s*rel=\"next\"")


def list_repo(client: ControlClient, revision: str = "main") -> RepoListing:
    """Every file of a revision, pinned to its commit.

    Raises:
        DownloadError: no such repository or revision, gated, bad token, busy, trouble, offline,
            a captive portal, or an answer that makes no sense.
    """
    base = f"{client.endpoint}/api/models/{client.repo}"
    info = client.json(f"{base}/revision/{urllib.parse.quote(revision, safe='')}")
    if not isinstance(info, Mapping):
        raise client.nonsense("model")
    if (name := info.get("id")) != client.repo and is_repo_name(name):
        client.repo = str(name)  # it was renamed, or is spelled otherwise
        base = f"{client.endpoint}/api/models/{client.repo}"
    try:
        commit = sha1_of(info.get("sha"), "sha")
        files = _tree(client, f"{base}/tree/{commit}?recursive=true&expand=false")
    except BadEntryError as error:
        raise client.nonsense(str(error)) from error
    return RepoListing(
        kind=HubKind.HUGGINGFACE,
        endpoint=client.endpoint,
        repo=client.repo,
        commit=commit,
        files=tuple(files),
        licence=huggingface_licence(info),
        gated=bool(info.get("gated")),
        private=info.get("private") is True,
    )


def search(client: ControlClient, text: str, *, limit: int, gguf: bool) -> tuple[FoundRepo, ...]:
    """Repositories whose name has the words of ``text``, the most used first.

    Args:
        client: of the hub.
        text: words.
        limit: rows at most.
        gguf: only repositories with GGUF files.
    """
    query = {"search": text, "limit": str(limit), "sort": "downloads", "direction": "-1"}
    if gguf:
        query["filter"] = "gguf"
    rows = client.json(f"{client.endpoint}/api/models?{urllib.parse.urlencode(query)}")
    if not isinstance(rows, list):
        raise client.nonsense("models")
    return tuple(
        FoundRepo(
            repo=text_of(row["id"]),
            downloads=number_of(row.get("downloads")),
            likes=number_of(row.get("likes")),
            licence=huggingface_licence(row),
            gated=bool(row.get("gated")),
            tags=tags_of(row.get("tags")),
            changed=text_of(row.get("lastModified")),
        )
        for row in rows[:limit]
        if isinstance(row, Mapping) and isinstance(row.get("id"), str)
    )


def who_am_i(client: ControlClient) -> str:
    """Name of the account that the client's token belongs to. Strictly limited there: ask once.

    Raises:
        DownloadError: HUB_BAD_TOKEN and whatever else a control call can meet.
    """
    found = client.json(f"{client.endpoint}/api/whoami-v2")
    name = text_of(found.get("name")) if isinstance(found, Mapping) else ""
    if not name:
        raise client.nonsense("name")
    return name


def _tree(client: ControlClient, first: str) -> list[RepoFile]:
    files: list[RepoFile] = []
    url: str | None = first
    for _ in range(MAX_PAGES):
        if url is None:
            return files
        answer = client.get(url)
        files += _files(client.parse(answer))
        if len(files) > MAX_FILES:
            raise BadEntryError("files")
        url = _next_page(client, answer)
    raise BadEntryError("pages")


def _files(entries: Any) -> list[RepoFile]:  # noqa: ANN401
    if not isinstance(entries, list):
        raise BadEntryError("tree")
    found: list[RepoFile] = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            raise BadEntryError("tree")
        if entry.get("type") != "directory":
            found.append(huggingface_file(entry))
    return found


def _next_page(client: ControlClient, answer: Answer) -> str | None:
    """The address of the next page, its cursor inside; only on the same origin."""
    match = _NEXT.search(answer.headers.get("Link", ""))
    if match is None:
        return None
    url = client.here(urllib.parse.urljoin(f"{client.endpoint}/", match[1]))
    if origin_of(url) != origin_of(client.endpoint):
        raise BadEntryError("Link")
    return url
