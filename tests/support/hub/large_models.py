"""A model of real size on the local hub: 584 GB in 14 parts, of which only the headers exist."""

from __future__ import annotations

from tests.support.gguf_files import Tensor, Typed, data_bytes, header_bytes
from tests.support.hub.content import HubFile
from tests.support.measured import described_model

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
