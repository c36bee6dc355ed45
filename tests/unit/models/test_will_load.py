"""Verdicts on whether an engine would load a model, and their sentences."""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language
from kimi_desktop.models.catalogue_types import Engine, EngineFloor
from kimi_desktop.models.gguf import read_file
from kimi_desktop.models.header_copy import (
    KeptSource,
    copy_file_header,
    copy_header,
    probe_bytes,
    write_sparse,
)
from kimi_desktop.models.hf_folder import HfModel, read_folder
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel, ModelState
from kimi_desktop.models.will_load import (
    Answer,
    BuildAnswer,
    Finding,
    LoadVerdict,
    ServedSupport,
    judge_checkpoint,
    judge_gguf,
    load_sentences,
    version_numbers,
)
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support import hf_shapes
from tests.support.gguf_files import write_model, write_set

BUILD = "llama.cpp b11549"


def floor(min_version: str | None = None, *broken: str) -> EngineFloor:
    return EngineFloor(Engine.LLAMA_CPP, min_version, broken, (), None, None, "test")


@pytest.fixture
def model(tmp_path: Path) -> LocalModel:
    write_model(tmp_path / "model-Q4_K_M.gguf")
    (found,) = Library(kv_bytes_per_token).scan([tmp_path])
    return found


def said(verdict: LoadVerdict) -> list[Finding]:
    for language in Language:
        for what, then in load_sentences(verdict, language):
            assert what
            assert "{" not in what + then
    return [one.kind for one in verdict.found]


@pytest.mark.parametrize(
    ("answer", "kind", "loads"),
    [
        (BuildAnswer(Answer.LOADS), Finding.KNOWN, True),
        (BuildAnswer(Answer.ARCHITECTURE, "kimi-k9"), Finding.ARCHITECTURE, False),
        (BuildAnswer(Answer.TOKENIZER, "kimi-k9"), Finding.TOKENIZER, False),
        (BuildAnswer(Answer.TENSOR_TYPE, "99"), Finding.TENSOR_TYPE, False),
        (BuildAnswer(Answer.METADATA, "key not found"), Finding.METADATA, False),
        (BuildAnswer(Answer.UNCLEAR, "exit -4"), Finding.UNCLEAR, None),
        (None, Finding.NOT_ASKED, None),
    ],
)
def test_answers_of_a_build(
    model: LocalModel, answer: BuildAnswer | None, kind: Finding, loads: bool | None
) -> None:
    verdict = judge_gguf(model, BUILD, answer)
    assert said(verdict) == [kind]
    assert verdict.will_load is loads
    if answer is not None and answer.detail:
        assert answer.detail in load_sentences(verdict, Language.EN)[0][0]


def test_versions_that_the_catalogue_warns_of(model: LocalModel) -> None:
    loads = BuildAnswer(Answer.LOADS)
    assert said(judge_gguf(model, BUILD, loads, floor("b10448"))) == [Finding.KNOWN]
    old = judge_gguf(model, "llama.cpp b10068", loads, floor("b10448"))
    assert said(old) == [Finding.KNOWN, Finding.TOO_OLD]
    assert old.will_load
    assert old.warns
    assert not judge_gguf(model, BUILD, loads, floor("b10448")).warns
    broken = judge_gguf(model, BUILD, loads, floor(None, "b11549"))
    assert said(broken) == [Finding.KNOWN, Finding.BROKEN_VERSION]
    assert said(judge_gguf(model, "llama.cpp", loads, floor("b10448"))) == [Finding.KNOWN]


def test_what_is_wrong_with_the_files_goes_first(model: LocalModel) -> None:
    problem = ModelError(
        ErrorCode.MODEL_PART_MISSING, {"path": "x", "missing": 1, "total": 3, "which": "2"}
    )
    partial = dataclasses.replace(model, state=ModelState.PARTIAL, problem=problem)
    verdict = judge_gguf(partial, BUILD, BuildAnswer(Answer.LOADS))
    assert said(verdict) == [Finding.PROBLEM]
    assert verdict.will_load is False
    companion = dataclasses.replace(model, state=ModelState.COMPANION)
    assert judge_gguf(companion, BUILD, BuildAnswer(Answer.LOADS)).will_load is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("llama.cpp b11549", (11549,)),
        ("vLLM 0.19.1+cpu", (0, 19, 1)),
        ("b10448", (10448,)),
        ("llama.cpp", ()),
    ],
)
def test_version_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers


# checkpoints of server engines


