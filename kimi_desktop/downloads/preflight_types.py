"""What is known before the first byte, as frozen data with its sentences in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.messages.text import Text


class Level(StrEnum):
    """How a row came out, the gravest last."""

    OK = "ok"
    WARN = "warn"
    """The download may start; the person should know."""
    STOP = "stop"
    """It may not."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was looked at."""

    topic: str
    """"space", "file_size", "writable", "version", "unfinished", "names", "paths", "proof",
    "sources", "pickles", "code", "publisher", "licence", "verdict", "loads"."""
    level: Level
    text: Text
    """One sentence."""
    next: Text | None = None
    """What to do about it; None when there is nothing to do."""

    def sentence(self, language: Language) -> str:
        """What was seen."""
        return self.text.zh if language is Language.ZH_CN else self.text.en

    def next_step(self, language: Language) -> str:
        """What to do, or nothing."""
        if self.next is None:
            return ""
        return self.next.zh if language is Language.ZH_CN else self.next.en


@dataclass(frozen=True, slots=True)
class Preflight:
    """All rows of one download."""

    rows: tuple[Row, ...]
    total_bytes: int
    """Of all files."""
    missing_bytes: int
    """That are still to be fetched."""
    needed_bytes: int
    """Of space, with what is kept free."""
    free_bytes: int

    @property
    def level(self) -> Level:
        """The gravest of the rows."""
        levels = {row.level for row in self.rows}
        return next((one for one in reversed(Level) if one in levels), Level.OK)

    @property
    def may_start(self) -> bool:
        """Nothing stands against it."""
        return self.level is not Level.STOP

    @property
    def stops(self) -> tuple[Row, ...]:
        """The rows that stand against it."""
        return tuple(row for row in self.rows if row.level is Level.STOP)


def both(key: str, **params: Param) -> Text:
    """The text for ``key`` in both languages, its fields filled alike."""
    return Text(message(key, Language.EN, **params), message(key, Language.ZH_CN, **params))


def row(topic: str, level: Level, key: str, **params: Param) -> Row:
    """A row from the texts ``preflight.<key>`` and, unless it is fine, ``preflight.<key>.next``."""
    step = None if level is Level.OK else both(f"preflight.{key}.next", **params)
    return Row(topic, level, both(f"preflight.{key}", **params), step)
