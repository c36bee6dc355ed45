"""The terminal chat as a program, with the real engine and a tiny model.

``python -m tests.support.terminal_program DATABASE MODEL [--prompt TEXT] [--json] [--lang L]
[--context N]``
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from kimi_desktop.backends.types import EngineStatus, Sampling
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.terminal import TerminalChat
from tests.support.engine_link import linked_engine


def main() -> int:
    """Wire what the verb wires."""
    parser = argparse.ArgumentParser()
    parser.add_argument("database", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompt")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--lang", type=Language, default=Language.EN)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the engine ends with it
    io, bus = IoLoop(), EventBus()
    with linked_engine(io, bus, options.model, context=options.context) as engine:
        settings = AnswerSettings(Sampling(max_tokens=options.context))
        chats = ChatService(io, bus, options.database, engine, lambda: settings)
        chats.start()
        terminal = TerminalChat(chats, engine, bus, options.lang, json_output=options.json)

        async def start() -> EngineStatus:
            return engine.status

        terminal.wait_until_ready(io.submit(start), options.model.stem)
        code = terminal.run(options.prompt)
        chats.close()
    io.close()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