def checkpoint(tmp_path: Path) -> HfModel:
    return read_folder(hf_shapes.write_checkpoint(tmp_path / "kimi", hf_shapes.kimi_k25(2)))


SUPPORT = ServedSupport(
    "vLLM 0.25.1",
    frozenset({"KimiK25ForConditionalGeneration"}),
    frozenset({"compressed-tensors", "fp8"}),
)


def test_a_checkpoint_that_vllm_knows(tmp_path: Path) -> None:
    verdict = judge_checkpoint(checkpoint(tmp_path), SUPPORT, floor("0.19.1", "0.22.0"))
    assert said(verdict) == [Finding.KNOWN, Finding.NEEDS_CODE]
    assert verdict.will_load
    assert verdict.warns


def test_checkpoints_that_vllm_does_not_know(tmp_path: Path) -> None:
    model = checkpoint(tmp_path)
    other = dataclasses.replace(SUPPORT, architectures=frozenset({"LlamaForCausalLM"}))
    assert said(judge_checkpoint(model, other))[0] is Finding.ARCHITECTURE
    other = dataclasses.replace(SUPPORT, quantizations=frozenset({"awq"}))
    verdict = judge_checkpoint(model, other)
    assert said(verdict)[0] is Finding.QUANTIZATION
    assert verdict.will_load is False
    unknown = dataclasses.replace(SUPPORT, quantizations=frozenset())
    assert judge_checkpoint(model, unknown).will_load
    old = dataclasses.replace(SUPPORT, engine="vLLM 0.22.0")
    assert Finding.BROKEN_VERSION in said(judge_checkpoint(model, old, floor(None, "0.22.0")))


def test_a_checkpoint_with_a_missing_part(tmp_path: Path) -> None:
    folder = hf_shapes.write_checkpoint(tmp_path / "kimi", hf_shapes.kimi_k2(2), parts=3)
    (folder / "model-00002-of-00003.safetensors").unlink()
    verdict = judge_checkpoint(read_folder(folder), SUPPORT)
    assert said(verdict)[0] is Finding.PROBLEM
    assert verdict.will_load is False
    none = judge_checkpoint(checkpoint(tmp_path), None)
    assert Finding.NOT_ASKED in said(none)
    assert none.will_load is None


# headers as bytes


class Counted:
    """A source that remembers what was asked."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []
        self.size_bytes = len(data)

    def read(self, offset: int, length: int) -> bytes:
        self.asked.append((offset, length))
        return self.data[offset : offset + length]


def test_kept_bytes_have_no_holes() -> None:
    source = Counted(bytes(range(200)))
    kept = KeptSource(source)
    assert kept.read(10, 5) == bytes(range(10, 15))
    assert kept.read(12, 2) == bytes(range(12, 14))
    assert kept.upto(20) == bytes(range(20))
    assert kept.read(195, 50) == bytes(range(195, 200))
    ends = [offset + length for offset, length in source.asked]
    assert [offset for offset, _ in source.asked] == [0, *ends[:-1]]


def test_a_copy_is_the_file_s_own_bytes(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf")
    copy = copy_file_header(path)
    assert copy.raw == path.read_bytes()[: copy.header.data_offset]
    assert copy.header == read_file(path)
    (tmp_path / "other").mkdir()
    assert read_file(write_sparse(tmp_path / "other", copy)) == read_file(path)


def test_a_probe_has_the_metadata_and_every_format(tmp_path: Path) -> None:
    path = write_set(tmp_path, "Set-Q4_K_M", 2)[0]
    copy = copy_file_header(path)
    types = {tensor.type for tensor in copy.header.tensors}
    probe = tmp_path / "probe.gguf"
    probe.write_bytes(probe_bytes(copy, types))
    header = read_file(probe)
    assert {tensor.type for tensor in header.tensors} == types
    assert all(tensor.name.startswith("probe.") for tensor in header.tensors)
    assert header.expected_bytes <= header.size_bytes
    assert "split.count" not in header.metadata
    kept = {key: value for key, value in copy.header.metadata.items() if "split." not in key}
    assert kept.items() <= header.metadata.items()


def test_a_probe_counts_what_it_has(tmp_path: Path) -> None:
    copy = copy_file_header(write_model(tmp_path / "model.gguf"))
    raw = probe_bytes(copy, ())
    assert struct.unpack_from("<Q", raw, 8) == (0,)
    assert copy_header(Counted(raw), "probe").header.tensors == ()
