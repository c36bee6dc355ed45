"""From the headers of a file or a set to ModelFacts: names, quantization, geometry. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePath

from kimi_desktop.models.geometry import Geometry, TensorTable, read_geometry
from kimi_desktop.models.ggml import FILE_TYPES
from kimi_desktop.models.gguf import GgufHeader
from kimi_desktop.models.types import CompanionKind, ModelFacts

KvRule = Callable[[Geometry], int]
"""Bytes of K and V per token, f16. Lives in the planner, the one place with memory formulas."""

MAX_TEXT = 4_096

# Labels as publishers write them into file names, the most specific first.
_QUANTIZATION = re.compile(
    r"(?<![A-Za-z0-9])"
    r"((?:UD-|smol-)?"
    r"(?:I?Q[1-8]_[KX](?:_?(?:XXS|XS|S|M|L|XL|XXL|P))?|IQ[1-4]_(?:XXS|XS|NL|KT|KSS?|KL|S|M)"
    r"|Q[1-8]_[01](?:_XL)?|T?Q[12]_0|BF16|F16|F32|MXFP4(?:_MOE)?|NVFP4))"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_SPLIT_SUFFIX = re.compile(r"-\d{5}-of-\d{5}$")
_THINKING = ("<think>", "</think>", "enable_thinking", "reasoning_content", "<|channel|>analysis")
_TEMPLATE_KEYS = ("tokenizer.chat_template", "tokenizer.chat_template.default")


def companion_kind(header: GgufHeader, file_name: str) -> CompanionKind | None:
    """What a file is when it is not a model of its own. By its header; by name as a last resort."""
    kind = header.text("general.type")
    architecture = header.text("general.architecture")
    found: CompanionKind | None = None
    if kind == "mmproj" or architecture in ("clip", "mmproj"):
        found = CompanionKind.PROJECTOR
    elif kind == "adapter" or architecture == "controlvector" or "adapter.type" in header.metadata:
        found = CompanionKind.ADAPTER
    elif kind == "imatrix" or any(key.startswith("imatrix.") for key in header.metadata):
        found = CompanionKind.IMPORTANCE_MATRIX
    elif kind == "vocab" or (not header.tensors and "split.count" not in header.metadata):
        found = CompanionKind.VOCABULARY
    elif not architecture and "imatrix" in file_name.lower():
        found = CompanionKind.IMPORTANCE_MATRIX
    return found


def facts_of(headers: Sequence[GgufHeader], file_name: str, kv_rule: KvRule) -> ModelFacts:
    """The facts of a model.

    Args:
        headers: of all parts that are there, the first one leading.
        file_name: of the first part, for the quantization label.
        kv_rule: bytes per token of the cache.
    """
    first = headers[0]
    table = TensorTable(tuple(tensor for header in headers for tensor in header.tensors))
    geometry = read_geometry(first, table)
    template = next((text for key in _TEMPLATE_KEYS if (text := first.text(key))), None)
    stem = _SPLIT_SUFFIX.sub("", PurePath(file_name).stem)
    quantization = _quantization(first, table, stem)
    return ModelFacts(
        name=_name(first, stem),
        architecture=clean_text(geometry.architecture),
        quantization=quantization,
        parameter_count=sum(tensor.n_elements for tensor in table),
        n_layer=geometry.n_layer,
        n_expert=geometry.n_expert,
        n_expert_used=geometry.n_expert_used,
        context_train=geometry.context_train,
        weights_bytes=sum(tensor.size_bytes for tensor in table),
        kv_bytes_per_token=kv_rule(geometry) if geometry.exact else 0,
        chat_template=template,
        has_thinking=template is not None and any(mark in template for mark in _THINKING),
        geometry=geometry,
        tensors=table,
    )


def quantization_label(name: str) -> str:
    """The publisher's label in a file or folder name ("UD-Q4_K_XL"); "" when there is none."""
    labels = _QUANTIZATION.findall(name)
    if not labels:
        return ""
    head, dash, rest = str(labels[-1]).rpartition("-")
    return f"{head.upper() if head.upper() == 'UD' else head}{dash}{rest.upper()}"


def clean_text(text: str) -> str:
    """Text from a file, fit to be shown: no control characters, no direction overrides, bounded."""
    kept = (
        letter
        for letter in text[:MAX_TEXT]
        if letter.isspace() or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )
    return " ".join("".join(kept).split())


def _quantization(header: GgufHeader, table: TensorTable, stem: str) -> str:
    """The publisher's label, else the header's file type, else the type of most weights."""
    if label := quantization_label(stem):
        return label
    if (known := FILE_TYPES.get(header.number("general.file_type") or 0)) and (
        "general.file_type" in header.metadata
    ):
        return known
    weights: Counter[str] = Counter()
    for tensor in table:
        weights[tensor.type.name] += tensor.n_elements
    return weights.most_common(1)[0][0] if weights else ""


def _name(header: GgufHeader, stem: str) -> str:
    """The model's name without its quantization, so that quantizations of it share it."""
    for text in (header.text("general.name"), stem):
        name = _QUANTIZATION.sub("", clean_text(text or "")).strip(" -_.")
        name = re.sub(r"\s*[-_.]?\s*\(\s*\)|\s{2,}", " ", name).strip(" -_.")
        if name:
            return name
    return stem
