"""Folders with model files: LM Studio's, Jan's, and any other. Blocking (pool), read-only.

A model is a folder that holds GGUF files, or a checkpoint: ``config.json`` beside safetensors. A
folder that is named like a quantization belongs to the one above it, as on the hubs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from kimi_desktop.downloads.imports.checksums import checksums_in
from kimi_desktop.downloads.imports.types import FoundFile, FoundModel, Origin, Witness
from kimi_desktop.downloads.imports.walking import (
    files_below,
    is_used,
    is_weights,
    read_json,
    relative,
    safe_name,
    safe_targets,
    size_of,
)
from kimi_desktop.models.facts import quantization_label

MAX_YAML_BYTES = 256 * 1024
JAN_FILE = "model.yml"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_YAML_LINE = re.compile(r"([A-Za-z0-9_]+):\s*['\"]?([^'\"#]*)['\"]?\s*")
_METADATA = Path(".cache") / "huggingface"


def folder_models(folder: Path, origin: Origin = Origin.FOLDER) -> Iterator[FoundModel]:
    """The models below a folder.

    Args:
        folder: where to look.
        origin: whose it is: LM Studio's and Jan's folders carry the names of their models.
    """
    roots: dict[Path, list[Path]] = {}
    for path in files_below(folder):
        if is_weights(path.name):
            roots.setdefault(_root_of(path, folder), []).append(path)
    for root in sorted(roots):
        found = _model(root, roots[root], folder, origin)
        if found is not None:
            yield found


def set_of_file(path: Path) -> FoundModel | None:
    """The model that a single file belongs to: its set, or its checkpoint; None when it is none."""
    if not is_weights(path.name):
        return None
    weights = [path]
    if path.suffix.lower() == ".gguf":
        weights = [p for p in files_below(path.parent, depth=0) if _stem(p) == _stem(path)]
    return _model(path.parent, weights, path.parent, Origin.FOLDER)


def _stem(path: Path) -> str:
    return re.sub(r"-\d{5}-of-\d{5}$", "", path.stem)


def _root_of(path: Path, top: Path) -> Path:
    """The folder that is the model's: not one that is named like a quantization."""
    folder = path.parent
    label = quantization_label(folder.name)
    if folder != top and label and label.casefold() == folder.name.casefold():
        return folder.parent
    return folder


def _model(root: Path, weights: list[Path], top: Path, origin: Origin) -> FoundModel | None:
    jan = _jan(root) if origin is not Origin.LM_STUDIO else {}
    ggufs = [path for path in weights if path.suffix.lower() == ".gguf"]
    paths = ggufs
    if not ggufs:
        if not (root / "config.json").is_file():
            return None
        paths = [path for path in files_below(root) if is_used(relative(path, root))]
    name = _name(root, top, is_jan=bool(jan))
    proofs = _proofs(root, paths)
    renamed = _jan_names(paths, name) if jan else {}
    files = [
        _file(path, renamed.get(path, relative(path, root)), size, proofs.get(path), jan)
        for path in sorted(paths)
        if (size := size_of(path)) is not None
    ]
    safe = set(safe_targets(file.target for file in files))
    kept = tuple(file for file in files if file.target in safe)
    return FoundModel(Origin.JAN if jan else origin, name, root, kept) if kept else None


def _file(
    path: Path,
    target: str,
    size: int,
    proof: tuple[str | None, str | None, Witness] | None,
    jan: Mapping[str, str],
) -> FoundFile:
    if proof is not None:
        return FoundFile(path, target, size, *proof)
    key = "mmproj_sha256" if "mmproj" in path.name.lower() else "sha256"
    told = jan.get(key) or jan.get(f"model_{key}", "")
    if _SHA256.fullmatch(told):
        return FoundFile(path, target, size, told, None, Witness.LISTING)
    return FoundFile(path, target, size)


def _name(root: Path, top: Path, *, is_jan: bool) -> str:
    """``owner/name`` where the folders say it."""
    steps = root.relative_to(top).parts if root != top else ()
    if is_jan and len(steps) == 1:
        return f"jan/{safe_name(steps[0])}"
    if len(steps) >= 2:
        return f"{safe_name(steps[-2])}/{safe_name(steps[-1])}"
    return f"imported/{safe_name(root.name)}"


def _jan(root: Path) -> Mapping[str, str]:
    """The lines of Jan's ``model.yml``; empty when it is not one of Jan's folders."""
    path = root / JAN_FILE
    with suppress(OSError, UnicodeDecodeError):
        if path.stat().st_size <= MAX_YAML_BYTES:
            lines = path.read_text(encoding="utf-8").splitlines()
            pairs = (match.groups() for line in lines if (match := _YAML_LINE.fullmatch(line)))
            return {key: value.strip() for key, value in pairs}
    return {}


def _jan_names(paths: list[Path], name: str) -> dict[Path, str]:
    """Jan calls every model ``model.gguf``: here it gets the model's name."""
    title = name.partition("/")[2]
    return {path: f"{title}.gguf" for path in paths if path.name == "model.gguf"} | {
        path: f"mmproj-{title}.gguf" for path in paths if path.name == "mmproj.gguf"
    }


def _proofs(root: Path, paths: list[Path]) -> dict[Path, tuple[str | None, str | None, Witness]]:
    """What the files should be: checksum files first, then what ``hf download`` left."""
    found: dict[Path, tuple[str | None, str | None, Witness]] = {}
    for path in paths:
        metadata = root / _METADATA / "download" / f"{relative(path, root)}.metadata"
        with suppress(OSError, UnicodeDecodeError, IndexError):
            etag = metadata.read_text(encoding="utf-8").splitlines()[1].strip()
            if _SHA256.fullmatch(etag):
                found[path] = (etag, None, Witness.LISTING)
            elif len(etag) == 40:
                found[path] = (None, etag, Witness.LISTING)
    sums: dict[Path, str] = {}
    for folder in dict.fromkeys((root, *(path.parent for path in paths))):
        sums |= checksums_in(folder)
    for path in paths:
        if path in sums:
            found[path] = (sums[path], None, Witness.SUMS)
    return found


def looks_like_lm_studio(folder: Path) -> bool:
    """LM Studio's settings lie beside its models folder."""
    return read_json(folder.parent / "settings.json") is not None and folder.name == "models"
