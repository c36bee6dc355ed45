"""The Hugging Face side of the local hub: API, trees with pages, resolve, tokens, quotas."""

from __future__ import annotations

import hashlib
import json
import re
import time
import urllib.parse
from typing import Any

from tests.support.hub.answers import Handler
from tests.support.hub.content import HubFile
from tests.support.hub.modelscope import ModelScopeAnswers
from tests.support.hub.repos import Commit, Repo

WINDOW_S = 300
EXPANDED_PAGE_ENTRIES = 50
_ID = r"[^/]+/[^/]+"


class HubHandler(ModelScopeAnswers, Handler):
    """Both hubs' paths; ``origin`` tells the log which door was used."""

    origin = "hub"

    def serve(self, target: urllib.parse.SplitResult) -> None:
        query = dict(urllib.parse.parse_qsl(target.query))
        path = target.path
        if path.startswith(("/api/v1/", "/openapi/v1/")):
            self.modelscope(urllib.parse.unquote(path), query)
            return
        self.bucket = "api" if path.startswith("/api/") else "resolvers"
        if not self.hub.count(self.origin, self.bucket):
            self.refuse(429, "", "Too many requests")
        elif self.account_problem():
            self.refuse(401, "", "Invalid credentials in Authorization header")
        elif path == "/api/whoami-v2":
            self._whoami()
        elif path == "/api/models":
            self._search(query)
        elif match := re.fullmatch(rf"/api/models/({_ID})(/.*)?", path):
            self._with_repo(match[1], lambda repo: self._api(repo, match[2] or "", query))
        elif match := re.fullmatch(rf"/api/resolve-cache/models/({_ID})/([0-9a-f]+)/(.+)", path):
            self._with_repo(match[1], lambda repo: self._cached(repo, match[2], match[3]))
        elif match := re.fullmatch(rf"/({_ID})/resolve/([^/]+)/(.+)", path):
            self._with_repo(match[1], lambda repo: self._resolve(repo, match[2], match[3]))
        else:
            page = b"<!DOCTYPE html><html><body>404</body></html>"
            self.answer(404, {"Content-Type": "text/html; charset=utf-8"}, page)

    def quota_headers(self) -> dict[str, str]:
        """On every answer, not only on a 429."""
        bucket = getattr(self, "bucket", None)
        if self.origin == "modelscope" or bucket is None:
            return {}
        quota, left, reset_s = self.hub.quota(self.origin, bucket)
        return {
            "RateLimit": f'"{bucket}";r={left};t={reset_s}',
            "RateLimit-Policy": f'"fixed window";"{bucket}";q={quota};w={WINDOW_S}',
        }

    # who asks

    @property
    def token(self) -> str | None:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ").strip() or None

    def account_problem(self) -> bool:
        return self.token is not None and self.token not in self.hub.accounts

    def _may_read(self, repo: Repo) -> bool:
        account = self.hub.accounts.get(self.token or "")
        return account is not None and repo.name in account.may_read

    def refuse(self, status: int, code: str, text: str) -> None:
        headers = {"X-Error-Message": text, "X-Request-Id": "Root=1-local"}
        if code:
            headers["X-Error-Code"] = code
        self.json({"error": text}, headers, status)

    def _with_repo(self, name: str, serve: Any) -> None:
        """Missing and private repositories look alike to strangers."""
        repo = self.hub.repo_named(name)
        if repo is None and (new := self.hub.renamed.get(name)):
            self.answer(307, {"Location": self.path.replace(name, new)}, b"Temporary Redirect")
        elif repo is None or (repo.private and not self._may_read(repo)):
            status = 401 if self.token is None else 404
            self.refuse(status, "RepoNotFound", "Repository not found")
        else:
            serve(repo)

    def _refuse_gated(self, repo: Repo) -> bool:
        if not repo.gated or self._may_read(repo):
            return False
        start = f"Access to model {repo.name} is restricted"
        if self.token is None:
            text = f"{start}. You must have access to it and be authenticated to access it."
            self.refuse(401, "GatedRepo", text)
        else:
            text = f"{start} and you are not in the authorized list. Visit its page to ask for it."
            self.refuse(403, "GatedRepo", text)
        return True

    # the API

    def _whoami(self) -> None:
        if self.token is None:
            self.refuse(401, "", "Invalid username or password.")
            return
        account = self.hub.accounts[self.token]
        access = {"displayName": "test", "role": "read"}
        self.json(
            {"type": "user", "name": account.name, "auth": {"accessToken": access}},
        )

    def _search(self, query: dict[str, str]) -> None:
        words = query.get("search", "").lower().split()
        found = [
            repo
            for repo in self.hub.repos
            if all(word in repo.name.lower() for word in words)
            and query.get("author", repo.name.partition("/")[0]) == repo.name.partition("/")[0]
            and (not repo.private or self._may_read(repo))
            and query.get("filter", "") in ("", *repo.tags)
        ]
        found.sort(key=lambda repo: -repo.downloads)
        first, limit = int(query.get("cursor", "0")), int(query.get("limit", "1000"))
        headers = self._link(first + limit, len(found))
        self.json([_summary(repo) for repo in found[first : first + limit]], headers)

    def _api(self, repo: Repo, rest: str, query: dict[str, str]) -> None:
        if repo.hides_listing and self._refuse_gated(repo):
            return
        kind, _, tail = rest.removeprefix("/").partition("/")
        revision, _, folder = tail.partition("/")
        if kind == "refs":
            branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head.id}
            self.json({"branches": [branch], "tags": [], "converts": []})
            return
        name = urllib.parse.unquote(revision) if revision else "main"
        commit = repo.at(name)
        if commit is None:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {name}")
        elif kind in ("", "revision"):
            self.json(_info(repo, commit, blobs=query.get("blobs") == "True"))
        elif kind == "tree":
            self._tree(commit, urllib.parse.unquote(folder), query)
        elif kind == "paths-info":
            asked = json.loads(self.body)["paths"]
            self.json([_entry(file) for file in commit.files if file.path in asked])
        elif kind == "xet-read-token":
            expires = int(self.hub.now()) + 3600
            self.json(
                {"accessToken": "xet-of-the-tests", "exp": expires, "casUrl": self.hub.cdn},
                {
                    "X-Xet-Access-Token": "xet-of-the-tests",
                    "X-Xet-Token-Expiration": str(expires),
                    "X-Xet-Cas-Url": self.hub.cdn,
                },
            )
        else:
            self.refuse(404, "", "Not found")

    def _tree(self, commit: Commit, folder: str, query: dict[str, str]) -> None:
        entries = _tree(
            commit.files, folder, recursive=query.get("recursive", "").lower() == "true"
        )
        if folder and not entries:
            self.refuse(404, "EntryNotFound", f"{folder} does not exist")
            return
        expand = query.get("expand", "").lower() == "true"
        size = min(self.hub.page_entries, EXPANDED_PAGE_ENTRIES if expand else 10**9)
        first = int(query.get("cursor", "0"))
        page = entries[first : first + size]
        if expand:
            page = [{**entry, **_expanded(commit)} for entry in page]
        self.json(page, self._link(first + size, len(entries)))

    def _link(self, following: int, count: int) -> dict[str, str]:
        """The next page's address, whole, with its cursor inside."""
        if following >= count:
            return {}
        parts = urllib.parse.urlsplit(self.path)
        query = [pair for pair in urllib.parse.parse_qsl(parts.query) if pair[0] != "cursor"]
        query.append(("cursor", str(following)))
        here = self.hub.endpoints[self.origin]
        return {"Link": f'<{here}{parts.path}?{urllib.parse.urlencode(query)}>; rel="next"'}

    # files

    def _resolve(self, repo: Repo, revision: str, quoted: str) -> None:
        if self._refuse_gated(repo):
            return
        commit = repo.at(urllib.parse.unquote(revision))
        path = urllib.parse.unquote(quoted)
        if commit is None:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        file = next((file for file in commit.files if file.path == path), None)
        if file is None:
            self.refuse(404, "EntryNotFound", "Entry not found")
        elif file.lfs:
            self._redirect_to_cdn(repo, commit, file)
        else:
            etag = urllib.parse.quote(f'"{file.git_sha1}"')
            place = f"/api/resolve-cache/models/{repo.name}/{commit.id}/{quoted}?etag={etag}"
            self.answer(307, {"Location": place, "X-Repo-Commit": commit.id}, b"")

    def _redirect_to_cdn(self, repo: Repo, commit: Commit, file: HubFile) -> None:
        headers = {
            "Location": self.hub.signed(file),
            "X-Repo-Commit": commit.id,
            "X-Linked-Size": str(file.length),
            "X-Linked-ETag": f'"{file.sha256}"',
            "Accept-Ranges": "bytes",
        }
        if file.xet:
            here = self.hub.endpoints[self.origin]
            auth = f"{here}/api/models/{repo.name}/xet-read-token/{commit.id}"
            plan = f"{self.hub.cdn}/v1/reconstructions/{file.xet_hash}"
            headers["X-Xet-Hash"] = file.xet_hash
            headers["Link"] = f'<{auth}>; rel="xet-auth", <{plan}>; rel="xet-reconstruction-info"'
        # Its length is the text's, not the file's.
        self.answer(302, headers, b"Found. Redirecting to a very long address".ljust(900, b"."))

    def _cached(self, repo: Repo, revision: str, quoted: str) -> None:
        commit = repo.at(revision)
        path = urllib.parse.unquote(quoted)
        file = next((f for f in commit.files if f.path == path), None) if commit else None
        if file is None or commit is None:
            self.refuse(404, "EntryNotFound", "Entry not found")
        else:
            self.send_file(file, {"ETag": f'"{file.git_sha1}"', "X-Repo-Commit": commit.id})


