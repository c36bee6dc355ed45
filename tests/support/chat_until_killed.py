"""A program that asks a question and streams an endless answer, to be killed in the middle.

``python -m tests.support.chat_until_killed DATABASE_FILE``; prints the chat's id.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kimi_desktop.backends.types import ChatRequest, Delta, EngineState, Sampling
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
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
    chats.start()
    chat = chats.new_chat()
    chats.send(chat, "Talk until somebody stops you")
    sys.stdout.write(f"{chat}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
