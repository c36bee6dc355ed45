"""The conversations of the scripted services: answers stream when the test says so."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kimi_desktop.backends.types import (
    EngineState,
)
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.chat.service import answering_model
from kimi_desktop.chat.types import (
    AnswerFinished,
    AnswerStats,
    ChatListChanged,
    ChatSummary,
    Finish,
    Message,
    MessageAdded,
    PrefillProgressed,
    QueueChanged,
    Role,
    TokensArrived,
)
from tests.support import scripted_data as data
from tests.support.scripted_desk import Desk

if TYPE_CHECKING:
    from tests.support.scripted_services import ScriptedServices


class ScriptedChats:
    """Conversations in memory. An answer opens with ``send`` and streams by ``stream``."""

    def __init__(self, desk: Desk, bus: EventBus, services: ScriptedServices) -> None:
        self._desk = desk
        self._bus = bus
        self._services = services
        self._ids = itertools.count(1 << 50)  # more bits than a C int, as the real ones have
        self._chats: dict[int, ChatSummary] = {}
        self._deleted: dict[int, ChatSummary] = {}
        self._messages: dict[int, list[Message]] = {}
        self._older: dict[int, list[Message]] = {}
        self._queued: tuple[int, str] | None = None
        self.generating_chat: int | None = None
        self.clock = data.NOW
        self.answered: dict[str, tuple[int, ...]] = {}
        """Chats by the model that answered in them."""
        self._queued_model = ""

    def next_id(self) -> int:
        """A fresh id."""
        return next(self._ids)

    def add_chat(self, title: str, messages: Sequence[Message] = (), *, age_s: float = 0) -> int:
        """A chat of earlier."""
        chat_id = self.next_id()
        self._chats[chat_id] = ChatSummary(chat_id, title, self.clock - age_s)
        self._messages[chat_id] = list(messages)
        self._bus.publish(ChatListChanged())
        return chat_id

    def say(self, text: str) -> Message:
        """A user's message."""
        return Message(self.next_id(), Role.USER, text, created_at=self.clock)

    def chats(self, query: str = "") -> tuple[ChatSummary, ...]:
        wanted = query.casefold()
        found = [
            chat
            for chat in self._chats.values()
            if wanted in chat.title.casefold()
            or any(wanted in message.text.casefold() for message in self._messages[chat.id])
        ]
        return tuple(sorted(found, key=lambda chat: (-chat.updated_at, -chat.id)))

    def chats_of(self, model_id: str) -> tuple[ChatSummary, ...]:
        return tuple(chat for chat in self.chats() if chat.id in self.answered.get(model_id, ()))

    def messages(self, chat_id: int) -> tuple[Message, ...]:
        return tuple(self._messages[chat_id])

    def new_chat(self) -> int:
        self._desk.note("chats.new_chat")
        for chat_id, messages in self._messages.items():
            if not messages and chat_id in self._chats:
                return chat_id
        return self.add_chat("")

    def rename(self, chat_id: int, title: str) -> None:
        self._desk.note("chats.rename", chat_id, title)
        self._chats[chat_id] = dataclasses.replace(self._chats[chat_id], title=title)
        self._bus.publish(ChatListChanged())

    def delete(self, chat_id: int) -> None:
        self._desk.note("chats.delete", chat_id)
        self._deleted[chat_id] = self._chats.pop(chat_id)
        self._bus.publish(ChatListChanged())

    def restore(self, chat_id: int) -> None:
        self._desk.note("chats.restore", chat_id)
        self._chats[chat_id] = self._deleted.pop(chat_id)
        self._bus.publish(ChatListChanged())

    def model_of(self, chat_id: int) -> str:
        return next((model for model, chats in self.answered.items() if chat_id in chats), "")

    def queued_model(self, chat_id: int) -> str:
        return self._queued_model if self.queued_text(chat_id) else ""

    def send(self, chat_id: int, text: str, model: str = "") -> None:
        self._desk.note("chats.send", chat_id, text)
        status = self._services.engine.status
        ready = status.state in (EngineState.READY, EngineState.GENERATING)
        if not ready or model not in ("", answering_model(status)):
            self._queued, self._queued_model = (chat_id, text), model
            self._bus.publish(QueueChanged(chat_id, text))
            return
        message = self.say(text)
        self._messages[chat_id].append(message)
        chat = self._chats[chat_id]
        self._chats[chat_id] = dataclasses.replace(
            chat, title=chat.title or text[:40], updated_at=self.clock
        )
        self._bus.publish(MessageAdded(chat_id, message))
        self._bus.publish(ChatListChanged())
        self._open_answer(chat_id)

    def send_queued(self) -> None:
        """The engine is ready: what waited goes out."""
        if self._queued is not None:
            chat_id, text = self._queued
            if self._queued_model not in ("", answering_model(self._services.engine.status)):
                return
            self._queued = None
            self._bus.publish(QueueChanged(None, ""))
            self.send(chat_id, text)

    def regenerate(self, chat_id: int, model: str = "") -> None:
        self._desk.note("chats.regenerate", chat_id)
        if self._services.engine.status.state not in (EngineState.READY, EngineState.GENERATING):
            self._queued, self._queued_model = (chat_id, self._messages[chat_id][-2].text), model
            self._bus.publish(QueueChanged(chat_id, self._queued[1]))
            return
        last = self._messages[chat_id].pop()
        older = [*self._older.pop(last.id, []), last]
        message = self._open_answer(chat_id, version=last.versions + 1)
        self._older[message.id] = older

    def show_version(self, chat_id: int, message_id: int, step: int) -> None:
        self._desk.note("chats.show_version", chat_id, message_id, step)
        messages = self._messages[chat_id]
        place = next(i for i, message in enumerate(messages) if message.id == message_id)
        siblings = sorted(
            [*self._older.pop(message_id, []), messages[place]], key=lambda one: one.version
        )
        at = siblings.index(messages[place]) + step
        shown = dataclasses.replace(siblings[at], versions=len(siblings))
        self._older[shown.id] = [one for one in siblings if one.id != shown.id]
        messages[place] = shown
        self._bus.publish(MessageAdded(chat_id, shown))

    def edit(self, chat_id: int, message_id: int, text: str, model: str = "") -> None:
        del model
        self._desk.note("chats.edit", chat_id, message_id, text)
        messages = self._messages[chat_id]
        place = next(i for i, message in enumerate(messages) if message.id == message_id)
        versions = messages[place].versions + 1
        edited = dataclasses.replace(self.say(text), version=versions, versions=versions)
        self._messages[chat_id] = [*messages[:place], edited]
        self._bus.publish(MessageAdded(chat_id, edited))
        self._open_answer(chat_id)

    def stop(self) -> None:
        self._desk.note("chats.stop")
        if self.generating_chat is not None:
            self.finish(Finish.STOPPED)

    def queued_text(self, chat_id: int) -> str:
        return self._queued[1] if self._queued and self._queued[0] == chat_id else ""

    def cancel_queued(self, chat_id: int) -> str:
        self._desk.note("chats.cancel_queued", chat_id)
        text = self._queued[1] if self._queued else ""
        self._queued = None
        self._bus.publish(QueueChanged(None, ""))
        return text

    # what the engine does, driven by the test

    def prefill(self, done_tokens: int, total_tokens: int) -> None:
        """The engine works through the prompt."""
        chat_id, message = self._open()
        self._bus.publish(PrefillProgressed(chat_id, message.id, done_tokens, total_tokens))

    def stream(self, text: str = "", *, reasoning: str = "") -> None:
        """More of the open answer."""
        chat_id, message = self._open()
        before = message.stats or AnswerStats(
            first_token_s=3.1, decode_tokens_per_s=18.4, prompt_tokens=1_128
        )
        stats = dataclasses.replace(
            before,
            tokens=before.tokens + max(1, (len(text) + len(reasoning)) // 4),
            thinking_s=12.0 if reasoning or before.thinking_s else None,
        )
        self._messages[chat_id][-1] = dataclasses.replace(
            message, text=message.text + text, reasoning=message.reasoning + reasoning, stats=stats
        )
        self._bus.publish(
            TokensArrived(
                chat_id,
                message.id,
                text,
                reasoning,
                stats,
                text_length=len(message.text) + len(text),
                reasoning_length=len(message.reasoning) + len(reasoning),
            )
        )

    def finish(self, how: Finish = Finish.END, error: KimiError | None = None) -> None:
        """The open answer ends."""
        chat_id, message = self._open()
        closed = dataclasses.replace(message, finish=how)
        self._messages[chat_id][-1] = closed
        self.generating_chat = None
        self._bus.publish(AnswerFinished(chat_id, closed, error))
        if self._services.engine.status.state is EngineState.GENERATING:
            self._services.engine.set_state(EngineState.READY)

    def _open(self) -> tuple[int, Message]:
        assert self.generating_chat is not None, "no open answer"
        return self.generating_chat, self._messages[self.generating_chat][-1]

    def _open_answer(self, chat_id: int, *, version: int = 1) -> Message:
        answer = Message(
            self.next_id(),
            Role.ASSISTANT,
            "",
            finish=Finish.GENERATING,
            created_at=self.clock,
            version=version,
            versions=version,
        )
        self._messages[chat_id].append(answer)
        self.generating_chat = chat_id
        self._bus.publish(MessageAdded(chat_id, answer))
        self._services.engine.set_state(EngineState.GENERATING)
        return answer
