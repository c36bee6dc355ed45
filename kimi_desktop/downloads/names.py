"""Which file names of a repository may be written here, by the rules of every system. Pure.

Both rule sets hold everywhere: what was filled on Linux must be usable on a drive that goes to
Windows, and no weights need a name that only one system finds harmless.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

MAX_PATH_BYTES = 512
MAX_PART_BYTES = 200

_FORBIDDEN = frozenset('<>"|?*\\:')
_DEVICES = frozenset(
    (
        *("con", "prn", "aux", "nul", "conin$", "conout$"),
        *(f"{name}{number}" for name in ("com", "lpt") for number in "0123456789¹²³"),
    )
)
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_OURS = ".kimi"


class NameProblem(StrEnum):
    """What is wrong with a name."""

    LEADS_OUT = "leads_out"
    """Absolute, a drive, or with ``..`` in it."""
    CONTROL = "control"
    """Characters that cannot be seen, or that turn the direction of the text around."""
    CHARACTER = "character"
    """One that some system gives a meaning of its own."""
    DEVICE = "device"
    """CON, NUL, COM1: no files on Windows."""
    EDGE = "edge"
    """A blank or a dot at the end, which Windows drops; or a name that is reserved here."""
    LENGTH = "length"
    FORM = "form"
    """Not in the usual (NFC) form of Unicode: a second name for what looks the same."""
    COLLISION = "collision"
    """The same as another one where case does not count."""


@dataclass(frozen=True, slots=True)
class SuspiciousName:
    """A name that is refused."""

    path: str
    problem: NameProblem

    @property
    def shown(self) -> str:
        """The path, fit to be shown."""
        kept = (c if c.isprintable() and c not in _BIDI else "\ufffd" for c in self.path)
        return "".join(kept)[:120]


def name_problem(path: str) -> NameProblem | None:
    """What keeps a path of a repository from being written below a folder, if anything does."""
    rules = (
        (NameProblem.LENGTH, _is_too_long),
        (NameProblem.CONTROL, _has_control),
        (NameProblem.LEADS_OUT, _leads_out),
        (NameProblem.CHARACTER, lambda text: not _FORBIDDEN.isdisjoint(text)),
        (NameProblem.FORM, lambda text: unicodedata.normalize("NFC", text) != text),
    )
    for problem, breaks in rules:
        if breaks(path):
            return problem
    return next(filter(None, map(_part_problem, path.split("/"))), None)


def suspicious_names(paths: Iterable[str]) -> tuple[SuspiciousName, ...]:
    """Every path with a problem, collisions among them included: the second one is refused.

    A file and a folder of one name collide too.
    """
    found: list[SuspiciousName] = []
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        problem = name_problem(path)
        if problem is None and _collides(path, files, folders):
            problem = NameProblem.COLLISION
        if problem is not None:
            found.append(SuspiciousName(path, problem))
    return tuple(found)


def _is_too_long(path: str) -> bool:
    return not path or len(path.encode(errors="replace")) > MAX_PATH_BYTES


def _has_control(path: str) -> bool:
    return any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _BIDI for c in path)


def _leads_out(path: str) -> bool:
    """Absolute, on a drive, or with a step that goes nowhere or up."""
    is_drive = path[1:2] == ":" and path[0].isalpha()
    return is_drive or any(step in ("", ".", "..") for step in path.replace("\\", "/").split("/"))


def _part_problem(part: str) -> NameProblem | None:
    if len(part.encode()) > MAX_PART_BYTES:
        return NameProblem.LENGTH
    if part.partition(".")[0].rstrip(" ").casefold() in _DEVICES:
        return NameProblem.DEVICE
    if part.endswith((" ", ".")) or part.startswith((" ", "~")):
        return NameProblem.EDGE
    if part.casefold().startswith(_OURS):
        return NameProblem.EDGE
    return None


def _collides(path: str, files: dict[str, str], folders: dict[str, str]) -> bool:
    """Remember a path; True when something else has its name or one of its folders' names."""
    key = _folded(path)
    if key in files or key in folders:
        return True
    parents = path.split("/")[:-1]
    for depth in range(1, len(parents) + 1):
        folder = "/".join(parents[:depth])
        if _folded(folder) in files or folders.get(_folded(folder), folder) != folder:
            return True
    for depth in range(1, len(parents) + 1):
        folder = "/".join(parents[:depth])
        folders[_folded(folder)] = folder
    files[key] = path
    return False


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
