"""Another name for a file, without its bytes: clone, hard link, symbolic link. Blocking.

A clone (reflink) comes first: it is a file of its own on the same blocks, so whatever one program
does later, the other does not see. Each kind is a small function that tests replace.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kimi_desktop.downloads.imports.types import LinkKind

_FICLONE = 0x40049409
"""Of linux/fs.h."""

Method = Callable[[Path, Path], None]
"""(source, target that does not exist); raises OSError when it does not work here."""


def link_file(
    source: Path, target: Path, methods: Mapping[LinkKind, Method] | None = None
) -> LinkKind:
    """Give a file a name in our folder.

    Args:
        source: the file itself, without links.
        target: what does not exist yet; its folder is made.
        methods: in the order in which they are tried.

    Raises:
        FileExistsError: there is something under that name.
        OSError: no kind of link works between the two places; the last one's reason.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    problem: OSError | None = None
    for kind, method in (methods or METHODS).items():
        try:
            method(source, target)
        except FileExistsError:
            raise
        except OSError as error:
            problem = error
        else:
            return kind
    raise problem or OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def clone(source: Path, target: Path) -> None:
    """A file of its own on the same blocks (Btrfs, XFS, bcachefs; APFS)."""
    if sys.platform == "darwin":
        _clone_macos(source, target)
    elif sys.platform == "linux":
        _clone_linux(source, target)
    else:  # ReFS and Dev Drives could; a hard link does it on every Windows volume
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


def hard_link(source: Path, target: Path) -> None:
    """A second name, on the same volume."""
    os.link(source, target)


def symbolic_link(source: Path, target: Path) -> None:
    """A pointer; Windows wants a privilege or its developer mode for it."""
    target.symlink_to(source)


METHODS: Mapping[LinkKind, Method] = {
    LinkKind.CLONE: clone,
    LinkKind.HARD_LINK: hard_link,
    LinkKind.SYMBOLIC_LINK: symbolic_link,
}


def _clone_linux(source: Path, target: Path, ioctl: Any = None) -> None:  # noqa: ANN401
    if ioctl is None:
        from fcntl import ioctl  # noqa: PLC0415
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with source.open("rb") as file:
        descriptor = os.open(target, flags, 0o644)
        try:
            ioctl(descriptor, _FICLONE, file.fileno())
        except BaseException:
            with suppress(OSError):
                target.unlink()
            raise
        finally:
            os.close(descriptor)


def _clone_macos(source: Path, target: Path, library: Any = None) -> None:  # noqa: ANN401
    library = library or ctypes.CDLL(None, use_errno=True)
    if library.clonefile(os.fsencode(source), os.fsencode(target), 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))
