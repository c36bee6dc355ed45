"""Makes a file for ``assets/geometry`` from the header of any GGUF file (the first part of a set).

    python tools/geometry.py MODEL.gguf --name qwen3-32b --source "Qwen/Qwen3-32B config.json"

A name is what a title or repository of the model contains; ``--name NAME=TOKENS`` gives it another
context than the header's. Prints JSON; save it under the model's name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kimi_desktop.models.gguf import GgufHeader, read_file

_BLOCK = re.compile(r"^blk\.(\d+)\.")
# What the planner asks of a header; names, tokens and constants of the arithmetic are left out.
_KEPT = re.compile(
    r"(?!expert_(?:gating|weights|group))(vocab_size|embedding_length|block_count|feed_forward_length|expert_\w+|nextn_\w+"
    r"|leading_dense_block_count|full_attention_interval|interleave_moe_layer_step|kda\.head_dim"
    r"|attention\.(head_count|head_count_kv|key_length\w*|value_length\w*|kv_lora_rank|q_lora_rank"
    r"|sliding_window\w*|shared_kv_layers|indexer\.\w+)|rope\.dimension_count|ssm\.\w+"
    r"|shortconv\.l_cache|wkv\.head_size|token_shift_count)"
)


def described(header: GgufHeader, names: dict[str, int], source: str) -> dict[str, Any]:
    """The header as a geometry file has it."""
    architecture = header.text("general.architecture") or ""
    metadata = {}
    for key, value in header.metadata.items():
        short = key.removeprefix(f"{architecture}.")
        if short != key and _KEPT.fullmatch(short):
            metadata[short] = value
    found: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for tensor in header.tensors:
        block = _BLOCK.match(tensor.name)
        pattern = _BLOCK.sub("blk.*.", tensor.name)
        blocks = found.setdefault((pattern, tensor.shape), [])
        if block:
            blocks.append(int(block[1]))
    tensors = [
        [pattern, list(shape), *([ranges(blocks)] if blocks else [])]
        for (pattern, shape), blocks in found.items()
    ]
    return {
        "source": source,
        "names": names,
        "architecture": architecture,
        "metadata": metadata,
        "tensors": tensors,
    }


def ranges(numbers: Iterable[int]) -> str:
    """Of 0, 1, 2, 4: "0-2,4"."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def written(data: dict[str, Any]) -> str:
    """JSON with one tensor a line."""
    tensors = ",\n    ".join(json.dumps(row) for row in data["tensors"])
    numbers = ",\n    ".join(
        f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data["metadata"].items()
    )
    head = ",\n  ".join(
        f'"{key}": {json.dumps(data[key])}' for key in ("source", "names", "architecture")
    )
    return (
        f'{{\n  {head},\n  "metadata": {{\n    {numbers}\n  }},\n'
        f'  "tensors": [\n    {tensors}\n  ]\n}}\n'
    )


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--name", action="append", required=True, metavar="NAME[=TOKENS]")
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    header = read_file(options.path)
    architecture = header.text("general.architecture")
    context = header.number(f"{architecture}.context_length") or 0
    names = {}
    for name in options.name:
        plain, _, tokens = name.partition("=")
        names[plain] = int(tokens or context)
    sys.stdout.write(written(described(header, names, options.source)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
