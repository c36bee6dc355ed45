"""Other quantizations of a local model: those that are here, and those that the catalogue knows.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.backends.defaults import is_plannable
from kimi_desktop.backends.plan_words import OFFER
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.catalogue_types import CatalogueModel, Engine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.plan_types import Sibling


def catalogued(model: LocalModel) -> CatalogueModel | None:
    """What the catalogue has of a local model, found by its name."""
    return shipped_catalogue().find(model.family)


def quality_of(model: LocalModel) -> str:
    """What the catalogue says that its quantization does to the answers, "" when nothing."""
    entry = catalogued(model)
    if entry is None or model.facts is None:
        return ""
    item = entry.quantization(model.facts.quantization)
    return item.quality.value if item is not None and item.quality is not None else ""


def siblings_of(model: LocalModel, others: Sequence[LocalModel]) -> list[Sibling]:
    """The other quantizations that are here, and those that the catalogue knows of."""
    found = [
        Sibling(other.facts.quantization, other.size_bytes, shape_of(other.facts), other.id)
        for other in others
        if other.id != model.id and other.facts is not None and is_plannable(other)
    ]
    here = {each.facts.quantization.casefold() for each in others if each.facts is not None}
    entry = catalogued(model)
    for item in entry.quantizations if entry is not None else ():
        readable = item.size_bytes and Engine.LLAMA_CPP in item.engines
        if item.size_bytes and readable and item.name.casefold() not in here:
            key = f"{OFFER}{item.repo}:{item.name}"
            found.append(Sibling(item.name, item.size_bytes, None, key))
    return found
