"""Writing a whole file so that a crash, a full disk or a second reader never sees half of it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomically(file: Path, text: str, *, private: bool = False) -> None:
    """Write ``text`` beside ``file``, bring it to the disk, and put it in place.

    ``private``: readable by the owner alone, from the first byte.

    Raises:
        OSError: the folder cannot be written or the disk is full; ``file`` is as it was.
    """
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
