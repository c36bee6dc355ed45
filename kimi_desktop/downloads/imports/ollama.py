"""Ollama's store: manifests that name blobs; the model's blob is a plain GGUF. Blocking (pool)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kimi_desktop.downloads.imports.types import FoundFile, FoundModel, Origin, Witness
from kimi_desktop.downloads.imports.walking import files_below, read_json, safe_name, size_of

MAX_LAYERS = 256

_DEFAULTS = ("registry.ollama.ai", "library")
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_MODEL = "application/vnd.ollama.image.model"
_PROJECTOR = "application/vnd.ollama.image.projector"


def is_ollama_store(folder: Path) -> bool:
    """A folder with ``blobs`` and ``manifests``."""
    return (folder / "blobs").is_dir() and (folder / "manifests").is_dir()


def ollama_models(folder: Path) -> Iterator[FoundModel]:
    """Every model whose weights are a GGUF; hosted ones and other formats have none."""
    manifests = folder / "manifests"
    for path in sorted(files_below(manifests)):
        steps = path.relative_to(manifests).parts
        if len(steps) < 3:
            continue
        # registry / namespace / model / tag; the default namespace is not shown anywhere.
        *_, owner, model, tag = ("", *steps)
        owner = "ollama" if owner in ("library", "") or len(steps) == 3 else safe_name(owner)
        name = f"{owner}/{safe_name(model)}-{safe_name(tag)}"
        found = _model(folder / "blobs", path, name)
        if found is not None:
            yield found


def is_called(model: FoundModel, name: str) -> bool:
    """Whether Ollama's own list calls a model of its store so.

    Args:
        model: found in a store; its place is the manifest.
        name: "gemma3:270m", "hf.co/owner/name:TAG"; registry, namespace and tag have defaults.
    """
    path, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "latest")
    steps = path.split("/")
    whole = (*_DEFAULTS[: max(0, 3 - len(steps))], *steps, tag)
    there = model.place.parts[-len(whole) :]
    # Manifests keep the letters of the first pull; Ollama asks for them in any.
    return [step.casefold() for step in there] == [step.casefold() for step in whole]


def _model(blobs: Path, manifest: Path, name: str) -> FoundModel | None:
    data = read_json(manifest)
    layers = data.get("layers") if isinstance(data, dict) else None
    if not isinstance(layers, list):
        return None
    title = name.partition("/")[2]
    files: list[FoundFile] = []
    missing: list[str] = []
    weights = _digests(layers, _MODEL)
    wanted = [(digest, _part_name(title, n, len(weights))) for n, digest in enumerate(weights, 1)]
    wanted += [(digest, f"mmproj-{title}.gguf") for digest in _digests(layers, _PROJECTOR)[:1]]
    for digest, target in wanted:
        blob = blobs / f"sha256-{digest}"
        size = size_of(blob)
        if size is None:
            missing.append(target)
        elif not _is_gguf(blob):
            return None
        else:
            files.append(FoundFile(blob, target, size, digest, None, Witness.STORE))
    if not files:
        return None
    return FoundModel(Origin.OLLAMA, name, manifest, tuple(files), tuple(missing))


def _part_name(title: str, number: int, count: int) -> str:
    return f"{title}.gguf" if count == 1 else f"{title}-{number:05}-of-{count:05}.gguf"


def _digests(layers: list[object], media_type: str) -> list[str]:
    found = []
    for layer in layers[:MAX_LAYERS]:
        if not isinstance(layer, dict) or layer.get("mediaType") != media_type:
            continue
        digest = layer.get("digest")
        match = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
        if match:
            found.append(match[1])
    return found


def _is_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:  # told as unreadable when it is hashed
        return True
