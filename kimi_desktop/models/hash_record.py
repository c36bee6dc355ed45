"""When a model's files were proven, from the record in its folder. Blocking (pool).

Whoever proves a file writes it down there (``downloads.kept_hashes`` owns the format). The library
reads who and when, and believes it as long as a file's size and time of change are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

HASHES_FILE = ".kimi-hashes.json"
LEVELS = 2
"""Files may lie in folders within their model's: one for the quantization, one for the parts."""


class Witness(StrEnum):
    """Who says what a file's hash should be."""

    STORE = "store"
    """The name under which a content-addressed store keeps it."""
    LISTING = "listing"
    """The hub's own listing, now or kept beside the files by its client."""
    SUMS = "sums"
    """A ``sha256sum`` file beside it."""
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Verified:
    """All files of a model were compared with a hash, and are as they were then."""

    at: float
    """When the first of them was; time.time()."""
    witness: Witness
    """NOBODY when one of them had only itself to be compared with."""


class Change(StrEnum):
    """What became of files since they were proven."""

    TOUCHED = "touched"
    """Size or time of change is another one: nobody knows what is in them."""
    ALTERED = "altered"
    """A verification found them wrong."""


@dataclass(frozen=True, slots=True)
class _Proof:
    size_bytes: int
    modified_ns: int
    witness: Witness
    at: float
    commits: tuple[str, ...]


_Record = Mapping[str, _Proof]
_NOTHING: _Record = {}


def have_common(commits: Iterable[Iterable[str]]) -> bool:
    """Whether files that are known from these commits are all in one of them; so are no files."""
    sets = [set(of) for of in commits]
    return not sets or bool(set.intersection(*sets))


class HashReader:
    """Looks up many files; a record is read again only when it has changed. One thread."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int], _Record]] = {}
        self._fresh: dict[Path, _Record] = {}

    def begin(self) -> None:
        """A new look at the disk: every record may have changed."""
        self._fresh.clear()

    def verified(self, files: Iterable[tuple[Path, int, int]]) -> Verified | None:
        """What the records say of all these files together.

        Args:
            files: path, size in bytes, time of change in ns, as they are now.

        Returns:
            None when one of them was never proven or has changed since.
        """
        found: list[_Proof] = []
        for path, size_bytes, modified_ns in files:
            proof = self._find(path)
            if proof is None or (proof.size_bytes, proof.modified_ns) != (size_bytes, modified_ns):
                return None
            found.append(proof)
        if not found:
            return None
        unsure = any(proof.witness is Witness.NOBODY for proof in found)
        witness = Witness.NOBODY if unsure else found[0].witness
        return Verified(min(proof.at for proof in found), witness)

    def mixed(self, files: Iterable[tuple[Path, int, int]]) -> Mapping[Path, str]:
        """The commit of every file, where no commit has all of them; empty where one may.

        Args:
            files: as for ``verified``; those that changed or whose commit is not known say nothing.
        """
        known: dict[Path, tuple[str, ...]] = {}
        for path, *facts in files:
            proof = self._find(path)
            if proof and proof.commits and [proof.size_bytes, proof.modified_ns] == facts:
                known[path] = proof.commits
        if have_common(known.values()):
            return {}
        return {path: commits[-1] for path, commits in known.items()}

    def change(self, files: Iterable[tuple[Path, int, int]]) -> Change | None:
        """Whether one of these files is not what was proven under its name. As ``verified``."""
        found: set[Change] = set()
        for path, size_bytes, modified_ns in files:
            proof = self._find(path)
            if proof is not None and not proof.modified_ns:
                found.add(Change.ALTERED)
            elif proof and (proof.size_bytes, proof.modified_ns) != (size_bytes, modified_ns):
                found.add(Change.TOUCHED)
        return next((one for one in (Change.ALTERED, Change.TOUCHED) if one in found), None)

    def _find(self, path: Path) -> _Proof | None:
        for folder in list(path.parents)[: LEVELS + 1]:
            if folder not in self._fresh:
                self._fresh[folder] = self._record(folder)
            record = self._fresh[folder]
            if record and (proof := record.get(path.relative_to(folder).as_posix())) is not None:
                return proof
        return None

    def _record(self, folder: Path) -> _Record:
        """Those of large models are megabytes, with the hashes of all pieces."""
        file = folder / HASHES_FILE
        try:
            status = file.stat()
        except OSError:
            self._read.pop(folder, None)
            return _NOTHING
        signature = (status.st_size, status.st_mtime_ns)
        known = self._read.get(folder)
        if known is None or known[0] != signature:
            known = self._read[folder] = (signature, _read(file, status.st_mtime))
        return known[1]


def _read(file: Path, written_at: float) -> _Record:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
        return {
            str(target): _Proof(
                int(kept["size_bytes"]),
                int(kept["modified_ns"]),
                Witness(kept["witness"]),
                float(kept.get("proven_at") or written_at),
                tuple(map(str, kept.get("commits", ()))),
            )
            for target, kept in data["files"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return _NOTHING