def _summary(repo: Repo) -> dict[str, Any]:
    return {
        "id": repo.name, "modelId": repo.name, "private": repo.private,
        "gated": repo.gated or False, "downloads": repo.downloads, "likes": repo.downloads // 100,
        "tags": [*repo.tags, f"license:{repo.licence}"], "sha": repo.head.id,
        "lastModified": "2026-10-01T12:00:00.000Z",
    }  # fmt: skip


def _info(repo: Repo, commit: Commit, *, blobs: bool) -> dict[str, Any]:
    siblings: list[dict[str, Any]] = []
    for file in commit.files:
        sibling: dict[str, Any] = {"rfilename": file.path}
        if blobs:
            sibling |= {"size": file.length, "blobId": file.git_sha1}
            if file.lfs:
                sibling["lfs"] = _lfs(file) | {"sha256": file.sha256}
        siblings.append(sibling)
    card = {"license": repo.licence}
    if repo.licence_name:
        card["license_name"] = repo.licence_name
    return _summary(repo) | {
        "sha": commit.id, "cardData": card, "siblings": siblings, "disabled": False,
        "usedStorage": sum(file.length for file in commit.files),
    }  # fmt: skip


def _lfs(file: HubFile) -> dict[str, Any]:
    return {
        "oid": file.listed_sha256 or file.sha256,
        "size": file.length if file.listed_size is None else file.listed_size,
        "pointerSize": len(file.pointer),
    }


