"""A release server on loopback: API, site and asset store under three addresses, as GitHub's are.

The API lists archives with their digests; the site redirects to signed addresses of the store,
which answers ranges. Faults and the log are those of the local hub.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
import time
import urllib.parse
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kimi_desktop.base.assets import asset
from kimi_desktop.downloads.engine_builds.choose import BuildRules
from kimi_desktop.downloads.engine_builds.releases import ReleasePlace
from kimi_desktop.downloads.engine_builds.service import BuildSource
from tests.support.hub.answers import Handler, Request
from tests.support.hub.content import HubFile
from tests.support.hub.faults import FaultScript
from tests.support.hub.server import OriginServer

REPO = "org/engine"

ANSWERS = """#!/bin/sh
case "$1" in
--help) printf -- '--model FNAME  x\\n--list-devices  x\\n--version  x\\n-ngl N  x\\n';;
--version) echo "version: {number} (abc)" >&2;;
--list-devices) printf 'Available devices:\\n{devices}';;
esac
"""


def program_text(tag: str, *devices: str) -> bytes:
    """A llama-server that says what it is and does nothing."""
    lines = "".join(f"  {name}: Card (24078 MiB, 23675 MiB free)\\n" for name in devices)
    return ANSWERS.replace("{number}", tag.lstrip("b")).replace("{devices}", lines).encode()


def tar_gz(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    """An archive as llama.cpp's for Linux: links between its libraries, programs executable."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o755 if name.endswith("llama-server") else 0o644
            archive.addfile(entry, io.BytesIO(content))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()


def zipped(files: Mapping[str, bytes], mode: int = 0o100755) -> bytes:
    """An archive as llama.cpp's for Windows; ``mode`` as a Unix program notes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            archive.writestr(entry, content)
    return out.getvalue()


class _ApiHandler(Handler):
    origin = "api"
    hub: Any

    def serve(self, target: urllib.parse.SplitResult) -> None:
        base = f"/repos/{REPO}/releases"
        releases = [self.hub.described(tag) for tag in self.hub.releases]
        tag = target.path.removeprefix(f"{base}/tags/")
        if target.path == base:
            self.json(releases)
        elif tag in self.hub.releases:
            self.json(self.hub.described(tag))
        else:
            self.json({"message": "Not Found", "status": "404"}, status=404)


class _SiteHandler(Handler):
    origin = "site"
    hub: Any

    def serve(self, target: urllib.parse.SplitResult) -> None:
        tag, name = target.path.removeprefix(f"/{REPO}/releases/download/").split("/")
        if name not in self.hub.releases.get(tag, {}):
            self.answer(404, {"Content-Type": "text/plain"}, b"Not Found")
            return
        where = f"{self.hub.endpoints['store']}/asset/{tag}/{name}?sig=1"
        self.answer(302, {"Location": where}, b"")


class _StoreHandler(Handler):
    origin = "store"
    hub: Any

    def serve(self, target: urllib.parse.SplitResult) -> None:
        _, _, tag, name = target.path.split("/")
        content = self.hub.releases[tag][name]
        self.send_file(HubFile(name, content=content), {"ETag": '"0x8D"'})


@dataclass
class LocalReleases:
    """Releases by tag, the newest first: archive name -> its bytes. Use as a context manager."""

    releases: dict[str, dict[str, bytes]] = field(default_factory=dict)
    without_digest: set[str] = field(default_factory=set)
    """Names of archives."""
    faults: FaultScript = field(default_factory=FaultScript)
    log: list[Request] = field(default_factory=list)
    speeds: dict[str, float] = field(default_factory=dict)
    tls: bool = False

    def __post_init__(self) -> None:
        self.closing = threading.Event()
        self.endpoints: dict[str, str] = {}
        self._servers: list[OriginServer] = []

    def __enter__(self) -> LocalReleases:
        for name, handler in (
            ("127.0.0.1", _ApiHandler),
            ("127.0.0.1", _SiteHandler),
            ("localhost", _StoreHandler),
        ):
            server = OriginServer(name, handler, self)  # type: ignore[arg-type]
            self._servers.append(server)
            self.endpoints[handler.origin] = server.endpoint
        return self

    def __exit__(self, *_error: object) -> None:
        self.closing.set()
        for server in self._servers:
            server.stop()

    @contextmanager
    def offline(self) -> Iterator[None]:
        """Nobody listens; afterwards the same ports answer again."""
        for server in self._servers:
            server.stop()
        try:
            yield
        finally:
            for server in self._servers:
                server.start()

    def now(self) -> float:
        return time.time()

    def requests(self, origin: str) -> list[Request]:
        return [request for request in self.log if request.origin == origin]

    def described(self, tag: str) -> dict[str, Any]:
        """A release as the API tells it."""
        assets = [
            {
                "name": name,
                "size": len(content),
                "state": "uploaded",
                "content_type": "application/octet-stream",
                "digest": None
                if name in self.without_digest
                else f"sha256:{hashlib.sha256(content).hexdigest()}",
            }
            for name, content in self.releases[tag].items()
        ]
        return {"tag_name": tag, "draft": False, "prerelease": False, "assets": assets}

    def source(self) -> BuildSource:
        """With the rules that ship."""
        file: Path = asset("engines") / "llama-cpp-builds.json"
        rules = BuildRules.from_json(json.loads(file.read_text(encoding="utf-8")))
        return BuildSource(ReleasePlace(self.endpoints["api"], self.endpoints["site"], REPO), rules)
