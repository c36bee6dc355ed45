"""The library as a table for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.terminal import COLUMN_GAP, table_lines
from kimi_desktop.base.units import format_file_size
from kimi_desktop.models.types import LocalModel, ModelState


def describe(models: Sequence[LocalModel]) -> list[dict[str, Any]]:
    """One object a model; sizes in bytes, problems in English with their code."""
    return [
        {
            "id": model.id,
            "title": model.title,
            "state": model.state.value,
            "format": model.format.value,
            "size_bytes": model.size_bytes,
            "parts_present": model.parts_present,
            "parts_total": model.parts_total,
            "architecture": model.facts.architecture if model.facts else None,
            "quantization": model.facts.quantization if model.facts else None,
            "parameters": model.facts.parameter_count if model.facts else None,
            "context_train": model.facts.context_train if model.facts else None,
            "verified_at": model.verified.at if model.verified else None,
            "change": model.change.value if model.change else None,
            "problem": None
            if model.problem is None
            else {
                "code": model.problem.code.value,
                "sentence": describe_error(model.problem, Language.EN)[0],
            },
        }
        for model in models
    ]


def table(models: Sequence[LocalModel], language: Language) -> list[str]:
    """Lines of a table; a broken or partial model's problem stands below its row."""
    if not models:
        return [message("models.none", language), message("models.none.next", language)]
    rows = [message("cli.models.columns", language).split("|")]
    rows += [
        [
            model.title,
            model.facts.quantization if model.facts else "–",
            f"{model.parts_present}/{model.parts_total}",
            format_file_size(model.size_bytes),
            message(f"cli.state.{_state(model)}", language),
        ]
        for model in models
    ]
    lines = table_lines(rows)
    for number in range(len(models), 0, -1):
        model = models[number - 1]
        if model.problem is not None:
            lines.insert(number + 1, COLUMN_GAP + describe_error(model.problem, language)[0])
        elif model.change is not None:
            lines.insert(number + 1, COLUMN_GAP + message(f"models.{model.change.value}", language))
    return lines


def _state(model: LocalModel) -> str:
    """A whole model of which a file changed is no longer simply ready."""
    is_whole = model.state is ModelState.READY
    return model.change.value if is_whole and model.change else model.state.value
