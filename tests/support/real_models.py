"""Library rows with the facts of real headers, so that the planner itself can price them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kimi_desktop.models.types import LocalModel
from tests.support import scripted_data
from tests.support.measured import model_facts


def real_model(
    folder: Path, name: str, title: str = "Kimi K2.6", *, quantization: str = ""
) -> LocalModel:
    """A model of ``tests/data/model_headers.json`` as if its 14 files lay in ``folder``.

    ``quantization`` is the publisher's label where it differs from the header's file type.
    """
    facts = model_facts(name)
    facts = dataclasses.replace(
        facts,
        name=title,
        quantization=quantization or facts.quantization,
        chat_template="{{ messages }}<think>",
        has_thinking=True,
    )
    model = scripted_data.kimi_model(folder, facts.quantization, facts.weights_bytes / 1e9)
    path = model.path.with_name(model.path.name.replace("Kimi-K2.6", title.replace(" ", "-")))
    return dataclasses.replace(model, id=str(path), path=path, title=title, facts=facts)
