from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ChatError, ErrorCode
from kimi_desktop.chat import database as module
from kimi_desktop.chat.database import (
    MIGRATIONS,
    SCHEMA,
    ChatDatabase,
    ChatRecord,
    MessageRecord,
    typed_error,
)
from kimi_desktop.chat.rescue import read_rows, set_aside
from kimi_desktop.chat.types import AnswerStats, Finish, Role

CHAT = ChatRecord(10, "First", 1.0, 2.0)


def said(number: int, text: str, **fields: object) -> MessageRecord:
    return MessageRecord(number, CHAT.id, None, Role.USER, text, **fields)  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.sqlite3"


@pytest.fixture
def database(file: Path) -> Iterator[ChatDatabase]:
    opened = ChatDatabase(file)
    yield opened
    opened.close()


def test_rows_come_back_as_they_were_written(database: ChatDatabase) -> None:
    message = MessageRecord(
        11,
        CHAT.id,
        None,
        Role.ASSISTANT,
        "text\0 with 中文 🌙",
        "thought",
        Finish.STOPPED,
        AnswerStats(3, 1.5, 0.25, None, 7, 2),
        5.0,
        shown=False,
        model="/models/m.gguf",
    )
    database.write([CHAT], [message])
    assert database.chats() == [CHAT]
    assert database.messages(CHAT.id) == [message]
    assert database.last_id() == 11


def test_writing_again_replaces(database: ChatDatabase) -> None:
    database.write([CHAT], [said(1, "old words")])
    database.write([ChatRecord(10, "Second", 1.0, 3.0, 4.0)], [said(1, "new words")])
    assert database.chats() == [ChatRecord(10, "Second", 1.0, 3.0, 4.0)]
    assert [message.text for message in database.messages(CHAT.id)] == ["new words"]
    assert database.search("old") == set()
    assert database.search("new") == {CHAT.id}


def test_half_of_a_surrogate_pair_is_no_obstacle(database: ChatDatabase) -> None:
    database.write([CHAT], [said(1, "a\ud83d"), said(2, "\ud83c\udf19")])
    assert [message.text for message in database.messages(CHAT.id)] == ["a\ufffd", "🌙"]


@pytest.mark.parametrize("trigrams", [True, False])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        *(("显存", True), ("显存不足", True), ("足够", False), ("存", True), ("VRAM", True)),
        *(("vram", True), ("am", True), ('say "hi"', True), ("100%", True), ("100 %", False)),
        *(("%", True), ("_", False), ("\\", False), ("AND", True), ("ramp", False)),
    ],
)
def test_search(
    file: Path, monkeypatch: pytest.MonkeyPatch, trigrams: bool, query: str, found: bool
) -> None:
    monkeypatch.setattr(module, "has_trigrams", lambda: trigrams)
    with closing(ChatDatabase(file)) as database:
        text = '显存不足: 100% of the VRAM and "hi", say "hi"'
        database.write([CHAT], [said(1, text), said(2, "other")])
        assert database.search(query) == ({CHAT.id} if found else set())


def test_an_index_that_missed_rows_is_made_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(ChatDatabase(file)) as database:
        database.write([CHAT], [said(1, "indexed")])
    with monkeypatch.context() as patch:
        patch.setattr(module, "has_trigrams", lambda: False)
        with closing(ChatDatabase(file)) as database:
            database.write([], [said(2, "written without the index")])
    with closing(ChatDatabase(file)) as database:
        assert database.search("without the") == {CHAT.id}
        assert database.search("indexed") == {CHAT.id}


def test_an_open_answer_is_searchable_once_it_is_closed(database: ChatDatabase) -> None:
    database.write([CHAT], [said(1, "halfway", finish=Finish.GENERATING)])
    assert database.search("halfway") == set()
    database.fail_open_answers()
    assert database.search("halfway") == {CHAT.id}
    assert database.messages(CHAT.id)[0].finish is Finish.FAILED


def test_purged_chats_are_gone_with_their_text(file: Path, database: ChatDatabase) -> None:
    database.write(
        [ChatRecord(10, "t", 1.0, 1.0, deleted_at=5.0), ChatRecord(20, "u", 1.0, 1.0, 50.0)],
        [said(1, "a secret word")],
    )
    database.purge(deleted_before=10.0)
    assert [chat.id for chat in database.chats()] == [20]
    assert database.messages(10) == []
    assert database.search("secret") == set()
    database.close()
    assert b"secret" not in file.read_bytes()


def test_a_purge_without_index(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "has_trigrams", lambda: False)
    with closing(ChatDatabase(file)) as database:
        database.write([ChatRecord(10, "t", 1.0, 1.0, 5.0)], [])
        database.purge(deleted_before=10.0)
        assert database.chats() == []


def test_every_schema_leads_to_the_newest(file: Path) -> None:
    for start in range(SCHEMA):
        file.unlink(missing_ok=True)
        file.parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(file)) as db:
            db.execute("CREATE TABLE schemas (feature TEXT PRIMARY KEY, version INTEGER)")
            for script in MIGRATIONS[:start]:
                db.executescript(script)
            db.execute("INSERT INTO schemas VALUES ('chat', ?)", (start,))
            db.commit()
        with closing(ChatDatabase(file)) as database:
            database.write([CHAT], [said(1, "works")])
            assert database.search("works") == {CHAT.id}


