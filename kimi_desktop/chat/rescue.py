"""What to do about a chats file that is damaged or read-only: set it aside, read what can be read.

Blocking. The file itself is never changed and never deleted.
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from kimi_desktop.chat.database import (
    CHAT_COLUMNS,
    MESSAGE_COLUMNS,
    OLD_MESSAGE_COLUMNS,
    ChatRecord,
    MessageRecord,
    records,
    typed_error,
)

log = logging.getLogger(__name__)


def set_aside(file: Path) -> Path:
    """Rename a damaged database, with its WAL, beside itself; never delete it.

    Raises:
        ChatError: it cannot be renamed.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    target = file.with_name(f"{file.name}.damaged-{stamp}")
    for number in itertools.count(2):
        if not target.exists():
            break
        target = file.with_name(f"{file.name}.damaged-{stamp}-{number}")
    try:
        for suffix in ("", "-wal", "-shm"):
            part = file.with_name(file.name + suffix)
            if part.exists():
                part.rename(target.with_name(target.name + suffix))
    except OSError as error:
        raise typed_error(error, file) from error
    return target


def read_rows(file: Path) -> tuple[list[ChatRecord], list[MessageRecord]]:
    """What can still be read of a damaged or read-only file, which is left as it is.

    Reads from both ends, so that one bad page costs the rows on it and not all that follow.
    """
    chats: dict[int, ChatRecord] = {}
    messages: dict[int, MessageRecord] = {}
    for order in ("ASC", "DESC"):
        for row in _readable(file, f"SELECT {CHAT_COLUMNS} FROM chats ORDER BY id {order}"):
            chats[row[0]] = ChatRecord(*row)
        for columns in (MESSAGE_COLUMNS, OLD_MESSAGE_COLUMNS):
            query = f"SELECT {columns} FROM messages ORDER BY id {order}"
            found = {message.id: message for message in records(_readable(file, query))}
            messages |= found
            if found:
                break
    for message in messages.values():  # a chat whose own row is lost
        at = message.created_at
        chats.setdefault(message.chat_id, ChatRecord(message.chat_id, "", at, at))
    return list(chats.values()), list(messages.values())


def _readable(file: Path, query: str) -> Iterator[Sequence[Any]]:
    """Rows until the first that cannot be read. A WAL in a read-only folder is passed over."""
    for mode in ("mode=ro", "immutable=1"):
        uri = f"{file.absolute().as_uri()}?{mode}"
        read = 0
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
                for row in db.execute(query):
                    read += 1
                    yield row
            return  # noqa: TRY300 - complete
        except (sqlite3.Error, ValueError) as error:
            log.warning("reading %s stopped after %d rows: %s", file.name, read, error)
            if read:
                return
