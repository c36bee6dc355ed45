from __future__ import annotations

import itertools
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kimi_desktop.base.errors import ChatError, ErrorCode
from kimi_desktop.chat.database import ChatDatabase
from kimi_desktop.chat.rescue import read_rows
from kimi_desktop.chat.store import KEEP_DELETED_S, ChatStore
from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.sqlite3"


Open = Callable[[], ChatStore]


@pytest.fixture
def reports() -> list[ChatError | None]:
    return []


@pytest.fixture
def opened(file: Path, clock: Clock, reports: list[ChatError | None]) -> Iterator[Open]:
    stores: list[ChatStore] = []

    def make() -> ChatStore:
        for store in stores:
            store.close()
        stores.append(ChatStore(file, report=reports.append, clock=clock))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def texts(store: ChatStore, chat_id: int) -> list[str]:
    return [message.text for message in store.messages(chat_id)]


def ask(store: ChatStore, chat_id: int, question: str, answer: str) -> tuple[Message, Message]:
    asked = store.add(chat_id, Role.USER, question)
    answered = store.add(chat_id, Role.ASSISTANT, answer)
    return asked, answered


def test_which_model_answered_is_known_and_follows_a_move(opened: Open) -> None:
    store = opened()
    first, second = store.new_chat(), None
    _, answer = ask(store, first, "Why?", "Because.")
    store.update(first, answer.id, model="/m/one.gguf")
    assert [chat.id for chat in store.chats_of("/m/one.gguf")] == [first]  # not written yet
    store.flush()
    store = opened()
    second = store.new_chat()
    _, answer = ask(store, second, "And?", "So.")
    store.update(second, answer.id, model="/m/one.gguf")
    store.flush()
    assert [chat.id for chat in store.chats_of("/m/one.gguf")] == [second, first]
    store.rename_model("/m/one.gguf", "/n/one.gguf")
    assert store.chats_of("/m/one.gguf") == ()
    store.flush()
    store = opened()
    assert [chat.id for chat in store.chats_of("/n/one.gguf")] == [second, first]
    store.delete(first)
    assert [chat.id for chat in store.chats_of("/n/one.gguf")] == [second]


def test_a_conversation_is_there_after_a_restart(opened: Open) -> None:
    store = opened()
    chat = store.new_chat()
    ask(store, chat, "Why?", "Because.")
    store.rename(chat, "A question")
    answer = store.messages(chat)[1]
    store.update(chat, answer.id, stats=AnswerStats(tokens=3), reasoning="hm")
    before = store.messages(chat)
    assert store.dirty
    assert store.flush()
    assert not store.dirty
    store = opened()
    assert store.messages(chat) == before
    assert [(c.id, c.title) for c in store.chats()] == [(chat, "A question")]


def test_an_empty_chat_is_reused_and_not_written(opened: Open) -> None:
    store = opened()
    chat = store.new_chat()
    assert store.new_chat() == chat
    assert [c.id for c in store.chats()] == [chat]
    store.flush()
    store = opened()
    assert store.chats() == ()
    again = store.new_chat()
    store.add(again, Role.USER, "not empty")
    assert store.new_chat() != again


def test_a_deleted_chat_comes_back_until_a_day_has_passed(opened: Open, clock: Clock) -> None:
    store = opened()
    chat = store.new_chat()
    ask(store, chat, "q", "a")
    store.delete(chat)
    assert store.chats() == ()
    assert store.new_chat() != chat
    store = opened()
    store.restore(chat)
    assert [c.id for c in store.chats()] == [chat]
    assert texts(store, chat) == ["q", "a"]
    store.delete(chat)
    store.flush()
    clock.now += KEEP_DELETED_S + 10
    store = opened()
    with pytest.raises(KeyError):
        store.restore(chat)


def test_newest_chat_first(opened: Open) -> None:
    store = opened()
    first = store.new_chat()
    ask(store, first, "one", "1")
    second = store.new_chat()
    ask(store, second, "two", "2")
    assert [c.id for c in store.chats()] == [second, first]
    store.add(first, Role.USER, "again")
    assert [c.id for c in store.chats()] == [first, second]


def test_versions_of_an_answer(opened: Open) -> None:
    store = opened()
    chat = store.new_chat()
    _, first = ask(store, chat, "q", "one")
    second = store.add_version(chat, first.id, "two")
    assert (second.version, second.versions) == (2, 2)
    assert texts(store, chat) == ["q", "two"]
    shown = store.show_version(chat, second.id, -1)
    assert (shown.text, shown.version, shown.versions) == ("one", 1, 2)
    store = opened()
    assert texts(store, chat) == ["q", "one"]
    assert store.show_version(chat, first.id, -1).text == "one"
    assert store.show_version(chat, first.id, +5).text == "two"


