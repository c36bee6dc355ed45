"""A program that asks a question and streams an endless answer, to be killed in the middle.

``python -m tests.support.chat_until_killed DATABASE_FILE``; prints the chat's id, then the tokens
that were told so far, one line each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kimi_desktop.backends.types import ChatRequest, Delta, EngineState, Sampling
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.types import TokensArrived
from tests.support.scripted_client import ScriptedClient, ScriptedEngine, Step


def endless(_: ChatRequest) -> list[Step]:
    """Ten minutes of words, one every 10 ms."""
    return [step for n in range(60_000) for step in (0.01, Delta(content=f"w{n} "))]


def main() -> None:
    """Stream until killed."""
    bus = EventBus()
    engine = ScriptedEngine(bus, ScriptedClient(answer=endless))
    engine.set_state(EngineState.READY)
    chats = ChatService(
        IoLoop(), bus, Path(sys.argv[1]), engine, lambda: AnswerSettings(Sampling())
    )
    told = ""

    def tell(event: Event) -> None:
        nonlocal told
        if isinstance(event, TokensArrived):
            told += event.text
            sys.stdout.write(f"{len(told)}\n")
            sys.stdout.flush()

    bus.subscribe(tell)
    chats.start()
    chat = chats.new_chat()
    sys.stdout.write(f"{chat}\n")
    chats.send(chat, "Talk until somebody stops you")
    sys.stdin.read()


if __name__ == "__main__":
    main()
