"""Scanning folders as people have them: sets, links, loops, wrecks, companions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models import files, library
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import CompanionKind, LocalModel, ModelState
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import Typed, llama_metadata, write_model, write_set

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")


def scan(*folders: Path) -> tuple[LocalModel, ...]:
    return Library(kv_bytes_per_token).scan(folders)


def test_a_single_file(tmp_path: Path) -> None:
    path = write_model(tmp_path / "vendor" / "tiny-Q4_K_M.gguf")
    (model,) = scan(tmp_path)
    assert model.state is ModelState.READY
    assert model.id == str(path)
    assert model.title == model.family == "Tiny Llama"
    assert model.size_bytes == path.stat().st_size
    assert (model.parts_present, model.parts_total) == (1, 1)
    assert model.facts is not None
    assert model.facts.kv_bytes_per_token > 0
    assert model.problem is None
    assert not model.is_starter


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("README.md", "model.safetensors", "a.gguf.part", ".gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    (tmp_path / "folder.gguf").mkdir()
    assert scan(tmp_path, tmp_path / "missing") == ()


def test_a_set_is_one_row(tmp_path: Path) -> None:
    paths = write_set(tmp_path, "Big-Model-Q4_K_M", 3)
    (model,) = scan(tmp_path)
    assert model.state is ModelState.READY
    assert model.path == paths[0]
    assert (model.parts_present, model.parts_total) == (3, 3)
    assert model.size_bytes == sum(path.stat().st_size for path in paths)
    assert model.facts is not None
    assert model.facts.tensors is not None
    assert len(model.facts.tensors) == 6
    assert model.facts.quantization == "Q4_K_M"


def test_a_set_with_holes_names_them(tmp_path: Path) -> None:
    paths = write_set(tmp_path, "big", 9)
    for number in (3, 4, 5, 8):
        paths[number].unlink()
    (model,) = scan(tmp_path)
    assert model.state is ModelState.PARTIAL
    assert model.parts_present == 5
    assert model.problem is not None
    assert model.problem.code is ErrorCode.MODEL_PART_MISSING
    assert model.problem.params["which"] == "4-6, 9"
    assert model.facts is not None


def test_a_set_without_its_first_part(tmp_path: Path) -> None:
    paths = write_set(tmp_path, "big", 2)
    paths[0].unlink()
    (model,) = scan(tmp_path)
    assert model.state is ModelState.PARTIAL
    assert model.facts is None
    assert model.path == paths[1]


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    paths = write_set(tmp_path / "a", "one", 3)
    paths[2].replace(paths[1])
    other = write_set(tmp_path / "b", "two", 4)
    other[3].replace(tmp_path / "b" / "single.gguf")
    swapped, missing, renamed = sorted(scan(tmp_path), key=lambda model: model.id)
    assert swapped.state is ModelState.BROKEN
    assert swapped.problem is not None
    assert swapped.problem.code is ErrorCode.MODEL_PART_FOREIGN
    assert swapped.problem.params["field"] == "split.no"
    assert renamed.problem is not None
    assert missing.state is ModelState.PARTIAL or renamed.state is ModelState.PARTIAL
    assert {missing.state, renamed.state} == {ModelState.PARTIAL, ModelState.BROKEN}


def test_a_set_with_too_few_tensors(tmp_path: Path) -> None:
    paths = write_set(tmp_path, "one", 2)
    metadata = {
        "split.no": Typed("H", 1),
        "split.count": Typed("H", 2),
        "split.tensors.count": Typed("i", 4),
    }
    write_model(paths[1], metadata, [("blk.9.x", (32,), "F32")])
    model = next(model for model in scan(tmp_path) if model.path == paths[0])
    assert model.state is ModelState.BROKEN
    assert model.problem is not None
    assert model.problem.params["field"] == "split.tensors.count"
    assert (model.problem.params["value"], model.problem.params["expected"]) == (3, 4)


def test_a_name_like_a_part_that_is_none(tmp_path: Path) -> None:
    write_model(tmp_path / "m-00007-of-00003.gguf")
    (model,) = scan(tmp_path)
    assert model.parts_total == 1
    assert model.state is ModelState.READY


def test_wrecks_are_rows_that_say_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_text("<html>")
    whole = write_model(tmp_path / "whole.gguf").read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[:200])
    (tmp_path / "short.gguf").write_bytes(whole[:-1_000])
    (tmp_path / "whole.gguf").unlink()
    found = {model.path.name: model for model in scan(tmp_path)}
    assert found["page.gguf"].state is ModelState.BROKEN
    assert found["cut.gguf"].state is ModelState.BROKEN
    assert found["short.gguf"].state is ModelState.PARTIAL
    codes = {name: model.problem.code for name, model in found.items() if model.problem}
    assert codes == {
        "page.gguf": ErrorCode.MODEL_NOT_GGUF,
        "cut.gguf": ErrorCode.MODEL_CUT,
        "short.gguf": ErrorCode.MODEL_TOO_SHORT,
    }
    for model in found.values():
        assert model.problem is not None
        assert model.path.name in describe_error(model.problem, Language.EN)[0]
        assert model.path.name in describe_error(model.problem, Language.ZH_CN)[0]


def test_companions_come_last(tmp_path: Path) -> None:
    write_model(tmp_path / "a-mmproj-F16.gguf", {"general.type": "mmproj"})
    write_model(tmp_path / "z.gguf", llama_metadata("Zebra"))
    first, last = scan(tmp_path)
    assert first.title == "Zebra"
    assert last.state is ModelState.COMPANION
    assert last.companion is CompanionKind.PROJECTOR
    assert last.title == "a-mmproj-F16"


@needs_links
# one file, named by a person


def named(path: Path | str) -> LocalModel:
    return library.find_named((), str(path), Library(kv_bytes_per_token))


def test_any_part_of_a_set_means_the_set(tmp_path: Path) -> None:
    parts = write_set(tmp_path, "tiny", 3)
    assert named(parts[2]).path == parts[0]
    assert named(parts[0]).parts_total == 3


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"general.type": "mmproj"}, ErrorCode.MODEL_COMPANION),
        ({"general.type": "adapter"}, ErrorCode.MODEL_COMPANION),
        ({"general.type": "imatrix"}, ErrorCode.MODEL_COMPANION),
        ({"general.type": "vocab"}, ErrorCode.MODEL_NO_WEIGHTS),
    ],
)
def test_a_file_beside_a_model_is_called_what_it_is(
    tmp_path: Path, changes: dict[str, object], code: ErrorCode
) -> None:
    write_model(tmp_path / "model.gguf")
    path = tmp_path / "other.gguf"
    write_model(path, llama_metadata() | changes)
    with pytest.raises(ModelError) as caught:
        named(path)
    assert caught.value.code is code
    assert all(str(path) in describe_error(caught.value, one)[0] for one in Language)


def test_what_is_no_model_file_is_said(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    unnamed = tmp_path / "model.bin"
    write_model(unnamed)
    cases = [(text, ErrorCode.MODEL_NOT_GGUF), (unnamed, ErrorCode.MODEL_NO_SUFFIX)]
    if hasattr(os, "mkfifo"):
        pipe = tmp_path / "pipe.gguf"
        os.mkfifo(pipe)
        cases.append((pipe, ErrorCode.MODEL_NOT_GGUF))
    for path, code in cases:
        with pytest.raises(ModelError) as caught:
            named(path)
        assert caught.value.code is code


def test_a_name_that_no_file_can_have_is_a_name() -> None:
    for text in ("a" * 5000, "a\0b", "~nobody-of-this-name/x"):
        assert library.existing_path(text) is None
        with pytest.raises(ModelError):
            named(text)


def test_a_hugging_face_cache(tmp_path: Path) -> None:
    repo = tmp_path / "models--org--name"
    blob = write_model(repo / "blobs" / "0123abc")
    for commit in ("c1", "c2"):
        link = repo / "snapshots" / commit / "tiny-Q4_K_M.gguf"
        link.parent.mkdir(parents=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (repo / "snapshots" / "c1" / "gone.gguf").symlink_to("../../blobs/none")
    (model,) = scan(tmp_path)
    assert model.state is ModelState.READY
    assert model.path.name == "tiny-Q4_K_M.gguf"


@needs_links
def test_loops_and_doubled_folders_end(tmp_path: Path) -> None:
    write_model(tmp_path / "a" / "m.gguf")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(scan(tmp_path, tmp_path / "a", tmp_path)) == 1


@needs_links
def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert scan(tmp_path) == ()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_closed_doors(tmp_path: Path) -> None:
    write_model(tmp_path / "open" / "m.gguf")
    closed = write_model(tmp_path / "closed" / "m.gguf")
    closed.parent.chmod(0)
    try:
        assert len(scan(tmp_path)) == 1
    finally:
        closed.parent.chmod(0o755)


def test_an_unreadable_folder_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(tmp_path / "open" / "m.gguf")
    (tmp_path / "closed").mkdir()
    listing = Path.iterdir

    def refuse(folder: Path) -> object:
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied")
        return listing(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert len(scan(tmp_path)) == 1


def test_an_unreadable_file_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(tmp_path / "m.gguf")
    shelf = Library(kv_bytes_per_token)
    original = Path.open
    monkeypatch.setattr(Path, "open", _refusing)
    (model,) = shelf.scan([tmp_path])
    assert model.problem is not None
    assert model.problem.code is ErrorCode.MODEL_UNREADABLE
    monkeypatch.setattr(Path, "open", original)
    (model,) = shelf.scan([tmp_path])
    assert model.state is ModelState.READY


def _refusing(_path: Path, *_arguments: object, **_options: object) -> object:
    raise PermissionError(13, "Permission denied")


def test_a_file_that_vanishes_in_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_model(tmp_path / "m.gguf")
    found = files.find_models([tmp_path])
    path.unlink()
    monkeypatch.setattr(library, "find_models", lambda _folders, **_: found)
    assert scan(tmp_path) == ()


def test_deep_and_wide_trees_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_DEPTH", 2)
    write_model(tmp_path / "1" / "2" / "in.gguf")
    write_model(tmp_path / "1" / "2" / "3" / "too-deep.gguf")
    assert [model.path.name for model in scan(tmp_path)] == ["in.gguf"]
    monkeypatch.setattr(files, "MAX_FOLDERS", 1)
    assert scan(tmp_path) == ()


def test_a_second_scan_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_model(tmp_path / "m.gguf")
    write_set(tmp_path, "set", 3)
    opened: list[Path] = []
    read = library.read_file

    def counted(file: Path) -> object:
        opened.append(file)
        return read(file)

    monkeypatch.setattr(library, "read_file", counted)
    shelf = Library(kv_bytes_per_token)
    before = shelf.scan([tmp_path])
    assert len(opened) == 4
    assert shelf.scan([tmp_path]) == before
    assert len(opened) == 4
    write_model(path, llama_metadata("Another"))
    os.utime(path, ns=(1, 1))
    titles = {model.title for model in shelf.scan([tmp_path])}
    assert "Another" in titles
    assert len(opened) == 5