def test_an_edited_question_keeps_what_followed_the_old_one(opened: Open) -> None:
    store = opened()
    chat = store.new_chat()
    question, _ = ask(store, chat, "q1", "a1")
    ask(store, chat, "q2", "a2")
    edited = store.add_version(chat, question.id, "q1 edited")
    assert texts(store, chat) == ["q1 edited"]
    store.add(chat, Role.ASSISTANT, "a1 edited")
    assert store.show_version(chat, edited.id, -1).text == "q1"
    assert texts(store, chat) == ["q1", "a1", "q2", "a2"]


def test_the_search_sees_titles_and_texts_written_or_not(opened: Open) -> None:
    store = opened()
    written = store.new_chat()
    ask(store, written, "How much 显存 do I need?", "Enough")
    store.rename(written, "Memory")
    store.flush()
    waiting = store.new_chat()
    ask(store, waiting, "Unwritten wisdom", "…")
    assert [c.id for c in store.chats("显存")] == [written]
    assert [c.id for c in store.chats("memory")] == [written]
    assert [c.id for c in store.chats("WISDOM")] == [waiting]
    assert store.chats("nowhere") == ()
    assert len(store.chats("  ")) == 2
    store.delete(written)
    assert store.chats("显存") == ()


def test_an_answer_left_open_by_a_crash_has_failed_with_its_text(
    file: Path, opened: Open, clock: Clock
) -> None:
    crashed = ChatStore(file, clock=clock)
    chat = crashed.new_chat()
    crashed.add(chat, Role.USER, "q")
    answer = crashed.add(chat, Role.ASSISTANT, finish=Finish.GENERATING)
    crashed.update(chat, answer.id, text="half an ans")
    crashed.flush()
    store = opened()
    message = store.messages(chat)[-1]
    assert (message.text, message.finish) == ("half an ans", Finish.FAILED)
    assert [c.id for c in store.chats("half an")] == [chat]
    crashed._database.close()  # type: ignore[union-attr]


def test_another_program_may_write_the_same_file(file: Path, opened: Open) -> None:
    store = opened()
    mine = store.new_chat()
    ask(store, mine, "mine", "a")
    store.flush()
    other = ChatStore(file)
    theirs = other.new_chat()
    ask(other, theirs, "theirs", "b")
    other.rename(mine, "Renamed elsewhere")
    other.add(mine, Role.USER, "added elsewhere")
    other.flush()
    assert {c.id: c.title for c in store.chats()} == {mine: "Renamed elsewhere", theirs: ""}
    assert texts(store, theirs) == ["theirs", "b"]
    assert texts(store, mine) == ["mine", "a", "added elsewhere"]
    store.rename(mine, "Mine wins")
    other.rename(theirs, "Theirs")
    other.flush()
    assert {c.id: c.title for c in store.chats()} == {mine: "Mine wins", theirs: "Theirs"}
    other.close()


def test_ids_grow_even_when_the_clock_goes_back(opened: Open, clock: Clock) -> None:
    store = opened()
    chat = store.new_chat()
    first = store.add(chat, Role.USER, "q")
    clock.now -= 500_000
    second = store.add(chat, Role.ASSISTANT, "a")
    store = opened()
    third = store.add(chat, Role.USER, "next")
    assert chat < first.id < second.id < third.id


# when the file cannot be written


def test_without_a_folder_chats_go_on_in_memory_and_are_written_later(
    file: Path, opened: Open, reports: list[ChatError | None]
) -> None:
    file.parent.write_text("a file in the way of the folder")
    store = opened()
    assert [e.code for e in reports if e] == [ErrorCode.DATA_READ_ONLY]
    chat = store.new_chat()
    ask(store, chat, "still here?", "yes")
    assert not store.flush()
    assert not store.flush()
    assert len(reports) == 1  # the same failure is told once
    assert [c.id for c in store.chats("still")] == [chat]
    assert texts(store, chat) == ["still here?", "yes"]
    file.parent.unlink()
    assert store.flush()
    assert reports[-1] is None
    assert texts(opened(), chat) == ["still here?", "yes"]


