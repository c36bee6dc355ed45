"""Answers that are none: empty, endless, gibberish, template tokens. Pure, but for file sizes.

What is odd is told to the rules in words, as a person would report it: the text itself is private
and is never kept. They look for the file, the template, the sampling, the cache and the
quantization, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.diagnosis.collect import answer_facts, evidence_of_status, file_facts
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.types import EngineExit, Evidence, OddAnswer
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel

SAID: Mapping[ErrorCode, str] = {
    ErrorCode.CHAT_LOOPING: "(the answer repeats the same words without end)",
    ErrorCode.CHAT_TEMPLATE_LEAK: "(template tokens appear in the answer)",
    ErrorCode.CHAT_GIBBERISH: "(the answer is gibberish)",
    ErrorCode.CHAT_ONLY_THINKING: "(finish_reason length: all tokens went into thinking)",
    ErrorCode.CHAT_EMPTY_ANSWER: "(the answer is empty)",
    ErrorCode.ENGINE_FIRST_EMPTY: "(the first answer is empty)",
    ErrorCode.ENGINE_FIRST_REPEATS: "(the first answer is one character, repeated)",
    ErrorCode.ENGINE_FIRST_TEMPLATE: "(template tokens appear in the first answer)",
    ErrorCode.ENGINE_FIRST_GIBBERISH: "(the first answer is gibberish)",
}
"""In the brackets by which rules know what a person saw."""


def read_odd_answer(
    code: ErrorCode,
    status: EngineStatus,
    model: LocalModel | None,
    machine: Machine | None,
    answers: Iterable[AnswerStats],
) -> OddAnswer:
    """Why an answer may have come out like this.

    Args:
        code: what is odd, one of ``SAID``.
        status: of the running engine.
        model: that answered; None when the library does not know it.
        machine: None before the first look.
        answers: what is known of the answer's size and speed.
    """
    whole = evidence_of_status(status, machine)
    files = file_facts(model) if model is not None else {}
    evidence = Evidence(
        log=SAID[code],
        exit=EngineExit(is_alive=True),
        engine=whole.engine,
        engine_version=whole.engine_version,
        phase="quality",
        machine={**files, **answer_facts(answers), **whole.machine},
        settings=whole.settings,
    )
    return OddAnswer(code, diagnose(evidence), evidence, status.started_at)
