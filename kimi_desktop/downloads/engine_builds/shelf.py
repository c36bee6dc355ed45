"""The builds that are here: one folder each, with a note of what it is. Blocking (pool).

A build is unpacked beside its final name and renamed when it has been proven: a folder with a name
is a build that ran once on this computer.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode
from kimi_desktop.base.files import write_atomically
from kimi_desktop.downloads.disk_errors import disk_error
from kimi_desktop.downloads.engine_builds.types import Accelerator, BuildOffer, InstalledBuild
from kimi_desktop.downloads.engine_builds.unpack import Unpacker

NOTE = "kimi-build.json"
ARCHIVES = "archives"
"""Where downloads wait; emptied after a build is in place."""
_UNPACKING = ".unpacking-"
UNPACKED_PER_BYTE = 4
"""Measured on releases of 2026: a tar.gz of 30 MB becomes 110 MB."""


class BuildShelf:
    """The folder of builds of one program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def archives(self) -> Path:
        """Where an offer's archives are fetched to."""
        return self.folder / ARCHIVES

    def builds(self) -> tuple[InstalledBuild, ...]:
        """All of them, the newest tag first; what cannot be read is passed over."""
        found = []
        with suppress(OSError):
            for note in self.folder.glob(f"*/{NOTE}"):
                build = _read(note)
                if build is not None:
                    found.append(build)
        return tuple(sorted(found, key=lambda build: (_number(build.tag), build.id), reverse=True))

    def find(self, build_id: str) -> InstalledBuild | None:
        """One of them."""
        return next((build for build in self.builds() if build.id == build_id), None)

    def unpack(
        self,
        offer: BuildOffer,
        program: str,
        tell: Callable[[int], None],
        is_stopped: Callable[[], bool],
    ) -> Path:
        """Unpack an offer's archives into a new folder; returns the program in it.

        Raises:
            DownloadError: as ``Unpacker``; BUILD_BAD_ARCHIVE when the program is not in it.
            InterruptedError: ``is_stopped`` said so; nothing is left.
        """
        folder = self.folder / f"{_UNPACKING}{secrets.token_hex(4)}"
        expected = offer.size_bytes * UNPACKED_PER_BYTE
        try:
            folder.mkdir(parents=True)
            unpacker = Unpacker(folder, tell, is_stopped, expected_bytes=expected)
            first, *others = offer.archives
            unpacker.unpack(self.archives / first.name)
            found = _find(folder, program, first.name)
            beside = found.parent.relative_to(folder).as_posix()
            for archive in others:
                unpacker.unpack(self.archives / archive.name, "" if beside == "." else beside)
            unpacker.make_links()
        except OSError as error:
            self.discard(folder)
            if isinstance(error, InterruptedError):
                raise
            raise disk_error(error, self.folder, expected) from error
        except BaseException:
            self.discard(folder)
            raise
        return found

    def keep(
        self, offer: BuildOffer, program: Path, devices: Sequence[str], lacking: str
    ) -> InstalledBuild:
        """Give an unpacked build its name, in place of an older one of that name.

        Raises:
            DownloadError: the disk does not let it.
        """
        unpacked = self._root_of(program)
        inside = program.relative_to(unpacked).as_posix()
        final = self.folder / offer.id
        note = {
            "tag": offer.tag,
            "accelerator": offer.accelerator.value,
            "version": offer.version,
            "program": inside,
            "size_bytes": sum(f.stat().st_size for f in unpacked.rglob("*") if f.is_file()),
            "devices": list(devices),
            "lacking": lacking,
            "archives": {archive.name: archive.sha256 for archive in offer.archives},
        }
        try:
            write_atomically(unpacked / NOTE, json.dumps(note, indent=1) + "\n")
            self.discard(final)
            unpacked.rename(final)
        except OSError as error:
            self.discard(unpacked)
            raise disk_error(error, self.folder, 0) from error
        build = _read(final / NOTE)
        assert build is not None  # just written
        return build

    def discard_unpacked(self, program: Path) -> None:
        """Remove what ``unpack`` made."""
        self.discard(self._root_of(program))

    def remove(self, build_id: str) -> None:
        """Remove one.

        Raises:
            BackendError: BUILD_UNKNOWN.
            DownloadError: the system does not let it (a file in use on Windows).
        """
        build = self.find(build_id)
        if build is None:
            raise BackendError(ErrorCode.BUILD_UNKNOWN, {"build": build_id[:80]})
        gone = self.folder / f"{_UNPACKING}{secrets.token_hex(4)}"
        try:
            (self.folder / build.id).rename(gone)  # all of it or nothing
        except OSError as error:
            raise disk_error(error, self.folder, 0) from error
        self.discard(gone)

    def clear(self) -> None:
        """Remove archives, and what a crash left half unpacked."""
        self.discard(self.archives)
        for left in self.folder.glob(f"{_UNPACKING}*"):
            self.discard(left)

    def discard(self, folder: Path) -> None:
        """Remove a folder of ours; one that is not there is fine."""
        if folder.parent == self.folder and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)

    def _root_of(self, program: Path) -> Path:
        return self.folder / program.relative_to(self.folder).parts[0]


def _find(folder: Path, program: str, archive: str) -> Path:
    """The program, the one nearest to the root.

    Raises:
        DownloadError: BUILD_BAD_ARCHIVE, it is not there.
    """
    names = (program, f"{program}.exe")
    found = [path for name in names for path in folder.rglob(name) if path.is_file()]
    if not found:
        params = {"file": archive, "detail": program}
        raise DownloadError(ErrorCode.BUILD_BAD_ARCHIVE, params)
    return min(found, key=lambda path: len(path.parts))


def _read(note: Path) -> InstalledBuild | None:
    try:
        raw: Mapping[str, Any] = json.loads(note.read_text(encoding="utf-8"))
        program = note.parent / str(raw["program"])
        if not program.resolve().is_relative_to(note.parent.resolve()) or not program.is_file():
            return None
        return InstalledBuild(
            note.parent.name,
            str(raw["tag"]),
            Accelerator(raw["accelerator"]),
            str(raw["version"]),
            program,
            int(raw["size_bytes"]),
            tuple(map(str, raw["devices"])),
            str(raw["lacking"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _number(tag: str) -> int:
    digits = "".join(c for c in tag if c.isdigit())
    return int(digits[:12]) if digits else 0
