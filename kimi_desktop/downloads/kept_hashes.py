"""What every file of a model was when it was proven, kept beside the model. Blocking.

The record travels with the folder when that is moved or unplugged. With the hashes of its pieces
a file can be verified on all cores, and a bad range found without fetching the whole file again.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kimi_desktop.base.files import write_atomically
from kimi_desktop.downloads.types import Source, source_from
from kimi_desktop.models.hash_record import HASHES_FILE as HASHES_FILE  # noqa: PLC0414
from kimi_desktop.models.hash_record import LEVELS, Witness

SHORT_DIGITS = 12
DAMAGED_FILE = f"{HASHES_FILE}.damaged"
"""A record that could not be read, when a new one is begun."""
_NO_RECORD = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
MOST_COMMITS = 16
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class KeptHash:
    """One file, as it was proven."""

    sha256: str
    """Of the whole file; empty for a large file that only git knows."""
    size_bytes: int
    modified_ns: int
    witness: Witness
    git_sha1: str | None = None
    proven_at: float = 0.0
    """time.time(); 0 = not known."""
    piece_bytes: int = 0
    pieces: tuple[bytes, ...] = ()
    """SHA-256 of every piece; empty when nobody took them."""
    sources: tuple[Source, ...] = ()
    """Who offers it, for a repair."""
    repo: str = ""
    """The repository that it was proven as a file of; empty when that is not known."""
    commits: tuple[str, ...] = ()
    """Commits of it in which the file is what it is here, as far as they were met; the last met
    last. Parts without a commit in common are no set."""

    @property
    def version(self) -> str:
        """For people: the commit, as far as one is known."""
        known = self.commits or tuple(source.revision for source in self.sources)
        return known[-1][:SHORT_DIGITS] if known else ""

    def seen_in(self, repo: str, commit: str) -> KeptHash:
        """The same, met as a file of this commit; what is no commit (a branch) says nothing."""
        if not _COMMIT.fullmatch(commit):
            return self
        earlier = self.commits if repo == self.repo else ()
        commits = (*(one for one in earlier if one != commit), commit)[-MOST_COMMITS:]
        return replace(self, repo=repo, commits=commits)

    def is_unchanged(self, path: Path) -> bool:
        """Size and time are still those of the proof. Nothing is read."""
        try:
            facts = path.stat()
        except OSError:
            return False
        return (facts.st_size, facts.st_mtime_ns) == (self.size_bytes, self.modified_ns)


def common_commit(files: Iterable[KeptHash]) -> str:
    """The last commit in which all of these files are as they are here; empty without one."""
    known = [one.commits for one in files]
    return (
        next((c for c in reversed(known[0]) if all(c in of for of in known)), "") if known else ""
    )


def read_hashes(folder: Path) -> Mapping[str, KeptHash]:
    """What is known of the files of a model's folder; empty when nothing is. By target."""
    try:
        return _read(folder)
    except (OSError, *_NO_RECORD):
        return {}


def has_damaged_record(folder: Path) -> bool:
    """There is a record, and it says nothing: what was proven is not known any more."""
    try:
        _read(folder)
    except _NO_RECORD:
        return True
    except OSError:
        return False
    return False


def _read(folder: Path) -> dict[str, KeptHash]:
    data: Any = json.loads((folder / HASHES_FILE).read_text(encoding="utf-8"))
    return {str(target): _from_json(kept) for target, kept in data["files"].items()}


def keep_hashes(folder: Path, new: Mapping[str, KeptHash]) -> None:
    """Add to the record of a folder; one that cannot be written goes without."""
    known = read_hashes(folder)
    kept = {**known, **new}
    if kept == known:
        return
    _write(folder, kept)


def drop_hashes(folder: Path, targets: Iterable[str]) -> None:
    """Forget some files; the record goes with the last of them."""
    gone = set(targets)
    known = read_hashes(folder)
    kept = {target: one for target, one in known.items() if target not in gone}
    if not kept:
        with suppress(OSError):
            (folder / HASHES_FILE).unlink()
    elif len(kept) < len(known):
        _write(folder, kept)


def find_record(path: Path) -> tuple[Path, str] | None:
    """The folder whose record may know a file (or a folder within it), and its target there."""
    for folder in list(path.parents)[: LEVELS + 1]:
        if (folder / HASHES_FILE).is_file():
            return folder, path.relative_to(folder).as_posix()
    return None


def _write(folder: Path, hashes: Mapping[str, KeptHash]) -> None:
    content = {
        "version": 1,
        "files": {target: _to_json(one) for target, one in sorted(hashes.items())},
    }
    with suppress(OSError):
        if has_damaged_record(folder):
            (folder / HASHES_FILE).replace(folder / DAMAGED_FILE)
        write_atomically(folder / HASHES_FILE, json.dumps(content, indent=1) + "\n")


def clear_torn(folder: Path) -> None:
    """Remove records that were being written when their process was killed. Never raises.

    For the one who has locked the folder.
    """
    for torn in folder.glob(f".{HASHES_FILE}.*.new"):
        with suppress(OSError):
            torn.unlink()


def _to_json(kept: KeptHash) -> dict[str, Any]:
    raw = asdict(kept)
    raw["pieces"] = base64.b64encode(b"".join(kept.pieces)).decode()
    return raw


def _from_json(raw: Mapping[str, Any]) -> KeptHash:
    joined = base64.b64decode(raw.get("pieces", ""), validate=True)
    piece_bytes = int(raw.get("piece_bytes", 0))
    size_bytes = int(raw["size_bytes"])
    pieces = tuple(joined[at : at + _DIGEST_BYTES] for at in range(0, len(joined), _DIGEST_BYTES))
    expected = -(-size_bytes // piece_bytes) if piece_bytes > 0 else 0
    git_sha1 = raw.get("git_sha1")
    return KeptHash(
        sha256=str(raw["sha256"]),
        size_bytes=size_bytes,
        modified_ns=int(raw["modified_ns"]),
        witness=Witness(raw["witness"]),
        git_sha1=None if git_sha1 is None else str(git_sha1),
        proven_at=float(raw.get("proven_at", 0.0)),
        piece_bytes=piece_bytes,
        pieces=pieces if len(pieces) == expected else (),
        sources=tuple(source_from(source) for source in raw.get("sources", ())),
        repo=str(raw.get("repo", "")),
        commits=tuple(str(commit) for commit in raw.get("commits", ())),
    )
