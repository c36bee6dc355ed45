"""A Hugging Face hub, its CDN and a ModelScope hub on loopback, with the real protocols' shapes.

Two origins with different names and ports (``127.0.0.1`` and ``localhost``): the hub redirects
large files to signed addresses of the CDN, as the real one does. Every request is logged.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
import time
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault, FaultScript

BLOCK_BYTES = 2**18
PAGE_ENTRIES = 1000


@dataclass(frozen=True)
class Request:
    """One line of the log."""

    origin: str
    """"hub" or "cdn"."""
    method: str
    target: str
    range: str | None
    authorization: bool
    status: int


@dataclass
class LocalHub:
    """Serves the files of one repository. Use as a context manager."""

    repo: str
    files: list[HubFile]
    page_entries: int = PAGE_ENTRIES
    signature_s: float = 3600.0
    faults: FaultScript = field(default_factory=FaultScript)
    log: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.commit = hashlib.sha1(self.repo.encode(), usedforsecurity=False).hexdigest()
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> LocalHub:
        hub = _server("127.0.0.1", _HubHandler, self)
        cdn = _server("localhost", _CdnHandler, self)
        self._servers = [hub, cdn]
        self.endpoint = f"http://127.0.0.1:{hub.server_address[1]}"
        self.cdn = f"http://localhost:{cdn.server_address[1]}"
        return self

    def __exit__(self, *_error: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def file(self, path: str) -> HubFile | None:
        return next((file for file in self.files if file.path == path), None)

    def requests(self, origin: str, pattern: str = "") -> list[Request]:
        """Those of the log that match."""
        return [r for r in self.log if r.origin == origin and re.search(pattern, r.target)]

    def signed(self, file: HubFile) -> str:
        """An address of the CDN that expires."""
        expires = int(time.time() + self.signature_s)
        return f"{self.cdn}/xet-bridge-us/{file.sha256}?Expires={expires}&Signature=abc&Policy=x"


def _server(host: str, handler: type[BaseHTTPRequestHandler], hub: LocalHub) -> ThreadingHTTPServer:
    bound = type(handler.__name__, (handler,), {"hub": hub})
    server = _QuietServer((host, 0), bound)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, _request: object, _address: object) -> None:
        """Clients hang up; that is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    hub: LocalHub
    origin = ""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.fault = self.hub.faults.next(self.path)
        try:
            if self.fault.body is not None:
                self.answer(self.fault.status or 200, {}, self.fault.body)
            elif self.fault.status is not None and self.fault.status >= 400:
                self.answer(self.fault.status, {}, b"")
            else:
                self.serve(urllib.parse.urlsplit(self.path))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def serve(self, target: urllib.parse.SplitResult) -> None:
        raise NotImplementedError

    def start(self, status: int, headers: dict[str, str]) -> None:
        for name, value in self.fault.headers:
            if value is None:
                headers.pop(name, None)
            else:
                headers[name] = value
        self.hub.log.append(
            Request(
                self.origin,
                self.command,
                self.path,
                self.headers.get("Range"),
                "Authorization" in self.headers,
                status,
            )
        )
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        headers = {"Content-Length": str(len(body)), **headers}
        self.start(status, headers)
        if self.command != "HEAD":
            self.send([body])

    def json(self, value: Any, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.answer(200, {"Content-Type": "application/json", **(headers or {})}, body)

    def refuse(self, status: int, code: str) -> None:
        self.answer(status, {"X-Error-Code": code, "X-Error-Message": code}, b"{}")

    def send(self, blocks: Iterable[bytes]) -> None:
        """The body, as far as the script lets it come."""
        fault: Fault = self.fault
        if fault.stall_s:
            self.wfile.flush()
            time.sleep(fault.stall_s)
        left = fault.cut_after
        for block in blocks:
            piece = block if left is None else block[:left]
            self.wfile.write(piece)
            if left is not None:
                left -= len(piece)
                if left <= 0:
                    self.wfile.flush()
                    self._hang_up(reset=fault.reset)
                    return
        if fault.extra:
            self.wfile.write(fault.extra)

    def _hang_up(self, *, reset: bool) -> None:
        if reset:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close() if reset else self.connection.shutdown(socket.SHUT_RDWR)

    def send_file(self, file: HubFile, headers: dict[str, str], *, quirk: bool = False) -> None:
        """The bytes that the Range asks for. ``quirk``: 200 with a Content-Range (ModelScope)."""
        fault: Fault = self.fault
        first, last = 0, file.length - 1
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        ranged = match is not None and not fault.ignore_range
        if match and ranged:
            first = int(match[1]) + fault.shift
            last = min(int(match[2] or last), last)
            if first >= file.length:
                self.answer(416, {"Content-Range": f"bytes */{file.length}"}, b"")
                return
            total = fault.total or file.length
            headers["Content-Range"] = f"bytes {first}-{last}/{total}"
        length = last - first + 1
        headers |= {"Content-Length": str(length + len(fault.extra)), "Accept-Ranges": "bytes"}
        headers.setdefault("Content-Type", "application/octet-stream")
        self.start(206 if ranged and not quirk else 200, headers)
        if self.command != "HEAD":
            self.send(self._blocks(file, first, length))

    def _blocks(self, file: HubFile, first: int, length: int) -> Iterable[bytes]:
        at, end = first, first + length
        while at < end:
            block = file.read(at, min(BLOCK_BYTES, end - at))
            flip = self.fault.flip_at
            if flip is not None and at <= flip < at + len(block):
                changed = bytearray(block)
                changed[flip - at] ^= 0x10
                block = bytes(changed)
            yield block
            at += len(block)


class _HubHandler(_Handler):
    origin = "hub"

    def serve(self, target: urllib.parse.SplitResult) -> None:
        hub = self.hub
        path = urllib.parse.unquote(target.path)
        query = dict(urllib.parse.parse_qsl(target.query))
        if path.startswith(f"/api/v1/models/{hub.repo}/"):
            self._modelscope(path, query)
        elif path.startswith(f"/api/models/{hub.repo}"):
            self._api(path.removeprefix(f"/api/models/{hub.repo}"), query)
        elif match := re.fullmatch(rf"/{re.escape(hub.repo)}/resolve/([^/]+)/(.+)", path):
            self._resolve(match[1], match[2])
        elif path.startswith(f"/api/resolve-cache/models/{hub.repo}/{hub.commit}/"):
            file = hub.file(path.rpartition(f"{hub.commit}/")[2])
            assert file
            self.send_file(file, {"ETag": f'"{file.git_sha1}"'})
        else:
            self.refuse(401, "RepoNotFound")  # as the real one hides what is private

    def _api(self, rest: str, query: dict[str, str]) -> None:
        hub = self.hub
        if rest in ("", "/revision/main", f"/revision/{hub.commit}"):
            names = [{"rfilename": file.path} for file in hub.files]
            self.json({
                "id": hub.repo, "sha": hub.commit, "private": False, "gated": False,
                "siblings": names,
            })  # fmt: skip
        elif rest in (f"/tree/{hub.commit}", "/tree/main"):
            first = int(query.get("cursor", "0"))
            page = hub.files[first : first + hub.page_entries]
            headers = {}
            if first + hub.page_entries < len(hub.files):
                after = f"{hub.endpoint}/api/models/{hub.repo}{rest}?recursive=true&cursor="
                headers["Link"] = f'<{after}{first + hub.page_entries}>; rel="next"'
            self.json([_entry(file) for file in page], headers)
        else:
            self.refuse(404, "RevisionNotFound")

    def _resolve(self, revision: str, path: str) -> None:
        hub = self.hub
        file = hub.file(path)
        if revision not in ("main", hub.commit):
            self.refuse(404, "RevisionNotFound")
        elif file is None:
            self.refuse(404, "EntryNotFound")
        elif file.lfs:
            self.answer(
                302,
                {
                    "Location": hub.signed(file),
                    "X-Repo-Commit": hub.commit,
                    "X-Linked-Size": str(file.length),
                    "X-Linked-ETag": f'"{file.sha256}"',
                    "Accept-Ranges": "bytes",
                },
                b"Found. Redirecting to a very long address".ljust(900, b"."),
            )
        else:
            quoted = urllib.parse.quote(path)
            place = f"/api/resolve-cache/models/{hub.repo}/{hub.commit}/{quoted}"
            self.answer(307, {"Location": place, "X-Repo-Commit": hub.commit}, b"")

    def _modelscope(self, path: str, query: dict[str, str]) -> None:
        hub = self.hub
        if path.endswith("/repo/files"):
            root = query.get("Root", "")
            recursive = query.get("Recursive") == "True"
            files = [
                {
                    "Name": file.path.rpartition("/")[2], "Path": file.path, "Type": "blob",
                    "Size": file.length, "Sha256": file.sha256.upper(), "IsLFS": False,
                    "Revision": hub.commit, "Mode": "33188",
                }
                for file in hub.files
                if recursive or file.path.rpartition("/")[0] == root
            ]  # fmt: skip
            self.json({"Code": 200, "Success": True, "Message": "", "Data": {"Files": files}})
            return
        file = hub.file(query.get("FilePath", ""))
        if file is None:
            self.json({"Code": 404, "Success": False, "Message": "not found", "Data": None})
        else:
            self.send_file(file, {}, quirk=True)


class _CdnHandler(_Handler):
    origin = "cdn"

    def serve(self, target: urllib.parse.SplitResult) -> None:
        digest = target.path.rpartition("/")[2]
        expires = dict(urllib.parse.parse_qsl(target.query)).get("Expires", "0")
        file = next((file for file in self.hub.files if file.sha256 == digest), None)
        if file is None or float(expires) < time.time():
            body = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"
            self.answer(403, {"Content-Type": "application/xml"}, body)
        else:
            # The CDN's own tag is not the hash.
            self.send_file(file, {"ETag": f'"cdn-{digest[:8]}"'})


def _entry(file: HubFile) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "file", "oid": file.git_sha1, "size": file.length, "path": file.path,
    }  # fmt: skip
    if file.lfs:
        entry["lfs"] = {"oid": file.sha256, "size": file.length, "pointerSize": 134}
        entry["xetHash"] = hashlib.sha256(file.sha256.encode()).hexdigest()
    return entry
