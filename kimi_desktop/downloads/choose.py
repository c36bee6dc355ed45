"""Which files of a repository make up what a person wants. Pure.

A quantization is a whole set with its projector, never a part of it. A checkpoint is its weights in
safetensors with everything that describes them. Pickle files can run code when they are opened, so
they are left out; Python files are taken, since some engines need them, and named.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from kimi_desktop.base.errors import DownloadError, ErrorCode, Param
from kimi_desktop.downloads.names import SuspiciousName, suspicious_names
from kimi_desktop.downloads.remote_sets import RemoteSet, gguf_sets
from kimi_desktop.downloads.types import RepoFile, RepoListing

MOST_NAMES = 8
MOST_TEXT = 120
"""Characters of names in a sentence."""

_PICKLES = (
    *(".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".npy", ".npz", ".h5", ".keras"),
    *(".msgpack", ".joblib", ".dill", ".pdparams"),
)
_DESCRIBING = (
    *(".json", ".jsonl", ".jinja", ".txt", ".md", ".model", ".tiktoken", ".py", ".yaml"),
    *(".vocab", ".merges", ".spm"),
)
_PLAIN = re.compile(r"(?:license|licence|notice|copying|third_party_notices)[\w.-]*", re.IGNORECASE)
_PROJECTOR = re.compile(r"(?<![a-z])mmproj(?![a-z])", re.IGNORECASE)
# The publisher's full-size projector is small beside the model, and every engine reads it.
_BEST_PROJECTORS = ("f16", "bf16", "f32", "q8_0")


class LeftOutReason(StrEnum):
    """Why a file of the repository is not fetched."""

    PICKLE = "pickle"
    NOT_WANTED = "not_wanted"
    """Another quantization or format, pictures, documents."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not fetched."""

    file: RepoFile
    reason: LeftOutReason


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person wants of a repository; nothing named = the only sensible choice."""

    quantization: str | None = None
    """"UD-Q2_K_XL"."""
    include: tuple[str, ...] = ()
    """Patterns with ``*`` and ``?`` over whole paths, as the Hugging Face client reads them."""
    path: str | None = None
    """One file, or a folder."""
    projector: bool = True
    """Whether the part that sees comes along."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The files to fetch, and what a person should know about the others."""

    files: tuple[RepoFile, ...]
    quantization: str
    """Empty when the files are no single GGUF set."""
    left_out: tuple[LeftOut, ...]
    suspicious: tuple[SuspiciousName, ...]
    """Names in the repository that are refused; none of them is among ``files``."""

    @property
    def size_bytes(self) -> int:
        """Of all files to fetch."""
        return sum(file.size_bytes for file in self.files)

    @property
    def code(self) -> tuple[str, ...]:
        """Python files among them."""
        return tuple(file.path for file in self.files if file.path.lower().endswith(".py"))

    @property
    def pickles(self) -> tuple[str, ...]:
        """Files that are left out because opening them can run code."""
        reason = LeftOutReason.PICKLE
        return tuple(one.file.path for one in self.left_out if one.reason is reason)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Files of which the hub publishes no hash."""
        return tuple(f.path for f in self.files if f.sha256 is None and f.git_sha1 is None)


def choose_files(listing: RepoListing, wish: Wish) -> Choice:
    """The files that ``wish`` means.

    Raises:
        DownloadError: HUB_NOTHING_CHOSEN (several quantizations, none named), HUB_NO_QUANTIZATION
            and HUB_NO_MATCH (with what is nearest), HUB_SET_INCOMPLETE, HUB_HOSTILE_NAME, or
            HUB_NO_WEIGHTS (nothing in it can be used).
    """
    suspicious = suspicious_names(file.path for file in listing.files)
    sets = gguf_sets(listing.files)
    chosen = _chosen(listing, wish, sets)
    refused = {name.path: name for name in suspicious}
    for file in chosen:
        if name := refused.get(file.path):
            params = {"repo": listing.repo, "name": name.shown}
            raise DownloadError(ErrorCode.HUB_HOSTILE_NAME, params)
    kept = {file.path for file in chosen}
    mine = [one for one in sets if all(part.path in kept for part in one.parts)]
    return Choice(
        files=chosen,
        quantization=mine[0].quantization if len(mine) == 1 else "",
        left_out=tuple(_left_out(f) for f in listing.files if f.path not in kept),
        suspicious=suspicious,
    )


def _chosen(listing: RepoListing, wish: Wish, sets: Sequence[RemoteSet]) -> tuple[RepoFile, ...]:
    if wish.include:
        return _included(listing, wish, sets)
    if wish.path:
        return _below(listing, wish, sets)
    if wish.quantization:
        return _with_projector(listing, [_set_named(listing, wish.quantization, sets)], wish)
    weights = [file for file in listing.files if file.path.lower().endswith(".safetensors")]
    if len(sets) == 1 and not weights:
        return _with_projector(listing, list(sets), wish)
    if weights:
        return tuple(file for file in listing.files if describes_checkpoint(file.path))
    if not sets:
        raise DownloadError(ErrorCode.HUB_NO_WEIGHTS, {"repo": listing.repo})
    names = _few(dict.fromkeys(one.quantization for one in sets))
    params: dict[str, Param] = {"repo": listing.repo, "count": len(sets), "names": names}
    raise DownloadError(ErrorCode.HUB_NOTHING_CHOSEN, params)


def describes_checkpoint(name: str) -> bool:
    """Weights in safetensors and what belongs to them, by the path in the repository."""
    path = PurePosixPath(name.lower())
    return path.suffix in (".safetensors", *_DESCRIBING) or bool(_PLAIN.fullmatch(path.name))


def _set_named(listing: RepoListing, wanted: str, sets: Sequence[RemoteSet]) -> RemoteSet:
    found = [one for one in sets if _plain(one.quantization) == _plain(wanted)]
    if len(found) == 1:
        return found[0]
    params: dict[str, Param]
    if found:
        names = _few(one.path for one in found)
        params = {"repo": listing.repo, "count": len(found), "names": names}
        raise DownloadError(ErrorCode.HUB_NOTHING_CHOSEN, params)
    if not sets:
        raise DownloadError(ErrorCode.HUB_NO_WEIGHTS, {"repo": listing.repo})
    near = _nearest(wanted, (one.quantization for one in sets))
    params = {"repo": listing.repo, "wanted": wanted[:60], "near": near}
    raise DownloadError(ErrorCode.HUB_NO_QUANTIZATION, params)


def _below(listing: RepoListing, wish: Wish, sets: Sequence[RemoteSet]) -> tuple[RepoFile, ...]:
    wanted = (wish.path or "").strip("/")
    found = [f for f in listing.files if f.path == wanted or f.path.startswith(f"{wanted}/")]
    if not found:
        raise _no_match(listing, wanted, (file.path for file in listing.files))
    return _complete(listing, found, wish, sets, keeps_pickles=lambda file: file.path == wanted)


def _included(listing: RepoListing, wish: Wish, sets: Sequence[RemoteSet]) -> tuple[RepoFile, ...]:
    patterns = [f"{p}*" if p.endswith("/") else p for p in wish.include]
    found: list[RepoFile] = []
    for pattern in patterns:
        fitting = [file for file in listing.files if fnmatch.fnmatchcase(file.path, pattern)]
        if not fitting:
            named = [one for one in sets if _plain(one.quantization) == _plain(pattern)]
            fitting = [part for one in named for part in one.parts]
        if not fitting:
            folders = {str(PurePosixPath(file.path).parent) + "/" for file in listing.files}
            names = (one.quantization for one in sets)
            raise _no_match(listing, pattern, (*names, *folders, *(f.path for f in listing.files)))
        found += fitting
    return _complete(
        listing, found, wish, sets, keeps_pickles=lambda file: file.path in wish.include
    )


def _complete(
    listing: RepoListing,
    found: Iterable[RepoFile],
    wish: Wish,
    sets: Sequence[RemoteSet],
    *,
    keeps_pickles: Callable[[RepoFile], bool],
) -> tuple[RepoFile, ...]:
    """What was named, with the rest of every set it touches, and without pickle files.

    A pickle file that is named by its whole path is wanted.
    """
    names = {file.path for file in found if not _is_pickle(file) or keeps_pickles(file)}
    if not names:
        raise DownloadError(ErrorCode.HUB_NO_WEIGHTS, {"repo": listing.repo})
    touched = [one for one in sets if any(part.path in names for part in one.parts)]
    with_sets = _with_projector(listing, touched, wish) if touched else ()
    names |= {file.path for file in with_sets}
    return tuple(file for file in listing.files if file.path in names)


def _with_projector(
    listing: RepoListing, sets: Sequence[RemoteSet], wish: Wish
) -> tuple[RepoFile, ...]:
    for one in sets:
        if one.missing:
            which = ", ".join(map(str, one.missing[:MOST_NAMES]))
            params: dict[str, Param] = {
                "repo": listing.repo,
                "path": one.path,
                "missing": len(one.missing),
                "total": one.total,
                "which": which,
            }
            raise DownloadError(ErrorCode.HUB_SET_INCOMPLETE, params)
    names = {part.path for one in sets for part in one.parts}
    if wish.projector and (projector := _projector(listing.files, sets)):
        names.add(projector.path)
    return tuple(file for file in listing.files if file.path in names)


def _projector(files: Iterable[RepoFile], sets: Sequence[RemoteSet]) -> RepoFile | None:
    """The projector that belongs to a model: beside it or at the top, F16 before others."""
    folders = {PurePosixPath(one.path).parent for one in sets}
    near = [*folders, PurePosixPath()]
    found = [
        file
        for file in files
        if file.path.lower().endswith(".gguf")
        and _PROJECTOR.search(PurePosixPath(file.path).name)
        and PurePosixPath(file.path).parent in near
    ]
    return min(found, key=_projector_rank, default=None)


def _projector_rank(file: RepoFile) -> tuple[int, str]:
    name = re.split(r"[^a-z0-9_]+", PurePosixPath(file.path).stem.lower())
    ranks = (number for number, kind in enumerate(_BEST_PROJECTORS) if kind in name)
    return next(ranks, len(_BEST_PROJECTORS)), file.path


def _left_out(file: RepoFile) -> LeftOut:
    reason = LeftOutReason.PICKLE if _is_pickle(file) else LeftOutReason.NOT_WANTED
    return LeftOut(file, reason)


def _is_pickle(file: RepoFile) -> bool:
    return file.path.lower().endswith(_PICKLES)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _no_match(listing: RepoListing, pattern: str, known: Iterable[str]) -> DownloadError:
    near = _nearest(pattern.replace("*", ""), known)
    params = {"repo": listing.repo, "pattern": pattern[:80], "near": near}
    return DownloadError(ErrorCode.HUB_NO_MATCH, params)


def _nearest(wanted: str, known: Iterable[str]) -> str:
    """The likeliest ones; all of them when none is likely."""
    plain: dict[str, str] = {}
    for name in known:
        plain.setdefault(_plain(name), name)
    near = difflib.get_close_matches(_plain(wanted), plain, n=3, cutoff=0.6)
    return _few(plain[name] for name in near) if near else _few(plain.values())


def _few(names: Iterable[str]) -> str:
    """The first names, as many as one line takes."""
    listed = list(names)
    text = ""
    for number, name in enumerate(listed):
        if number == MOST_NAMES or (text and len(text) + len(name) > MOST_TEXT):
            return f"{text} …"
        text += f", {name}" if text else name
    return text
