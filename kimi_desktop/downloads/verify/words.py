"""How a verification that found nothing wrong is told. Pure."""

from __future__ import annotations

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_duration, format_file_size, format_rate
from kimi_desktop.downloads.verify.types import VerifyReport


def good_sentence(report: VerifyReport, language: Language) -> str:
    """What is said of a model that nothing speaks against; proven is said only of what is."""
    return message(
        "verify.good" if report.is_proven else "verify.unproven",
        language,
        count=len(report.parts),
        size=format_file_size(report.checked_bytes),
        seconds=format_duration(report.seconds, language),
        rate=format_rate(report.checked_bytes / max(report.seconds, 0.001)),
        unproven=report.n_unproven,
    )