def test_which_model_answered_where(database: ChatDatabase) -> None:
    other = ChatRecord(20, "Second", 1.0, 2.0)
    database.write(
        [CHAT, other],
        [
            said(1, "a"),
            said(2, "b", model="/m/one.gguf"),
            said(3, "c", model="/m/one.gguf"),
            MessageRecord(4, 20, None, Role.ASSISTANT, "d", model="/m/one.gguf"),
            MessageRecord(5, 20, None, Role.ASSISTANT, "e", model="/m/two.gguf"),
        ],
    )
    assert database.chats_by_model() == {"/m/one.gguf": {10, 20}, "/m/two.gguf": {20}}
    database.rename_model("/m/one.gguf", "/n/one.gguf")
    assert database.chats_by_model() == {"/n/one.gguf": {10, 20}, "/m/two.gguf": {20}}


def test_a_file_of_the_first_schema_is_rescued_as_it_is(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as db:
        db.executescript(MIGRATIONS[0])
        db.execute("INSERT INTO chats VALUES (10, 't', 1, 1, NULL)")
        db.execute(
            "INSERT INTO messages VALUES (1, 10, NULL, 'user', 'old', '', 'end', NULL, 1, 1)"
        )
        db.commit()
    chats, messages = read_rows(file)
    assert [chat.id for chat in chats] == [10]
    assert [(message.text, message.model) for message in messages] == [("old", "")]


def test_other_features_share_the_file(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE runs (id INTEGER)")
        db.execute("INSERT INTO runs VALUES (7)")
        db.commit()
    ChatDatabase(file).close()
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT id FROM runs").fetchone() == (7,)


def test_a_newer_schema_is_refused_and_left_alone(file: Path) -> None:
    ChatDatabase(file).close()
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE schemas SET version = 99 WHERE feature = 'chat'")
        db.commit()
    before = file.read_bytes()
    with pytest.raises(ChatError) as caught:
        ChatDatabase(file)
    assert caught.value.code is ErrorCode.CHAT_STORE_TOO_NEW
    assert caught.value.params == {"path": str(file), "found": 99, "known": SCHEMA}
    assert file.read_bytes() == before


def test_a_file_that_is_no_database_is_damaged(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database, by no means" * 50)
    with pytest.raises(ChatError) as caught:
        ChatDatabase(file)
    assert caught.value.code is ErrorCode.CHAT_STORE_DAMAGED
    aside = set_aside(file)
    assert not file.exists()
    assert aside.read_bytes().startswith(b"this is not a database")
    assert read_rows(aside) == ([], [])


def test_a_full_disk(database: ChatDatabase) -> None:
    # The limit makes SQLite say what it says on a full disk.
    pages = database._writer.execute("PRAGMA page_count").fetchone()[0]
    database._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ChatError) as caught:
        database.write([CHAT], [said(1, "x" * 200_000)])
    assert caught.value.code is ErrorCode.DISK_FULL
    assert database.chats() == []
    database._writer.execute("PRAGMA max_page_count = 100000")
    database.write([CHAT], [said(1, "x" * 200_000)])
    assert database.chats() == [CHAT]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("in the way")
    with pytest.raises(ChatError) as caught:
        ChatDatabase(blocker / "chats.sqlite3")
    assert caught.value.code is ErrorCode.DATA_READ_ONLY
    assert caught.value.params["path"] == str(blocker)


def test_a_lock_held_too_long(
    file: Path, database: ChatDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    database._writer.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ChatError) as caught:
            database.write([CHAT], [])
    assert caught.value.code is ErrorCode.CHAT_STORE_FAILED
    database.write([CHAT], [])


def test_rows_around_a_broken_page_are_rescued(file: Path) -> None:
    with closing(ChatDatabase(file)) as database:
        database.write([CHAT], [said(n, f"{n:04}" * 700) for n in range(1, 60)])
    with file.open("r+b") as raw:
        size = raw.seek(0, os.SEEK_END)
        raw.seek(size // 2 // 4096 * 4096)
        raw.write(b"\xff" * 8 * 4096)
    chats, messages = read_rows(file)
    assert chats == [CHAT]
    assert 5 < len(messages) < 60
    assert all(message.text == f"{message.id:04}" * 700 for message in messages)


def test_messages_whose_chat_is_lost_get_one(file: Path) -> None:
    with closing(ChatDatabase(file)) as database:
        database.write([CHAT], [said(1, "alone", created_at=3.0)])
    with closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM chats")
        db.commit()
    assert read_rows(file)[0] == [ChatRecord(CHAT.id, "", 3.0, 3.0)]


def test_rows_that_are_not_ours_are_passed_over(file: Path, database: ChatDatabase) -> None:
    database.write([CHAT], [said(1, "ours"), said(2, "bad"), said(3, "worse")])
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE messages SET role = 'wizard' WHERE id = 2")
        db.execute("UPDATE messages SET stats = '{' WHERE id = 3")
        db.commit()
    assert [message.text for message in database.messages(CHAT.id)] == ["ours"]


def test_unknown_fields_of_the_stats_are_passed_over(file: Path, database: ChatDatabase) -> None:
    database.write([CHAT], [said(1, "x", stats=AnswerStats(tokens=4))])
    with closing(sqlite3.connect(file)) as db:
        db.execute("""UPDATE messages SET stats = '{"tokens": 4, "joules": 2}'""")
        db.commit()
    assert database.messages(CHAT.id)[0].stats == AnswerStats(tokens=4)


def test_another_failure_is_named(tmp_path: Path) -> None:
    error = typed_error(sqlite3.OperationalError("disk I/O error"), tmp_path / "x")
    assert error.code is ErrorCode.CHAT_STORE_FAILED
    assert error.params["detail"] == "disk I/O error"


def test_a_file_that_cannot_be_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "chats.sqlite3"
    file.write_text("x")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(ChatError) as caught:
        set_aside(file)
    assert caught.value.code is ErrorCode.DATA_READ_ONLY
