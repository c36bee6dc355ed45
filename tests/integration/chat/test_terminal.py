"""``kimi-desktop chat`` with the real engine: on a terminal, through a pipe, as JSON lines."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kimi_desktop.chat.store import ChatStore
from tests.support.engine_link import ENDLESS
from tests.support.engine_programs import REPOSITORY
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="Unix sockets and terminals")

WAIT_S = 60.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


def command(database: Path, model: Path, *options: str) -> list[str]:
    program = "tests.support.terminal_program"
    return [sys.executable, "-m", program, str(database), str(model), *options]


def run(
    database: Path, model: Path, *options: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(database, model, *options),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        cwd=REPOSITORY,
        check=False,
    )


def test_a_prompt_is_answered_on_stdout_and_nothing_else(tiny_kimi: Path, database: Path) -> None:
    done = run(database, tiny_kimi, "--prompt", "hi")
    assert (done.returncode, done.stdout) == (0, said("hello_fast") + "\n")
    assert "tok/s" in done.stderr
    assert "tokens · first token" in done.stderr
    assert "stopped: end" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr


def test_a_piped_text_is_the_prompt(tiny_kimi: Path, database: Path) -> None:
    done = run(database, tiny_kimi, "--lang", "zh_CN", stdin="你好\n")
    assert (done.returncode, done.stdout) == (0, said("chinese") + "\n")
    assert "词元/秒" in done.stderr
    assert "首字延迟" in done.stderr
    store = ChatStore(database)  # answers to scripts do not fill the list of the window
    assert store.chats() == ()
    store.close()


def test_an_empty_pipe_is_a_bad_argument(tiny_kimi: Path, database: Path) -> None:
    done = run(database, tiny_kimi, stdin=" \n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--prompt" in done.stderr


def test_json_lines(tiny_kimi: Path, database: Path) -> None:
    done = run(database, tiny_kimi, "--json", "--prompt", "hi")
    assert done.returncode == 0
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events if event["event"] not in ("thinking", "text")] == [
        *("loading", "ready", "started"),
        *("prefill" for event in events if event["event"] == "prefill"),
        "finished",
    ]
    for kind, text in (("thinking", said("hello")), ("text", said("hello_fast"))):
        assert "".join(event["text"] for event in events if event["event"] == kind) == text
    finished = events[-1]
    assert (finished["text"], finished["finish"]) == (said("hello_fast"), "end")
    assert finished["stats"]["tokens"] == 16
    assert finished["error"] is None


def test_a_failed_answer_is_a_failed_program(tiny_kimi: Path, database: Path) -> None:
    done = run(database, tiny_kimi, "--prompt", "word " * 3000)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the context holds 2,048" in done.stderr
    done = run(database, tiny_kimi, "--json", "--prompt", "word " * 3000)
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1])["error"]["code"] == "chat.too_long"


class Terminal:
    """The program on a pseudo terminal."""

    def __init__(self, process: subprocess.Popen[bytes], fd: int) -> None:
        self.process = process
        self.fd = fd
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def wait_for(self, text: str, times: int = 1) -> None:
        end = time.monotonic() + WAIT_S
        while self.plain.count(text) < times:
            assert time.monotonic() < end, self.shown
            self.read()

    def read(self) -> bool:
        if not select.select([self.fd], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.fd, 65_536)
        except OSError:  # Linux's word for the other end being closed
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)

    @property
    def plain(self) -> str:
        return ESCAPES.sub("", self.shown).replace("\r\n", "\n")

    def ends_with_code(self, key: str = "") -> int:
        """Wait for the end. ``key`` is pressed again now and then: one that comes in the instant
        between the prompt and the wait for a key is lost, as in any program that uses readline.
        """
        end = time.monotonic() + WAIT_S
        press_at = 0.0
        while self.process.poll() is None:
            assert time.monotonic() < end, self.shown
            if key and time.monotonic() >= press_at:
                self.type(key)
                press_at = time.monotonic() + 4.0
            if not self.read():
                return self.process.wait(WAIT_S)
        return self.process.wait(WAIT_S)


@contextmanager
def terminal(database: Path, model: Path, *options: str) -> Iterator[Terminal]:
    import pty  # noqa: PLC0415 - not on Windows

    ours, theirs = pty.openpty()
    with closing(os.fdopen(ours, "rb", 0)):
        process = subprocess.Popen(
            command(database, model, *options),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=REPOSITORY,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": ""},
            start_new_session=True,
            preexec_fn=control_terminal,  # noqa: PLW1509 - for Ctrl+C to reach it
        )
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.terminate()
            try:
                process.wait(WAIT_S)
            finally:
                process.kill()


def control_terminal() -> None:
    import fcntl  # noqa: PLC0415
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_a_conversation(tiny_kimi: Path, database: Path) -> None:
    with terminal(database, tiny_kimi) as it:
        it.wait_for("Ask something.")
        it.type("hi\n")
        it.wait_for("stopped: end")
        assert "\x1b[2mSomebody" in it.shown  # thoughts are muted
        assert said("hello_fast") in it.plain
        it.type("/regenerate\n")
        it.wait_for("stopped: end", 2)
        it.type("code\\\nplease\n")
        it.wait_for("stopped: end", 3)
        assert "print(6 * 7)" in it.plain
        for line in ("/new", "/stop", "/regenerate", "/help"):
            it.type(line + "\n")
        it.wait_for("There is no question in this chat yet.")
        it.wait_for("answer the last question again")
        it.type("/quit\n")
        assert it.ends_with_code() == 0
    store = ChatStore(database)
    (chat,) = store.chats()
    texts = [message.text for message in store.messages(chat.id)]
    store.close()
    assert texts == ["hi", said("hello_fast"), "code\nplease", said("code")]


def test_control_c_stops_the_answer_and_a_second_one_leaves(
    endless_kimi: Path, database: Path
) -> None:
    with terminal(database, endless_kimi, "--context", str(ENDLESS)) as it:
        it.wait_for("Ask something.")
        it.type("forever\n")
        it.wait_for("goes,Round", 3)
        it.type("\x03")
        it.wait_for("stopped: by you")
        it.type("/new\n")  # it goes on
        it.wait_for("A new chat.")
        it.type("hi\n")
        it.wait_for("stopped: end")
        it.wait_for("\n> ", 4)
        assert it.ends_with_code("\x03") == 130


def test_lines_typed_while_it_answers(endless_kimi: Path, database: Path) -> None:
    with terminal(database, endless_kimi, "--context", str(ENDLESS)) as it:
        it.wait_for("Ask something.")
        it.type("forever\n")
        it.wait_for("goes,Round", 3)
        for line in ("/new", "hi", "/stop"):
            it.type(line + "\n")
        it.wait_for("stopped: by you")
        it.wait_for("stopped: end")  # what was typed had its turn afterwards
        it.wait_for("\n> ", 4)
        assert it.ends_with_code("\x04") == 0


def test_control_c_in_a_single_answer(endless_kimi: Path, database: Path) -> None:
    with terminal(database, endless_kimi, "--context", str(ENDLESS), "--prompt", "forever") as it:
        it.wait_for("goes,Round", 3)
        it.type("\x03")
        assert it.ends_with_code() == 130
        assert "Traceback" not in it.plain
