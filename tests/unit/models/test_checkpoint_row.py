"""Folders in Hugging Face's layout as rows of the library."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models import checkpoint_row
from kimi_desktop.models.choose import choose_model
from kimi_desktop.models.library import Library, find_named
from kimi_desktop.models.types import LocalModel, ModelFormat, ModelState, default_model
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import llama_metadata, write_model
from tests.support.safetensors_files import write_file

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2,
    "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 16, "torch_dtype": "bfloat16",
    "max_position_embeddings": 4096,
}  # fmt: skip
PARTS = {
    "model-00001-of-00002.safetensors": {"a": ("BF16", (8, 8)), "b": ("BF16", (4,))},
    "model-00002-of-00002.safetensors": {"c": ("BF16", (32,))},
}
TENSOR_BYTES = (64 + 4 + 32) * 2


def checkpoint(
    folder: Path, config: Mapping[str, object] = CONFIG, total: int | None = TENSOR_BYTES
) -> Path:
    """A whole one in two parts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    index = {"weight_map": {name: part for part, names in PARTS.items() for name in names}}
    if total is not None:
        index["metadata"] = {"total_size": total}  # type: ignore[assignment]
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "tokenizer.json").write_text("{}")
    for part, tensors in PARTS.items():
        write_file(folder / part, tensors)
    return folder


def scan(*folders: Path) -> tuple[LocalModel, ...]:
    return Library(kv_bytes_per_token).scan(folders)


def only(*folders: Path) -> LocalModel:
    (model,) = scan(*folders)
    return model


def test_a_folder_is_one_row(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "org" / "Tiny-Llama")
    model = only(tmp_path)
    assert model.id == str(folder)
    assert model.path == folder
    assert model.title == model.family == "Tiny-Llama"
    assert model.format is ModelFormat.SAFETENSORS
    assert model.state is ModelState.READY
    assert model.problem is None
    assert (model.parts_present, model.parts_total) == (2, 2)
    assert model.size_bytes == sum((folder / part).stat().st_size for part in PARTS)
    assert {file.name for file in model.files} == {
        "config.json",
        "model.safetensors.index.json",
        *PARTS,
    }
    assert model.facts is not None
    assert model.facts.quantization == "BF16"
    assert model.facts.architecture == "LlamaForCausalLM"
    assert model.facts.context_train == 4096


def test_it_is_served_and_not_taken_unasked(tmp_path: Path) -> None:
    checkpoint(tmp_path / "Tiny-Llama")
    model = only(tmp_path)
    assert model.is_served
    assert not model.is_startable
    assert default_model([model], "") is None
    assert choose_model([model], "tiny") is model


def test_a_folder_anywhere_is_named_by_its_path(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "elsewhere" / "Tiny-Llama")
    library = Library(kv_bytes_per_token)
    assert find_named((), str(folder), library).path == folder
    with pytest.raises(ModelError) as caught:
        find_named((), str(folder.parent), library)
    assert caught.value.code is ErrorCode.NO_MODEL


def test_a_gguf_of_the_same_name_goes_first(tmp_path: Path) -> None:
    checkpoint(tmp_path / "Tiny-Llama")
    path = write_model(tmp_path / "Tiny-Llama.gguf", llama_metadata("Tiny-Llama"))
    models = scan(tmp_path)
    assert choose_model(models, "tiny-llama").path == path
    assert default_model(models, "") is not None


def test_headers_are_read_only_when_the_sizes_do_not_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    part_header = checkpoint_row.part_header

    def counted(files: object, name: str) -> object:
        read.append(name)
        return part_header(files, name)  # type: ignore[arg-type]

    monkeypatch.setattr(checkpoint_row, "part_header", counted)
    checkpoint(tmp_path / "a")
    checkpoint(tmp_path / "b", total=1)
    checkpoint(tmp_path / "c", total=None)
    assert {model.state for model in scan(tmp_path)} == {ModelState.READY}
    assert read == [*PARTS, *PARTS]


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    (folder / "model-00002-of-00002.safetensors").unlink()
    model = only(tmp_path)
    assert model.state is ModelState.PARTIAL
    assert (model.parts_present, model.parts_total) == (1, 2)
    assert model.problem is not None
    assert model.problem.code is ErrorCode.MODEL_PART_MISSING
    assert model.problem.params["which"] == "model-00002-of-00002.safetensors"


@pytest.mark.parametrize("keep", [-1, 30, 4])
def test_a_part_that_was_cut(tmp_path: Path, keep: int) -> None:
    folder = checkpoint(tmp_path / "m")
    part = folder / "model-00002-of-00002.safetensors"
    part.write_bytes(part.read_bytes()[:keep])
    model = only(tmp_path)
    assert model.state is (ModelState.PARTIAL if keep == -1 else ModelState.BROKEN)
    assert model.problem is not None
    assert model.problem.code in (ErrorCode.MODEL_TOO_SHORT, ErrorCode.MODEL_CUT)
    assert part.name in str(model.problem.params["path"])


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": {"a": "../x.safetensors"}}'])
def test_a_damaged_index_is_a_row_that_says_so(tmp_path: Path, text: str) -> None:
    folder = checkpoint(tmp_path / "m")
    (folder / "model.safetensors.index.json").write_text(text)
    model = only(tmp_path)
    assert model.state is ModelState.BROKEN
    assert model.problem is not None
    assert model.facts is not None


def test_a_damaged_config_is_a_row_that_says_so(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "m")
    (folder / "config.json").write_text("{")
    model = only(tmp_path)
    assert model.state is ModelState.BROKEN
    assert model.facts is None
    assert model.parts_total == 2


def test_folders_that_only_look_like_it(tmp_path: Path) -> None:
    checkpoint(tmp_path / "diffusion", {"_class_name": "UNet"})
    (tmp_path / "adapter").mkdir()
    write_file(tmp_path / "adapter" / "adapter_model.safetensors", {"a": ("F16", (2,))})
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text(json.dumps(CONFIG))
    write_file(tmp_path / "other" / "optimizer.safetensors", {"a": ("F16", (2,))})
    assert scan(tmp_path) == ()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")
def test_two_snapshots_of_a_cache_are_one_model(tmp_path: Path) -> None:
    repo = tmp_path / "models--org--Tiny-Llama"
    blobs = checkpoint(repo / "blobs-of-it")
    for commit in ("c1", "c2"):
        for file in blobs.iterdir():
            link = repo / "snapshots" / commit / file.name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(os.path.relpath(file, link.parent))
    model = only(repo / "snapshots")
    assert model.title == "Tiny-Llama"


def test_types_as_people_write_them(tmp_path: Path) -> None:
    checkpoint(tmp_path / "a", {**CONFIG, "torch_dtype": "torch.float16"})
    checkpoint(tmp_path / "b", {**CONFIG, "torch_dtype": "int8"})
    labels = [model.facts.quantization for model in scan(tmp_path) if model.facts]
    assert labels == ["F16", "INT8"]
