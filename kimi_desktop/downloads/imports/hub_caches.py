"""The caches of Hugging Face's and ModelScope's own programs. Blocking (pool), read-only.

Hugging Face: ``models--owner--name/snapshots/<commit>/<path>`` links to ``blobs/<hash>``; newer
clients keep the hub's listing of the commit in ``trees/<commit>.json``. ModelScope keeps plain
files below ``owner--name/snapshots/<revision>`` or, older, ``owner/name`` with dots as ``___``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.downloads.imports.types import FoundFile, FoundModel, Origin, Witness
from kimi_desktop.downloads.imports.walking import (
    entries_of,
    files_below,
    folders_of,
    is_used,
    is_weights,
    read_json,
    relative,
    safe_targets,
    size_of,
)

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")
_OWNER_AND_NAME = r"([A-Za-z0-9][\w.-]*?)--([A-Za-z0-9_.][\w.-]*)"
_HF_REPO = re.compile(rf"models--{_OWNER_AND_NAME}", re.ASCII)
_MS_REPO = re.compile(_OWNER_AND_NAME, re.ASCII)
_TEMPORARY = "._____temp"


@dataclass(frozen=True, slots=True)
class _Proof:
    """What a file should be."""

    sha256: str | None = None
    git_sha1: str | None = None
    witness: Witness = Witness.NOBODY


def is_huggingface_repo(folder: Path) -> bool:
    """A ``models--owner--name`` folder with snapshots."""
    return bool(_HF_REPO.fullmatch(folder.name)) and (folder / "snapshots").is_dir()


def is_modelscope_repo(folder: Path) -> bool:
    """An ``owner--name`` folder with snapshots."""
    is_repo = not folder.name.startswith("models--") and bool(_MS_REPO.fullmatch(folder.name))
    return is_repo and (folder / "snapshots").is_dir()


def huggingface_models(folder: Path) -> Iterator[FoundModel]:
    """The models of a cache, or of one repository in it."""
    if is_huggingface_repo(folder):
        found = _huggingface_repo(folder)
        if found is not None:
            yield found
        return
    for repo in folders_of(folder):
        if is_huggingface_repo(repo):
            yield from huggingface_models(repo)


def modelscope_models(folder: Path) -> Iterator[FoundModel]:
    """The models of a cache, or of one repository in it."""
    if is_modelscope_repo(folder):
        match = _MS_REPO.fullmatch(folder.name)
        newest = _newest(folder)
        if match and newest is not None:
            yield from _plain_repo(newest, f"{match[1]}/{match[2]}")
        return
    for owner in folders_of(folder):
        if is_modelscope_repo(owner):
            yield from modelscope_models(owner)
            continue
        for repo in folders_of(owner):
            if owner.name != _TEMPORARY and not is_modelscope_repo(repo):
                yield from _plain_repo(repo, f"{owner.name}/{repo.name.replace('___', '.')}")


def _plain_repo(folder: Path, name: str) -> Iterator[FoundModel]:
    paths = [path for path in files_below(folder) if _TEMPORARY not in path.parts]
    targets = {relative(path, folder): path for path in paths}
    files = tuple(
        FoundFile(targets[target], target, size)
        for target in sorted(safe_targets(targets))
        if is_used(target) and (size := size_of(targets[target])) is not None
    )
    if any(is_weights(file.target) for file in files):
        yield FoundModel(Origin.MODELSCOPE, name, folder, files)


def _huggingface_repo(folder: Path) -> FoundModel | None:
    match = _HF_REPO.fullmatch(folder.name)
    snapshot = _newest(folder)
    if match is None or snapshot is None:
        return None
    listed = _listing(folder / "trees" / f"{snapshot.name}.json")
    files: list[FoundFile] = []
    broken: list[str] = []
    # Links to nothing must be seen, so not by ``files_below``.
    for path in _names_below(snapshot):
        target = relative(path, snapshot)
        if not is_used(target):
            continue
        size = size_of(path)
        if size is None:
            broken.append(target)
            continue
        proof = listed.get(target) or _proof_by_store(path)
        files.append(FoundFile(path, target, size, proof.sha256, proof.git_sha1, proof.witness))
    safe = set(safe_targets(file.target for file in files))
    kept = tuple(file for file in files if file.target in safe)
    if not any(is_weights(name) for name in (*(file.target for file in kept), *broken)):
        return None
    name = f"{match[1]}/{match[2]}"
    return FoundModel(Origin.HUGGINGFACE, name, folder, kept, tuple(sorted(broken)))


def _newest(folder: Path) -> Path | None:
    """The snapshot that ``main`` names, else the one that changed last."""
    snapshots = folders_of(folder / "snapshots")
    with suppress(OSError, UnicodeDecodeError):
        commit = (folder / "refs" / "main").read_text(encoding="utf-8")[:80].strip()
        for snapshot in snapshots:
            if snapshot.name == commit:
                return snapshot
    return max(snapshots, key=lambda path: (_changed(path), path.name), default=None)


def _changed(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _names_below(folder: Path, depth: int = 6) -> Iterator[Path]:
    for path in entries_of(folder):
        if path.is_dir() and not path.is_symlink():
            if depth:
                yield from _names_below(path, depth - 1)
        else:
            yield path


def _listing(path: Path) -> Mapping[str, _Proof]:
    """What the hub listed for the commit, as the newer clients keep it."""
    data = read_json(path)
    files = data.get("files") if isinstance(data, dict) else None
    if not isinstance(files, dict):
        return {}
    found: dict[str, _Proof] = {}
    for target, entry in files.items():
        if not isinstance(entry, dict):
            continue
        sha256, sha1 = entry.get("lfs_sha256"), entry.get("blob_id")
        if isinstance(sha256, str) and _SHA256.fullmatch(sha256):
            found[target] = _Proof(sha256, None, Witness.LISTING)
        elif sha256 is None and isinstance(sha1, str) and _SHA1.fullmatch(sha1):
            found[target] = _Proof(None, sha1, Witness.LISTING)
    return found


def _proof_by_store(path: Path) -> _Proof:
    """A blob is named by its hash. The name is no proof, but what the content is held to.

    Only the first step of the links counts: behind it a blob may be shared between repositories,
    under a name that is no hash of its bytes.
    """
    try:
        blob = path.readlink()
    except OSError:  # a real file: Windows without links
        return _Proof()
    if blob.parent.name != "blobs":
        return _Proof()
    if _SHA256.fullmatch(blob.name):
        return _Proof(blob.name, None, Witness.STORE)
    if _SHA1.fullmatch(blob.name):
        return _Proof(None, blob.name, Witness.STORE)
    return _Proof()
