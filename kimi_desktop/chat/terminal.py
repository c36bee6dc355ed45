"""``kimi-desktop chat``: a conversation in the terminal, with the same service as the window.

Runs on the main thread: it waits for events that the IO thread publishes, and prints them. On a
terminal it asks again and again; with ``--prompt`` or a pipe it answers once. Ctrl+C stops the
answer, a second one leaves.
"""

from __future__ import annotations

import queue
import sys
from typing import Protocol, TextIO

from kimi_desktop.backends.types import (
    EngineState,
    EngineStatus,
    LoadRemarked,
)
from kimi_desktop.base.errors import ChatError, ErrorCode, KimiError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.chat.terminal_load import follow_load
from kimi_desktop.chat.terminal_output import JsonOutput, Output, PlainOutput
from kimi_desktop.chat.terminal_typing import TypedLines
from kimi_desktop.chat.types import (
    REMARKS,
    AnswerFinished,
    Finish,
    Message,
    MessageAdded,
    PrefillProgressed,
    TokensArrived,
)

DONE, FAILED, BAD_ARGUMENTS, INTERRUPTED = 0, 1, 2, 130
POLL_S = 0.1
COMMANDS = ("/new", "/regenerate", "/stop", "/help", "/quit")
_GONE = (EngineState.STOPPED, EngineState.STOPPING, EngineState.FAILED)


class Conversations(Protocol):
    """What the terminal needs of the chat service."""

    def new_chat(self) -> int:
        """Make an empty chat and return its id."""

    def messages(self, chat_id: int) -> tuple[Message, ...]:
        """The visible messages, oldest first."""

    def send(self, chat_id: int, text: str) -> None:
        """Add a message and stream the answer."""

    def regenerate(self, chat_id: int) -> None:
        """Answer the last question again."""

    def stop(self) -> None:
        """End the open answer."""

    def cancel_queued(self, chat_id: int) -> str:
        """Take a waiting message back."""

    def delete(self, chat_id: int) -> None:
        """Delete a chat."""


class Engine(Protocol):
    """What the terminal needs of the engine."""

    @property
    def status(self) -> EngineStatus:
        """Now."""


