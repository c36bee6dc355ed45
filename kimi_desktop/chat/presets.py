"""How answers are drawn: the presets that the window offers, and what the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from kimi_desktop.backends.types import LoadSettings, Sampling
from kimi_desktop.base.settings import ChatSettings

MAX_TOKENS = 4096
"""A thinking model with a budget of some hundred tokens answers nothing."""


class Preset(StrEnum):
    """A name for a set of sampling values."""

    THINKING = "thinking"
    INSTANT = "instant"
    BASE_DEMO = "base_demo"


SAMPLING: Mapping[Preset, Sampling] = {
    # What the maker of Kimi K2.x recommends for its two modes.
    Preset.THINKING: Sampling(temperature=1.0, top_p=0.95, max_tokens=MAX_TOKENS),
    Preset.INSTANT: Sampling(temperature=0.6, top_p=0.95, max_tokens=MAX_TOKENS),
    # A base model continues text: cooler, and short. What ends an answer comes with its template.
    Preset.BASE_DEMO: Sampling(temperature=0.4, top_p=0.9, max_tokens=256),
}


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """What holds for the next answer."""

    sampling: Sampling
    system_prompt: str = ""
    thinking: bool | None = None
    """None: the model has no such switch."""


def answer_settings(chat: ChatSettings, load: LoadSettings | None) -> AnswerSettings:
    """The user's settings; for a base model (one that was given a template) the demo's."""
    if load is not None and load.chat_template is not None:
        return AnswerSettings(replace(SAMPLING[Preset.BASE_DEMO], stop=load.stop))
    sampling = Sampling(chat.temperature, chat.top_p, chat.max_tokens)
    return AnswerSettings(sampling, chat.system_prompt, chat.thinking)
