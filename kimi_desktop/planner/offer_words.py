"""What a list says of a file, in both languages. Pure; texts: ``base.messages.forecast``."""

from __future__ import annotations

import dataclasses

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import (
    MB,
    format_duration,
    format_file_size,
    format_gib,
    format_tokens_per_s,
)
from kimi_desktop.models.catalogue_types import Engine
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, PlannedFile, Use
from kimi_desktop.planner.plan_types import Fit
from kimi_desktop.planner.report import headline, missing_sentences, sentence
from kimi_desktop.planner.speed_types import Band, SpeedForecast
from kimi_desktop.planner.verdict import FitVerdict, plan_verdict, verdict_sentence

_OWN = Engine.LLAMA_CPP
_HUNDREDTHS_BELOW = 0.1
_LINE_MBIT_S = 100
"""A usual line, for the time that a download takes."""


def file_words(file: OfferedFile, language: Language) -> FileWords:
    """A file in words."""
    sized = file.sized
    speed = sized.speed if sized and sized.verdict.can_start else None
    return FileWords(
        size=_size(file, language),
        fit=_fit(file, language),
        spare=spare_words(sized.verdict, language) if sized else "",
        sentence=verdict_sentence(sized.verdict, language) if sized else "",
        decode=rate_band(speed.decode_tps, language) if speed else "",
        waits=_limit(speed.decode_tps, language) if speed else "",
        quality=_quality(file, language),
        download=_download(file, language),
        details=_details(speed, language) if speed else "",
        note=_note(file, language),
    )


def planned_words(file: OfferedFile, planned: PlannedFile, language: Language) -> FileWords:
    """The same by the file's header: exact, with the reasons."""
    plan, speed = planned.plan, planned.speed
    reasons = (
        *missing_sentences(plan, language),
        *(sentence(decision, language) for decision in plan.decisions),
    )
    return dataclasses.replace(
        file_words(file, language),
        size=format_file_size(planned.model.size_bytes),
        fit=fit_word(plan.fit, language),
        spare=spare_words(plan_verdict(plan), language),
        sentence=headline(plan, language),
        decode=rate_band(speed.decode_tps, language) if plan.can_start else "",
        waits=_limit(speed.decode_tps, language) if plan.can_start else "",
        details=_details(speed, language) if plan.can_start else "",
        reasons=reasons,
    )


def fit_word(fit: Fit, language: Language) -> str:
    """The verdict in two or three words."""
    return message(f"forecast.fit.{fit.value}", language)


def spare_words(verdict: FitVerdict, language: Language) -> str:
    """What is left or lacking, without the verdict itself."""
    ram = format_gib(abs(verdict.spare_ram_bytes))
    if verdict.fit is Fit.DOES_NOT_FIT and verdict.short_vram_bytes:
        vram = format_gib(verdict.short_vram_bytes)
        return message("forecast.spare.lacks_vram", language, vram=vram)
    if verdict.spare_ram_bytes < 0:
        return message("forecast.spare.lacks_ram", language, ram=ram)
    if verdict.fit is Fit.DOES_NOT_FIT:
        return message("forecast.spare.only_ram", language, ram=ram)
    spare_vram = max(verdict.spare_vram_bytes or 0, 0)
    if verdict.fit is Fit.IN_VRAM_AND_RAM:
        vram = format_gib(spare_vram, unit=False)
        ram = format_gib(verdict.spare_ram_bytes, unit=False)
        return message("forecast.spare.in_vram_and_ram", language, vram=vram, ram=ram)
    vram = format_gib(spare_vram)
    return message(f"forecast.spare.{verdict.fit.value}", language, vram=vram, ram=ram)


def rate_band(band: Band, language: Language) -> str:
    """``6.4 – 15.5 tok/s``."""
    number, _, unit = format_tokens_per_s(band.high, language).partition(" ")
    low, _, _ = format_tokens_per_s(band.low, language).partition(" ")
    if band.low < _HUNDREDTHS_BELOW:
        low = f"{band.low:.2f}"
        number = f"{band.high:.2f}" if band.high < 1 else number
    return message("forecast.band", language, low=low, high=f"{number} {unit}")


def time_band(band: Band, language: Language) -> str:
    """``1 min 12 s – 3 min``."""
    low, high = format_duration(band.low, language), format_duration(band.high, language)
    return low if low == high else message("forecast.band", language, low=low, high=high)


def _size(file: OfferedFile, language: Language) -> str:
    if not file.size_bytes:
        return message("forecast.size.unknown", language)
    size = format_file_size(file.size_bytes)
    return message("forecast.size.rounded", language, size=size) if file.size_is_rounded else size


def _fit(file: OfferedFile, language: Language) -> str:
    if file.sized is not None:
        return fit_word(file.sized.verdict.fit, language)
    if not file.size_bytes:
        return message("forecast.fit.unsized", language)
    key = "unread" if file.is_readable else "other"
    return message(f"forecast.fit.{key}", language)


def _quality(file: OfferedFile, language: Language) -> str:
    if file.quality is not None:
        return message(f"forecast.quality.{file.quality.value}", language)
    if file.bits_per_weight is None:
        return ""
    return message("forecast.bits", language, bits=f"{file.bits_per_weight:.1f}")


def _limit(band: Band, language: Language) -> str:
    waits = message(f"forecast.bottleneck.{band.bottleneck.value}", language)
    return message("forecast.limit", language, waits=waits)


def _details(speed: SpeedForecast, language: Language) -> str:
    return message(
        "forecast.details",
        language,
        prefill=rate_band(speed.prefill_tps, language),
        first=time_band(speed.first_token_s, language),
        prompt=f"{speed.prompt_tokens:,}",
        load=time_band(speed.load_s, language),
    )


def _download(file: OfferedFile, language: Language) -> str:
    if not file.size_bytes:
        return ""
    if file.lacks_disk:
        return message("forecast.download.no_room", language)
    time = format_duration(file.size_bytes * 8 / (_LINE_MBIT_S * MB), language)
    return message("forecast.download.time", language, time=time, rate=_LINE_MBIT_S)


def _note(file: OfferedFile, language: Language) -> str:
    parts = []
    if _OWN not in file.engines and file.engines:
        names = message("machine.comma", language).join(engine.value for engine in file.engines)
        parts.append(message("forecast.engines", language, engines=names))
    if file.note is not None:
        parts.append(file.note.text(language))
    if file.use is Use.SLOW:
        parts.append(message("forecast.slow", language))
    return " ".join(parts)
