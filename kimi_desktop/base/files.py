"""Writing a whole file so that a crash, a full disk or a second reader never sees half of it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomically(file: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write ``content`` beside ``file``, bring it to the disk, and put it in place.

    ``private``: readable by the owner alone, from the first byte.

    Raises:
        OSError: the folder cannot be written or the disk is full; ``file`` is as it was.
        UnicodeEncodeError: a text with lone surrogates.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
