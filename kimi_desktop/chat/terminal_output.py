"""What ``kimi-desktop chat`` prints: text with a line of figures, or JSON lines.

Model output is hostile: a terminal gets none of its control characters. Main thread only.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, TextIO

from kimi_desktop.backends.load_watch import UNKNOWN, LoadPace
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.terminal import Colour, colours_allowed, json_text, paint, printable
from kimi_desktop.base.units import (
    format_count,
    format_duration,
    format_file_size,
    format_rate,
    format_tokens_per_s,
)
from kimi_desktop.chat.types import Message

_CLEAR_LINE = "\r\x1b[K"
TELLS_IN_PIPE = 10


class Output(Protocol):
    """Where a chat in the terminal tells what happens."""

    def loading(self, name: str, fraction: float | None, pace: LoadPace = UNKNOWN) -> None:
        """The engine loads; the fraction and the pace where they are known."""

    def ready(self, name: str, engine: str) -> None:
        """It is ready."""

    def begin(self) -> None:
        """An answer opens."""

    def prefill(self, done: int, total: int) -> None:
        """The engine reads the prompt."""

    def tokens(self, text: str, reasoning: str) -> None:
        """More of the answer."""

    def finished(self, answer: Message, error: KimiError | None) -> None:
        """The answer ended."""

    def failed(self, error: KimiError) -> None:
        """No answer will come."""

    def remark(self, problem: KimiError) -> None:
        """Something is odd, though nothing failed."""

    def say(self, text: str) -> None:
        """Words of the program itself."""

    def end_line(self) -> None:
        """Leave the cursor at the start of a line."""


class PlainOutput:
    """Text for people; for a pipe the answer alone, without the thoughts."""

    def __init__(self, out: TextIO, err: TextIO, language: Language) -> None:
        self._out = out
        self._err = err
        self._language = language
        self._on_terminal = out.isatty()
        self._colours = colours_allowed(out)
        self._progress_shown = False
        self._loading_told: tuple[int | None, bool] | None = None
        self._thinking = False
        self._has_text = False
        self._at_start = True
        """The cursor stands at the start of a line."""

    def loading(self, name: str, fraction: float | None, pace: LoadPace = UNKNOWN) -> None:
        """A line that is written over on a terminal, else written at every tenth and a stall."""
        stage = (
            None if fraction is None else int(fraction * TELLS_IN_PIPE),
            pace.stalled_s is not None,
        )
        text = loading_words(name, fraction, pace, self._language)
        self._progress(text, in_pipe=stage != self._loading_told)
        self._loading_told = stage

    def ready(self, name: str, engine: str) -> None:
        """Replaces the progress."""
        self._clear_progress()
        text = message("chat.terminal.ready", self._language, name=name, engine=engine)
        self._tell(text)

    def begin(self) -> None:
        """Nothing yet."""
        self._thinking = self._has_text = False

    def prefill(self, done: int, total: int) -> None:
        """How far the prompt is read, on a terminal."""
        text = message(
            "chat.terminal.prefill",
            self._language,
            done=format_count(done),
            total=format_count(total),
        )
        self._progress(text, in_pipe=False)

    def tokens(self, text: str, reasoning: str) -> None:
        """Thoughts muted, then the answer."""
        self._clear_progress()
        if reasoning and self._on_terminal:
            self._thinking = True
            self._write(paint(printable(reasoning), Colour.MUTED, allowed=self._colours))
        if not self._has_text:  # many models begin with a blank
            text = text.lstrip()
        if not text:
            return
        self._has_text = True
        if self._thinking:
            self._thinking = False
            self._write("\n\n")
        self._write(printable(text))

    def finished(self, answer: Message, error: KimiError | None) -> None:
        """The figures, and what went wrong if something did."""
        self._clear_progress()
        self.end_line()
        if stats := stats_line(answer, self._language):
            self._tell(paint(stats, Colour.MUTED, allowed=self._on_terminal and self._colours))
        if error is not None:
            self.failed(error)

    def failed(self, error: KimiError) -> None:
        """One sentence that says what happened, one what to do."""
        self._complain(error)

    def remark(self, problem: KimiError) -> None:
        """As a failure is told."""
        self._complain(problem)

    def say(self, text: str) -> None:
        """On a line of its own."""
        self._tell(text)

    def end_line(self) -> None:
        """Unless the cursor stands there already."""
        if not self._at_start:
            self._write("\n")

    def _complain(self, error: KimiError) -> None:
        self._clear_progress()
        self.end_line()
        self._err.write("\n".join(describe_error(error, self._language)) + "\n")
        self._err.flush()

    def _write(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()
            self._at_start = text.endswith("\n")

    def _tell(self, text: str) -> None:
        """Beside the answer on a terminal, and out of its way where it is piped."""
        if self._on_terminal:
            self._write(text + "\n")
        else:
            self._err.write(text + "\n")
            self._err.flush()

    def _progress(self, text: str, *, in_pipe: bool) -> None:
        if self._on_terminal:
            self._out.write(_CLEAR_LINE + text)
            self._out.flush()
            self._progress_shown = True
        elif in_pipe:
            self._tell(text)

    def _clear_progress(self) -> None:
        if self._progress_shown:
            self._out.write(_CLEAR_LINE)
            self._out.flush()
            self._progress_shown = False


class JsonOutput:
    """One JSON object a line, all on stdout."""

    def __init__(self, out: TextIO, language: Language) -> None:
        self._out = out
        self._language = language
        self._loading: tuple[str, float | None, bool] | None = None

    def loading(self, name: str, fraction: float | None, pace: LoadPace = UNKNOWN) -> None:
        """``{"event": "loading", "model": ..., "fraction": ..., "read_bytes": ..., ...}``."""
        stalled = pace.stalled_s is not None
        if (name, fraction, stalled) != self._loading:
            self._loading = (name, fraction, stalled)
            known = {key: one for key, one in dataclasses.asdict(pace).items() if one is not None}
            self._line("loading", model=name, fraction=fraction, **known)

    def ready(self, name: str, engine: str) -> None:
        """``{"event": "ready", "model": ..., "engine": ...}``."""
        self._line("ready", model=name, engine=engine)

    def begin(self) -> None:
        """``{"event": "started"}``."""
        self._line("started")

    def prefill(self, done: int, total: int) -> None:
        """``{"event": "prefill", "done_tokens": ..., "total_tokens": ...}``."""
        self._line("prefill", done_tokens=done, total_tokens=total)

    def tokens(self, text: str, reasoning: str) -> None:
        """``{"event": "thinking" | "text", "text": ...}``."""
        if reasoning:
            self._line("thinking", text=reasoning)
        if text:
            self._line("text", text=text)

    def finished(self, answer: Message, error: KimiError | None) -> None:
        """``{"event": "finished", "text": ..., "finish": ..., "stats": {...}, "error": ...}``."""
        self._line(
            "finished",
            text=answer.text,
            reasoning=answer.reasoning,
            finish=answer.finish.value,
            stats=dataclasses.asdict(answer.stats) if answer.stats else None,
            error=self._error(error) if error is not None else None,
        )

    def failed(self, error: KimiError) -> None:
        """``{"event": "failed", "error": {"code": ..., "message": ..., "next": ...}}``."""
        self._line("failed", error=self._error(error))

    def remark(self, problem: KimiError) -> None:
        """``{"event": "remark", "remark": {"code": ..., "message": ..., "next": ...}}``."""
        self._line("remark", remark=self._error(problem))

    def say(self, text: str) -> None:
        """Nothing: programs read no welcome."""

    def end_line(self) -> None:
        """Every line is ended."""

    def _error(self, error: KimiError) -> dict[str, str]:
        what, then = describe_error(error, self._language)
        return {"code": error.code.value, "message": what, "next": then}

    def _line(self, event: str, **fields: Any) -> None:  # noqa: ANN401
        self._out.write(json_text({"event": event, **fields}) + "\n")
        self._out.flush()


def loading_words(name: str, fraction: float | None, pace: LoadPace, language: Language) -> str:
    """``Loading kimi: 39 % · 212 of 544 GiB · 1.9 GB/s · 3 min left``, or since when it stands."""
    text = message("chat.terminal.loading", language, name=name)
    if fraction is not None:
        percent = round(fraction * 100)
        text = message("chat.terminal.loading_part", language, name=name, percent=percent)
    parts = [text]
    if pace.read_bytes is not None and pace.total_bytes is not None:
        done, total = format_file_size(pace.read_bytes), format_file_size(pace.total_bytes)
        parts.append(message("chat.terminal.loading_bytes", language, done=done, total=total))
    if pace.stalled_s is not None:
        time = format_duration(pace.stalled_s, language)
        parts.append(message("chat.terminal.stalled", language, time=time))
    elif pace.bytes_per_s and pace.left_s is not None:
        parts.append(format_rate(pace.bytes_per_s))
        time = format_duration(pace.left_s, language)
        parts.append(message("chat.terminal.left", language, time=time))
    return " · ".join(parts)


def stats_line(answer: Message, language: Language) -> str:
    """``18.4 tok/s · 512 tokens · first token 3.1 s · stopped: end``; empty without an answer."""
    stats = answer.stats
    if stats is None or stats.first_token_s is None:
        return ""
    parts = []
    if stats.decode_tokens_per_s > 0:
        parts.append(format_tokens_per_s(stats.decode_tokens_per_s, language))
    parts += [
        message("chat.stats.tokens", language, tokens=format_count(stats.tokens)),
        message(
            "chat.stats.first_token",
            language,
            time=format_duration(stats.first_token_s, language),
        ),
    ]
    if stats.thinking_s is not None:
        time = format_duration(stats.thinking_s, language)
        parts.append(message("chat.stats.thought", language, time=time))
    parts.append(message(f"chat.stats.finish.{answer.finish.value}", language))
    return " · ".join(parts)
