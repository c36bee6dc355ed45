"""Moving models: proven on the other side before anything goes, resumable, cancellable."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.downloads.keeping import moving
from kimi_desktop.downloads.keeping.moving import (
    WAITING_FOLDER,
    MoveCancelledError,
    Mover,
    items_for,
)
from kimi_desktop.downloads.kept_hashes import KeptHash, keep_hashes, read_hashes
from kimi_desktop.downloads.volume import VolumeFacts
from kimi_desktop.models.hash_record import Witness

SIZES = {"org/name/Q4/a-00001-of-00002.gguf": 300_001, "org/name/Q4/a-00002-of-00002.gguf": 7}
SHM = Path("/dev/shm")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "BLOCK_BYTES", 65_536)
    monkeypatch.setattr(moving, "PROGRESS_S", 0.0)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    root = tmp_path / "here"
    for name, size in SIZES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
    return root


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both folders count as two volumes."""
    monkeypatch.setattr(Mover, "_rename_all", lambda _mover: False)


def mover(here: Path, there: Path, **options: object) -> Mover:
    files = [here / name for name in SIZES]
    return Mover(items_for(files, here, there), there, kept_folders=[here, there], **options)  # type: ignore[arg-type]


def contents(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".kimi-hashes")
    }


def proven(path: Path, sha256: str | None = None) -> KeptHash:
    status = path.stat()
    real = hashlib.sha256(path.read_bytes()).hexdigest()
    return KeptHash(sha256 or real, status.st_size, status.st_mtime_ns, Witness.LISTING, None, 5.0)


def failed(run: Mover) -> ModelError:
    with pytest.raises(ModelError) as caught:
        run.run()
    return caught.value


def test_on_one_volume_only_names_change(here: Path, there: Path) -> None:
    before = contents(here)
    root = here / "org" / "name"
    keep_hashes(root, {"Q4/a-00001-of-00002.gguf": proven(here / next(iter(SIZES)))})
    inode = (here / next(iter(SIZES))).stat().st_ino
    assert mover(here, there).run() == 0
    assert contents(there) == before
    assert (there / next(iter(SIZES))).stat().st_ino == inode
    assert list(here.iterdir()) == []
    assert read_hashes(there / "org" / "name")["Q4/a-00001-of-00002.gguf"].proven_at == 5.0


@pytest.mark.usefixtures("apart")
def test_to_another_volume_every_byte_is_read_back(here: Path, there: Path) -> None:
    before = contents(here)
    times = {name: (here / name).stat().st_mtime_ns for name in SIZES}
    heard: list[tuple[int, int, int]] = []
    run = mover(here, there, progress=lambda c, k, t, _name: heard.append((c, k, t)))
    total = sum(SIZES.values())
    assert run.run() == total
    assert contents(there) == before
    assert {name: (there / name).stat().st_mtime_ns for name in SIZES} == times
    assert list(here.iterdir()) == []
    assert not (there / WAITING_FOLDER).exists()
    assert heard[-1] == (total, total, total)
    assert heard == sorted(heard)
    for target, kept in read_hashes(there / "org" / "name" / "Q4").items():
        path = there / "org" / "name" / "Q4" / target
        assert kept.witness is Witness.NOBODY
        assert kept.is_unchanged(path)
        assert kept.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("apart")
def test_the_record_goes_along_and_is_compared(here: Path, there: Path) -> None:
    root = here / "org" / "name"
    first = here / next(iter(SIZES))
    keep_hashes(root, {"Q4/a-00001-of-00002.gguf": proven(first)})
    mover(here, there).run()
    kept = read_hashes(there / "org" / "name")
    assert kept["Q4/a-00001-of-00002.gguf"].witness is Witness.LISTING
    assert kept["Q4/a-00001-of-00002.gguf"].proven_at > 5.0
    assert not root.exists()


@pytest.mark.usefixtures("apart")
def test_a_file_that_rotted_is_not_moved(here: Path, there: Path) -> None:
    before = contents(here)
    first = here / next(iter(SIZES))
    keep_hashes(here / "org" / "name", {"Q4/a-00001-of-00002.gguf": proven(first, "b" * 64)})
    error = failed(mover(here, there))
    assert error.code is ErrorCode.MODEL_MOVE_DAMAGED
    assert error.params["file"] == first.name
    assert contents(here) == before
    assert contents(there) == {}


