"""The app is killed in the middle of an answer: what was told is there at the next start."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from kimi_desktop.chat.service import WRITE_EVERY_S
from kimi_desktop.chat.store import ChatStore
from kimi_desktop.chat.types import Finish, Role

REPOSITORY = Path(__file__).parents[3]


def test_kill_9_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "chats.sqlite3"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.chat_until_killed", str(file)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        try:
            chat = int(child.stdout.readline())
            told_at: list[tuple[float, int]] = []
            while not told_at or told_at[-1][0] - told_at[0][0] < 2.5 * WRITE_EVERY_S:
                told_at.append((time.monotonic(), int(child.stdout.readline())))
        finally:
            child.kill()
    # What was told longer ago than one interval of writing (and a half, on a busy machine) is kept.
    safe = max(n for when, n in told_at if when < told_at[-1][0] - 1.5 * WRITE_EVERY_S)
    store = ChatStore(file)
    question, answer = store.messages(chat)
    store.close()
    assert (question.role, question.text) == (Role.USER, "Talk until somebody stops you")
    assert answer.finish is Finish.FAILED
    assert answer.text.startswith("w0 w1 w2 ")
    assert len(answer.text) >= safe > 0
