"""What is known of other servers, in words of a line. Pure."""

from __future__ import annotations

from kimi_desktop.backends.attached.types import KeyPlace, OfferedByServer, ServerReport
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_count, format_file_size

NOBODY = ("", "library", "system")
"""Owners that say nothing."""


def program_words(report: ServerReport, language: Language) -> str:
    """Which program answers: vLLM 0.32.0."""
    if not report.program:
        return message("attached.program.other", language)
    return f"{report.program} {report.version}".rstrip()


def report_words(report: ServerReport, language: Language) -> str:
    """How many models it has, and how it is: 2 models · says that it is not well."""
    count = len(report.models)
    parts = [message(f"attached.models.{'one' if count == 1 else 'many'}", language, count=count)]
    if report.is_healthy is False:
        parts.append(message("attached.not_well", language))
    return " · ".join(parts)


def model_words(model: OfferedByServer, language: Language, *, program: str = "") -> str:
    """Q8_0 · 268.10M · context 8,192 · 292 MB; "" when nothing is told.

    Args:
        model: of the server.
        language: of the words.
        program: behind the address; an owner that only repeats it is left out.
    """
    owner = model.owned_by
    is_told = owner.lower() not in NOBODY and owner.lower() != program.lower().replace(".", "")
    context = format_count(model.context) if model.context else ""
    parts = (
        model.quantization,
        model.parameters,
        message("attached.context", language, context=context) if context else "",
        format_file_size(model.size_bytes) if model.size_bytes else "",
        message("attached.owner", language, owner=owner) if is_told else "",
    )
    return " · ".join(part for part in parts if part)


def key_words(place: KeyPlace | None, language: Language) -> str:
    """Where its key is kept."""
    return message(f"attached.key.{place.value if place else 'none'}", language)