@pytest.mark.usefixtures("apart")
def test_a_drive_that_does_not_keep_what_is_written(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(here)
    sync = moving.disk.sync_data

    def rot(descriptor: int) -> None:
        sync(descriptor)
        for part in (there / WAITING_FOLDER).iterdir():
            data = bytearray(part.read_bytes())
            if len(data) > 100:
                data[100] ^= 1
                part.write_bytes(data)

    monkeypatch.setattr(moving.disk, "sync_data", rot)
    error = failed(mover(here, there))
    assert error.code is ErrorCode.MODEL_MOVE_MISMATCH
    assert contents(here) == before
    assert contents(there) == {}


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("keep", [True, False])
def test_stopped_in_the_middle(here: Path, there: Path, keep: bool) -> None:
    before = contents(here)
    run: Mover

    def progress(copied: int, _checked: int, _total: int, _name: str) -> None:
        if copied >= 131_072:
            run.stop(keep=keep)

    run = mover(here, there, progress=progress)
    with pytest.raises(MoveCancelledError):
        run.run()
    assert contents(here) == before
    waiting = there / WAITING_FOLDER
    assert waiting.exists() is keep
    if keep:
        (part,) = waiting.iterdir()
        assert 0 < part.stat().st_size < SIZES["org/name/Q4/a-00001-of-00002.gguf"]
    assert mover(here, there).run() == sum(SIZES.values())
    assert contents(there) == before


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("kind", ["good", "other bytes", "too long", "whole"])
def test_what_an_earlier_try_left_counts_only_as_far_as_it_is_right(
    here: Path, there: Path, kind: str
) -> None:
    before = contents(here)
    run = mover(here, there)
    part = run._part(run._items[0])
    part.parent.mkdir(parents=True)
    data = (here / next(iter(SIZES))).read_bytes()
    part.write_bytes(
        {
            "good": data[:200_000],
            "other bytes": bytes(200_000),
            "too long": data + b"more",
            "whole": data,
        }[kind]
    )
    run.run()
    assert contents(there) == before
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("apart")
def test_a_try_that_ended_between_the_names_is_finished(here: Path, there: Path) -> None:
    before = contents(here)
    first = next(iter(SIZES))
    (there / first).parent.mkdir(parents=True)
    shutil.copyfile(here / first, there / first)
    mover(here, there).run()
    assert contents(there) == before
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("same_volume", [True, False])
def test_other_content_under_the_name_is_left_alone(
    here: Path, there: Path, same_volume: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not same_volume:
        monkeypatch.setattr(Mover, "_rename_all", lambda _mover: False)
    before = contents(here)
    first = next(iter(SIZES))
    (there / first).parent.mkdir(parents=True)
    (there / first).write_bytes(b"somebody else's")
    error = failed(mover(here, there))
    assert error.code is ErrorCode.MODEL_NAME_TAKEN
    assert error.params["path"] == str(there / first)
    assert contents(here) == before
    assert (there / first).read_bytes() == b"somebody else's"


def facts(place: Path, free: int, largest: int | None) -> VolumeFacts:
    return VolumeFacts(place, "vfat", free, None, True, largest, 255, 4095)


@pytest.mark.usefixtures("apart")
def test_space_and_file_size_are_looked_at_first(here: Path, there: Path) -> None:
    total = sum(SIZES.values())
    error = failed(mover(here, there, look_at=lambda p: facts(p, total, None)))
    assert error.code is ErrorCode.MODEL_NO_SPACE
    error = failed(mover(here, there, look_at=lambda p: facts(p, 2**40, 1000)))
    assert error.code is ErrorCode.MODEL_FILE_TOO_LARGE
    assert error.params["file"] == "a-00001-of-00002.gguf"
    assert not (there / WAITING_FOLDER).exists()


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize(
    ("number", "code"),
    [(errno.ENOSPC, ErrorCode.MODEL_NO_SPACE), (errno.EIO, ErrorCode.MODEL_NOT_MOVED)],
)
def test_a_disk_that_fails_keeps_what_was_copied(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: ErrorCode
) -> None:
    before = contents(here)
    write = moving._write_all
    calls: list[int] = []

    def fail(descriptor: int, data: memoryview) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise OSError(number, os.strerror(number))
        write(descriptor, data)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "_write_all", fail)
        assert failed(mover(here, there)).code is code
    assert contents(here) == before
    assert list((there / WAITING_FOLDER).iterdir())
    mover(here, there).run()
    assert contents(there) == before


@pytest.mark.usefixtures("apart")
def test_a_file_that_changes_meanwhile_is_not_moved(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = here / next(iter(SIZES))
    sync = moving.disk.sync_data

    def touch(descriptor: int) -> None:
        sync(descriptor)
        os.utime(first, ns=(9, 9))

    monkeypatch.setattr(moving.disk, "sync_data", touch)
    assert failed(mover(here, there)).code is ErrorCode.MODEL_NOT_MOVED
    assert first.exists()


def test_a_rename_that_fails_half_way_is_undone(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(here)
    rename = Path.rename
    calls: list[Path] = []

    def fail(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == 2:
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    assert failed(mover(here, there)).code is ErrorCode.MODEL_NOT_MOVED
    assert contents(here) == before


def test_one_device_that_is_two_volumes_is_copied(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(here)

    def fail(_path: Path, _target: Path) -> Path:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail)
        assert mover(here, there).run() == sum(SIZES.values())
    assert contents(there) == before


@pytest.fixture
def other_volume(tmp_path: Path) -> Iterator[Path]:
    if not SHM.is_dir() or SHM.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second volume here")
    folder = Path(tempfile.mkdtemp(prefix="kimi-move-", dir=SHM))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_two_real_volumes(here: Path, other_volume: Path) -> None:
    before = contents(here)
    look = moving.look_at_volume

    def roomy(place: Path) -> VolumeFacts:
        return dataclasses.replace(look(place), free_bytes=2**40)

    assert mover(here, other_volume, look_at=roomy).run() == sum(SIZES.values())
    assert contents(other_volume) == before
    assert list(here.iterdir()) == []
