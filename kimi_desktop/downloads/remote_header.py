"""Reads the header of a model file on a server, without downloading the file. Blocking.

The first request takes 64 KiB, which holds the header of every part of a set but the first; the
second one streams on from there and is dropped when the header ends (the first part carries the
tokenizer, about 7 MB).
"""

from __future__ import annotations

import http.client

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.tls import certificate_problem
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.limits import wait_s
from kimi_desktop.downloads.line import RangeAnswer, open_range
from kimi_desktop.models.gguf import GgufHeader, read_header

_WAITING = ("RateLimit", "Retry-After", "Date")
USUAL_WAIT_S = 60.0
"""Where a server that is asked too often names no time."""
HEAD_BYTES = 64 * 1024
STREAM_BYTES = 32 * 2**20
"""Asked for at once after the head; far more than any header, and given up early."""
MAX_DRAIN_BYTES = 4 * 2**20
"""A gap that is read over; beyond it a new request is cheaper."""
_BLOCK_BYTES = 64 * 1024


def read_remote_header(url: str, *, label: str = "", token: str | None = None) -> GgufHeader:
    """The header of a GGUF file behind ``url`` (redirects are followed).

    Args:
        url: a hub's resolve address, or any that serves ranges.
        label: what an error calls the file; else the address.
        token: of the hub at ``url``; no other origin sees it.

    Raises:
        DownloadError: NOT_FOUND, REFUSED, PORTAL, OFFLINE or BROKEN.
        ModelError: the header is damaged, or this is no GGUF file.
    """
    with RemoteSource(url, token) as source:
        return read_header(source, label=label or url.partition("?")[0])


def read_remote_file(url: str, most: int) -> bytes:
    """A whole small file; of one that is larger ``most + 1`` bytes. One request.

    Hubs serve the small files of a repository themselves, and not all of them by ranges.

    Raises:
        DownloadError: NOT_FOUND, REFUSED, PORTAL, OFFLINE or BROKEN.
    """
    host = url.split("/")[2] if "//" in url else url
    try:
        with open_range(url, 0, most) as answer:
            _check(answer, url, host)
            found = bytearray()
            block = memoryview(bytearray(_BLOCK_BYTES))
            while len(found) <= most and (count := answer.readinto(block)):
                found += block[:count]
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(error, host) from error
    return bytes(found[: most + 1])


class RemoteSource:
    """A HeaderSource over HTTP ranges. Counts what it costs."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url
        self._token = token
        self._host = url.split("/")[2] if "//" in url else url
        self._answer: RangeAnswer | None = None
        self._at = 0
        self._last_at = 0
        self._last = b""
        self.requests = 0
        self.bytes_read = 0
        with self._open(0, HEAD_BYTES) as answer:
            sent = answer.content_range
            if sent is None or sent.start != 0:
                raise self._broken("no ranges")
            self._size = sent.total
            if origin_of(answer.url) != origin_of(url):
                self._token = None  # what a redirect leads to is nobody the token is for
            self._url = answer.url  # signed for an hour; this takes seconds
            self._head = self._take(answer, min(HEAD_BYTES, self._size))

    @property
    def size_bytes(self) -> int:
        """Length of the whole file."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at ``offset``. Cheap in order; the last piece may be asked for again."""
        length = max(min(length, self._size - offset), 0)
        for start, piece in ((0, self._head), (self._last_at, self._last)):
            if start <= offset < start + len(piece):
                known = piece[offset - start : offset - start + length]
                rest = length - len(known)
                return known + self._stream(offset + len(known), rest) if rest else known
        return self._stream(offset, length)

    def __enter__(self) -> RemoteSource:
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def _stream(self, offset: int, length: int) -> bytes:
        gap = offset - self._at
        if self._answer is None or not 0 <= gap <= MAX_DRAIN_BYTES:
            self._reopen(offset)
            gap = 0
        assert self._answer is not None
        if gap:
            self._take(self._answer, gap)
        data = self._take(self._answer, length)
        self._at = offset + length
        self._last_at, self._last = offset, data
        return data

    def _reopen(self, offset: int) -> None:
        self._close()
        self._answer = self._open(offset, STREAM_BYTES)
        sent = self._answer.content_range
        if sent is None or (sent.start, sent.total) != (offset, self._size):
            raise self._broken("another range than asked for")
        self._at = offset

    def _open(self, offset: int, length: int) -> RangeAnswer:
        self.requests += 1
        try:
            answer = open_range(self._url, offset, offset + length - 1, token=self._token)
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(error, self._host) from error
        try:
            _check(answer, self._url, self._host)
        except BaseException:
            answer.close()
            raise
        return answer

    def _take(self, answer: RangeAnswer, length: int) -> bytes:
        """Exactly ``length`` bytes of an answer."""
        out = bytearray(length)
        view = memoryview(out)
        done = 0
        while done < length:
            try:
                count = answer.readinto(view[done : done + _BLOCK_BYTES])
            except (OSError, http.client.HTTPException) as error:
                raise _unreachable(error, self._host) from error
            if not count:
                raise self._broken("short body")
            done += count
        self.bytes_read += length
        return bytes(out)

    def _close(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def _broken(self, detail: str) -> DownloadError:
        return DownloadError(ErrorCode.DOWNLOAD_BROKEN, {"host": self._host, "detail": detail})


def _check(answer: RangeAnswer, url: str, host: str) -> None:
    if answer.status == 404:
        params = {"host": host, "repo": host, "file": url.partition("?")[0]}
        raise DownloadError(ErrorCode.DOWNLOAD_NOT_FOUND, params)
    wait = wait_s({name: answer.headers.get(name, "") for name in _WAITING})
    if answer.status == 429 or (answer.status == 503 and wait):
        params = {"host": host, "wait_s": f"{wait or USUAL_WAIT_S:.0f}"}
        raise DownloadError(ErrorCode.HUB_BUSY, params)
    if answer.status not in (200, 206):
        code = ErrorCode.DOWNLOAD_REFUSED
        if answer.status >= 500:
            code = ErrorCode.HUB_TROUBLE
        elif answer.status == 416:  # it has the file, and not this part of it
            code = ErrorCode.DOWNLOAD_BROKEN
        raise DownloadError(code, {"host": host, "detail": f"HTTP {answer.status}"})
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        params = {"host": host, "detail": "compressed"}
        raise DownloadError(ErrorCode.DOWNLOAD_BROKEN, params)
    if "html" in answer.headers.get("Content-Type", ""):
        raise DownloadError(ErrorCode.DOWNLOAD_PORTAL, {"host": host})


def _unreachable(error: BaseException, host: str) -> DownloadError:
    if problem := certificate_problem(error):
        params = {"host": host, "detail": problem}
        return DownloadError(ErrorCode.DOWNLOAD_REFUSED, params, cause=error)
    return DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": host}, cause=error)
