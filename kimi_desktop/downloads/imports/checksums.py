"""``sha256sum`` files beside the weights: what publishers and careful people leave there."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger(__name__)

MAX_BYTES = 4 * 2**20
MAX_FILES = 64

_NAMES = re.compile(
    r"(?:sha256sums?|checksums?|hashes)(?:[._-]sha256)?(?:\.txt)?|.+\.(?:sha256|sha256sums?)",
    re.IGNORECASE,
)
_GNU = re.compile(r"(\\?)([0-9a-fA-F]{64})(?: [ *]?|\t)(.+)")
_BSD = re.compile(r"SHA256 ?\((.+)\) ?= ?([0-9a-fA-F]{64})")
_BARE = re.compile(r"[0-9a-fA-F]{64}")


def is_checksum_file(name: str) -> bool:
    """Whether a file of that name lists hashes."""
    return bool(_NAMES.fullmatch(name))


def parse_checksums(text: str, own_name: str) -> dict[str, str]:
    """Hashes by the name that the text gives, forward slashes, without ``./``.

    Both usual forms are read (``HASH  NAME`` and ``SHA256 (NAME) = HASH``), escaped names included,
    and a lone hash in ``NAME.sha256``. A name that is listed with two hashes has none.

    Args:
        text: of the file.
        own_name: of the file, which names what a lone hash belongs to.
    """
    found: dict[str, str] = {}
    doubtful: set[str] = set()
    for line in text.splitlines():
        pair = _pair(line.strip(), own_name)
        if pair is None:
            continue
        name, digest = pair
        if found.setdefault(name, digest) != digest:
            doubtful.add(name)
    return {name: digest for name, digest in found.items() if name not in doubtful}


def checksums_in(folder: Path) -> dict[Path, str]:
    """What the checksum files of a folder say, by absolute path. Blocking."""
    found: dict[Path, str] = {}
    for path in _checksum_files(folder):
        try:
            if path.stat().st_size > MAX_BYTES:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            log.info("%s left out: %s", path, error)
            continue
        for name, digest in parse_checksums(text, path.name).items():
            found.setdefault(folder.joinpath(*name.split("/")), digest)
    return found


def _checksum_files(folder: Path) -> Iterable[Path]:
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return ()
    return [path for path in paths if is_checksum_file(path.name)][:MAX_FILES]


def _pair(line: str, own_name: str) -> tuple[str, str] | None:
    if match := _GNU.fullmatch(line):
        name = match[3]
        if match[1]:
            name = name.replace("\\n", "\n").replace("\\r", "\r").replace("\\\\", "\\")
        else:
            name = name.replace("\\", "/")  # written on Windows
        return name.removeprefix("./"), match[2].lower()
    if match := _BSD.fullmatch(line):
        return match[1].removeprefix("./"), match[2].lower()
    stem, dot, _ = own_name.rpartition(".")
    if dot and _BARE.fullmatch(line):
        return stem, line.lower()
    return None
