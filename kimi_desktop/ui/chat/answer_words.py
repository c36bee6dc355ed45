"""The words around an answer: its figures, its thinking, why it broke off. Qt thread (``tr``)."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import format_count, format_duration, format_tokens_per_s
from kimi_desktop.chat.types import AnswerStats, Finish
from kimi_desktop.ui.chat.transcript_model import Entry
from kimi_desktop.ui.language import language

SEPARATOR = " · "
translate = QCoreApplication.translate


def stats_words(entry: Entry) -> str:
    """The line under an answer, or how far the engine is before its first word."""
    message = entry.message
    stats = message.stats or AnswerStats()
    parts: list[str] = []
    if stats.decode_tokens_per_s > 0:
        parts.append(format_tokens_per_s(stats.decode_tokens_per_s, language()))
    if stats.tokens:
        parts.append(tokens_words(stats.tokens))
    if stats.first_token_s is not None:
        seconds = format_duration(stats.first_token_s, language())
        parts.append(translate("AnswerWords", "first token {time}").format(time=seconds))
    parts.append(_finish_words(entry))
    return SEPARATOR.join(parts)


def tokens_words(count: int) -> str:
    """A number of tokens with its unit."""
    if count == 1:
        return translate("AnswerWords", "1 token")
    return translate("AnswerWords", "{count} tokens").format(count=format_count(count))


def fold_words(entry: Entry) -> str:
    """What the header of the thinking says."""
    stats = entry.message.stats
    seconds = stats.thinking_s if stats is not None else None
    thinking = entry.is_live and not entry.message.text
    if seconds is None:
        return (
            translate("AnswerWords", "Thinking…")
            if thinking
            else translate("AnswerWords", "Thought")
        )
    time = format_duration(seconds, language())
    if thinking:
        return translate("AnswerWords", "Thinking… {time}").format(time=time)
    return translate("AnswerWords", "Thought for {time}").format(time=time)


def notice_words(entry: Entry) -> tuple[str, str]:
    """Why the answer broke off, and what to do."""
    if entry.error is not None:
        return describe_error(entry.error, language())
    return translate("AnswerWords", "The answer broke off."), translate(
        "AnswerWords", "The text so far is kept."
    )


def _finish_words(entry: Entry) -> str:
    if entry.message.finish is Finish.GENERATING:
        return _under_way(entry)
    return {
        Finish.END: translate("AnswerWords", "stopped: end"),
        Finish.LENGTH: translate("AnswerWords", "stopped: max tokens reached"),
        Finish.CONTEXT: translate("AnswerWords", "stopped: the context is full"),
        Finish.STOPPED: translate("AnswerWords", "stopped: by you"),
        Finish.FAILED: translate("AnswerWords", "stopped: failed"),
    }[entry.message.finish]


def _under_way(entry: Entry) -> str:
    if entry.prefill is None or entry.message.text:
        return translate("AnswerWords", "generating")
    return translate("AnswerWords", "reading the prompt, {done} of {total} tokens").format(
        done=format_count(entry.prefill.done_tokens),
        total=format_count(entry.prefill.total_tokens),
    )
