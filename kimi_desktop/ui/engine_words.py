"""The engine's state in the window's words and shapes. Qt thread."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.backends.types import Attachment, EngineState, EngineStatus
from kimi_desktop.base.messages import message
from kimi_desktop.base.settings import Settings
from kimi_desktop.models.types import LocalModel, default_model
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.chip import Dot

DOTS = {
    EngineState.STOPPED: Dot.OFF,
    EngineState.STARTING: Dot.BUSY,
    EngineState.LOADING: Dot.BUSY,
    EngineState.READY: Dot.OK,
    EngineState.GENERATING: Dot.OK,
    EngineState.STOPPING: Dot.BUSY,
    EngineState.FAILED: Dot.BAD,
}
ALIVE = frozenset(
    {EngineState.STARTING, EngineState.LOADING, EngineState.READY, EngineState.GENERATING}
)
"""Something runs that Stop can end."""
USABLE = frozenset({EngineState.READY, EngineState.GENERATING})


def state_word(status: EngineStatus) -> str:
    """One word for the state; loading says how far, and what comes after the last byte."""
    translate = QCoreApplication.translate
    if status.attached is not None:
        return _attached_word(status.state)
    if status.state is EngineState.LOADING and status.load_fraction is not None:
        if status.load_fraction >= 1:
            return translate("EngineState", "Warming up")
        word = translate("EngineState", "Loading {percent}%")
        return word.format(percent=round(status.load_fraction * 100))
    return {
        EngineState.STOPPED: translate("EngineState", "Stopped"),
        EngineState.STARTING: translate("EngineState", "Starting"),
        EngineState.LOADING: translate("EngineState", "Loading"),
        EngineState.READY: translate("EngineState", "Running"),
        EngineState.GENERATING: translate("EngineState", "Running"),
        EngineState.STOPPING: translate("EngineState", "Stopping"),
        EngineState.FAILED: translate("EngineState", "Failed"),
    }[status.state]


def _attached_word(state: EngineState) -> str:
    """A server of somebody else is neither started nor stopped."""
    translate = QCoreApplication.translate
    if state in (EngineState.STARTING, EngineState.LOADING):
        return translate("EngineState", "Attaching")
    if state in USABLE:
        return translate("EngineState", "Attached")
    if state is EngineState.FAILED:
        return translate("EngineState", "Failed")
    return translate("EngineState", "Detached")


def step_words(status: EngineStatus) -> str:
    """What a loading engine does, where it tells: "Loading weights, part 3 of 64"."""
    step = status.load_step
    if status.state is not EngineState.LOADING or step is None:
        return ""
    key = f"engine.phase.{step.phase.value}"
    if step.total:
        done, total = step.done or 0, step.total
        return message(f"{key}.count", language(), done=done, total=total)
    return message(key, language())


def loaded_model(
    status: EngineStatus, models: tuple[LocalModel, ...], selected: str
) -> LocalModel | None:
    """The library's model that the engine has (or tried), else what Start would start.

    None while a model of another server is used.
    """
    if status.attached is not None:
        return None
    if status.settings is not None and status.state is not EngineState.STOPPED:
        for model in models:
            if model.path == status.settings.model_path:
                return model
    return default_model(models, selected)


@dataclass(frozen=True, slots=True)
class Meant:
    """What is used (or was tried), else what Start or Attach would bring: one of them, or none."""

    model: LocalModel | None = None
    remote: Attachment | None = None


def meant(status: EngineStatus, models: tuple[LocalModel, ...], settings: Settings) -> Meant:
    """A model of the library, or one of another server."""
    if status.attached is not None:
        return Meant(remote=status.attached)
    chosen = settings.other_servers
    if status.state is EngineState.STOPPED and chosen.chosen:
        url = chosen.addresses.get(chosen.chosen, "")
        return Meant(remote=Attachment(chosen.chosen, url, chosen.model))
    return Meant(loaded_model(status, models, settings.models.selected))


def remote_title(remote: Attachment) -> str:
    """What a model of another server is called: its own name, before one is chosen the server's."""
    return remote.model or remote.server


def context_of(status: EngineStatus) -> int:
    """Tokens that prompt and answers share; 0 where it is not known."""
    if status.attached is not None:
        return status.attached.context or 0
    return status.settings.context if status.settings is not None else 0
