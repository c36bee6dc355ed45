"""The conversations behind the window and the terminal: ``ui.bridge.ChatService`` for real.

Commands come from any thread (the Qt thread as a rule) and change the store at once; streams and
writing run on the IO thread. One answer is open at a time. What is sent while the engine loads, or
while another answer is open, waits in the queue and goes out by itself.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus
from kimi_desktop.base.errors import ChatError, ErrorCode, KimiError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.prompt import build_request, title_from
from kimi_desktop.chat.session import Answer, AnswerClient, AnswerSession, AnswerUpdate
from kimi_desktop.chat.store import ChatStore
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
    StoreFailed,
    StoreRecovered,
    TokensArrived,
)

log = logging.getLogger(__name__)

WRITE_EVERY_S = 1.0
RETRY_WRITING_S = 5.0
ENGINE_REASON_WAIT_S = 1.5
"""So long a broken stream waits for the engine's own word on why it ended."""
CLOSE_WAIT_S = 5.0

_LOST = (ErrorCode.CHAT_CONNECTION_LOST, ErrorCode.CHAT_NO_ENGINE)
_ANSWERING = (EngineState.READY, EngineState.GENERATING)


class EngineLink(Protocol):
    """What a chat needs of the engine."""

    @property
    def status(self) -> EngineStatus:
        """Now."""

    def client(self) -> AnswerClient | None:
        """How to ask the engine that is ready; None while there is none."""

    def set_generating(self, generating: bool) -> None:
        """READY to GENERATING and back, for everybody who shows the state."""


@dataclass(slots=True)
class _OpenAnswer:
    chat_id: int
    message: Message
    text: str = ""
    reasoning: str = ""
    stopping: bool = False
    task: asyncio.Task[None] | None = None
    finished: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class _Waiting:
    chat_id: int
    text: str
    is_sent: bool
    """The question is in the chat already: only its answer waits (regenerate, edit)."""
    model: str = ""
    """What it was written to, as messages keep it; "" = whatever is ready."""


def answering_model(status: EngineStatus) -> str:
    """What the engine has, as messages keep it: a path, or "server: model"; "" for nothing."""
    if status.settings is not None:
        return str(status.settings.model_path)
    if status.attached is not None:
        return f"{status.attached.server}: {status.attached.model}"
    return ""


