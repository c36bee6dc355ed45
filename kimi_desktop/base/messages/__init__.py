"""All text for people that does not belong to a widget: window, terminal and diagnosis share it.

One module per topic holds ``TEXTS``: key -> Text(en, zh). A key starts with its topic's name. The
window's own labels go through Qt's ``tr`` instead (``assets/translations``).
"""

from __future__ import annotations

import locale
import logging
import os
from collections.abc import Mapping
from enum import StrEnum

from kimi_desktop.base.errors import KimiError, Param
from kimi_desktop.base.messages import (
    attached,
    builds,
    causes,
    chat,
    cli,
    diagnosis,
    downloads,
    engine,
    forecast,
    hubs,
    imports,
    installs,
    loads,
    machine,
    models,
    nodes,
    plan,
    preflight,
    serve,
    settings,
    verify,
    vllm,
    workers,
)
from kimi_desktop.base.messages.text import Text
from kimi_desktop.base.terminal import printable

log = logging.getLogger(__name__)


class Language(StrEnum):
    """The languages the product speaks."""

    EN = "en"
    ZH_CN = "zh_CN"


TOPICS: Mapping[str, Mapping[str, Text]] = {
    "attached": attached.TEXTS,
    "builds": builds.TEXTS,
    "cause": causes.TEXTS,
    "chat": chat.TEXTS,
    "cli": cli.TEXTS,
    "diagnosis": diagnosis.TEXTS,
    "downloads": downloads.TEXTS,
    "engine": engine.TEXTS,
    "forecast": forecast.TEXTS,
    "hubs": hubs.TEXTS,
    "imports": imports.TEXTS,
    "installs": installs.TEXTS,
    "loads": loads.TEXTS,
    "machine": machine.TEXTS,
    "models": models.TEXTS,
    "nodes": nodes.TEXTS,
    "plan": plan.TEXTS,
    "preflight": preflight.TEXTS,
    "serve": serve.TEXTS,
    "settings": settings.TEXTS,
    "verify": verify.TEXTS,
    "vllm": vllm.TEXTS,
    "workers": workers.TEXTS,
}


def message(key: str, language: Language, **params: Param) -> str:
    """The text for ``key``, its fields filled; words of others lose their control characters.

    Raises:
        KeyError: no such key, or a field has no value (both are caught by tests).
    """
    text = TOPICS[key.partition(".")[0]][key]
    if "wait_s" in params:  # a time, in the words of the language
        params["wait"] = _duration(params["wait_s"], language)
    filled = {
        name: printable(value) if isinstance(value, str) else value
        for name, value in params.items()
    }
    english = text.one if text.one and params.get("count") in {1, "1"} else text.en
    return (text.zh if language is Language.ZH_CN else english).format_map(filled)


def _duration(seconds: Param, language: Language) -> str:
    from kimi_desktop.base.units import format_duration  # noqa: PLC0415 - it knows the languages

    return format_duration(float(str(seconds)), language)


def describe_error(error: BaseException, language: Language) -> tuple[str, str]:
    """What happened and what to do, one sentence each, for any exception. Never raises."""
    if isinstance(error, KimiError):
        key = error.code.value
        try:
            return (
                message(key, language, **error.params),
                message(f"{key}.next", language, **error.params),
            )
        except (KeyError, ValueError):  # a slip of ours must not hide the failure
            log.exception("no text for %s", error)
    kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        message("settings.unexpected", language, detail=kind),
        message("settings.unexpected.next", language),
    )


def cause_sentences(cause: str, language: Language) -> tuple[str, str, str]:
    """What happened, why, and what to do."""
    what, why, do = (message(f"cause.{cause}.{part}", language) for part in ("what", "why", "do"))
    return what, why, do


def system_language() -> Language:
    """Chinese if the environment or the system says so, else English."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return Language.ZH_CN if value.lower().startswith("zh") else Language.EN
    name = locale.getlocale()[0] or ""
    chinese = name.lower().startswith(("zh", "chinese"))
    return Language.ZH_CN if chinese else Language.EN
