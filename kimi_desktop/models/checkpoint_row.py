"""A folder in Hugging Face's layout as one row of the library. Blocking (pool).

Headers of a large checkpoint are tens of megabytes. When the index says how many bytes all tensors
take and the files have just that, they are not read; else they are, and the bad one is named.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.facts import clean_text
from kimi_desktop.models.files import WEIGHTS_SUFFIX, FoundCheckpoint, FoundFile
from kimi_desktop.models.hf_config import HfConfig
from kimi_desktop.models.hf_folder import FolderFiles, part_header, read_config, weight_parts
from kimi_desktop.models.types import LocalModel, ModelFacts, ModelFormat, ModelState

_LENGTH = struct.Struct("<Q")
_CACHE_PREFIX = "models--"
_SHOWN_MISSING = 3


def checkpoint_row(found: FoundCheckpoint) -> LocalModel | None:
    """The row of a folder; None when it is no language model's (a tokenizer, an image model)."""
    files = FolderFiles(found.folder)
    there = {file.path.name: file for file in found.files if file.path.suffix == WEIGHTS_SUFFIX}
    config: HfConfig | None = None
    parts: tuple[str, ...] = ()
    problem: ModelError | None = None
    state = ModelState.BROKEN
    try:
        config = read_config(files)
        parts, tensor_bytes = weight_parts(files)
    except ModelError as error:
        problem = error
    else:
        if not config.n_layer or not any(name in there for name in parts):
            return None
        missing = [name for name in parts if name not in there]
        problem = _missing(found.folder, missing, len(parts)) if missing else None
        state = ModelState.PARTIAL if missing else ModelState.READY
        if not missing and (wrong := _wrong_part(files, parts, there, tensor_bytes)) is not None:
            problem = wrong
            short = wrong.code is ErrorCode.MODEL_TOO_SHORT
            state = ModelState.PARTIAL if short else ModelState.BROKEN
    title = _title(found.folder)
    return LocalModel(
        id=str(found.folder),
        path=found.folder,
        title=title,
        size_bytes=found.size_bytes,
        parts_present=sum(name in there for name in parts) if parts else len(there),
        parts_total=len(parts) or len(there),
        state=state,
        facts=_facts(title, config, found.size_bytes) if config is not None else None,
        problem=problem,
        format=ModelFormat.SAFETENSORS,
        files=tuple(file.path for file in found.files),
    )


def _wrong_part(
    files: FolderFiles,
    parts: tuple[str, ...],
    there: Mapping[str, FoundFile],
    tensor_bytes: int | None,
) -> ModelError | None:
    """The first part that is cut or damaged."""
    if tensor_bytes is not None and _data_bytes(there[name] for name in parts) == tensor_bytes:
        return None
    for name in parts:
        try:
            part_header(files, name)
        except ModelError as error:
            return error
    return None


def _data_bytes(files: Iterable[FoundFile]) -> int:
    """What is behind the headers; -1 when one of them cannot be."""
    total = 0
    for file in files:
        try:
            with file.path.open("rb") as stream:
                (header,) = _LENGTH.unpack(stream.read(_LENGTH.size))
        except (OSError, struct.error):
            return -1
        data = file.size_bytes - _LENGTH.size - header
        if data < 0:
            return -1
        total += data
    return total


def _facts(title: str, config: HfConfig, size_bytes: int) -> ModelFacts:
    """For showing; the planner reads the folder itself."""
    quantization = config.quantization.label if config.quantization else _type(config.dtype)
    return ModelFacts(
        name=title,
        architecture=config.architecture or config.model_type,
        quantization=quantization,
        parameter_count=0,
        n_layer=config.n_layer,
        n_expert=config.n_expert,
        n_expert_used=config.n_expert_used,
        context_train=config.context_train,
        weights_bytes=size_bytes,
        kv_bytes_per_token=0,
        chat_template=None,
        has_thinking=False,
    )


def _type(dtype: str) -> str:
    """As people write it: BF16 for bfloat16."""
    short = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}
    return short.get(dtype.removeprefix("torch."), dtype.upper())


def _title(folder: Path) -> str:
    """The repository's name, also inside the Hugging Face cache."""
    for parent in (folder, *folder.parents[:2]):
        if parent.name.startswith(_CACHE_PREFIX):
            return clean_text(parent.name.rpartition("--")[2])
    return clean_text(folder.name)


def _missing(folder: Path, missing: list[str], total: int) -> ModelError:
    shown = ", ".join(missing[:_SHOWN_MISSING]) + (", …" if len(missing) > _SHOWN_MISSING else "")
    return ModelError(
        ErrorCode.MODEL_PART_MISSING,
        {"path": str(folder), "missing": len(missing), "total": total, "which": shown},
    )
