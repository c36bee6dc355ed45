"""Which model a projector or another companion file belongs to. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kimi_desktop.models.types import LocalModel, ModelState


def is_companion(model: LocalModel) -> bool:
    """Whole, and not a model of its own."""
    kept = (ModelState.COMPANION, ModelState.MISSING)
    return model.companion is not None and model.state in kept


def owners_of(companion: LocalModel, models: Sequence[LocalModel]) -> tuple[LocalModel, ...]:
    """The models beside it or in folders right below it, if they are one family or named alike."""
    folder = companion.path.parent
    near = [
        model
        for model in models
        if not is_companion(model)
        and folder in (model.path.parent, model.path.parent.parent)
        and model.facts is not None
    ]
    if len({model.family for model in near}) > 1:
        name = _plain(companion.path.stem)
        near = [model for model in near if _plain(model.family) in name]
    return tuple(near)


def companions_of(model: LocalModel, models: Sequence[LocalModel]) -> tuple[LocalModel, ...]:
    """What comes with a model, also what it shares with others."""
    return tuple(
        one
        for one in models
        if is_companion(one) and any(owner.id == model.id for owner in owners_of(one, models))
    )


def own_companions(model: LocalModel, models: Sequence[LocalModel]) -> tuple[LocalModel, ...]:
    """What belongs to this model alone, and goes where it goes."""
    return tuple(one for one in companions_of(model, models) if len(owners_of(one, models)) == 1)


def _plain(text: str) -> str:
    """Letters and digits alone, so that "Kimi K2.6" is found in "mmproj-kimi-k2_6"."""
    return re.sub(r"[^a-z0-9]", "", text.casefold())
