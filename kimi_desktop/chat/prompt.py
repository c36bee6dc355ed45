"""What is sent: the system prompt and the visible turns, without earlier reasoning. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from kimi_desktop.backends.types import ChatRequest
from kimi_desktop.base.errors import ChatError, ErrorCode
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.types import Message, Role

TITLE_COLUMNS = 40
TURN_TOKENS = 16
"""More than any template known here puts around a turn."""

_MARKUP = re.compile(r"^(?:\s*(?:[#>*+-]+|\d+[.)])\s+)+|[`*~]+")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60]")
_SENTENCE_END = re.compile(r"(?<=[.?!])\s|(?<=[。？！])")


def build_request(path: Sequence[Message], settings: AnswerSettings) -> ChatRequest:
    """The request that answers the last message of ``path``.

    Answers without text are left out, and turns of one role in a row are joined, because many
    templates insist on question and answer taking turns.
    """
    turns: list[tuple[str, str]] = []
    if settings.system_prompt.strip():
        turns.append((Role.SYSTEM.value, settings.system_prompt))
    for message in path:
        if not message.text.strip():
            continue
        if turns and turns[-1][0] == message.role.value:
            turns[-1] = (message.role.value, f"{turns[-1][1]}\n\n{message.text}")
        else:
            turns.append((message.role.value, message.text))
    return ChatRequest(tuple(turns), settings.sampling, settings.thinking)


def surely_fits(request: ChatRequest, context: int) -> bool:
    """True when prompt and longest answer need no counting: no token is less than a byte.

    llama.cpp ends an answer where the context ends; vLLM refuses a request whose longest answer
    does not fit beside the prompt.
    """
    size = sum(len(text.encode("utf-8", "replace")) + TURN_TOKENS for _, text in request.messages)
    return size + request.sampling.max_tokens <= context


def within(request: ChatRequest, needed: int, context: int) -> ChatRequest:
    """The request with its answer cut to the room that ``needed`` prompt tokens leave.

    Raises:
        ChatError: CHAT_TOO_LONG, no room is left for an answer.
    """
    if needed >= context:
        raise ChatError(ErrorCode.CHAT_TOO_LONG, {"needed": needed, "context": context})
    room = min(request.sampling.max_tokens, context - needed)
    return replace(request, sampling=replace(request.sampling, max_tokens=room))


def title_from(question: str) -> str:
    """A chat's title: the first words of its first question, without markup, one line."""
    lines = (line.strip() for line in question.splitlines())
    first = next((line for line in lines if _MARKUP.sub("", line)), "")
    words = " ".join(_MARKUP.sub("", first).split())
    sentence = _SENTENCE_END.split(words, maxsplit=1)[0].strip()
    title = ""
    columns = 0
    for character in sentence:
        columns += 2 if _WIDE.match(character) else 1
        if columns > TITLE_COLUMNS:
            at_word = title.rpartition(" ")[0] if character.isalnum() else title
            return f"{(at_word or title).rstrip(' ,;:，；：、')}…"
        title += character
    return title
