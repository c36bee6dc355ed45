"""Chats on disk: one SQLite file in WAL mode, its schema and migrations, its search index.

Two connections: one reads (on the caller's thread, the Qt thread as a rule), one writes (on the
pool), so that a slow disk never holds up a reader. Each is used under its own lock. Every failure
is a ChatError; what to do about one is decided in ``store.py``.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from kimi_desktop.base.errors import ChatError, ErrorCode, Param
from kimi_desktop.chat.types import AnswerStats, Finish, Role

log = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 2.0
_FEATURE = "chat"
_INDEX = "chat_search"
_INDEX_VERSION = 1
_TRIGRAM = 3

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE chats (
        id INTEGER PRIMARY KEY,
        title TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        deleted_at REAL
    );
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        chat_id INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
        parent_id INTEGER,
        role TEXT NOT NULL,
        text TEXT NOT NULL,
        reasoning TEXT NOT NULL,
        finish TEXT NOT NULL,
        stats TEXT,
        created_at REAL NOT NULL,
        shown INTEGER NOT NULL
    );
    CREATE INDEX messages_of_chat ON messages (chat_id);
    """,
    """
    ALTER TABLE messages ADD COLUMN model TEXT NOT NULL DEFAULT '';
    CREATE INDEX messages_of_model ON messages (model, chat_id) WHERE model <> '';
    """,
)
"""Script n leads from schema n to n + 1; a file without our tables has schema 0."""

