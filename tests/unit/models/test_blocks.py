"""Headers that count other blocks than their tensors make."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models.blocks import block_problem
from kimi_desktop.models.gguf import read_file
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel, ModelState
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import LLAMA_TENSORS, Tensor, llama_metadata, write_model, write_set


def row(folder: Path) -> LocalModel:
    (found,) = Library(kv_bytes_per_token).scan([folder])
    return found


def test_a_file_that_fits_together(tmp_path: Path) -> None:
    write_model(tmp_path / "good.gguf")
    assert row(tmp_path).state is ModelState.READY


@pytest.mark.parametrize("count", [1, 3, 10**9])
def test_other_blocks_than_the_header_counts(tmp_path: Path, count: int) -> None:
    write_model(tmp_path / "bad.gguf", llama_metadata() | {"llama.block_count": count})
    found = row(tmp_path)
    assert found.state is ModelState.BROKEN
    assert found.problem is not None
    assert found.problem.code is ErrorCode.MODEL_BLOCKS
    assert found.problem.params["field"] == "llama.block_count"
    assert found.problem.params["value"] == count
    assert found.problem.params["expected"] == 2
    for language in Language:
        what, then = describe_error(found.problem, language)
        assert "llama.block_count" in what
        assert then


def test_no_blocks_at_all(tmp_path: Path) -> None:
    tensors: list[Tensor] = LLAMA_TENSORS[:3]
    path = write_model(tmp_path / "bad.gguf", tensors=tensors)
    problem = block_problem(read_file(path), read_file(path).tensors, "bad.gguf")
    assert problem is not None
    assert problem.params["expected"] == 0


@pytest.mark.parametrize(
    "metadata",
    [
        llama_metadata() | {"general.architecture": "wavtokenizer-dec",
                            "wavtokenizer-dec.block_count": 12},
        {"general.architecture": "llama"},
    ],
)  # fmt: skip
def test_what_cannot_be_judged(tmp_path: Path, metadata: dict[str, object]) -> None:
    path = write_model(tmp_path / "odd.gguf", metadata)
    assert block_problem(read_file(path), read_file(path).tensors, "odd.gguf") is None


def test_a_set_is_judged_as_a_whole(tmp_path: Path) -> None:
    paths = write_set(tmp_path, "Set-Q4_K_M", 3)
    assert row(tmp_path).state is ModelState.READY
    paths[1].unlink()
    partial = row(tmp_path)
    assert partial.state is ModelState.PARTIAL  # the missing part is the problem, not the count
    assert partial.problem is not None
    assert partial.problem.code is ErrorCode.MODEL_PART_MISSING
