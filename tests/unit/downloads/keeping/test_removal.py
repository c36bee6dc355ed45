"""Removing models: what goes, what the drive gets back, back again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.downloads.keeping import removal as removing
from kimi_desktop.downloads.keeping import sharing
from kimi_desktop.downloads.keeping.types import Removal
from kimi_desktop.downloads.kept_hashes import HASHES_FILE, KeptHash, keep_hashes, read_hashes
from kimi_desktop.models.companions import own_companions
from kimi_desktop.models.hash_record import Witness
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import llama_metadata, write_model, write_set
from tests.unit.models.test_checkpoint_row import checkpoint

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right on Windows")


class Bin:
    """A trash as freedesktop.org describes it; ``full`` names what it does not take."""

    def __init__(self, home: Path) -> None:
        self.files, self.info = home / "Trash" / "files", home / "Trash" / "info"
        self.files.mkdir(parents=True)
        self.info.mkdir()
        self.full: str = ""

    def __call__(self, path: Path) -> Path:
        if path.name == self.full:
            raise OSError(5, "no trash here")
        place = self.files / path.name
        path.rename(place)
        (self.info / f"{path.name}.trashinfo").write_text("[Trash Info]")
        return place


@pytest.fixture
def trash(tmp_path: Path) -> Bin:
    return Bin(tmp_path / "bin")


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def scan(shelf: Path) -> dict[str, LocalModel]:
    return {m.path.name: m for m in Library(kv_bytes_per_token).scan([shelf])}


def look(shelf: Path, name: str) -> Removal:
    models = scan(shelf)
    model = models[name]
    companions = own_companions(model, tuple(models.values()))
    return removing.look_at_removal(model, companions, [shelf])


def kept(path: Path) -> KeptHash:
    status = path.stat()
    return KeptHash("a" * 64, status.st_size, status.st_mtime_ns, Witness.LISTING)


def on_disk(path: Path) -> int:
    """Test files have holes."""
    status = path.stat()
    blocks = getattr(status, "st_blocks", None)
    return status.st_size if blocks is None else min(blocks * 512, status.st_size)


def test_a_set_in_a_folder_of_its_own_goes_as_one(shelf: Path, trash: Bin) -> None:
    root = shelf / "org" / "name"
    paths = write_set(root / "Q4_K_M", "m-Q4_K_M", 3)
    keep_hashes(root, {p.relative_to(root).as_posix(): kept(p) for p in paths})
    found = look(shelf, paths[0].name)
    assert found.paths == (root / "Q4_K_M",)
    assert found.n_files == 3
    assert found.size_bytes == sum(p.stat().st_size for p in paths)
    assert found.freed_bytes == sum(map(on_disk, paths))
    removed = removing.remove(found, trash)
    assert not (shelf / "org").exists()  # nothing was left in it
    assert shelf.exists()
    assert (trash.files / "Q4_K_M").is_dir()
    removing.restore(removed)
    assert all(path.is_file() for path in paths)
    assert len(read_hashes(root)) == 3
    assert not list(trash.info.iterdir())


def test_files_among_others_go_one_by_one(shelf: Path, trash: Bin) -> None:
    one = write_model(shelf / "one-Q4_0.gguf", llama_metadata("One"))
    other = write_model(shelf / "two-Q4_0.gguf", llama_metadata("Two"))
    keep_hashes(shelf, {path.name: kept(path) for path in (one, other)})
    found = look(shelf, one.name)
    assert found.paths == (one,)
    removed = removing.remove(found, trash)
    assert other.exists()
    assert list(read_hashes(shelf)) == [other.name]
    removing.restore(removed)
    assert set(read_hashes(shelf)) == {one.name, other.name}


def test_the_only_model_of_a_library_folder_leaves_the_folder(shelf: Path, trash: Bin) -> None:
    path = write_model(shelf / "one.gguf")
    removing.remove(look(shelf, path.name), trash)
    assert shelf.exists()
    assert not (shelf / HASHES_FILE).exists()


def test_a_projector_of_its_own_goes_along_and_a_shared_one_stays(shelf: Path, trash: Bin) -> None:
    root = shelf / "org" / "name"
    one = write_model(root / "m-Q4_0.gguf", llama_metadata("Kimi"))
    projector = write_model(root / "mmproj-F16.gguf", {"general.type": "mmproj"})
    found = look(shelf, one.name)
    assert found.companions == ("mmproj-F16.gguf",)
    assert found.paths == (root,)
    write_model(root / "m-Q8_0.gguf", llama_metadata("Kimi"))
    found = look(shelf, one.name)
    assert found.companions == ()
    removing.remove(found, trash)
    assert projector.exists()


def test_a_checkpoint_goes_with_everything_in_its_folder(shelf: Path, trash: Bin) -> None:
    folder = checkpoint(shelf / "org" / "Tiny-Llama")
    found = look(shelf, "Tiny-Llama")
    assert found.paths == (folder,)
    assert found.size_bytes == sum(path.stat().st_size for path in folder.iterdir())
    removing.restore(removing.remove(found, trash))
    assert (folder / "tokenizer.json").exists()
    write_model(folder / "also.gguf")
    found = look(shelf, "Tiny-Llama")
    assert folder not in found.paths
    removing.remove(found, trash)
    assert (folder / "also.gguf").exists()


@needs_links
def test_what_has_another_name_frees_nothing(shelf: Path, tmp_path: Path) -> None:
    path = write_model(tmp_path / "theirs" / "m.gguf")
    size = path.stat().st_size
    taken = on_disk(path)
    hard = shelf / "hard.gguf"
    os.link(path, hard)
    assert look(shelf, "hard.gguf").freed_bytes == 0
    assert look(shelf, "hard.gguf").size_bytes == size
    path.unlink()
    assert look(shelf, "hard.gguf").freed_bytes == taken
    hard.rename(path)
    (shelf / "soft.gguf").symlink_to(path)
    assert look(shelf, "soft.gguf").freed_bytes == 0


@needs_links
def test_both_names_of_a_file_together_free_it(tmp_path: Path) -> None:
    path = write_model(tmp_path / "a.gguf")
    os.link(path, tmp_path / "b.gguf")
    assert sharing.freed_bytes([path, tmp_path / "b.gguf"]) == on_disk(path)
    assert sharing.freed_bytes([path, tmp_path / "gone"]) == 0


def test_when_one_does_not_go_all_come_back(shelf: Path, trash: Bin) -> None:
    paths = write_set(shelf, "m-Q4_0", 3)
    write_model(shelf / "other.gguf")
    trash.full = paths[2].name
    with pytest.raises(ModelError) as caught:
        removing.remove(look(shelf, paths[0].name), trash)
    assert caught.value.code is ErrorCode.MODEL_NO_TRASH
    assert "no trash here" in str(caught.value.params["detail"])
    assert all(path.is_file() for path in paths)
    assert not list(trash.info.iterdir())


def test_for_good(shelf: Path) -> None:
    folder = checkpoint(shelf / "org" / "Tiny-Llama")
    single = write_model(shelf / "m.gguf")
    assert removing.remove_for_good(look(shelf, "Tiny-Llama")).moved == ()
    removing.remove_for_good(look(shelf, "m.gguf"))
    assert not folder.exists()
    assert not single.exists()
    assert list(shelf.iterdir()) == []


def test_what_cannot_be_deleted_is_named(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(shelf / "m.gguf")
    found = look(shelf, "m.gguf")

    def refuse(_path: Path, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ModelError) as caught:
        removing.remove_for_good(found)
    assert caught.value.code is ErrorCode.MODEL_NOT_REMOVED


@pytest.mark.parametrize("why", ["emptied", "taken"])
def test_what_cannot_come_back_is_named(shelf: Path, trash: Bin, why: str) -> None:
    path = write_model(shelf / "m.gguf")
    removed = removing.remove(look(shelf, "m.gguf"), trash)
    if why == "emptied":
        (trash.files / "m.gguf").unlink()
    else:
        path.write_bytes(b"new")
    with pytest.raises(ModelError) as caught:
        removing.restore(removed)
    assert caught.value.code is ErrorCode.MODEL_NOT_RESTORED
    assert caught.value.params["path"] == str(path)


def extents(*found: tuple[int, int, int]) -> bytes:
    head = sharing._HEAD.pack(0, 0, 0, len(found), 256, 0)
    return head + b"".join(
        sharing._EXTENT.pack(at, 0, length, 0, 0, flags, 0, 0, 0) for at, length, flags in found
    )


def test_shared_blocks_of_a_clone(tmp_path: Path) -> None:
    path = tmp_path / "clone"
    path.write_bytes(bytes(12_288))
    asked: list[int] = []

    def ask(_path: Path, start: int) -> bytes:
        asked.append(start)
        if start == 0:
            return extents((0, 4096, 0x2000), (4096, 4096, 0))
        return extents((8192, 4096, 0x2000 | 0x1))

    assert sharing.shared_bytes(path, ask) == 8192
    assert asked == [0, 8192]
    assert sharing.freed_bytes([path], ask) == 4096


def test_a_file_system_that_does_not_say() -> None:
    def refuse(_path: Path, _start: int) -> bytes:
        raise OSError(95, "Operation not supported")

    assert sharing.shared_bytes(Path("x"), refuse) == 0
    assert sharing.shared_bytes(Path("x"), lambda _p, _s: extents()) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's call")
def test_this_file_system_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(os.urandom(100_000))
    assert sharing.shared_bytes(path) == 0
