"""The safetensors header reader: what it accepts and what it refuses."""

from __future__ import annotations

import json
import random
import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models import safetensors
from kimi_desktop.models.safetensors import DTYPE_BITS, SafetensorsHeader, read_header
from tests.support.gguf_files import BytesSource
from tests.support.safetensors_files import table, wrapped

TENSORS = {"a.weight": ("BF16", (4, 8)), "b.weight": ("F8_E4M3", (16,)), "c": ("F4", (2, 4))}


def read(content: bytes, size_bytes: int | None = None) -> SafetensorsHeader:
    return read_header(BytesSource(content, size_bytes), label="m.safetensors")


def refused(content: bytes, size_bytes: int | None = 10**9) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(content, size_bytes)
    for language in Language:
        assert all(describe_error(caught.value, language))
    return caught.value


def test_reads_a_header() -> None:
    content = wrapped(json.dumps(table(TENSORS, {"format": "pt"})))
    header = read(content, len(content) + 84)
    assert [(t.name, t.dtype, t.shape, t.offset, t.size_bytes) for t in header.tensors] == [
        ("a.weight", "BF16", (4, 8), 0, 64),
        ("b.weight", "F8_E4M3", (16,), 64, 16),
        ("c", "F4", (2, 4), 80, 4),
    ]
    assert header.metadata == {"format": "pt"}
    assert header.expected_bytes == header.size_bytes == len(content) + 84
    assert header.tensors[0].n_elements == 32


def test_spaces_and_order_do_not_matter() -> None:
    entries = table(TENSORS)
    text = json.dumps(dict(reversed(entries.items())), indent=2) + "   "
    assert [t.name for t in read(wrapped(text), 10**6).tensors] == list(TENSORS)
    assert read(wrapped("{ }"), 10**6).tensors == ()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", ErrorCode.MODEL_CUT),
        (b"1234567", ErrorCode.MODEL_CUT),
        (struct.pack("<Q", 0), ErrorCode.MODEL_BAD_HEADER),
        (struct.pack("<Q", 2**63), ErrorCode.MODEL_BAD_HEADER),
        (struct.pack("<Q", 1000) + b"{}", ErrorCode.MODEL_CUT),
        (wrapped(b"\xff\xfe{}"), ErrorCode.MODEL_BAD_HEADER),
        (wrapped("[1, 2]"), ErrorCode.MODEL_BAD_HEADER),
        (wrapped("{} more"), ErrorCode.MODEL_BAD_HEADER),
        (wrapped('{"a"}'), ErrorCode.MODEL_BAD_HEADER),
        (wrapped('{"a": 5}'), ErrorCode.MODEL_BAD_HEADER),
        (wrapped("{5: {}}"), ErrorCode.MODEL_BAD_HEADER),
        (wrapped('{"a": {}'), ErrorCode.MODEL_UNSUPPORTED),
        (wrapped('{"__metadata__": {"a": 1}}'), ErrorCode.MODEL_BAD_HEADER),
        (wrapped('{"__metadata__": [1]}'), ErrorCode.MODEL_BAD_HEADER),
        (wrapped('{"a": ' + "[" * 900 + "}"), ErrorCode.MODEL_BAD_HEADER),
        (wrapped('{"' + "n" * 600 + '": {}}'), ErrorCode.MODEL_BAD_HEADER),
    ],
)
def test_damaged_headers(content: bytes, code: ErrorCode) -> None:
    size = len(content) if code is ErrorCode.MODEL_CUT else 10**9
    assert refused(content, size).code is code


def _entry(**changes: object) -> bytes:
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes
    return wrapped(json.dumps({"t": entry}))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"dtype": "Q4"}, "t.dtype"),
        ({"dtype": None}, "t.dtype"),
        ({"shape": [-1]}, "t.shape"),
        ({"shape": [True, 2]}, "t.shape"),
        ({"shape": "2"}, "t.shape"),
        ({"shape": [1] * 9}, "t.shape"),
        ({"data_offsets": [8, 0]}, "t.data_offsets"),
        ({"data_offsets": [0]}, "t.data_offsets"),
        ({"data_offsets": [0, 9]}, "t.data_offsets"),
        ({"data_offsets": [8, 16]}, "t.data_offsets"),
        ({"dtype": "F4", "shape": [3], "data_offsets": [0, 1]}, "t.data_offsets"),
    ],
)
def test_impossible_tensors(changes: dict[str, object], field: str) -> None:
    assert refused(_entry(**changes)).params["field"] == field


def test_doubled_names_and_keys() -> None:
    assert refused(wrapped('{"a": %s, "a": %s}' % ((json.dumps(table(TENSORS)["c"]),) * 2)))
    doubled = '{"t": {"dtype": "F32", "dtype": "F32", "shape": [], "data_offsets": [0, 4]}}'
    assert refused(wrapped(doubled)).params["field"] == "t"


def test_holes_and_overlaps() -> None:
    entries = table(TENSORS)
    entries["b.weight"] = {"dtype": "U8", "shape": [16], "data_offsets": [60, 76]}
    assert refused(wrapped(json.dumps(entries))).params["field"] == "b.weight.data_offsets"


def test_control_characters_are_not_repeated() -> None:
    error = refused(wrapped(json.dumps({"a\x1b[2J": {"dtype": "\x1b"}})))
    assert "\x1b" not in describe_error(error, Language.EN)[0]


def test_too_many_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safetensors, "MAX_TENSORS", 2)
    assert refused(wrapped(json.dumps(table(TENSORS)))).params["field"] == "tensors"


def test_a_source_that_ends_early() -> None:
    content = wrapped(json.dumps(table(TENSORS)))
    assert refused(content[:40], len(content)).code is ErrorCode.MODEL_CUT


@pytest.mark.parametrize("piece", ["[", '{"a":', "1,", '"x",'])
def test_hostile_json_stays_within_64_mib(piece: str) -> None:
    content = wrapped('{"t": ' + piece * (safetensors.MAX_HEADER_BYTES // len(piece) - 10))
    tracemalloc.start()
    refused(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_model_error(content: bytes) -> None:
    for full in (content, wrapped(content), wrapped(b'{"a": ' + content)):
        read_or_refuse(full)


def read_or_refuse(content: bytes) -> bool:
    try:
        read(content, 10**6)
    except ModelError:
        return False
    return True


def test_mutated_headers() -> None:
    chance = random.Random(7)
    seed = wrapped(json.dumps(table(TENSORS, {"format": "pt"})))
    outcomes = {True: 0, False: 0}
    for _ in range(3_000):
        content = bytearray(seed)
        for _ in range(chance.choice((0, 1, 2, 5))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        outcomes[read_or_refuse(bytes(content))] += 1
    assert all(outcomes.values())


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=30).filter(lambda name: name != "__metadata__"),
        st.tuples(
            st.sampled_from(sorted(name for name, bits in DTYPE_BITS.items() if bits >= 8)),
            st.lists(st.integers(0, 50), max_size=4),
        ),
        max_size=20,
    )
)
def test_what_is_written_is_read(tensors: dict[str, tuple[str, list[int]]]) -> None:
    found = read(wrapped(json.dumps(table(tensors))), 10**12).tensors
    assert {(t.name, t.dtype, t.shape) for t in found} == {
        (name, dtype, tuple(shape)) for name, (dtype, shape) in tensors.items()
    }
