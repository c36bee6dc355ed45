"""Models of real size on the local hub, 584 and 594 GB, of which only the headers exist."""

from __future__ import annotations

import json

from tests.support.gguf_files import Tensor, Typed, data_bytes, header_bytes
from tests.support.hub.content import HubFile
from tests.support.measured import described_model
from tests.support.safetensors_files import wrapped

N_TOKENS = 163_840


def vocabulary(count: int = N_TOKENS) -> dict[str, object]:
    """An invented vocabulary of about the bytes of a real one."""
    words = [f"{number:x}".rjust(5 + number % 9, "e") for number in range(count)]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": Typed("ai", [1] * count),
        "tokenizer.ggml.merges": [f"{word[:2]} {word[2:]}" for word in words],
    }


def split_model(name: str, parts: int) -> list[HubFile]:
    """The files of a set as llama-gguf-split makes it: all metadata in the first one."""
    metadata, tensors = described_model(name)
    share = -(-len(tensors) // parts)
    files = []
    for number in range(parts):
        mine: list[Tensor] = tensors[number * share : (number + 1) * share]
        facts = {**metadata, **vocabulary()} if number == 0 else {}
        facts |= {
            "split.no": Typed("H", number),
            "split.count": Typed("H", parts),
            "split.tensors.count": Typed("i", len(tensors)),
        }
        head = header_bytes(facts, mine)
        size = len(head) + data_bytes(mine)
        files.append(
            HubFile(f"{name}-{number + 1:05}-of-{parts:05}.gguf", size_bytes=size, head=head)
        )
    return files


def native_model(parts: int = 64, total_bytes: int = 594_000_000_000) -> list[HubFile]:
    """A repository in the shape of Kimi's native checkpoint; the weights exist on no disk.

    Every part has a right header with one tensor; their hashes are declared, not computed.
    """
    share = total_bytes // parts
    files = [
        HubFile("README.md", content=b"---\nlicense: other\n---\n# Kimi\n", lfs=False),
        HubFile("LICENSE", content=b"Modified MIT License\n" * 40, lfs=False),
        HubFile("config.json", content=_CONFIG, lfs=False),
        HubFile("generation_config.json", content=b'{"max_length": 262144}', lfs=False),
        HubFile("modeling_deepseek.py", content=b"import torch\n" * 400, lfs=False),
        HubFile("configuration_deepseek.py", content=b"import torch\n" * 90, lfs=False),
        HubFile("tiktoken.model", size_bytes=2_795_286),
        HubFile("tokenizer_config.json", content=b'{"model_max_length": 262144}', lfs=False),
    ]
    weight_map = {}
    for number in range(1, parts + 1):
        name = f"model-{number:05}-of-{parts:06}.safetensors"
        tensor = f"language_model.part.{number}.weight"
        data = share - share % 4
        entry = {"dtype": "I32", "shape": [data // 4], "data_offsets": [0, data]}
        head = wrapped(json.dumps({tensor: entry}))
        weight_map[tensor] = name
        files.append(HubFile(name, size_bytes=len(head) + data, head=head))
    index = json.dumps({"metadata": {"total_size": total_bytes}, "weight_map": weight_map})
    files.append(HubFile("model.safetensors.index.json", content=index.encode(), lfs=False))
    return files


_CONFIG = json.dumps(
    {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25"}
).encode()
