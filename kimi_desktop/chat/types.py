"""Conversations as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.base.events import Event


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Finish(StrEnum):
    """How an answer ended."""

    GENERATING = "generating"
    END = "end"
    LENGTH = "length"
    """The limit of the answer."""
    CONTEXT = "context"
    """Prompt and answer together fill the context."""
    STOPPED = "stopped"
    """By the user."""
    FAILED = "failed"
    """The engine or the connection; the text so far is kept."""


REMARKS = frozenset(
    {ErrorCode.CHAT_LOOPING, ErrorCode.CHAT_TEMPLATE_LEAK, ErrorCode.CHAT_GIBBERISH}
)
"""Errors of an ``AnswerFinished`` that say something about a whole answer: it did not fail."""


@dataclass(frozen=True, slots=True)
class AnswerStats:
    """The line under an answer."""

    tokens: int = 0
    decode_tokens_per_s: float = 0.0
    first_token_s: float | None = None
    thinking_s: float | None = None
    prompt_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One turn, or one of several versions of it."""

    id: int
    role: Role
    text: str
    reasoning: str = ""
    finish: Finish = Finish.END
    stats: AnswerStats | None = None
    created_at: float = 0.0
    """time.time()"""
    version: int = 1
    """1-based among its siblings (regenerate makes another)."""
    versions: int = 1


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A row of the chat list."""

    id: int
    title: str
    updated_at: float


@dataclass(frozen=True, slots=True)
class ChatListChanged(Event):
    """A chat was added, renamed, touched or deleted."""


@dataclass(frozen=True, slots=True)
class MessageAdded(Event):
    """A message joined the chat: the user's, or an empty answer that will stream.

    Also when another version of a message is shown: what follows it is another path then.
    """

    chat_id: int
    message: Message


@dataclass(frozen=True, slots=True)
class TokensArrived(Event):
    """Text joined the open answer; at most one event every 33 ms."""

    chat_id: int
    message_id: int
    text: str
    """New text only."""
    reasoning: str
    stats: AnswerStats
    """So far."""
    text_length: int
    """Characters of the answer, these included: who asked for the messages meanwhile has some."""
    reasoning_length: int


@dataclass(frozen=True, slots=True)
class PrefillProgressed(Event):
    """The engine works through the prompt."""

    chat_id: int
    message_id: int
    done_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class AnswerFinished(Event):
    """The open answer ended; the message is complete as stored."""

    chat_id: int
    message: Message
    error: KimiError | None = None


@dataclass(frozen=True, slots=True)
class QueueChanged(Event):
    """A message waits for the engine ("Sends when ready"), or no longer does."""

    chat_id: int | None
    text: str


@dataclass(frozen=True, slots=True)
class StoreFailed(Event):
    """Chats cannot be written and go on in memory, or a damaged file was replaced."""

    error: KimiError


@dataclass(frozen=True, slots=True)
class StoreRecovered(Event):
    """Chats are written again, also those that had to wait."""