SCHEMA = len(MIGRATIONS)

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_PAIR = re.compile(rf"(?<=[{_CJK}])(?=[{_CJK}])")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """A row of ``chats``. Times are time.time()."""

    id: int
    title: str
    created_at: float
    updated_at: float
    deleted_at: float | None = None


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A row of ``messages``. Rows with the same parent are versions of one turn."""

    id: int
    chat_id: int
    parent_id: int | None
    role: Role
    text: str
    reasoning: str = ""
    finish: Finish = Finish.END
    stats: AnswerStats | None = None
    created_at: float = 0.0
    shown: bool = True
    """The version that is visible among its siblings."""
    model: str = ""
    """Id of the local model that answered; "" = not known, or no answer."""


class ChatDatabase:
    """The open file. Close it, or set it aside when it is damaged.

    Raises (every method):
        ChatError: DATA_READ_ONLY, DISK_FULL, CHAT_STORE_DAMAGED, CHAT_STORE_TOO_NEW or
            CHAT_STORE_FAILED.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._reading = threading.Lock()
        self._writing = threading.Lock()
        with self._typed():
            file.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _connect(file)
            try:
                self._migrate()
                self._indexed = self._prepare_index()
                self._reader = _connect(file)
            except BaseException:
                self._writer.close()
                raise

    def close(self) -> None:
        """Close both connections; the file is complete without its WAL afterwards."""
        with self._reading, self._writing:
            self._reader.close()
            self._writer.close()

    def data_version(self) -> int:
        """A number that changes when another program, or our writer, changed the file."""
        return self._read(lambda db: int(db.execute("PRAGMA data_version").fetchone()[0]))

    def last_id(self) -> int:
        """The largest id in use."""
        query = "SELECT max((SELECT max(id) FROM chats), (SELECT max(id) FROM messages))"
        return self._read(lambda db: db.execute(query).fetchone()[0] or 0)

    def chats(self) -> list[ChatRecord]:
        """All of them, also the deleted ones that can be restored."""
        query = f"SELECT {CHAT_COLUMNS} FROM chats"
        return self._read(lambda db: [ChatRecord(*row) for row in db.execute(query)])

    def messages(self, chat_id: int) -> list[MessageRecord]:
        """All versions of all messages of a chat, oldest first."""
        query = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE chat_id = ? ORDER BY id"
        return self._read(lambda db: list(records(db.execute(query, (chat_id,)))))

    def search(self, text: str) -> set[int]:
        """The ids of the chats in which a message contains ``text``, case folded where known.

        By the trigram index where SQLite has one and the text is long enough, else by a scan.
        """
        wanted = _spaced(text)
        if self._indexed and len(wanted) >= _TRIGRAM:
            query = (
                "SELECT DISTINCT chat_id FROM messages WHERE id IN "
                "(SELECT rowid FROM message_search WHERE message_search MATCH ?)"
            )
            argument = '"' + wanted.replace('"', '""') + '"'
        else:
            query = r"SELECT DISTINCT chat_id FROM messages WHERE text LIKE ? ESCAPE '\'"
            argument = "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"
        return self._read(lambda db: {row[0] for row in db.execute(query, (argument,))})

    def chats_by_model(self) -> dict[str, set[int]]:
        """Which models answered in which chats."""
        query = "SELECT DISTINCT model, chat_id FROM messages WHERE model <> ''"

        def ask(db: sqlite3.Connection) -> dict[str, set[int]]:
            found: dict[str, set[int]] = {}
            for model, chat_id in db.execute(query):
                found.setdefault(model, set()).add(chat_id)
            return found

        return self._read(ask)

    def rename_model(self, old: str, new: str) -> None:
        """The model has another id now."""
        with self._writing, self._typed(), _transaction(self._writer) as db:
            db.execute("UPDATE messages SET model = ? WHERE model = ?", (new, old))

    def write(self, chats: Iterable[ChatRecord], messages: Iterable[MessageRecord]) -> None:
        """Insert or replace rows, all or nothing. Writing a row twice is harmless."""
        with self._writing, self._typed(), _transaction(self._writer) as db:
            for chat in chats:
                values = (
                    chat.id,
                    _whole(chat.title),
                    chat.created_at,
                    chat.updated_at,
                    chat.deleted_at,
                )
                db.execute(
                    "INSERT INTO chats VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                    "title = excluded.title, updated_at = excluded.updated_at, "
                    "deleted_at = excluded.deleted_at",
                    values,
                )
            for message in messages:
                db.execute(
                    f"INSERT OR REPLACE INTO messages ({MESSAGE_COLUMNS}) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    _row(message),
                )
                # An open answer is written every second: only its last version is indexed.
                if message.finish is not Finish.GENERATING:
                    self._index(message)

    def fail_open_answers(self) -> None:
        """Answers that a crash left open have failed; their text so far is kept."""
        query = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE finish = ?"
        found = self._read(lambda db: list(records(db.execute(query, (Finish.GENERATING,)))))
        if found:
            self.write((), (replace(message, finish=Finish.FAILED) for message in found))

    def purge(self, deleted_before: float) -> None:
        """Remove for good the chats that were deleted before that time."""
        old = "SELECT id FROM chats WHERE deleted_at < ?"
        with self._writing, self._typed(), _transaction(self._writer) as db:
            if self._indexed:
                db.execute(
                    "DELETE FROM message_search WHERE rowid IN "
                    f"(SELECT id FROM messages WHERE chat_id IN ({old}))",
                    (deleted_before,),
                )
            db.execute(f"DELETE FROM chats WHERE id IN ({old})", (deleted_before,))

    def _index(self, message: MessageRecord) -> None:
        if self._indexed:
            self._writer.execute("DELETE FROM message_search WHERE rowid = ?", (message.id,))
            self._writer.execute(
                "INSERT INTO message_search (rowid, text) VALUES (?, ?)",
                (message.id, _spaced(_whole(message.text))),
            )

    def _migrate(self) -> None:
        db = self._writer
        with _transaction(db):
            db.execute(
                "CREATE TABLE IF NOT EXISTS schemas (feature TEXT PRIMARY KEY, version INTEGER)"
            )
        found = _schema(db, _FEATURE)
        if found > SCHEMA:
            params: dict[str, Param] = {"path": str(self.file), "found": found, "known": SCHEMA}
            raise ChatError(ErrorCode.CHAT_STORE_TOO_NEW, params)
        for number in range(found, SCHEMA):
            with _transaction(db):
                if _schema(db, _FEATURE) == number:  # else another program was faster
                    for statement in MIGRATIONS[number].split(";"):
                        db.execute(statement)
                    _set_schema(db, _FEATURE, number + 1)

    def _prepare_index(self) -> bool:
        """Make or complete the search index; False where this SQLite has no trigrams."""
        db = self._writer
        if not has_trigrams():
            with _transaction(db):  # what is written now will be missing in the index
                db.execute("DELETE FROM schemas WHERE feature = ?", (_INDEX,))
            return False
        if _schema(db, _INDEX) != _INDEX_VERSION:
            db.create_function("spaced", 1, _spaced, deterministic=True)
            with _transaction(db):
                db.execute("DROP TABLE IF EXISTS message_search")
                db.execute("CREATE VIRTUAL TABLE message_search USING fts5(text, tokenize=trigram)")
                db.execute(
                    "INSERT INTO message_search (rowid, text) SELECT id, spaced(text) FROM messages"
                )
                _set_schema(db, _INDEX, _INDEX_VERSION)
        return True

    def _read(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        with self._reading, self._typed():
            return ask(self._reader)

    @contextmanager
    def _typed(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise typed_error(error, self.file) from error


def typed_error(error: BaseException, file: Path) -> ChatError:
    """The ChatError for what SQLite or the system said about ``file``."""
    path = str(file)
    detail = (error.strerror if isinstance(error, OSError) else None) or str(error)
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return ChatError(ErrorCode.CHAT_STORE_DAMAGED, {"path": path, "count": 0}, cause=error)
    if name == "SQLITE_FULL":
        return ChatError(ErrorCode.DISK_FULL, {"path": path}, cause=error)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")) or isinstance(error, OSError):
        params = {"path": str(file.parent), "detail": detail}
        return ChatError(ErrorCode.DATA_READ_ONLY, params, cause=error)
    return ChatError(ErrorCode.CHAT_STORE_FAILED, {"path": path, "detail": detail}, cause=error)


def has_trigrams() -> bool:
    """Whether this Python's SQLite has FTS5 with the trigram tokenizer (3.34 on)."""
    with closing(sqlite3.connect(":memory:")) as db:
        try:
            db.execute("CREATE VIRTUAL TABLE probe USING fts5(text, tokenize=trigram)")
        except sqlite3.OperationalError:
            return False
    return True


CHAT_COLUMNS = "id, title, created_at, updated_at, deleted_at"
OLD_MESSAGE_COLUMNS = (
    "id, chat_id, parent_id, role, text, reasoning, finish, stats, created_at, shown, ''"
)
"""Of a file of the first schema that could not be migrated."""
MESSAGE_COLUMNS = (
    "id, chat_id, parent_id, role, text, reasoning, finish, stats, created_at, shown, model"
)


def _connect(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(
        file, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")  # a deleted chat is gone from the file too
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk may have rolled back by itself
            db.execute("ROLLBACK")
        raise


def _schema(db: sqlite3.Connection, feature: str) -> int:
    row = db.execute("SELECT version FROM schemas WHERE feature = ?", (feature,)).fetchone()
    return int(row[0]) if row else 0


def _set_schema(db: sqlite3.Connection, feature: str, version: int) -> None:
    db.execute("INSERT OR REPLACE INTO schemas VALUES (?, ?)", (feature, version))


def _spaced(text: str) -> str:
    """Chinese, Japanese and Korean characters set apart, so that two of them make a trigram."""
    return _CJK_PAIR.sub("\x1f", text)


def _whole(text: str) -> str:
    """Without halves of surrogate pairs, which an engine may send and SQLite does not take."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _row(message: MessageRecord) -> tuple[Any, ...]:
    stats = json.dumps(dataclasses.asdict(message.stats)) if message.stats else None
    return (
        message.id,
        message.chat_id,
        message.parent_id,
        message.role.value,
        _whole(message.text),
        _whole(message.reasoning),
        message.finish.value,
        stats,
        message.created_at,
        int(message.shown),
        message.model,
    )


def records(rows: Iterable[Sequence[Any]]) -> Iterator[MessageRecord]:
    """Rows of ``MESSAGE_COLUMNS``; those with values that are not ours are passed over."""
    for row in rows:
        number, chat_id, parent_id, role, text, reasoning, finish, stats, at, shown, model = row
        try:
            yield MessageRecord(
                number,
                chat_id,
                parent_id,
                Role(role),
                text,
                reasoning,
                Finish(finish),
                _stats(json.loads(stats)) if stats else None,
                at,
                bool(shown),
                model,
            )
        except ValueError:
            log.warning("message %s has values that are not ours", number)


def _stats(raw: Mapping[str, Any]) -> AnswerStats:
    known = {field.name for field in dataclasses.fields(AnswerStats)}
    return AnswerStats(**{name: value for name, value in raw.items() if name in known})
