"""The ModelScope side of the local hub: listings that are cut in silence, and its range quirk."""

from __future__ import annotations

import re
from typing import Any

from tests.support.hub.answers import Handler
from tests.support.hub.content import HubFile
from tests.support.hub.repos import Account, Repo

DIRECT_BYTES = 8 * 2**20
"""Larger files come from signed addresses."""
DAY = "2026-10-01"


class ModelScopeAnswers(Handler):
    """Answers of the paths below ``/api/v1/models`` and ``/openapi/v1/models``."""

    def modelscope(self, path: str, query: dict[str, str]) -> None:
        if path == "/openapi/v1/models":
            self._list_models(query)
            return
        if path == "/openapi/v1/users/me":
            self._who()
            return
        is_new = path.startswith("/openapi/")
        match = re.fullmatch(r"/(?:api|openapi)/v1/models/([^/]+/[^/]+)(/.*)?", path)
        repo = self.hub.repo_named(match[1]) if match else None
        if match is None or repo is None or (repo.private and not self._may(repo, is_new)):
            self._no(404, 10010205001, "模型不存在")
            return
        rest = match[2] or ""
        if is_new:
            self.json({"success": True, "request_id": "local", "data": _card(repo)})
        elif rest == "":
            self._yes({"Name": repo.name.partition("/")[2], "License": repo.licence})
        elif rest == "/revisions":
            branch = {"Revision": "master", "CreatedAt": 1_790_000_000}
            self._yes({"RevisionMap": {"Branches": [branch], "Tags": []}})
        elif rest == "/repo/files":
            self._files(repo, query)
        elif rest == "/repo":
            self._file(repo, query)
        else:
            self._no(404, 404, "not found")

    def _may(self, repo: Repo, is_new: bool) -> bool:
        account = self._account(is_new)
        return account is not None and repo.name in account.may_read

    def _account(self, is_new: bool) -> Account | None:
        """The newer interface looks at the header, the older one at the cookie."""
        if is_new:
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        else:
            cookie = re.search(r"m_session_id=([^;]+)", self.headers.get("Cookie", ""))
            token = cookie[1] if cookie else ""
        return self.hub.accounts.get(token)

    def _who(self) -> None:
        account = self._account(is_new=True)
        if account is None:
            self.json({"success": False, "code": "InvalidAuthentication"}, status=401)
        else:
            self.json({"success": True, "data": {"username": account.name}})

    def _yes(self, data: Any) -> None:
        self.json({"Code": 200, "Success": True, "Message": "", "RequestId": "r", "Data": data})

    def _no(self, status: int, code: int, text: str) -> None:
        self.json(
            {"Code": code, "Success": False, "Message": text, "RequestId": "r", "Data": None},
            status=status,
        )

    def _list_models(self, query: dict[str, str]) -> None:
        words = query.get("search", "").lower().split()
        found = [
            repo
            for repo in self.hub.repos
            if not repo.private and all(word in repo.name.lower() for word in words)
        ]
        size, number = int(query.get("page_size", "10")), int(query.get("page_number", "1"))
        page = found[(number - 1) * size : number * size]
        data = {"models": [_card(repo) for repo in page], "total_count": len(found)}
        self.json({"success": True, "request_id": "local", "data": data})

    def _files(self, repo: Repo, query: dict[str, str]) -> None:
        commit = repo.at(query.get("Revision", "master"))
        if commit is None:
            self._no(404, 10010205002, "revision not found")
            return
        root = query.get("Root", "").strip("/")
        recursive = query.get("Recursive") == "True"
        entries = _listing(commit.files, root, commit.id, recursive=recursive)
        # Cut without a word: no count, no flag, no pages.
        entries = entries[: self.hub.modelscope_entries]
        if self.hub.upper_case_hashes:
            entries = [{**entry, "Sha256": entry["Sha256"].upper()} for entry in entries]
        self._yes({"Files": entries})

    def _file(self, repo: Repo, query: dict[str, str]) -> None:
        commit = repo.at(query.get("Revision", "master"))
        path = query.get("FilePath", "")
        file = next((f for f in commit.files if f.path == path), None) if commit else None
        if file is None:
            self._no(404, 10010205003, "file not found")
        elif file.length > DIRECT_BYTES:
            self.answer(302, {"Location": self.hub.signed(file, store="oss")}, b"")
        else:
            self.send_file(file, {}, quirk=True)


def _card(repo: Repo) -> dict[str, Any]:
    return {
        "id": repo.name, "display_name": repo.name.partition("/")[2], "license": repo.licence,
        "downloads": repo.downloads, "likes": repo.downloads // 100, "private": repo.private,
        "gated": bool(repo.gated), "tags": list(repo.tags), "last_modified": f"{DAY}T12:00:00Z",
        "file_size": sum(file.length for file in repo.head.files),
    }  # fmt: skip


def _listing(
    files: list[HubFile], root: str, commit: str, *, recursive: bool
) -> list[dict[str, Any]]:
    start = f"{root}/" if root else ""
    entries: list[dict[str, Any]] = []
    seen: set[str] = set()
    for file in files:
        if not file.path.startswith(start):
            continue
        parents = file.path[len(start) :].split("/")[:-1]
        for depth in range(1, (len(parents) if recursive else min(len(parents), 1)) + 1):
            path = start + "/".join(parents[:depth])
            if path not in seen:
                seen.add(path)
                entries.append(_row(path, commit, Type="tree", Size=0, Sha256="", Mode="16384"))
        if recursive or not parents:
            size = file.length if file.listed_size is None else file.listed_size
            digest = file.listed_sha256 or file.sha256
            entries.append(
                _row(file.path, commit, Type="blob", Size=size, Sha256=digest, Mode="33188")
            )
    return entries


def _row(path: str, commit: str, **more: object) -> dict[str, Any]:
    return {
        "Name": path.rpartition("/")[2], "Path": path, "Revision": commit, "IsLFS": False,
        "CommittedDate": 1_790_000_000, "CommitterName": "org", "CommitMessage": "Upload",
        "InCheck": False, **more,
    }  # fmt: skip