class ChatService:
    """All conversations. Call ``start`` once somebody listens, ``close`` before the IO loop."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        database_file: Path,
        engine: EngineLink,
        settings: Callable[[], AnswerSettings],
    ) -> None:
        self._io = io
        self._bus = bus
        self._engine = engine
        self._settings = settings
        self._lock = threading.RLock()
        self._queue: list[_Waiting] = []
        self._told: set[int] = set()
        """Chats whose queued message was announced."""
        self._open: _OpenAnswer | None = None
        self._closing = False
        self._started = False
        self._early: list[Event] = []
        self._changed = asyncio.Event()
        self._store = ChatStore(database_file, report=self._on_store_report)
        self._unsubscribe = bus.subscribe(self._on_event)

    def start(self) -> None:
        """Tell what happened to the store while nobody listened, and start writing behind."""
        with self._lock:
            self._started = True
            early, self._early = self._early, []
        for event in early:
            self._bus.publish(event)
        self._io.submit(self._begin_writing)

    def close(self) -> bool:
        """End the open answer and write everything; False when something stays unwritten.

        Blocking, and not on the IO thread. Queued messages become messages without an answer.
        """
        with self._lock:
            self._closing = True
            waiting, self._queue = self._queue, []
            answer = self._open
        self._unsubscribe()
        if answer is not None:
            self._stop(answer)
            self._io.submit(answer.finished.wait).result(CLOSE_WAIT_S)
        for item in waiting:
            if not item.is_sent:
                self._store.add(item.chat_id, Role.USER, item.text)
        return self._store.close()

    @property
    def store_error(self) -> KimiError | None:
        """Why chats are not written at the moment; they would be lost when the app ends now."""
        return self._store.error

    # what the window shows

    def chats(self, query: str = "") -> tuple[ChatSummary, ...]:
        """The chats whose title or text has ``query``, newest first."""
        return self._store.chats(query)

    def chats_of(self, model_id: str) -> tuple[ChatSummary, ...]:
        """The chats in which a local model answered, newest first."""
        return self._store.chats_of(model_id)

    def rename_model(self, old_id: str, new_id: str) -> None:
        """A model was moved: what it answered is still its own. Blocking (pool)."""
        self._store.rename_model(old_id, new_id)
        with self._lock:
            self._queue = [
                replace(item, model=new_id) if item.model == old_id else item
                for item in self._queue
            ]
        self._wake()
        self._advance()

    def messages(self, chat_id: int) -> tuple[Message, ...]:
        """The visible messages of a chat, oldest first; none where they cannot be read."""
        try:
            return self._store.messages(chat_id)
        except (KeyError, ChatError):
            return ()

    def queued_text(self, chat_id: int) -> str:
        """What waits to be sent in this chat."""
        with self._lock:
            return "\n\n".join(item.text for item in self._queue if item.chat_id == chat_id)

    def model_of(self, chat_id: int) -> str:
        """What answered last in a chat, as messages keep it; "" when nothing has."""
        try:
            return self._store.model_of(chat_id)
        except (KeyError, ChatError):
            return ""

    def queued_model(self, chat_id: int) -> str:
        """What the first waiting message of a chat waits for; "" = whatever is ready."""
        with self._lock:
            mine = (item.model for item in self._queue if item.chat_id == chat_id)
            return next(mine, "")

    @property
    def generating_chat(self) -> int | None:
        """The chat whose answer is open."""
        answer = self._open
        return answer.chat_id if answer is not None else None

    # commands

    def new_chat(self) -> int:
        """Make an empty chat and return its id (an empty one is reused)."""
        chat_id = self._store.new_chat()
        self._bus.publish(ChatListChanged())
        return chat_id

    def rename(self, chat_id: int, title: str) -> None:
        """Give it another title."""
        self._store.rename(chat_id, " ".join(title.split()))
        self._touched()

    def delete(self, chat_id: int) -> None:
        """Delete it, with its queued message and its open answer; ``restore`` undoes."""
        self.cancel_queued(chat_id)
        if self.generating_chat == chat_id:
            self.stop()
        self._store.delete(chat_id)
        self._touched()

    def restore(self, chat_id: int) -> None:
        """Undo the deletion."""
        self._store.restore(chat_id)
        self._touched()

    def send(self, chat_id: int, text: str, model: str = "") -> None:
        """Add a message and stream the answer; queued while the engine is not ready.

        Args:
            chat_id: where.
            text: blank is nothing.
            model: that has to answer, as messages keep it: another one does not; "" for any.
        """
        if text.strip():
            self._enqueue(_Waiting(chat_id, text, is_sent=False, model=model))

    def regenerate(self, chat_id: int, model: str = "") -> None:
        """Answer the last question again, as another version; ``model`` as in ``send``."""
        path = self.messages(chat_id)
        questions = [message for message in path if message.role is Role.USER]
        if questions:
            self._answer_again(chat_id, questions[-1].text, model)

    def edit(self, chat_id: int, message_id: int, text: str, model: str = "") -> None:
        """Replace a user message by another version and answer that; ``model`` as in ``send``."""
        edited = self._store.add_version(chat_id, message_id, text)
        self._bus.publish(MessageAdded(chat_id, edited))
        self._answer_again(chat_id, text, model)

    def show_version(self, chat_id: int, message_id: int, step: int) -> None:
        """Switch a message to an older (-1) or newer (+1) version; what follows it changes too."""
        shown = self._store.show_version(chat_id, message_id, step)
        self._wake()
        self._bus.publish(MessageAdded(chat_id, shown))

    def stop(self) -> None:
        """End the open answer; the text so far is kept."""
        with self._lock:
            answer = self._open
        if answer is not None:
            self._stop(answer)

    def cancel_queued(self, chat_id: int) -> str:
        """Take the queued message back and return its text."""
        with self._lock:
            mine = [item for item in self._queue if item.chat_id == chat_id]
            self._queue = [item for item in self._queue if item.chat_id != chat_id]
        self._tell_queue(chat_id)
        return "\n\n".join(item.text for item in mine if not item.is_sent)

    # the queue

    def _answer_again(self, chat_id: int, question: str, model: str) -> None:
        """Answer what the chat ends in now; an answer open in it is stopped first."""
        with self._lock:
            answer = self._open
        if answer is not None and answer.chat_id == chat_id:
            self._stop(answer)
        self._enqueue(_Waiting(chat_id, question, is_sent=True, model=model))

    def _enqueue(self, item: _Waiting) -> None:
        with self._lock:
            again = any(w.is_sent and w.chat_id == item.chat_id for w in self._queue)
            if not (item.is_sent and again):
                self._queue.append(item)
        self._advance()
        self._tell_queue(item.chat_id)

    def _advance(self) -> None:
        """Send the next of the queue if the engine can take it."""
        with self._lock:
            if self._open is not None or self._closing or not self._queue:
                return
            client = self._engine.client()
            if client is None:
                return
            ready = answering_model(self._engine.status)
            item = next((one for one in self._queue if one.model in ("", ready)), None)
            if item is None:  # what is ready is not what they were written to
                return
            try:
                answer, events = self._open_answer(item)
            except ChatError as error:  # the store has told; the message goes on waiting
                log.warning("chat %s cannot be read: %s", item.chat_id, error)
                return
            self._open = answer
            self._queue.remove(item)
        self._wake()
        self._tell_queue(item.chat_id)
        for event in events:
            self._bus.publish(event)
        self._io.submit(lambda: self._begin_stream(answer, client))

    def _open_answer(self, item: _Waiting) -> tuple[_OpenAnswer, list[Event]]:
        chat_id = item.chat_id
        events: list[Event] = []
        if not item.is_sent:
            if not self._store.title(chat_id):
                self._store.rename(chat_id, title_from(item.text))
            events.append(MessageAdded(chat_id, self._store.add(chat_id, Role.USER, item.text)))
        path = self._store.messages(chat_id)
        if path and path[-1].role is Role.ASSISTANT:
            message = self._store.add_version(chat_id, path[-1].id, finish=Finish.GENERATING)
        else:
            message = self._store.add(chat_id, Role.ASSISTANT, finish=Finish.GENERATING)
        events += [MessageAdded(chat_id, message), ChatListChanged()]
        return _OpenAnswer(chat_id, message), events

    def _tell_queue(self, chat_id: int) -> None:
        """Say what waits in a chat, if that is news; after an end, also what waits elsewhere."""
        with self._lock:
            text = self.queued_text(chat_id)
            if not text and chat_id not in self._told:
                return
            if text:
                self._told.add(chat_id)
                events = [QueueChanged(chat_id, text)]
            else:
                self._told.discard(chat_id)
                events = [QueueChanged(None, "")]
                events += [QueueChanged(other, self.queued_text(other)) for other in self._told]
        for event in events:
            self._bus.publish(event)

    # the stream, on the IO thread

    async def _begin_stream(self, answer: _OpenAnswer, client: AnswerClient) -> None:
        self._io.spawn(self._stream(answer, client), name=f"answer {answer.message.id}")

    async def _stream(self, answer: _OpenAnswer, client: AnswerClient) -> None:
        answer.task = asyncio.current_task()
        ended = Answer(Finish.FAILED, AnswerStats())
        try:
            if answer.stopping:
                ended = Answer(Finish.STOPPED, AnswerStats())
            else:
                ended = await self._answer(answer, client)
        finally:  # whatever happens, the next answer can be opened
            self._finish(answer, ended)

    async def _answer(self, answer: _OpenAnswer, client: AnswerClient) -> Answer:
        session = AnswerSession(
            client,
            on_update=lambda update: self._on_update(answer, update),
            on_prefill=lambda done, total: self._bus.publish(
                PrefillProgressed(answer.chat_id, answer.message.id, done, total)
            ),
        )
        path = self._store.messages(answer.chat_id)
        asked = [message for message in path if message.id != answer.message.id]
        status = self._engine.status
        load = status.settings
        context = load.context // max(load.n_parallel, 1) if load is not None else None
        if load is None and status.attached is not None:
            context = status.attached.context
        if model := answering_model(status):
            self._store.update(answer.chat_id, answer.message.id, model=model)
        self._engine.set_generating(True)
        try:
            ended = await session.run(build_request(asked, self._settings()), context)
        finally:
            self._engine.set_generating(False)
        if ended.error is not None and ended.error.code in _LOST:
            return replace(ended, error=await self._why_lost(ended.error))
        return ended

    def _on_update(self, answer: _OpenAnswer, update: AnswerUpdate) -> None:
        answer.text += update.text
        answer.reasoning += update.reasoning
        self._store.update(
            answer.chat_id,
            answer.message.id,
            text=answer.text,
            reasoning=answer.reasoning,
            stats=update.stats,
        )
        self._changed.set()
        self._bus.publish(
            TokensArrived(
                answer.chat_id,
                answer.message.id,
                update.text,
                update.reasoning,
                update.stats,
                text_length=len(answer.text),
                reasoning_length=len(answer.reasoning),
            )
        )

    def _finish(self, answer: _OpenAnswer, ended: Answer) -> None:
        self._store.update(
            answer.chat_id, answer.message.id, finish=ended.finish, stats=ended.stats
        )
        with self._lock:
            self._open = None
        self._changed.set()
        message = self._store.message(answer.chat_id, answer.message.id)
        self._bus.publish(AnswerFinished(answer.chat_id, message, ended.error))
        answer.finished.set()
        self._advance()

    async def _why_lost(self, error: KimiError) -> KimiError:
        """The engine's own reason, which it finds out a moment after its stream broke."""
        step_s = 0.05
        for _ in range(round(ENGINE_REASON_WAIT_S / step_s)):
            status = self._engine.status
            if status.state is EngineState.FAILED and status.error is not None:
                return status.error
            if status.state not in _ANSWERING:
                return error
            try:
                await asyncio.sleep(step_s)
            except asyncio.CancelledError:
                return error
        return error

    def _stop(self, answer: _OpenAnswer) -> None:
        answer.stopping = True

        async def cancel() -> None:
            if answer.task is not None:
                answer.task.cancel()

        self._io.submit(cancel)

    # the store

    def _touched(self) -> None:
        self._wake()
        self._bus.publish(ChatListChanged())

    def _wake(self) -> None:
        async def wake() -> None:
            self._changed.set()

        self._io.submit(wake)

    async def _begin_writing(self) -> None:
        self._io.spawn(self._keep_written(), name="chat writer")

    async def _keep_written(self) -> None:
        """Write within a second of a change, and again while what could not be written waits."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if await self._io.in_pool(self._store.flush):
                await asyncio.sleep(WRITE_EVERY_S)
            else:
                self._changed.set()
                await asyncio.sleep(RETRY_WRITING_S)

    def _on_store_report(self, error: ChatError | None) -> None:
        event = StoreRecovered() if error is None else StoreFailed(error)
        with self._lock:
            if not self._started:
                self._early.append(event)
                return
        self._bus.publish(event)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged) and event.status.state is EngineState.READY:
            self._advance()
