"""A run of the notebook in the window's words. Qt thread."""

from __future__ import annotations

import math

from PySide6.QtCore import QCoreApplication

from kimi_desktop.base.messages import TOPICS, cause_sentences
from kimi_desktop.base.units import (
    format_context,
    format_count,
    format_duration,
    format_gib,
    format_tokens_per_s,
)
from kimi_desktop.monitor.run_settings import shown_settings
from kimi_desktop.monitor.run_types import AUTO, Band, Outcome, RunRecord
from kimi_desktop.monitor.types import Mark
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.language import language

NONE = "–"


def outcome_words(run: RunRecord) -> str:
    """How it ended, and the cause where one is known of a failure or of slow or odd answers."""
    known = f"cause.{run.cause}.what" in TOPICS["cause"]
    cause = cause_sentences(run.cause, language())[0] if known else ""
    if run.outcome is Outcome.FAILED:
        return cause or QCoreApplication.translate("RunWords", "Failed")
    ended = {
        Outcome.RUNNING: QCoreApplication.translate("RunWords", "Running"),
        Outcome.STOPPED: QCoreApplication.translate("RunWords", "Stopped"),
        Outcome.LOST: QCoreApplication.translate("RunWords", "The app ended in the middle"),
    }[run.outcome]
    return f"{ended} · {cause}" if cause else ended


def mark_words(mark: Mark) -> str:
    """What was said about a moment."""
    if f"cause.{mark.cause}.what" in TOPICS["cause"]:
        return cause_sentences(mark.cause, language())[0]
    if mark.cause:
        return QCoreApplication.translate("RunWords", "The engine failed.")
    return QCoreApplication.translate("RunWords", "Slower than forecast")


def moment(run: RunRecord) -> str:
    """When it began."""
    return f"{day_text(run.started_at)} {time_text(run.started_at)}"


def setting_name(name: str) -> str:
    """A load setting as the Plan page calls it; its own name where it has no control there."""
    return {
        "context": QCoreApplication.translate("RunWords", "Context"),
        "n_gpu_layers": QCoreApplication.translate("RunWords", "Layers on GPU"),
        "n_cpu_moe": QCoreApplication.translate("RunWords", "Expert layers in RAM"),
        "cache_type": QCoreApplication.translate("RunWords", "KV type"),
        "n_ubatch": QCoreApplication.translate("RunWords", "Micro-batch"),
        "n_batch": QCoreApplication.translate("RunWords", "Batch"),
        "n_threads": QCoreApplication.translate("RunWords", "Threads"),
        "n_parallel": QCoreApplication.translate("RunWords", "Slots"),
        "gpus": QCoreApplication.translate("RunWords", "GPUs"),
        "model": QCoreApplication.translate("RunWords", "Model"),
        "engine": QCoreApplication.translate("RunWords", "Engine"),
    }.get(name, name.rpartition(".")[2])


def setting_words(value: str) -> str:
    """What a setting was (``monitor.run_types.Difference``)."""
    translate = QCoreApplication.translate
    words = {
        AUTO: translate("RunWords", "automatic"),
        "True": translate("RunWords", "on"),
        "False": translate("RunWords", "off"),
        "": NONE,
    }
    if value.isascii() and value.isdigit():
        return format_count(int(value))
    return words.get(value, value)


def settings_words(run: RunRecord) -> str:
    """The settings that matter most, in one line."""
    settings, translate = run.settings, QCoreApplication.translate
    held = shown_settings(settings)
    parts = []
    if size := held["context"]:
        parts.append(translate("RunWords", "context {size}").format(size=format_context(int(size))))
    if layers := settings.get("n_gpu_layers"):
        one = translate("RunWords", "1 layer on GPU")
        several = translate("RunWords", "{count} layers on GPU")
        parts.append(one if layers == 1 else several.format(count=layers))
    if experts := settings.get("n_cpu_moe"):
        one = translate("RunWords", "1 expert layer in RAM")
        several = translate("RunWords", "{count} expert layers in RAM")
        parts.append(one if experts == 1 else several.format(count=experts))
    if cache := held["cache_type"]:
        parts.append(f"KV {cache}")
    if slots := settings.get("n_parallel"):
        one, several = translate("RunWords", "1 slot"), translate("RunWords", "{count} slots")
        parts.append(one if slots == 1 else several.format(count=slots))
    return " · ".join(parts)


def decode_words(run: RunRecord) -> str:
    """Measured speed; a dash before an answer."""
    rate = run.measured.decode_tps
    return NONE if rate is None else format_tokens_per_s(rate, language())


def prefill_words(run: RunRecord) -> str:
    """How fast the last long prompt was read."""
    rate = run.measured.prefill_tps
    return NONE if rate is None else format_tokens_per_s(rate, language())


def first_token_words(run: RunRecord) -> str:
    """How long the last answer's first token took."""
    took = run.measured.first_token_s
    return NONE if took is None else format_duration(took, language())


def load_words(run: RunRecord) -> str:
    """How long loading took."""
    took = run.measured.load_s
    return NONE if took is None else format_duration(took, language())


def forecast_words(run: RunRecord) -> str:
    """The band beside which the speed stands, and where it stands."""
    band = run.forecast.decode_tps
    if band is None:
        return ""
    low, high = f"{band.low:.1f}", f"{band.high:.1f}"
    text = QCoreApplication.translate("RunWords", "forecast {low} – {high}")
    return text.format(low=low, high=high)


def stands(value: float | None, band: Band | None) -> int:
    """-1 below the band, 0 inside (or nothing to compare), +1 above."""
    if value is None or band is None or math.isnan(value):
        return 0
    return (value > band.high) - (value < band.low)


def memory_words(run: RunRecord) -> str:
    """The most that the engine held, per device."""
    parts = []
    for device, size in sorted(run.measured.device_bytes.items()):
        kind, _, number = device.partition(":")
        ram = QCoreApplication.translate("RunWords", "RAM")
        parts.append(f"{f'GPU {number}' if kind == 'gpu' else ram} {format_gib(size)}")
    return ", ".join(parts) or NONE
