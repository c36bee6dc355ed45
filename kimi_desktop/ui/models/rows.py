"""The rows of the library as data: state words, companions and whose they are, the filter. Qt.

Pure but for the words, which follow the language of the window.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.messages import describe_error
from kimi_desktop.models.types import CompanionKind, LocalModel, ModelState
from kimi_desktop.ui.engine_words import ALIVE, USABLE
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.chip import Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a model, or a companion with the models that it belongs to."""

    model: LocalModel
    owners: tuple[LocalModel, ...] = ()
    """Of a companion."""
    companions: tuple[LocalModel, ...] = ()
    """Of a model."""

    @property
    def is_companion(self) -> bool:
        """Not a model of its own."""
        return self.model.state is ModelState.COMPANION


def rows_of(models: Sequence[LocalModel]) -> tuple[Row, ...]:
    """The library's models with their companions attached, the companions last."""
    whole = [model for model in models if model.state is not ModelState.COMPANION]
    companions = [model for model in models if model.state is ModelState.COMPANION]
    owners = {companion.id: _owners(companion, whole) for companion in companions}
    rows = [
        Row(model, companions=tuple(c for c in companions if model in owners[c.id]))
        for model in whole
    ]
    return (*rows, *(Row(companion, owners=owners[companion.id]) for companion in companions))


def _owners(companion: LocalModel, models: Sequence[LocalModel]) -> tuple[LocalModel, ...]:
    """The models beside it or in folders right below it, if they are one family or named alike."""
    folder = companion.path.parent
    near = [
        model
        for model in models
        if folder in (model.path.parent, model.path.parent.parent) and model.facts is not None
    ]
    if len({model.family for model in near}) > 1:
        name = _plain(companion.path.stem)
        near = [model for model in near if _plain(model.family) in name]
    return tuple(near)


def _plain(text: str) -> str:
    """Letters and digits alone, so that "Kimi K2.6" is found in "mmproj-kimi-k2_6"."""
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def matches(row: Row, query: str) -> bool:
    """Every word of the filter is in the row's name, quantization, architecture or path."""
    model = row.model
    facts = model.facts
    parts = [model.title, str(model.path)]
    if facts is not None:
        parts += [facts.quantization, facts.architecture, facts.name]
    haystack = " ".join(parts).casefold()
    return all(word in haystack for word in query.casefold().split())


def is_running(model: LocalModel, status: EngineStatus) -> bool:
    """The engine has this model or is about to."""
    return (
        status.settings is not None
        and status.settings.model_path == model.path
        and status.state in ALIVE
    )


def state_of(row: Row, status: EngineStatus) -> tuple[Verdict, str]:
    """The chip of a row."""
    translate = QCoreApplication.translate
    model = row.model
    if model.companion is not None and row.is_companion:
        return Verdict.PLAIN, companion_word(model.companion)
    if is_running(model, status):
        if status.state in USABLE:
            return Verdict.OK, translate("ModelRow", "Running")
        return Verdict.WORKING, translate("ModelRow", "Loading")
    return {
        ModelState.READY: (Verdict.OK, translate("ModelRow", "Ready")),
        ModelState.PARTIAL: (Verdict.WARN, translate("ModelRow", "Incomplete")),
        ModelState.BROKEN: (Verdict.BAD, translate("ModelRow", "Damaged")),
        ModelState.COMPANION: (Verdict.PLAIN, translate("ModelRow", "Companion")),
    }[model.state]


def companion_word(kind: CompanionKind) -> str:
    """What a companion is, in a word or two."""
    translate = QCoreApplication.translate
    return {
        CompanionKind.PROJECTOR: translate("ModelRow", "Projector"),
        CompanionKind.ADAPTER: translate("ModelRow", "Adapter"),
        CompanionKind.IMPORTANCE_MATRIX: translate("ModelRow", "imatrix"),
        CompanionKind.VOCABULARY: translate("ModelRow", "Vocabulary"),
    }[kind]


def companion_sentence(kind: CompanionKind) -> str:
    """What a companion is for."""
    translate = QCoreApplication.translate
    return {
        CompanionKind.PROJECTOR: translate(
            "ModelRow", "The part of a model that sees images or hears sound."
        ),
        CompanionKind.ADAPTER: translate(
            "ModelRow", "Changes how a model answers; no model of its own."
        ),
        CompanionKind.IMPORTANCE_MATRIX: translate(
            "ModelRow", "Needed to make quantizations, not to run a model."
        ),
        CompanionKind.VOCABULARY: translate("ModelRow", "A tokenizer without weights."),
    }[kind]


def note_of(row: Row) -> str:
    """A muted word after the name: the demo, or whose companion it is."""
    translate = QCoreApplication.translate
    if row.model.is_starter:
        return translate("ModelRow", "demo")
    if row.owners:
        names = ", ".join(dict.fromkeys(owner.title for owner in row.owners))
        return translate("ModelRow", "for {name}").format(name=names)
    return ""


def problem_of(model: LocalModel) -> tuple[str, str]:
    """What is wrong and what to do; empty when nothing is."""
    if model.problem is None:
        return "", ""
    return describe_error(model.problem, language())


def short_problem(model: LocalModel) -> str:
    """What is wrong, with the file's name instead of its whole path, for one line."""
    text, _ = problem_of(model)
    for path in (str(model.path), str(model.path.parent)):
        text = text.replace(path, model.path.name)
    return text
