"""Unpacks a zip or tar.gz from elsewhere into an empty folder. Blocking (pool).

What is in an archive is believed as little as a file name from a hub: nothing outside the folder,
no links that lead out, no devices, bounded in number and size.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.downloads.disk_errors import disk_error
from kimi_desktop.downloads.names import name_problem

MOST_FILES = 4_000
MOST_BYTES = 8 * GIB
"""A CUDA build with its runtime takes 1.5 GiB."""
READ_BYTES = MIB
_EXECUTABLE = 0o755
_PLAIN = 0o644


@dataclass(slots=True)
class Unpacker:
    """Several archives into one folder, within one bound."""

    folder: Path
    tell: Callable[[int], None] = lambda _count: None
    """Called with the bytes written so far."""
    is_stopped: Callable[[], bool] = lambda: False
    most_bytes: int = MOST_BYTES
    expected_bytes: int = 0
    """About so many, to be told when the disk is full."""
    written_bytes: int = 0
    _names: set[str] = field(default_factory=set)
    _links: dict[str, str] = field(default_factory=dict)

    def unpack(self, archive: Path, below: str = "") -> None:
        """Put the files of ``archive`` under ``below`` ("" = the folder itself).

        Raises:
            DownloadError: BUILD_BAD_ARCHIVE, DOWNLOAD_NO_SPACE, DOWNLOAD_NOT_WRITTEN.
            InterruptedError: ``is_stopped`` said so.
        """
        with self._explained(archive):
            if archive.name.endswith(".zip"):
                self._unzip(archive, below)
            else:
                self._untar(archive, below)

    def make_links(self) -> None:
        """Make the links of the archives, now that what they lead to is there.

        Raises:
            DownloadError: as ``unpack``; a link leads nowhere or in a circle.
        """
        for name, target in self._links.items():
            with self._explained(self.folder / name):
                self._check_link(name, target)
                (self.folder / name).symlink_to(target)

    def _unzip(self, archive: Path, below: str) -> None:
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                mode = entry.external_attr >> 16
                if entry.is_dir():
                    continue
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or entry.flag_bits & 1:
                    raise _refused(archive, entry.filename)
                with opened.open(entry) as source:
                    self._write(archive, below, entry.filename, source, bool(mode & 0o111))

    def _untar(self, archive: Path, below: str) -> None:
        with tarfile.open(archive, mode="r:gz") as opened:
            for entry in opened:
                if entry.isdir():
                    continue
                if entry.issym():
                    name = self._name(archive, below, entry.name)
                    self._links[name] = entry.linkname
                    continue
                source = opened.extractfile(entry) if entry.isreg() else None
                if source is None:  # a hard link, a device, a pipe
                    raise _refused(archive, entry.name)
                with source:
                    self._write(archive, below, entry.name, source, bool(entry.mode & 0o111))

    def _write(
        self, archive: Path, below: str, name: str, source: IO[bytes], executable: bool
    ) -> None:
        target = self.folder / self._name(archive, below, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        flags |= getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(target, flags, _EXECUTABLE if executable else _PLAIN)
        with os.fdopen(descriptor, "wb") as out:
            while piece := source.read(READ_BYTES):
                if self.is_stopped():
                    raise InterruptedError
                self.written_bytes += len(piece)
                if self.written_bytes > self.most_bytes:
                    raise _refused(archive, "size")
                out.write(piece)
                self.tell(self.written_bytes)

    def _name(self, archive: Path, below: str, name: str) -> str:
        """Where an entry goes, relative to the folder; counted."""
        name = name.removeprefix("./")
        if name_problem(name) is not None or name in ("", "."):
            raise _refused(archive, name)
        name = posixpath.join(below, name)
        folded = name.casefold()
        if folded in self._names or len(self._names) >= MOST_FILES:
            raise _refused(archive, name)
        self._names.add(folded)
        return name

    def _check_link(self, name: str, target: str) -> None:
        """It leads to a file of the same folder, over at most a few other links."""
        here, seen = name, 0
        while here in self._links:
            step = self._links[here]
            seen += 1
            if "/" in step or "\\" in step or name_problem(step) is not None or seen > 8:
                raise _refused(self.folder / name, f"{name} -> {target}")
            here = posixpath.join(posixpath.dirname(here), step)
        if not (self.folder / here).is_file():
            raise _refused(self.folder / name, f"{name} -> {target}")

    @contextmanager
    def _explained(self, archive: Path) -> Iterator[None]:
        try:
            yield
        except InterruptedError:
            raise
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError,
                NotImplementedError) as error:  # fmt: skip
            raise _refused(archive, str(error) or type(error).__name__) from error
        except FileExistsError as error:
            raise _refused(archive, error.filename or "") from error
        except OSError as error:
            if error.errno is None or error.errno == errno.EINVAL:  # gzip says damage so, too
                raise _refused(archive, str(error)) from error
            raise disk_error(error, self.folder, self.expected_bytes) from error


def _refused(archive: Path, what: str) -> DownloadError:
    shown = "".join(c if c.isprintable() else "\ufffd" for c in what)[:120]
    params = {"file": archive.name, "detail": shown or "?"}
    return DownloadError(ErrorCode.BUILD_BAD_ARCHIVE, params)
