"""Hostile headers: real ones with bytes changed, numbers blown up, pieces cut, moved or doubled."""

from __future__ import annotations

import random
import struct
from functools import cache

from tests.support.gguf_files import LLAMA_TENSORS, Typed, header_bytes, llama_metadata

_NUMBERS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@cache
def _seeds() -> tuple[bytes, ...]:
    many = [(f"blk.{i}.w", (64, 3), "Q8_0") for i in range(40)]
    kinds = {f"x.{c}": Typed(c, 1) for c in "BbHhIifQqd"} | {"x.arr": Typed("ad", [0.5] * 9)}
    return (
        header_bytes(llama_metadata(), LLAMA_TENSORS),
        header_bytes({"general.architecture": "x", **kinds, "general.alignment": 64}, many[:5]),
        header_bytes({"a": ["word"] * 50, "b": "text", "c": [True, False]}, many, version=2),
        header_bytes({}, []),
    )


def mutated(chance: random.Random) -> bytes:
    """One hostile header; now and then a sound one."""
    content = bytearray(chance.choice(_seeds()))
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 8))):
        if not content:
            break
        at = chance.randrange(len(content))
        match chance.randrange(7):
            case 0:
                content[at] ^= 1 << chance.randrange(8)
            case 1:
                content[at] = chance.randrange(256)
            case 2:
                content[at : at + 8] = struct.pack("<Q", chance.choice(_NUMBERS))
            case 3:
                content[at : at + 4] = struct.pack("<I", chance.choice(_NUMBERS) & 0xFFFFFFFF)
            case 4:
                del content[at:]
            case 5:
                del content[at : at + chance.randrange(1, 64)]
            case _:
                piece = content[at : at + chance.randrange(1, 200)]
                content[at:at] = piece * chance.randrange(1, 4)
    return bytes(content)
