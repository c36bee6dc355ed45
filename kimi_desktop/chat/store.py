"""Conversations in memory, written behind to ``database.py``; what cannot be written waits.

Memory is the authority: every change is seen at once and remembered as dirty until ``flush`` has
written it. So a full disk, a read-only folder or a damaged file costs nothing but a notice.
Callable from any thread; ``flush`` belongs on the pool, the rest answers within milliseconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import ChatError, ErrorCode, Param
from kimi_desktop.chat.database import (
    ChatDatabase,
    ChatRecord,
    MessageRecord,
)
from kimi_desktop.chat.rescue import read_rows, set_aside
from kimi_desktop.chat.types import ChatSummary, Finish, Message, Role

log = logging.getLogger(__name__)

KEEP_DELETED_S = 24 * 3600.0
"""So long a deleted chat can be restored; the next start after that removes it for good."""


@dataclass(slots=True)
class _Chat:
    record: ChatRecord
    messages: dict[int, MessageRecord] | None = None
    """By id, which is also the order; None until first read."""
    dirty: bool = False
    dirty_messages: set[int] = field(default_factory=set)


class ChatStore:
    """All chats. Ids are microseconds, so that those made while no file could be read stay unique.

    ``report`` is called, on the thread that noticed, with every new kind of failure and with None
    when writing works again. A chat without title and messages lives in memory only.
    """

    def __init__(
        self,
        file: Path,
        *,
        report: Callable[[ChatError | None], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file = file
        self._report = report
        self._clock = clock
        self._lock = threading.RLock()
        self._flushing = threading.Lock()
        self._chats: dict[int, _Chat] = {}
        self._last_id = 0
        self._version = 0
        self._database: ChatDatabase | None = None
        self.error: ChatError | None = None
        """Why nothing is written at the moment."""
        try:
            self._open()
        except ChatError as error:
            self._failed(error, None)
            if error.code is ErrorCode.DATA_READ_ONLY and file.exists():
                self._take_over(*read_rows(file))

    @property
    def dirty(self) -> bool:
        """Something waits to be written."""
        with self._lock:
            return any(True for _ in self._dirty_chats())

    def chats(self, query: str = "") -> tuple[ChatSummary, ...]:
        """Those whose title or text has ``query``, newest first; all of them without one."""
        with self._lock:
            self._refresh()
            alive = [chat for chat in self._chats.values() if chat.record.deleted_at is None]
            if wanted := query.strip():
                found = self._search(wanted)
                alive = [chat for chat in alive if chat.record.id in found]
            alive.sort(key=lambda chat: (chat.record.updated_at, chat.record.id), reverse=True)
            return tuple(
                ChatSummary(chat.record.id, chat.record.title, chat.record.updated_at)
                for chat in alive
            )

    def chats_of(self, model: str) -> tuple[ChatSummary, ...]:
        """Those in which a model answered, newest first."""
        with self._lock:
            found = set()
            if self._database is not None:
                try:
                    found = self._database.chats_by_model().get(model, set())
                except ChatError as error:
                    self._failed(error, self._database)
            for number, chat in self._chats.items():
                if any(record.model == model for record in (chat.messages or {}).values()):
                    found.add(number)
            return tuple(chat for chat in self.chats() if chat.id in found)

    def model_of(self, chat_id: int) -> str:
        """What answered last in a chat, "" when nothing has.

        Raises:
            KeyError: no such chat.
        """
        with self._lock:
            shown = reversed(self._visible(chat_id))
            models = (self._record(chat_id, message.id).model for message in shown)
            return next((model for model in models if model), "")

    def rename_model(self, old: str, new: str) -> None:
        """A model has another id now: what it answered is still its own. Blocking (pool)."""
        with self._lock:
            for chat in self._chats.values():
                for record in list((chat.messages or {}).values()):
                    if record.model == old:
                        self._put(replace(record, model=new))
            database = self._database
        if database is not None:
            try:
                database.rename_model(old, new)
            except ChatError as error:
                self._failed(error, database)

    def messages(self, chat_id: int) -> tuple[Message, ...]:
        """The visible path, oldest first.

        Raises:
            KeyError: no such chat.
        """
        with self._lock:
            return tuple(self._visible(chat_id))

    def message(self, chat_id: int, message_id: int) -> Message:
        """One message as it is now.

        Raises:
            KeyError: no such message.
        """
        with self._lock:
            siblings = self._siblings(chat_id, self._record(chat_id, message_id).parent_id)
            return next(m for m in _as_messages(siblings) if m.id == message_id)

    def new_chat(self) -> int:
        """The id of an empty chat; one that is still empty is used again."""
        with self._lock:
            for chat in self._chats.values():
                record = chat.record
                if record.deleted_at is None and not record.title and chat.messages == {}:
                    return record.id
            now = self._clock()
            record = ChatRecord(self._new_id(), "", now, now)
            self._chats[record.id] = _Chat(record, {})
            return record.id

    def rename(self, chat_id: int, title: str) -> None:
        """Give it another title."""
        self._change(chat_id, title=title)

    def delete(self, chat_id: int) -> None:
        """Hide it; ``restore`` brings it back for a day at least."""
        self._change(chat_id, deleted_at=self._clock())

    def restore(self, chat_id: int) -> None:
        """Undo ``delete``."""
        self._change(chat_id, deleted_at=None)

    def title(self, chat_id: int) -> str:
        """Empty until there is one."""
        with self._lock:
            return self._chats[chat_id].record.title

    def add(
        self, chat_id: int, role: Role, text: str = "", *, finish: Finish = Finish.END
    ) -> Message:
        """Put a message at the end of the visible path."""
        with self._lock:
            path = self._visible(chat_id)
            return self._insert(chat_id, path[-1].id if path else None, role, text, finish)

    def add_version(
        self, chat_id: int, message_id: int, text: str = "", *, finish: Finish = Finish.END
    ) -> Message:
        """Put another version beside a message and show it; what followed belongs to the other."""
        with self._lock:
            beside = self._record(chat_id, message_id)
            return self._insert(chat_id, beside.parent_id, beside.role, text, finish)

    def show_version(self, chat_id: int, message_id: int, step: int) -> Message:
        """Show the version ``step`` places on (the nearest one, at the ends)."""
        with self._lock:
            siblings = self._siblings(chat_id, self._record(chat_id, message_id).parent_id)
            place = [record.id for record in siblings].index(message_id)
            wanted = siblings[min(max(place + step, 0), len(siblings) - 1)]
            self._show(chat_id, wanted)
            return self.message(chat_id, wanted.id)

    def update(self, chat_id: int, message_id: int, **changes: Any) -> None:  # noqa: ANN401
        """Change fields of a message (``text``, ``finish``, ``model`` ...)."""
        with self._lock:
            self._put(replace(self._record(chat_id, message_id), **changes))

    def flush(self) -> bool:
        """Write what is dirty; False when it could not be and stays dirty. Blocking."""
        with self._flushing:
            database = self._database
            try:
                if database is None:
                    database = self._open()
                self._write(database)
            except ChatError as error:
                self._failed(error, database)
                return self.error is None
            if self.error is not None:
                self.error = None
                self._report(None)
            return True

    def close(self) -> bool:
        """Write the rest and close the file; False when something could not be written."""
        written = not self.dirty or self.flush()
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None
        return written

    # memory

    def _visible(self, chat_id: int) -> list[Message]:
        children: dict[int | None, list[MessageRecord]] = {}
        for record in self._records(chat_id).values():
            children.setdefault(record.parent_id, []).append(record)
        path: list[Message] = []
        parent: int | None = None
        while siblings := children.pop(parent, None):
            shown = [record.shown for record in siblings]
            place = shown.index(True) if True in shown else len(siblings) - 1
            path.append(_as_messages(siblings)[place])
            parent = siblings[place].id
        return path

    def _siblings(self, chat_id: int, parent_id: int | None) -> list[MessageRecord]:
        records = self._records(chat_id).values()
        return [record for record in records if record.parent_id == parent_id]

    def _record(self, chat_id: int, message_id: int) -> MessageRecord:
        return self._records(chat_id)[message_id]

    def _records(self, chat_id: int) -> dict[int, MessageRecord]:
        chat = self._chats[chat_id]
        if chat.messages is None and self._database is not None:
            database = self._database
            try:
                found = database.messages(chat_id)
            except ChatError as error:
                self._failed(error, database)
                if chat.messages is None:
                    raise
            else:
                chat.messages = {record.id: record for record in found}
        if chat.messages is None:
            chat.messages = {}
        return chat.messages

    def _insert(
        self, chat_id: int, parent_id: int | None, role: Role, text: str, finish: Finish
    ) -> Message:
        now = self._clock()
        record = MessageRecord(
            self._new_id(), chat_id, parent_id, role, text, finish=finish, created_at=now
        )
        self._show(chat_id, record)
        self._change(chat_id, updated_at=now)
        return self.message(chat_id, record.id)

    def _show(self, chat_id: int, wanted: MessageRecord) -> None:
        for record in self._siblings(chat_id, wanted.parent_id):
            if record.shown and record.id != wanted.id:
                self._put(replace(record, shown=False))
        self._put(replace(wanted, shown=True))

    def _put(self, record: MessageRecord) -> None:
        self._records(record.chat_id)[record.id] = record
        self._chats[record.chat_id].dirty_messages.add(record.id)

    def _change(self, chat_id: int, **changes: Any) -> None:  # noqa: ANN401
        with self._lock:
            chat = self._chats[chat_id]
            chat.record = replace(chat.record, **changes)
            chat.dirty = True

    def _new_id(self) -> int:
        self._last_id = max(self._last_id + 1, int(self._clock() * 1e6))
        return self._last_id

    def _search(self, wanted: str) -> set[int]:
        folded = wanted.casefold()
        database = self._database
        found: set[int] = set()
        if database is not None:
            try:
                found = database.search(wanted)
            except ChatError as error:
                self._failed(error, database)
                if self._database not in (None, database):  # replaced meanwhile
                    return self._search(wanted)
        for number, chat in self._chats.items():
            records = chat.messages or {}
            # The file knows all messages but the few that wait to be written.
            ids = chat.dirty_messages if self._database is not None else records
            texts = [chat.record.title, *(records[one].text for one in ids)]
            if any(folded in text.casefold() for text in texts):
                found.add(number)
        return found

    # disk

    def _open(self) -> ChatDatabase:
        database = ChatDatabase(self._file)
        try:
            database.purge(self._clock() - KEEP_DELETED_S)
            database.fail_open_answers()
            last_id = database.last_id()
        except ChatError:
            database.close()
            raise
        with self._lock:
            self._last_id = max(self._last_id, last_id)
            self._database = database
            self._version = -1
            self._refresh()
        return database

    def _refresh(self) -> None:
        """Take over what another program wrote; our own changes win."""
        database = self._database
        if database is None:
            return
        try:
            version = database.data_version()
            records = database.chats() if version != self._version else []
        except ChatError as error:
            self._failed(error, database)
            return
        self._version = version
        for record in records:
            chat = self._chats.setdefault(record.id, _Chat(record))
            if not (chat.dirty or chat.dirty_messages) and chat.record != record:
                chat.record = record
                chat.messages = None

    def _dirty_chats(self) -> Iterator[_Chat]:
        for chat in self._chats.values():
            kept = chat.messages != {} or chat.record.title
            if kept and (chat.dirty or chat.dirty_messages):
                yield chat

    def _write(self, database: ChatDatabase) -> None:
        with self._lock:
            chats = {chat.record.id: chat.record for chat in self._dirty_chats()}
            messages = [
                chat.messages[number]
                for chat in self._dirty_chats()
                if chat.messages is not None
                for number in sorted(chat.dirty_messages)
            ]
        if not chats:
            return
        database.write(chats.values(), messages)
        with self._lock:  # what changed meanwhile stays dirty
            for number, record in chats.items():
                self._chats[number].dirty = self._chats[number].record != record
            for message in messages:
                chat = self._chats[message.chat_id]
                if chat.messages is not None and chat.messages[message.id] is message:
                    chat.dirty_messages.discard(message.id)

    def _failed(self, error: ChatError, database: ChatDatabase | None) -> None:
        """Go on in memory. A damaged file is replaced by a new one, other failures may pass."""
        log.warning("chats: %s", error)
        if error.code is ErrorCode.CHAT_STORE_DAMAGED:
            with self._lock:
                if self._database is not database:
                    return  # another thread replaced it meanwhile
                error = self._replace_damaged(error)
        else:
            known, self.error = self.error, error
            if known is not None and known.code is error.code:
                return
        self._report(error)

    def _replace_damaged(self, error: ChatError) -> ChatError:
        """Set the file aside and fill a new one with all that is known or still readable."""
        if self._database is not None:
            self._database.close()
            self._database = None
        try:
            aside = set_aside(self._file)
            chats, messages = read_rows(aside)
            self._take_over(chats, messages)
            for chat in self._chats.values():
                chat.dirty = True
                chat.dirty_messages.update(chat.messages or ())
            self._write(self._open())
        except ChatError as second:
            self.error = second
            return second
        self.error = None
        params: dict[str, Param] = {"path": str(aside), "count": len(chats)}
        return ChatError(ErrorCode.CHAT_STORE_DAMAGED, params, cause=error)

    def _take_over(self, chats: list[ChatRecord], messages: list[MessageRecord]) -> None:
        """Rows that were read once and for all; what memory knows already is newer."""
        for record in chats:
            self._chats.setdefault(record.id, _Chat(record))
        for chat in self._chats.values():
            if chat.messages is None:
                chat.messages = {}
        for message in messages:
            records = self._chats[message.chat_id].messages
            if message.finish is Finish.GENERATING:  # a crash left it open
                message = replace(message, finish=Finish.FAILED)  # noqa: PLW2901
            if records is not None:
                records.setdefault(message.id, message)
        for chat in self._chats.values():
            chat.messages = _rooted(chat.messages or {})


def _rooted(messages: dict[int, MessageRecord]) -> dict[int, MessageRecord]:
    """In order, and those whose parent is lost after the message before them."""
    result: dict[int, MessageRecord] = {}
    before: int | None = None
    for number in sorted(messages):
        record = messages[number]
        if record.parent_id is not None and record.parent_id not in messages:
            record = replace(record, parent_id=before)
        result[number] = record
        before = number
    return result


def _as_messages(siblings: list[MessageRecord]) -> list[Message]:
    return [
        Message(
            record.id,
            record.role,
            record.text,
            record.reasoning,
            record.finish,
            record.stats,
            record.created_at,
            version=place,
            versions=len(siblings),
        )
        for place, record in enumerate(siblings, 1)
    ]
