"""The record of proven files: written, believed only while the file is the same."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.kept_hashes import KeptHash, keep_hashes
from kimi_desktop.models import hash_record
from kimi_desktop.models.hash_record import HASHES_FILE, Change, HashReader, Verified, Witness
from kimi_desktop.models.library import Library
from kimi_desktop.models.listing import describe, table
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import write_set

SHA = "a" * 64


def kept(path: Path, at: float = 100.0, witness: Witness = Witness.LISTING) -> KeptHash:
    status = path.stat()
    return KeptHash(SHA, status.st_size, status.st_mtime_ns, witness, proven_at=at)


def as_found(*paths: Path) -> list[tuple[Path, int, int]]:
    return [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in paths]


def file(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"weights")
    return path


def test_all_files_of_a_model_together(tmp_path: Path) -> None:
    a, b = file(tmp_path / "a"), file(tmp_path / "UD-Q4" / "b")
    keep_hashes(tmp_path, {"a": kept(a, 200)})
    assert HashReader().verified(as_found(a, b)) is None
    keep_hashes(tmp_path, {"UD-Q4/b": kept(b, 100)})
    assert HashReader().verified(as_found(a, b)) == Verified(100, Witness.LISTING)
    keep_hashes(tmp_path, {"a": kept(a, 200, Witness.NOBODY)})
    assert HashReader().verified(as_found(a, b)) == Verified(100, Witness.NOBODY)
    assert HashReader().verified([]) is None


@pytest.mark.parametrize("change", ["size", "time"])
def test_a_file_that_changed_is_not_verified(tmp_path: Path, change: str) -> None:
    a = file(tmp_path / "a")
    keep_hashes(tmp_path, {"a": kept(a)})
    if change == "size":
        before = a.stat().st_mtime_ns
        a.write_bytes(b"other weights")
        os.utime(a, ns=(before, before))
    else:
        os.utime(a, ns=(1, 1))
    assert HashReader().verified(as_found(a)) is None


def test_what_became_of_files_since_they_were_proven(tmp_path: Path) -> None:
    a, b = file(tmp_path / "a"), file(tmp_path / "b")
    keep_hashes(tmp_path, {"a": kept(a)})
    assert HashReader().change(as_found(a, b)) is None  # b was never proven
    os.utime(a, ns=(1, 1))
    assert HashReader().change(as_found(a, b)) is Change.TOUCHED
    keep_hashes(tmp_path, {"b": replace(kept(b), modified_ns=0)})  # as a verification leaves it
    assert HashReader().change(as_found(a, b)) is Change.ALTERED


def test_a_record_without_times_is_as_old_as_its_file(tmp_path: Path) -> None:
    a = file(tmp_path / "a")
    keep_hashes(tmp_path, {"a": kept(a)})
    record = tmp_path / HASHES_FILE
    data = json.loads(record.read_text())
    del data["files"]["a"]["proven_at"]
    record.write_text(json.dumps(data))
    os.utime(record, (77, 77))
    found = HashReader().verified(as_found(a))
    assert found is not None
    assert found.at == 77


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', '{"files": {"a": {}}}'])
def test_a_damaged_record_proves_nothing(tmp_path: Path, text: str) -> None:
    a = file(tmp_path / "a")
    (tmp_path / HASHES_FILE).write_text(text)
    assert HashReader().verified(as_found(a)) is None


def test_a_record_is_read_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = file(tmp_path / "a")
    keep_hashes(tmp_path, {"a": kept(a)})
    reads: list[Path] = []
    read = hash_record._read
    monkeypatch.setattr(hash_record, "_read", lambda f, at: (reads.append(f), read(f, at))[1])
    reader = HashReader()
    for _ in range(3):
        reader.begin()
        assert reader.verified(as_found(a)) is not None
    assert len(reads) == 1
    (tmp_path / HASHES_FILE).unlink()
    reader.begin()
    assert reader.verified(as_found(a)) is None
    keep_hashes(tmp_path, {"a": kept(a, 300)})
    reader.begin()
    assert reader.verified(as_found(a)) == Verified(300, Witness.LISTING)


def test_the_library_reads_it_anew_with_every_scan(tmp_path: Path) -> None:
    paths = write_set(tmp_path / "org" / "name" / "Q4_0", "m-Q4_0", 2)
    library = Library(kv_bytes_per_token)
    (before,) = library.scan([tmp_path])
    assert before.verified is None
    root = tmp_path / "org" / "name"
    keep_hashes(root, {path.relative_to(root).as_posix(): kept(path) for path in paths})
    (after,) = library.scan([tmp_path])
    assert after.verified == Verified(100, Witness.LISTING)
    assert after.facts is before.facts
    os.utime(paths[1], ns=(5, 5))
    (changed,) = library.scan([tmp_path])
    assert changed.verified is None
    os.utime(paths[0], ns=(1, 1))
    (touched,) = library.scan([tmp_path])
    assert (touched.verified, touched.change) == (None, Change.TOUCHED)
    (row,) = describe([touched])
    assert row["change"] == "touched"
    lines = table([touched], Language.EN)
    assert "Changed" in lines[1]
    assert "verify it again" in lines[2]