def test_a_full_disk_loses_nothing(opened: Open, reports: list[ChatError | None]) -> None:
    store = opened()
    chat = store.new_chat()
    ask(store, chat, "small", "small")
    store.flush()
    assert store._database is not None
    writer = store._database._writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}")
    store.add(chat, Role.USER, "x" * 200_000)
    assert not store.flush()
    assert [e.code for e in reports if e] == [ErrorCode.DISK_FULL]
    assert store.dirty
    assert len(texts(store, chat)[-1]) == 200_000
    writer.execute("PRAGMA max_page_count = 1000000")
    assert store.flush()
    assert reports[-1] is None
    assert len(texts(opened(), chat)[-1]) == 200_000


def test_what_changes_while_it_is_written_is_written_again(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened()
    chat = store.new_chat()
    message = store.add(chat, Role.USER, "before")
    write = ChatDatabase.write

    def slow_write(database: ChatDatabase, *rows: object) -> None:
        store.update(chat, message.id, text="after")
        store.rename(chat, "after")
        write(database, *rows)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(ChatDatabase, "write", slow_write)
        assert store.flush()
    assert store.dirty
    store = opened()
    assert texts(store, chat) == ["after"]
    assert store.title(chat) == "after"


@contextmanager
def unprivileged() -> Iterator[None]:
    """Folder permissions do not hold root back: be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_read_only_folder_shows_its_chats_and_takes_new_ones_later(clock: Clock) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "data"
        Path(base).chmod(0o777)
        reports: list[ChatError | None] = []
        with unprivileged():
            store = ChatStore(folder / "chats.sqlite3", clock=clock)
            chat = store.new_chat()
            ask(store, chat, "old", "words")
            assert store.close()
            folder.chmod(0o500)
            store = ChatStore(folder / "chats.sqlite3", report=reports.append, clock=clock)
            assert texts(store, chat) == ["old", "words"]
            assert [e.code for e in reports if e] == [ErrorCode.DATA_READ_ONLY]
            store.add(chat, Role.USER, "new")
            assert not store.flush()
            folder.chmod(0o700)
            assert store.flush()
            assert reports[-1] is None
            assert store.close()
            store = ChatStore(folder / "chats.sqlite3", clock=clock)
            assert texts(store, chat) == ["old", "words", "new"]
            store.close()


def test_garbage_is_set_aside_and_a_new_file_started(
    file: Path, opened: Open, reports: list[ChatError | None]
) -> None:
    file.parent.mkdir()
    file.write_bytes(b"garbage" * 1000)
    store = opened()
    assert [e.code for e in reports if e] == [ErrorCode.CHAT_STORE_DAMAGED]
    error = reports[0]
    assert error is not None
    assert Path(str(error.params["path"])).read_bytes() == b"garbage" * 1000
    chat = store.new_chat()
    ask(store, chat, "q", "a")
    assert store.flush()
    assert texts(opened(), chat) == ["q", "a"]


def damage(file: Path) -> None:
    """Overwrite the pages of the messages but for the first."""
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'messages'").fetchone()
    with file.open("r+b") as raw:
        raw.seek((root[0] - 1) * 4096)
        raw.write(b"\xff" * 4096)


def test_damage_met_while_reading_is_repaired_from_what_is_known(
    file: Path, opened: Open, reports: list[ChatError | None]
) -> None:
    store = opened()
    lost = store.new_chat()
    ask(store, lost, "on the broken page", "gone")
    store.rename(lost, "Lost")
    store = opened()
    known = store.new_chat()
    ask(store, known, "in memory", "kept")
    store.flush()
    damage(file)
    assert texts(store, lost) == []
    assert [e.code for e in reports if e] == [ErrorCode.CHAT_STORE_DAMAGED]
    assert texts(store, known) == ["in memory", "kept"]
    store = opened()
    assert texts(store, known) == ["in memory", "kept"]
    assert {c.id for c in store.chats()} == {lost, known}
    assert len(list(file.parent.glob("*.damaged-*"))) >= 1


def test_damage_met_while_writing_or_searching_loses_nothing_known(
    file: Path, opened: Open, reports: list[ChatError | None]
) -> None:
    store = opened()
    chat = store.new_chat()
    ask(store, chat, "q", "a")
    store.flush()
    damage(file)
    store.add(chat, Role.USER, "written on the broken page")
    assert store.flush()
    assert [e.code for e in reports if e] == [ErrorCode.CHAT_STORE_DAMAGED]
    damage(file)
    assert [c.id for c in store.chats("br")] == [chat]
    assert len(reports) == 2
    assert texts(opened(), chat) == ["q", "a", "written on the broken page"]


def test_a_damaged_file_that_cannot_be_moved(
    file: Path, opened: Open, reports: list[ChatError | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    file.parent.mkdir()
    file.write_bytes(b"garbage" * 1000)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        store = opened()
        assert [e.code for e in reports if e] == [ErrorCode.DATA_READ_ONLY]
        chat = store.new_chat()
        ask(store, chat, "q", "a")
        assert not store.flush()
    assert store.flush()
    assert reports[-1] is not None
    assert reports[-1].code is ErrorCode.CHAT_STORE_DAMAGED
    assert texts(opened(), chat) == ["q", "a"]


def test_a_newer_file_is_left_alone(
    file: Path, opened: Open, reports: list[ChatError | None]
) -> None:
    opened()
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE schemas SET version = 99 WHERE feature = 'chat'")
        db.commit()
    store = opened()
    assert [e.code for e in reports if e] == [ErrorCode.CHAT_STORE_TOO_NEW]
    chat = store.new_chat()
    ask(store, chat, "q", "a")
    assert not store.flush()
    assert texts(store, chat) == ["q", "a"]


def test_messages_whose_parent_is_lost_follow_the_one_before(file: Path, opened: Open) -> None:
    store = opened()
    chat = store.new_chat()
    ask(store, chat, "q1", "a1")
    ask(store, chat, "q2", "a2")
    lost = store.messages(chat)[1]
    store.close()
    with closing(sqlite3.connect(file)) as db:
        db.execute("DELETE FROM messages WHERE id = ?", (lost.id,))
        db.execute("UPDATE messages SET finish = 'generating' WHERE text = 'a2'")
        db.commit()
    broken = ChatStore.__new__(ChatStore)
    broken._chats = {}
    broken._take_over(*read_rows(file))
    records = broken._chats[chat].messages
    assert records is not None
    parents = [record.parent_id for record in records.values()]
    assert parents == [None, *itertools.islice(records, 2)]
    assert [record.finish for record in records.values()][-1] is Finish.FAILED


class Histories(RuleBasedStateMachine):
    """Any history of commands is the same in memory and after a restart."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "chats.sqlite3"
        self.clock = Clock()
        self.store = ChatStore(self.file, clock=self.clock)
        self.chat = self.store.new_chat()
        self.expected: list[str] | None = None

    def _last(self) -> Message:
        return self.store.messages(self.chat)[-1]

    @rule(text=st.text(max_size=20))
    def say(self, text: str) -> None:
        before = texts(self.store, self.chat)
        role = Role.ASSISTANT if len(before) % 2 else Role.USER
        self.store.add(self.chat, role, text)
        assert texts(self.store, self.chat) == [*before, text]

    @precondition(lambda self: self.store.messages(self.chat))
    @rule(text=st.text(max_size=20), data=st.data())
    def another_version(self, text: str, data: st.DataObject) -> None:
        path = self.store.messages(self.chat)
        place = data.draw(st.integers(0, len(path) - 1))
        made = self.store.add_version(self.chat, path[place].id, text)
        assert texts(self.store, self.chat) == [*(m.text for m in path[:place]), text]
        assert made.versions == path[place].versions + 1 == made.version

    @precondition(lambda self: self.store.messages(self.chat))
    @rule(step=st.sampled_from([-1, 1]), data=st.data())
    def switch(self, step: int, data: st.DataObject) -> None:
        path = self.store.messages(self.chat)
        place = data.draw(st.integers(0, len(path) - 1))
        shown = self.store.show_version(self.chat, path[place].id, step)
        wanted = min(max(path[place].version + step, 1), path[place].versions)
        assert shown.version == wanted
        assert self.store.messages(self.chat)[place] == shown

    @precondition(lambda self: self.store.messages(self.chat))
    @rule(text=st.text(max_size=20))
    def grow(self, text: str) -> None:
        last = self._last()
        self.store.update(self.chat, last.id, text=last.text + text)

    @rule()
    def flush(self) -> None:
        assert self.store.flush()

    @rule()
    def restart(self) -> None:
        before = self.store.messages(self.chat)
        self.store.close()
        self.store = ChatStore(self.file, clock=self.clock)
        if before:
            assert self.store.messages(self.chat) == before
        else:
            self.chat = self.store.new_chat()

    @invariant()
    def parents_come_before(self) -> None:
        ids = [message.id for message in self.store.messages(self.chat)]
        assert ids == sorted(ids)

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
