"""The verb ``plan`` for server engines: a folder or a repository in Hugging Face's layout.

No Qt, on the caller's thread. The model is read by its config and the headers of its parts, here or
on a hub; ``planner.vllm_report`` has the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TextIO

from kimi_desktop.backends.server_needs import asked_flags
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.downloads.remote_folder import read_remote_model
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue_types import Catalogue, CatalogueModel, Engine, Holds, Repo
from kimi_desktop.models.hf_folder import CONFIG, HfModel, read_folder
from kimi_desktop.models.library import existing_path
from kimi_desktop.models.references import RepoReference, parse_reference
from kimi_desktop.planner.vllm_report import server_lines, server_object
from kimi_desktop.planner.vllm_search import plan_server
from kimi_desktop.planner.vllm_types import ServerEngine, ServerPlan, ServerWishes
from kimi_desktop.planner.vllm_weights import VllmModel, weigh

CATALOGUE_ENGINES = {ServerEngine.VLLM: Engine.VLLM, ServerEngine.SGLANG: Engine.SGLANG}
VLLM_TOOLS = "--enable-auto-tool-choice"
"""The other engine calls tools without being told."""
_NATIVE = (Holds.NATIVE, Holds.FP8, Holds.NVFP4, Holds.MXFP4)


@dataclass(frozen=True, slots=True)
class ServedTarget:
    """The model that is meant."""

    model: VllmModel
    source: HfModel
    """The same as its files say it."""
    place: str
    """A folder, or "owner/name"."""
    entry: CatalogueModel | None
    """What the catalogue knows of it."""


def is_checkpoint_folder(text: str) -> bool:
    """A folder that server engines load: it has a config, and no GGUF file."""
    folder = Path(text).expanduser()
    try:
        return (folder / CONFIG).is_file() and not any(folder.glob("*.gguf"))
    except OSError:
        return False


def find_served(text: str, catalogue: Catalogue, remote: RemoteModels) -> ServedTarget:
    """The checkpoint that a text names: a folder, a repository, a name of the catalogue.

    Raises:
        ModelError: there is none, or a file of it is damaged.
        DownloadError: the hub does not have it, or cannot be asked.
    """
    folder = Path(text).expanduser()
    if existing_path(text) is not None:
        if not folder.is_dir() or (any(folder.glob("*.gguf")) and not is_checkpoint_folder(text)):
            raise ModelError(ErrorCode.MODEL_NEEDS_FOLDER, {"path": text})
        found = read_folder(folder)
        entry = catalogue.find(folder.resolve().name)
        name = entry.name if entry else folder.resolve().name
        return ServedTarget(weigh(found, name), found, text, entry)
    entry = catalogue.find(text)
    reference = parse_reference(text)
    repo = _native_repo(entry, text) if entry is not None else None
    if repo is not None:
        reference = RepoReference(repo.hub, repo.id)
    if reference is None:
        raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": text})
    listing = remote.listing(reference)
    name = entry.name if entry else PurePosixPath(listing.repo).name
    found = read_remote_model(listing)
    return ServedTarget(weigh(found, name), found, listing.repo, entry)


def write_server_plan(
    target: ServedTarget,
    machine: Machine,
    wishes: ServerWishes,
    language: Language,
    out: TextIO,
    *,
    json_output: bool,
) -> ServerPlan:
    """Plan the model and print it.

    Returns:
        The plan; whether it can be carried out is in it.

    Raises:
        PlanError: a wish that no engine can fulfil, or a model without tensors.
    """
    plan = plan_server(target.model, machine, wishes)
    extra = needed_by(target.entry, target.source, wishes.engine)
    if json_output:
        found = server_object(plan, target.model, machine, language, extra=extra)
        found["model"] = {
            "name": target.model.name,
            "size": target.model.file_bytes,
            "place": target.place,
        }
        out.write(json_text(found, indent=1) + "\n")
        return plan
    lines = server_lines(plan, target.model, machine, language, place=target.place, extra=extra)
    out.writelines(f"{printable(line)}\n" for line in lines)
    return plan


def needed_by(entry: CatalogueModel | None, model: HfModel, engine: ServerEngine) -> Sequence[str]:
    """The flags that a model needs by the catalogue, or else by its kind."""
    floor = entry.floor(CATALOGUE_ENGINES[engine]) if entry else None
    flags = asked_flags(floor, model)
    if floor is None and engine is ServerEngine.SGLANG:
        return tuple(flag for flag in flags if flag != VLLM_TOOLS)
    return flags


def _native_repo(entry: CatalogueModel, text: str) -> Repo | None:
    """The repository that was named when it is a checkpoint, else the maker's own."""
    repos = [repo for repo in entry.repos if repo.holds in _NATIVE]
    named = [repo for repo in repos if repo.id.casefold() == text.casefold()]
    plain = [repo for repo in repos if repo.holds is Holds.NATIVE and repo.variant is None]
    return next(iter(named or plain or repos), None)
