"""Colours code in a QTextDocument with Pygments, a little at a time. Qt thread.

The lexer is a generator, so a long file is coloured in slices that keep within the frame. While
code streams in, only what follows the last line that certainly stood outside of strings and
comments is read again; at the end everything is read once more.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCharFormat, QTextDocument, QTextLayout

from kimi_desktop.ui.theme import color, tokens

SLICE_S = 0.003
MAX_CHARACTERS = 200_000
_Token = tuple[int, Any, str]
_WIDE = re.compile("[\U00010000-\U0010ffff]")


_loaded: set[str] = set()
"""Languages whose lexer is ready: the first of each costs some 10 ms, Pygments itself 60."""


@lru_cache(maxsize=32)
def _lexer(language: str) -> Any:  # noqa: ANN401 - Pygments has no types
    """The lexer for a fence's word, None when Pygments does not know it."""
    from pygments.lexers import get_lexer_by_name  # noqa: PLC0415 - 20 ms, and not at the start
    from pygments.util import ClassNotFound  # noqa: PLC0415

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def _tokens_of(text: str, language: str) -> Iterator[_Token]:
    """The tokens; none when Pygments does not know the language."""
    lexer = _lexer(language)
    _loaded.add(language)
    if lexer is not None:
        yield from lexer.get_tokens_unprocessed(text)


@lru_cache(maxsize=512)
def _role(kind: Any) -> str:  # noqa: ANN401
    """The colour's name in the tokens for a Pygments token type, "" for plain text."""
    from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String  # noqa: PLC0415

    for family, role in (
        (String.Affix, "code_keyword"),
        (String.Interpol, ""),
        (String, "code_string"),
        (Comment, "code_comment"),
        (Number, "code_number"),
        (Keyword, "code_keyword"),
        (Operator.Word, "code_keyword"),
        (Name.Function, "code_function"),
        (Name.Class, "code_function"),
        (Name.Builtin.Pseudo, "code_keyword"),
        (Name.Builtin, "code_function"),
        (Name.Decorator, "code_function"),
        (Name.Attribute, "code_function"),
        (Name.Tag, "code_keyword"),
        (Generic.Deleted, "bad"),
        (Generic.Inserted, "ok"),
        (Generic.Heading, "code_function"),
        (Generic.Subheading, "code_function"),
    ):
        if kind in family:
            return role
    return ""


@lru_cache(maxsize=512)
def _is_quoted(kind: Any) -> bool:  # noqa: ANN401
    """A line break in it is not a place to start from again."""
    from pygments.token import Comment, String  # noqa: PLC0415

    return kind in String or kind in Comment.Multiline


class Highlighter(QObject):
    """Colours one document. ``start`` after every change of its text."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._document = document
        self._language = ""
        self._text = ""
        self._base = 0
        """Where the text being read starts in the document."""
        self._tokens: Iterator[_Token] | None = None
        self._safe = 0
        """Start of the last line known to be outside of strings and comments."""
        self._pending: dict[int, list[QTextLayout.FormatRange]] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._on_slice)

    @property
    def is_busy(self) -> bool:
        """There is something left to colour."""
        return self._tokens is not None

    def start(self, text: str, language: str, *, grows: bool) -> None:
        """Colour ``text``, the document's. With ``grows``, only what may have changed.

        The first slice is done at once, unless the language is met for the first time.
        """
        if not language or len(text) > MAX_CHARACTERS:
            self.stop()
            return
        if not grows or language != self._language or not text.startswith(self._text):
            self._safe = 0
        self._language, self._text = language, text
        self._base = self._safe
        self._pending.clear()
        # Qt counts UTF-16 units: a character that has two gets two here as well.
        units = _WIDE.sub("\ufffd\ufffd", text)
        self._tokens = _tokens_of(units[self._base :], language.lower())
        if language.lower() in _loaded:
            self._on_slice()
        else:  # the text is seen first
            self._timer.start()

    def stop(self) -> None:
        """Leave the colours as they are."""
        self._tokens = None
        self._text = ""
        self._safe = 0
        self._timer.stop()

    def _on_slice(self) -> None:
        deadline = time.perf_counter() + SLICE_S
        touched: list[int] = []
        while self._tokens is not None:
            token = next(self._tokens, None)
            if token is None:
                self._tokens = None
            else:
                self._colour(*token, touched)
                if time.perf_counter() > deadline:
                    break
        self._flush(touched)
        if self._tokens is None:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def _colour(self, index: int, kind: Any, value: str, touched: list[int]) -> None:  # noqa: ANN401
        start = self._base + index
        role = _role(kind)
        quoted = _is_quoted(kind)
        for line in value.splitlines(keepends=True):
            block = self._document.findBlock(start)
            number = block.blockNumber()
            if not touched or touched[-1] != number:
                touched.append(number)
            bare = len(line.rstrip("\n"))
            if role and bare:
                span = QTextLayout.FormatRange()
                span.start = start - block.position()
                span.length = bare
                look = QTextCharFormat()
                look.setForeground(color(getattr(tokens(), role)))
                span.format = look
                self._pending.setdefault(number, []).append(span)
            start += len(line)
            if line.endswith("\n") and not quoted:
                self._safe = start

    def _flush(self, touched: list[int]) -> None:
        """Give the lines their colours and have them painted, all at once."""
        if not touched:
            return
        for number in touched:
            block = self._document.findBlockByNumber(number)
            block.layout().setFormats(self._pending.get(number, []))
        first = self._document.findBlockByNumber(touched[0])
        last = self._document.findBlockByNumber(touched[-1])
        length = last.position() + last.length() - first.position()
        self._document.markContentsDirty(first.position(), length)
        # A line that is not finished keeps its colours for the next slice.
        self._pending = {touched[-1]: self._pending.get(touched[-1], [])}
