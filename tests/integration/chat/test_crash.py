"""The app is killed in the middle of an answer: what was written is there at the next start."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from kimi_desktop.chat.database import ChatDatabase
from kimi_desktop.chat.store import ChatStore
from kimi_desktop.chat.types import Finish, Role

REPOSITORY = Path(__file__).parents[3]
WAIT_S = 60.0


def written_answer(file: Path, chat: int, more_than: int) -> str:
    """The open answer as it stands in the file, once it is longer than that."""
    end = time.monotonic() + WAIT_S
    with closing(ChatDatabase(file)) as database:
        while time.monotonic() < end:
            texts = [m.text for m in database.messages(chat) if m.finish is Finish.GENERATING]
            if texts and len(texts[0]) > more_than:
                return texts[0]
            time.sleep(0.02)
    raise AssertionError("the open answer is not written")


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
            first = written_answer(file, chat, 0)
            second = written_answer(file, chat, len(first))  # it goes on being written
        finally:
            child.kill()
    assert second.startswith(first)
    store = ChatStore(file)
    question, answer = store.messages(chat)
    store.close()
    assert (question.role, question.text) == (Role.USER, "Talk until somebody stops you")
    assert answer.finish is Finish.FAILED
    assert answer.text.startswith("w0 w1 w2 ")
    assert answer.text.startswith(second)
