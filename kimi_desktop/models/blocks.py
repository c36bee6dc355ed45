"""Whether a header counts the blocks that its tensors make. Pure.

llama.cpp creates every block that ``block_count`` names and refuses a file with fewer or with more;
the header alone tells, long before an engine is started.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kimi_desktop.base.errors import ErrorCode, ModelError, Param
from kimi_desktop.models.gguf import GgufHeader, GgufTensor

_BLOCK = re.compile(r"(?:^|\.)blk\.(\d{1,9})\.")
_OTHER_NAMES = frozenset({"wavtokenizer-dec"})
"""Architectures whose blocks have names of their own."""


def block_problem(
    header: GgufHeader, tensors: Iterable[GgufTensor], label: str
) -> ModelError | None:
    """What is wrong with ``block_count``, None when nothing is.

    Args:
        header: of the first part, which has the metadata.
        tensors: of all parts; a set with missing parts cannot be judged.
        label: the path or address, for the error.
    """
    architecture = header.text("general.architecture") or ""
    field = f"{architecture}.block_count"
    count = header.number(field)
    if count is None or architecture in _OTHER_NAMES:
        return None
    there = 0
    for tensor in tensors:
        if match := _BLOCK.search(tensor.name):
            there = max(there, int(match[1]) + 1)
    if there == count:
        return None
    params: dict[str, Param] = {"path": label, "field": field, "value": count, "expected": there}
    return ModelError(ErrorCode.MODEL_BLOCKS, params)