def _entry(file: HubFile) -> dict[str, Any]:
    size = file.length if file.listed_size is None else file.listed_size
    entry: dict[str, Any] = {
        "type": "file", "oid": file.git_sha1, "size": size, "path": file.path,
    }  # fmt: skip
    if file.lfs:
        entry["lfs"] = _lfs(file)
        if file.xet:
            entry["xetHash"] = file.xet_hash
    return entry


def _tree(files: list[HubFile], folder: str, *, recursive: bool) -> list[dict[str, Any]]:
    """Files and folders below ``folder``, each folder before its first file."""
    start = f"{folder}/" if folder else ""
    entries: list[dict[str, Any]] = []
    seen: set[str] = set()
    for file in files:
        if not file.path.startswith(start):
            continue
        parents = file.path[len(start) :].split("/")[:-1]
        for depth in (
            range(1, len(parents) + 1) if recursive else range(1, min(len(parents), 1) + 1)
        ):
            path = start + "/".join(parents[:depth])
            if path not in seen:
                seen.add(path)
                oid = hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()
                entries.append({"type": "directory", "oid": oid, "size": 0, "path": path})
        if recursive or not parents:
            entries.append(_entry(file))
    return entries


def _expanded(commit: Commit) -> dict[str, Any]:
    date = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(0))
    scan = {"status": "safe"}
    return {
        "lastCommit": {"id": commit.id, "title": "Upload", "date": date},
        "securityFileStatus": {"status": "safe", "avScan": scan, "pickleImportScan": scan},
    }