class TerminalChat:
    """One run of the verb. ``wait_until_ready``, then ``run``.

    Args:
        chats: The conversations; started.
        engine: Whose state is asked when nothing comes.
        bus: Where both publish.
        language: Of everything but the model's words.
        json_output: Print JSON lines instead of text.
        stdin: Where questions come from; a terminal makes it interactive.
        stdout: For answers, and nothing else where it is no terminal.
        stderr: For progress and failures.
    """

    def __init__(
        self,
        chats: Conversations,
        engine: Engine,
        bus: EventBus,
        language: Language,
        *,
        json_output: bool = False,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self._chats = chats
        self._engine = engine
        self._language = language
        self._stdin = stdin or sys.stdin
        self._stderr = stderr or sys.stderr
        out = stdout or sys.stdout
        self._out: Output = (
            JsonOutput(out, language) if json_output else PlainOutput(out, self._stderr, language)
        )
        self._typed = TypedLines(self._stdin, out)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._leave_bus = bus.subscribe(self._events.put)
        self._chat_id = 0

    def wait_until_ready(self, starting: Operation[EngineStatus], name: str) -> None:
        """Show how the engine loads, until it is ready.

        Args:
            starting: What ``EngineService.start`` returned; cancelled by Ctrl+C.
            name: Of the model.

        Raises:
            KimiError: it did not start.
            KeyboardInterrupt: Ctrl+C.
        """
        try:
            follow_load(starting, name, self._events, self._out, self._show)
        except KimiError as error:
            self._out.failed(error)
            raise

    def run(self, prompt: str | None = None) -> int:
        """Answer once or converse. Returns the exit code."""
        try:
            if prompt is None and self._stdin.isatty():
                return self._converse()
            return self._answer_once(prompt if prompt is not None else self._stdin.read())
        except KeyboardInterrupt:
            self._out.end_line()
            return INTERRUPTED
        finally:
            self._chats.stop()
            self._leave_bus()

    def _answer_once(self, prompt: str) -> int:
        if not prompt.strip():
            self._complain("chat.terminal.no_prompt")
            return BAD_ARGUMENTS
        self._chat_id = self._chats.new_chat()
        try:
            self._chats.send(self._chat_id, prompt)
            finished = self._follow(typed=False)
        finally:  # a script that asks a thousand times does not fill the window's list
            self._chats.delete(self._chat_id)
        error = finished.error if finished is not None else None
        if finished is None or (error is not None and error.code not in REMARKS):
            return FAILED
        return INTERRUPTED if finished.message.finish is Finish.STOPPED else DONE

    def _converse(self) -> int:
        self._chat_id = self._chats.new_chat()
        self._out.say(message("chat.terminal.welcome", self._language))
        while (line := self._typed.ask()) is not None:
            text = line.strip()
            if text in COMMANDS:
                if not self._command(text):
                    return DONE
            elif text:
                self._chats.send(self._chat_id, line)
                self._follow(typed=True)
        self._out.end_line()
        return DONE

    def _command(self, name: str) -> bool:
        """Carry it out; False leaves."""
        if name == "/quit":
            return False
        if name == "/new":
            self._chat_id = self._chats.new_chat()
            self._out.say(message("chat.terminal.new", self._language))
        elif name == "/regenerate":
            if self._chats.messages(self._chat_id):
                self._chats.regenerate(self._chat_id)
                self._follow(typed=True)
            else:
                self._complain("chat.terminal.nothing_to_regenerate")
        elif name == "/stop":
            self._complain("chat.terminal.nothing_to_stop")
        else:
            self._out.say(message("chat.terminal.help", self._language))
        return True

    def _follow(self, *, typed: bool) -> AnswerFinished | None:
        """Print the answer as it comes; None when the engine is gone and none will come."""
        stopped = False
        while True:
            try:
                event = self._next_event(typed=typed)
                if event is None:
                    if self._engine.status.state in _GONE and self._gave_up():
                        return None
                elif isinstance(event, AnswerFinished) and event.chat_id == self._chat_id:
                    self._out.finished(event.message, event.error)
                    return event
                else:
                    self._show(event)
            except KeyboardInterrupt:
                if stopped:
                    raise
                stopped = True
                self._chats.stop()

    def _next_event(self, *, typed: bool) -> Event | None:
        for line in self._typed.poll() if typed else ():
            if line.strip() in ("/stop", "/quit"):
                self._chats.stop()
            if line.strip() not in ("", "/stop"):  # its turn comes when this answer has ended
                self._typed.put_back(line)
        try:
            return self._events.get(timeout=POLL_S)
        except queue.Empty:
            return None

    def _show(self, event: Event) -> None:
        if isinstance(event, TokensArrived) and event.chat_id == self._chat_id:
            self._out.tokens(event.text, event.reasoning)
        elif isinstance(event, PrefillProgressed) and event.chat_id == self._chat_id:
            self._out.prefill(event.done_tokens, event.total_tokens)
        elif isinstance(event, MessageAdded) and event.message.finish is Finish.GENERATING:
            self._out.begin()
        elif isinstance(event, LoadRemarked):
            for remark in event.remarks:
                self._out.remark(remark)

    def _gave_up(self) -> bool:
        """The message still waits for an engine that will not come: take it back and say why."""
        if not self._chats.cancel_queued(self._chat_id):
            return False
        self._out.failed(self._engine.status.error or ChatError(ErrorCode.CHAT_NO_ENGINE))
        return True

    def _complain(self, key: str) -> None:
        self._stderr.write(message(key, self._language) + "\n")
        self._stderr.flush()
