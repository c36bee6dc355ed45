"""Reading the small files of /proc and /sys. ``root`` is "/" or a recorded tree. Pool threads."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_OCTAL = re.compile(r"\\([0-7]{3})")


def read_text(path: Path) -> str | None:
    """The file's text without white space at its ends; None when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def read_int(path: Path) -> int | None:
    """The file's whole number; None when it cannot be read or is none."""
    try:
        return int(read_text(path) or "")
    except ValueError:
        return None


def parse_cpu_list(text: str) -> set[int]:
    """``"0-3,8"`` -> {0, 1, 2, 3, 8}; parts that are no numbers are left out."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            numbers.update(range(int(first), int(last or first) + 1))
    return numbers


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    device: str
    """"major:minor"."""
    root: str
    """Which folder of the file system is mounted."""
    point: str
    file_system: str
    source: str
    options: tuple[str, ...]
    """Of the mount and of the file system."""

    def option(self, name: str) -> str | None:
        """The value of ``name=value``."""
        for option in self.options:
            key, separator, value = option.partition("=")
            if key == name and separator:
                return value
        return None


def read_mounts(root: Path) -> tuple[Mount, ...]:
    """This process's mounts, in the order in which they were made; lines it cannot read skipped."""
    text = read_text(root / "proc/self/mountinfo") or ""
    mounts = []
    for line in text.splitlines():
        left, separator, right = line.partition(" - ")
        head, tail = left.split(" "), right.split(" ")
        if not separator or len(head) < 6 or len(tail) < 3:
            continue
        mounts.append(
            Mount(
                device=head[2],
                root=_plain(head[3]),
                point=_plain(head[4]),
                file_system=tail[0],
                source=_plain(tail[1]),
                options=(*head[5].split(","), *map(_plain, tail[2].split(","))),
            )
        )
    return tuple(mounts)


def under(root: Path, path: str | Path) -> Path:
    """An absolute path of the system inside the recorded tree."""
    return root / os.fspath(path).lstrip("/")


def _plain(field: str) -> str:
    """Undo mountinfo's octal escapes (blank, tab, newline, backslash)."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), field)
