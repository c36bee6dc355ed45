"""The rows of the library as data: state words, companions and whose they are, the filter. Qt.

Pure but for the words, which follow the language of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.downloads.newer_types import NewerVersion
from kimi_desktop.models.companions import is_companion, owners_of
from kimi_desktop.models.hash_record import Change
from kimi_desktop.models.types import CompanionKind, LocalModel, ModelFormat, ModelState
from kimi_desktop.ui.engine_words import ALIVE, USABLE
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets.chip import Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a model with its companions, or a companion that belongs to none of them."""

    model: LocalModel
    companions: tuple[LocalModel, ...] = ()
    """Of a model."""
    newer: NewerVersion | None = None
    """A hub has another version of it."""

    @property
    def is_companion(self) -> bool:
        """Not a model of its own."""
        return is_companion(self.model)

    def stands_for(self, model_id: str) -> bool:
        """It shows this model, alone or with its owner."""
        return self.model.id == model_id or any(c.id == model_id for c in self.companions)


def rows_of(models: Sequence[LocalModel], newer: Sequence[NewerVersion] = ()) -> tuple[Row, ...]:
    """The library's models with their companions attached.

    A companion that belongs to a model here has no row of its own; the others come last.
    """
    whole = [model for model in models if not is_companion(model)]
    companions = [model for model in models if is_companion(model)]
    owners = {companion.id: owners_of(companion, whole) for companion in companions}
    versions = {one.model_id: one for one in newer}
    rows = [
        Row(
            model,
            companions=tuple(c for c in companions if model in owners[c.id]),
            newer=versions.get(model.id),
        )
        for model in whole
    ]
    alone = [companion for companion in companions if not owners[companion.id]]
    return (*rows, *map(Row, alone))


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
    if model.state is ModelState.MISSING:
        return Verdict.UNKNOWN, translate("ModelRow", "Missing")
    if model.companion is not None and row.is_companion:
        return Verdict.PLAIN, companion_word(model.companion)
    if is_running(model, status):
        if status.state in USABLE:
            return Verdict.OK, translate("ModelRow", "Running")
        return Verdict.WORKING, translate("ModelRow", "Loading")
    if model.state is ModelState.READY and model.change is not None:
        altered = Verdict.BAD, translate("ModelRow", "Altered")
        touched = Verdict.WARN, translate("ModelRow", "Changed")
        return altered if model.change is Change.ALTERED else touched
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
    """A muted word after the name: a newer version, the demo, what runs it, what comes with it."""
    translate = QCoreApplication.translate
    if row.newer is not None:
        return translate("ModelRow", "newer version")
    if row.model.is_starter:
        return translate("ModelRow", "demo")
    if row.model.format is ModelFormat.SAFETENSORS:
        return translate("ModelRow", "for vLLM, SGLang")
    if any(one.companion is CompanionKind.PROJECTOR for one in row.companions):
        return translate("ModelRow", "with projector")
    return ""


def total_bytes(row: Row) -> int:
    """Of the model and what comes with it."""
    return row.model.size_bytes + sum(one.size_bytes for one in row.companions)


def has_remark(model: LocalModel) -> bool:
    """Something about it wants to be read."""
    return model.problem is not None or model.change is not None


def is_bad(model: LocalModel) -> bool:
    """Its bytes are known to be wrong."""
    return model.state is ModelState.BROKEN or model.change is Change.ALTERED


def problem_of(model: LocalModel) -> tuple[str, str]:
    """What is wrong and what to do; empty when nothing is."""
    if model.problem is None and model.change is not None:
        return message(f"models.{model.change.value}", language()), ""
    if model.problem is None:
        return "", ""
    return describe_error(model.problem, language())


def short_problem(model: LocalModel) -> str:
    """What is wrong, with the file's name instead of its whole path, for one line."""
    text, _ = problem_of(model)
    for path in (str(model.path), str(model.path.parent)):
        text = text.replace(path, model.path.name)
    return text
