"""How every origin of the local hub answers: the fault script, ranges, the log. Own threads."""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import time
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault

if TYPE_CHECKING:
    from tests.support.hub.server import LocalHub

BLOCK_BYTES = 2**18


@dataclass
class Request:
    """One line of the log."""

    origin: str
    """"hub", "mirror", "modelscope" or "cdn"."""
    method: str
    target: str
    range: str | None
    if_range: str | None
    token: str | None
    """What came as Authorization or as ModelScope's cookie."""
    status: int
    sent_bytes: int = 0
    """Of the body, so far."""

    @property
    def authorization(self) -> bool:
        return self.token is not None


class Handler(BaseHTTPRequestHandler):
    """Faults, ranges, the log; what is served where is for the subclasses."""

    hub: LocalHub
    origin = ""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_arguments: object) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The hub's clock, which need not be the client's."""
        return formatdate(self.hub.now() if timestamp is None else timestamp, usegmt=True)

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.do_GET()

    def do_GET(self) -> None:
        self.fault = self.hub.faults.next(self.path, self.origin)
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

    def quota_headers(self) -> dict[str, str]:
        """Of this origin; on every answer."""
        return {}

    # answers

    def start(self, status: int, headers: dict[str, str]) -> None:
        """Status line and headers, as the script changes them."""
        headers = {**self.quota_headers(), **headers}
        for name, value in self.fault.headers:
            if value is None:
                headers.pop(name, None)
            else:
                headers[name] = value
        token = self.headers.get("Authorization") or _session(self.headers.get("Cookie", ""))
        self.request_line = Request(
            self.origin,
            self.command,
            self.path,
            self.headers.get("Range"),
            self.headers.get("If-Range"),
            token,
            status,
        )
        self.hub.log.append(self.request_line)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        headers = {"Content-Length": str(len(body)), **headers}
        self.start(status, headers)
        if self.command != "HEAD":
            self.send([body])

    def json(self, value: Any, headers: dict[str, str] | None = None, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.answer(status, {"Content-Type": "application/json", **(headers or {})}, body)

    def send(self, blocks: Iterable[bytes]) -> None:
        """The body, as far and as fast as the script lets it come."""
        fault: Fault = self.fault
        limit = fault.cut_after
        for block in self._timed(blocks):
            piece = block if limit is None else block[: limit - self.request_line.sent_bytes]
            self.wfile.write(piece)
            self.request_line.sent_bytes += len(piece)
            if limit is not None and self.request_line.sent_bytes >= limit:
                self.wfile.flush()
                self._hang_up(reset=fault.reset)
                return
        if fault.extra:
            self.wfile.write(fault.extra)

    def _timed(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes with the script's silences in between."""
        fault: Fault = self.fault
        speed = fault.bytes_per_s or self.hub.speeds.get(self.origin)
        stall_at = fault.stall_after if fault.stall_s else None
        sent = 0
        if stall_at == 0:
            self._stall()
            stall_at = None
        for block in blocks:
            at = 0
            while at < len(block):
                end = len(block)
                if speed is not None:
                    end = min(end, at + max(int(speed / 20), 1))
                if stall_at is not None:
                    end = min(end, at + max(stall_at - sent, 1))
                yield block[at:end]
                sent += end - at
                if speed is not None:
                    time.sleep((end - at) / speed)
                if stall_at is not None and sent >= stall_at:
                    self._stall()
                    stall_at = None
                at = end

    def _stall(self) -> None:
        self.wfile.flush()
        self.hub.closing.wait(self.fault.stall_s)

    def _hang_up(self, *, reset: bool) -> None:
        self.close_connection = True
        if reset:
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)

    def send_file(self, file: HubFile, headers: dict[str, str], *, quirk: bool = False) -> None:
        """The bytes that the Range asks for. ``quirk``: 200 with a Content-Range (ModelScope)."""
        fault: Fault = self.fault
        file = self._swapped(file)
        headers.setdefault("Content-Type", "application/octet-stream")
        headers["Accept-Ranges"] = "bytes"
        wanted = None if fault.ignore_range else self._range(file, headers.get("ETag"))
        if wanted is None:
            first, last = 0, file.length - 1
        else:
            first, last = wanted[0] + fault.shift, min(wanted[1], file.length - 1)
            if first >= file.length or last < first:
                self.answer(416, {"Content-Range": f"bytes */{file.length}"}, b"")
                return
            headers["Content-Range"] = f"bytes {first}-{last}/{fault.total or file.length}"
        length = last - first + 1
        if fault.gzip or (wanted is None and self._compresses(file)):
            self._send_compressed(file, headers)
            return
        headers["Content-Length"] = str(length + len(fault.extra))
        plain = wanted is None or quirk or fault.plain_status
        self.start(200 if plain else 206, headers)
        if self.command != "HEAD":
            self.send(self._blocks(file, first, length))

    def _swapped(self, file: HubFile) -> HubFile:
        if self.fault.swap is None:
            return file
        other = self.hub.file(self.fault.swap)
        assert other is not None
        return other

    def _range(self, file: HubFile, etag: str | None) -> tuple[int, int] | None:
        """First and last byte; None = the whole file. RFC 9110, one range."""
        if self.headers.get("If-Range") not in (None, etag):
            return None
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if match is None or match[0] == "bytes=-":
            return None
        if not match[1]:
            return max(file.length - int(match[2]), 0), file.length - 1
        return int(match[1]), int(match[2] or file.length - 1)

    def _compresses(self, file: HubFile) -> bool:
        """Small text comes compressed to everybody who does not say ``identity``."""
        text = file.path.endswith((".json", ".md", ".txt"))
        return not file.lfs and text and "gzip" in self.headers.get("Accept-Encoding", "")

    def _send_compressed(self, file: HubFile, headers: dict[str, str]) -> None:
        body = gzip.compress(file.read(0, file.length))
        headers |= {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
        self.start(200, headers)
        if self.command != "HEAD":
            self.send([b"%x\r\n" % len(body), body, b"\r\n0\r\n\r\n"])

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


def _session(cookie: str) -> str | None:
    """ModelScope's token in a cookie."""
    match = re.search(r"m_session_id=([^;]+)", cookie)
    return match[1] if match else None
