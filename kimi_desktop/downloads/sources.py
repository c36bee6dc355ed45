"""Which hubs there are, and where the small first chat model is: read from ``hubs.json``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from kimi_desktop.base.assets import asset
from kimi_desktop.downloads.types import HubKind, Job, Source

ENDPOINT_VARIABLE = "HF_ENDPOINT"
"""The variable by which people name their Hugging Face mirror; it is asked first."""


def first_chat_job(folder: Path, data_file: Path | None = None) -> Job:
    """The small instruct model that is offered when there is no other.

    Args:
        folder: the models folder.
        data_file: instead of the one that ships.
    """
    data = json.loads((data_file or asset("hubs.json")).read_text(encoding="utf-8"))
    model = data["first_chat"]
    sources: list[Source] = []
    for hub in data["hubs"]:
        place = model["repos"].get(hub["id"])
        if place:
            kind = HubKind(hub["kind"])
            sources.append(
                Source(kind, hub["endpoint"], place["repo"], place["revision"], model["file"])
            )
    mirror = os.environ.get(ENDPOINT_VARIABLE, "").rstrip("/")
    if mirror and mirror not in (source.endpoint for source in sources):
        first = next(source for source in sources if source.kind is HubKind.HUGGINGFACE)
        sources.insert(0, Source(first.kind, mirror, first.repo, first.revision, first.path))
    return Job(str(folder), f"{model['folder']}/{model['file']}", tuple(sources))
