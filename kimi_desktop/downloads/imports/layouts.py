"""Whose folder it is that a person names, and which models are in it. Blocking (pool)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.imports.folders import (
    folder_models,
    looks_like_lm_studio,
    set_of_file,
)
from kimi_desktop.downloads.imports.hub_caches import (
    huggingface_models,
    is_huggingface_repo,
    is_modelscope_repo,
    modelscope_models,
)
from kimi_desktop.downloads.imports.ollama import is_called, is_ollama_store, ollama_models
from kimi_desktop.downloads.imports.places import Place
from kimi_desktop.downloads.imports.types import FoundModel, Origin
from kimi_desktop.downloads.imports.walking import folders_of

_READERS: Mapping[Origin, Callable[[Path], Iterator[FoundModel]]] = {
    Origin.HUGGINGFACE: huggingface_models,
    Origin.MODELSCOPE: modelscope_models,
    Origin.OLLAMA: ollama_models,
    Origin.LM_STUDIO: lambda folder: folder_models(folder, Origin.LM_STUDIO),
    Origin.JAN: lambda folder: folder_models(folder, Origin.JAN),
    Origin.FOLDER: folder_models,
}


def find_models(path: Path) -> tuple[FoundModel, ...]:
    """The models behind a path: a file, a model's folder, or a whole store of another program.

    Raises:
        DownloadError: IMPORT_NOT_THERE or IMPORT_NOTHING.
    """
    path = path.expanduser().absolute()
    if path.is_file():
        found = set_of_file(path)
        if found is None:
            raise DownloadError(ErrorCode.IMPORT_NOTHING, {"path": str(path)})
        return (found,)
    if not path.is_dir():
        raise DownloadError(ErrorCode.IMPORT_NOT_THERE, {"path": str(path)})
    inner, origin = _recognise(path)
    models = tuple(_told_apart(_READERS[origin](inner)))
    if not models:
        raise DownloadError(ErrorCode.IMPORT_NOTHING, {"path": str(path)})
    return models


def find_in_places(places: Iterable[Place]) -> tuple[FoundModel, ...]:
    """The models of every usual place that exists. Never fails."""
    found: dict[tuple[Origin, str], FoundModel] = {}
    seen: set[Path] = set()
    for place in places:
        path = place.path.expanduser()
        if not path.is_dir() or path.resolve() in seen:
            continue
        seen.add(path.resolve())
        for model in _READERS[place.origin](path):
            found.setdefault((model.origin, model.name), model)
    return tuple(found.values())


def find_of_ollama(name: str, places: Iterable[Place]) -> FoundModel:
    """The files behind a model of Ollama's list.

    Raises:
        DownloadError: SERVER_NOT_IN_STORE.
    """
    stores = [place for place in places if place.origin is Origin.OLLAMA]
    for model in find_in_places(stores):
        if is_called(model, name):
            return model
    raise DownloadError(ErrorCode.SERVER_NOT_IN_STORE, {"model": name})


def _recognise(path: Path) -> tuple[Path, Origin]:
    """The folder to read and how; any folder with model files when it is nobody's store."""
    # Inside a repository of a cache: its links lead out of the folder that was named.
    inside = (path, *path.parents[:3])
    stores = (path, path / "hub", path / "models")
    tests: tuple[tuple[tuple[Path, ...], Callable[[Path], bool], Origin], ...] = (
        (inside, is_huggingface_repo, Origin.HUGGINGFACE),
        (inside, is_modelscope_repo, Origin.MODELSCOPE),
        (stores, is_ollama_store, Origin.OLLAMA),
        (stores, lambda f: any(map(is_huggingface_repo, folders_of(f))), Origin.HUGGINGFACE),
        (stores, lambda f: any(map(is_modelscope_repo, folders_of(f))), Origin.MODELSCOPE),
        (stores, looks_like_lm_studio, Origin.LM_STUDIO),
    )
    for folders, is_it, origin in tests:
        for folder in folders:
            if is_it(folder):
                return folder, origin
    return path, Origin.FOLDER


def _told_apart(models: Iterable[FoundModel]) -> Iterator[FoundModel]:
    """No two models of one import share a folder."""
    seen: dict[str, int] = {}
    for model in models:
        key = model.name.casefold()
        seen[key] = seen.get(key, 0) + 1
        again = seen[key] > 1
        yield dataclasses.replace(model, name=f"{model.name}-{seen[key]}") if again else model
