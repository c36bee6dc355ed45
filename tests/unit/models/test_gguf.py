"""The header reader: what it accepts, what it refuses and how it says so."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models import gguf
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.models.gguf import GgufHeader, LeftInFile, read_file, read_header
from tests.support.gguf_files import (
    LLAMA_TENSORS,
    BytesSource,
    Typed,
    header_bytes,
    llama_metadata,
    padded,
    text,
    value_bytes,
    write_model,
)
from tests.support.gguf_mutations import mutated

MIB = 2**20


def read(content: bytes, size_bytes: int | None = None) -> GgufHeader:
    return read_header(BytesSource(content, size_bytes), label="model.gguf")


def refused(content: bytes, size_bytes: int | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(content, size_bytes)
    for language in Language:
        assert all(describe_error(caught.value, language))
    return caught.value


def read_or_refuse(content: bytes) -> bool:
    """True for a header, False for a ModelError; anything else fails the test."""
    try:
        read(content)
    except ModelError:
        return False
    return True


def head(n_tensors: int = 0, n_metadata: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_metadata)


def entry(key: str, value: bytes) -> bytes:
    return text(key) + value


# what it reads


@pytest.mark.parametrize("version", [2, 3])
def test_reads_a_whole_header(version: int) -> None:
    content = header_bytes(llama_metadata(), LLAMA_TENSORS, version=version)
    header = read(content, 10**6)
    assert header.version == version
    assert header.text("general.name") == "Tiny Llama"
    assert header.number("llama.block_count") == 2
    assert header.count("tokenizer.ggml.tokens") == 3
    assert header.data_offset == len(content)
    assert [(t.name, t.shape, t.type.name) for t in header.tensors] == LLAMA_TENSORS
    last = header.tensors[-1]
    assert header.expected_bytes == len(content) + last.offset + 512 // 256 * 210 * 256
    assert header.tensors[0].n_elements == 256 * 64


def test_reads_every_value_type() -> None:
    values = {
        "B": 255, "b": -128, "H": 65_535, "h": -5, "I": 2**32 - 1, "i": -7, "f": 0.5,
        "?": True, "Q": 2**64 - 1, "q": -(2**63), "d": 1e300,
    }  # fmt: skip
    metadata: dict[str, object] = {
        f"one.{i}": Typed(c, v) for i, (c, v) in enumerate(values.items())
    }
    metadata |= {f"many.{i}": Typed(f"a{c}", [v, v]) for i, (c, v) in enumerate(values.items())}
    metadata["none"] = Typed("aI", [])
    header = read(header_bytes(metadata))
    for index, value in enumerate(values.values()):
        assert header.metadata[f"one.{index}"] == value
        assert header.metadata[f"many.{index}"] == (value, value)
    assert header.metadata["none"] == ()
    assert header.number("many.4") == 2**32 - 1
    assert header.number("many.6") is None  # floats
    assert header.text("one.0") is None
    assert header.count("one.0") == 0


def test_a_real_vocabulary_is_walked_over_not_kept() -> None:
    words = [f"token{number}" * (1 + number % 5) for number in range(160_000)]
    metadata = llama_metadata() | {
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": [0.0] * len(words),
        "tokenizer.huggingface.json": "x" * (2 * MIB),
    }
    content = header_bytes(metadata, LLAMA_TENSORS)
    source = BytesSource(content, 10**9)
    tracemalloc.start()
    header = read_header(source, label="m")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert header.metadata["tokenizer.ggml.tokens"] == LeftInFile(160_000)
    assert header.metadata["tokenizer.ggml.scores"] == LeftInFile(160_000)
    assert header.metadata["tokenizer.huggingface.json"] == LeftInFile(2 * MIB)
    assert [t.name for t in header.tensors] == [name for name, _, _ in LLAMA_TENSORS]
    assert peak < 4 * MIB
    assert source.bytes_read < len(content)


def test_reads_only_the_header_of_a_large_file(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf")
    with path.open("r+b") as file:
        file.truncate(40 * 10**9)
    header = read_file(path)
    assert header.size_bytes == 40 * 10**9


def test_a_file_that_lost_its_end_is_readable_and_says_so(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.gguf")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    header = read_file(path)
    assert header.expected_bytes > header.size_bytes


# what it refuses


def test_not_gguf() -> None:
    assert refused(b"").code is ErrorCode.MODEL_NOT_GGUF
    assert refused(b"GGU").code is ErrorCode.MODEL_NOT_GGUF
    assert refused(b"<!DOCTYPE html>").code is ErrorCode.MODEL_NOT_GGUF


def test_big_endian_is_refused_by_name() -> None:
    assert refused(b"GGUF" + struct.pack(">IQQ", 3, 1, 1)).code is ErrorCode.MODEL_BIG_ENDIAN


@pytest.mark.parametrize("version", [0, 1, 4, 70_000])
def test_unknown_versions(version: int) -> None:
    error = refused(head(version=version))
    assert error.code is ErrorCode.MODEL_UNSUPPORTED
    assert error.params == {
        "path": "model.gguf", "field": "version", "offset": 4, "value": version,
    }  # fmt: skip


def test_unknown_tensor_type_names_the_tensor() -> None:
    info = text("blk.0.w") + struct.pack("<IQIQ", 1, 32, 77, 0)
    error = refused(head(1) + info, 10**6)
    assert error.code is ErrorCode.MODEL_UNSUPPORTED
    assert error.params["field"] == "blk.0.w.type"
    assert error.params["value"] == 77
    assert error.params["offset"] == 24 + 8 + 7 + 4 + 8


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (head(n_tensors=2**63), "tensor_count"),
        (head(n_tensors=70_000), "tensor_count"),
        (head(n_metadata=5_000), "metadata_count"),
        (head(0, 1) + struct.pack("<Q", 2**60), "key"),
        (head(0, 1) + text("k" * 300), "key"),
        (head(0, 1) + text("with space") + bytes(20), "key"),
        (head(0, 1) + text("schlüssel") + bytes(20), "key"),
        (head(0, 1) + text("") + bytes(20), "key"),
        (head(0, 1) + entry("k", struct.pack("<I", 99) + bytes(20)), "k"),
        (head(0, 1) + entry("k", struct.pack("<IQ", 8, 2**62)), "k"),
        (head(0, 1) + entry("k", struct.pack("<IIQ", 9, 4, 2**40)), "k"),
        (head(0, 1) + entry("k", struct.pack("<IIQ", 9, 9, 1) + bytes(20)), "k"),
        (head(0, 1) + entry("k", struct.pack("<IIQQ", 9, 8, 1, 2**40) + bytes(20)), "k"),
    ],
)
def test_absurd_lengths_and_counts(content: bytes, field: str) -> None:
    error = refused(content, 10**12)
    assert error.code is ErrorCode.MODEL_BAD_HEADER
    assert error.params["field"] == field
    assert 0 < int(error.params["offset"]) <= len(content)


@pytest.mark.parametrize(
    ("shape", "offset", "kind", "field"),
    [
        ((0,), 0, "F32", "t.shape"),
        ((2**62, 4), 0, "F32", "t.shape"),
        ((2**64 - 1,), 0, "F32", "t.shape"),
        ((100,), 0, "Q4_K", "t.shape"),
        ((256,), 32, "F32", "t.offset"),
        ((256,), 7, "F32", "t.offset"),
        ((1, 1, 1, 1, 1), 0, "F32", "t.dimensions"),
        ((), 0, "F32", "t.dimensions"),
    ],
)
def test_impossible_tensors(shape: tuple[int, ...], offset: int, kind: str, field: str) -> None:
    info = text("t") + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    info += struct.pack("<IQ", TYPES_BY_NAME[kind].id, offset)
    error = refused(head(1) + info + bytes(64), 10**12)
    assert error.code is ErrorCode.MODEL_BAD_HEADER
    assert error.params["field"] == field


@pytest.mark.parametrize("value", [0, 3, 4, 131_072, "32", 2.0])
def test_bad_alignment(value: object) -> None:
    content = head(0, 1) + entry("general.alignment", value_bytes(value))
    assert refused(content).params["field"] == "general.alignment"


def test_doubled_keys_and_names() -> None:
    one = entry("a.b", struct.pack("<II", 4, 1))
    assert refused(head(0, 2) + one + one).params["field"] == "a.b"
    tensors = [("same", (32,), "F32"), ("same", (32,), "F32")]
    assert refused(header_bytes({}, tensors), 10**6).params["field"] == "same"


def test_tensor_names_are_bounded_and_printable() -> None:
    long = header_bytes({}, [("n" * 64, (32,), "F32")])
    assert refused(long, 10**6).params["field"] == "tensor_name"
    control = header_bytes({}, [("a\x1b[2J", (32,), "F32")])
    assert "\x1b" not in str(refused(control, 10**6).params["value"])


def test_too_much_metadata_is_refused_not_kept() -> None:
    metadata = {f"k{i}": Typed("aI", [7] * 4096) for i in range(60)}
    assert refused(header_bytes(metadata)).code is ErrorCode.MODEL_BAD_HEADER


def test_total_tensor_size_cannot_overflow() -> None:
    huge = 2**60
    tensors = [(f"t{i}", (huge,), "F32") for i in range(3)]
    error = refused(header_bytes({}, tensors), 2**63)
    assert error.code is ErrorCode.MODEL_BAD_HEADER


def test_every_cut_of_a_header_is_refused() -> None:
    content = header_bytes(llama_metadata(), LLAMA_TENSORS)
    end = len(content.rstrip(b"\0"))
    for length in range(4, end):
        error = refused(content[:length])
        assert error.code is ErrorCode.MODEL_CUT, length
        assert error.params["field"]


def test_a_file_that_shrinks_while_it_is_read() -> None:
    content = header_bytes(llama_metadata(), LLAMA_TENSORS)
    assert refused(content[:100], len(content)).code is ErrorCode.MODEL_CUT


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        read_file(tmp_path / "none.gguf")
    assert caught.value.code is ErrorCode.MODEL_NOT_FOUND
    with pytest.raises(ModelError) as caught:
        read_file(tmp_path)  # a folder
    assert caught.value.code is ErrorCode.MODEL_UNREADABLE


# hostile headers cost little


def _hostile_strings() -> tuple[bytes, int]:
    """Empty strings, which cost the most per byte."""
    count = gguf.MAX_ARRAY_STRINGS // 16  # tracing memory makes each of them slow
    return head(0, 1) + entry("k", struct.pack("<IIQ", 9, 8, count)) + bytes(8 * count), 10**9


def _hostile_tensors() -> tuple[bytes, int]:
    """The most tensors, with the longest names and the most dimensions."""
    count = gguf.MAX_TENSORS
    out = bytearray(head(count))
    for number in range(count):
        name = f"{number:0>63}".encode()
        shape = (32, 1, 1, number + 1)
        out += struct.pack("<Q", 63) + name + struct.pack("<I4Q", 4, *shape)
        out += struct.pack("<IQ", 24, padded(32) * number * (number + 1) // 2)
    return bytes(out), 2**50


def test_too_many_strings_are_not_walked_over() -> None:
    array = struct.pack("<IIQ", 9, 8, gguf.MAX_ARRAY_STRINGS // 2 + 1)
    array += bytes(8 * (gguf.MAX_ARRAY_STRINGS // 2 + 1))
    error = refused(head(0, 2) + entry("a", array) + entry("b", array))
    assert error.params["field"] == "b"


@pytest.mark.parametrize("make", [_hostile_strings, _hostile_tensors])
def test_hostile_headers_stay_within_64_mib(make: Callable[[], tuple[bytes, int]]) -> None:
    content, size = make()
    source = BytesSource(content, size)
    tracemalloc.start()
    read_header(source, label="m")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * MIB


@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_model_error(content: bytes) -> None:
    for full in (content, b"GGUF" + content, head(1, 1) + content):
        read_or_refuse(full)


def test_mutated_headers_end_in_a_model_error_or_a_header() -> None:
    """The short form of ``benchmarks/fuzz_gguf.py``."""
    chance = random.Random(20_261_130)
    began = time.monotonic()
    outcomes = {True: 0, False: 0}
    for _ in range(1_500):
        outcomes[read_or_refuse(mutated(chance))] += 1
        if time.monotonic() - began > 10:  # a slow computer does fewer of them
            break
    assert outcomes[True]
    assert outcomes[False]


names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
numbers = st.one_of(
    st.booleans(),
    st.integers(0, 2**32 - 1),
    st.floats(width=32, allow_nan=False),
    st.text(max_size=50),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20).map(tuple),
    st.lists(st.booleans(), min_size=1, max_size=20).map(tuple),
)


@given(
    st.dictionaries(names.map("a.".__add__), numbers, max_size=12),
    st.lists(
        st.tuples(
            names,
            st.lists(st.integers(1, 40), min_size=0, max_size=3),
            st.sampled_from(sorted(TYPES_BY_NAME)),
            st.integers(1, 3),
        ),
        unique_by=lambda item: item[0],
        max_size=20,
    ),
    st.sampled_from([2, 3]),
)
def test_what_is_written_is_read(
    metadata: dict[str, object], items: list[tuple[str, list[int], str, int]], version: int
) -> None:
    tensors = [
        (name, (blocks * TYPES_BY_NAME[kind].block, *rest), kind)
        for name, rest, kind, blocks in items
    ]
    header = read(header_bytes(metadata, tensors, version=version), 10**12)
    assert dict(header.metadata) == metadata
    assert [(t.name, t.shape, t.type.name) for t in header.tensors] == tensors
