"""The partial file: what counts after a stop, a kill, a power loss and other people's hands."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.downloads import disk
from kimi_desktop.downloads.digests import whole_digest
from kimi_desktop.downloads.journal import RECORD_BYTES, PieceJournal
from kimi_desktop.downloads.part_file import (
    PARTIAL_FOLDER,
    PartFile,
    PartGoneError,
    paths_of,
)
from kimi_desktop.downloads.types import FileJob
from tests.support.part_files import PIECE, content_of, fill, job_of, open_part
from tests.support.power_loss import RecordedDisk


def test_a_file_gets_its_name_when_it_is_whole(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part)
    assert part.coverage.complete
    assert not (tmp_path / "sub" / "model.gguf").exists()
    assert part.finish() == tmp_path / "sub" / "model.gguf"
    part.forget_journal()
    assert (tmp_path / "sub" / "model.gguf").read_bytes() == content_of()
    assert not (tmp_path / PARTIAL_FOLDER).exists()


def test_the_name_comes_after_the_data_and_both_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = open_part(tmp_path)
    fill(part)
    inode = part.path.stat().st_ino
    calls: list[tuple[str, object]] = []

    def seen(name: str, what: Callable[[Any], object]) -> None:
        original = getattr(disk, name)

        def call(*args: Any) -> None:
            calls.append((name, what(args[-1])))
            original(*args)

        monkeypatch.setattr(disk, name, call)

    seen("sync_data", lambda descriptor: os.fstat(descriptor).st_ino)
    seen("replace", lambda target: target)
    seen("sync_folder", lambda folder: folder)
    target = part.finish()
    assert calls == [("sync_data", inode), ("replace", target), ("sync_folder", target.parent)]


def test_what_is_durable_is_what_another_run_finds(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=3 * PIECE + 700)
    assert part.durable_bytes == 0  # the system may still have all of it in memory
    part.sync()
    assert part.durable_bytes == 3 * PIECE + 700
    fill(part, up_to=5 * PIECE)
    assert part.durable_bytes == 3 * PIECE + 700
    part.lose(0)
    assert part.durable_bytes == 2 * PIECE + 700
    part._close()  # killed
    again = open_part(tmp_path)
    assert again.durable_bytes == again.coverage.written_bytes == 4 * PIECE
    again.close()


def test_the_beginning_of_a_piece_outlasts_a_kill_once_it_was_synced(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=PIECE + 700)
    part.sync()
    fill(part, up_to=PIECE + 900)
    part._close()
    again = open_part(tmp_path)
    assert again.coverage.written_bytes == again.durable_bytes == PIECE + 700
    fill(again)
    assert again.path.read_bytes() == content_of()
    again.close()


def test_a_stop_in_peace_keeps_every_byte(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=3 * PIECE + 700)
    part.close()
    again = open_part(tmp_path)
    assert again.coverage.written_bytes == 3 * PIECE + 700
    assert again.resumed == {0, 1, 2}
    fill(again)
    assert [again.hashes[n] for n in range(again.coverage.n_pieces)] == [
        hashlib.sha256(content_of()[n * PIECE : (n + 1) * PIECE]).digest()
        for n in range(again.coverage.n_pieces)
    ]
    again.close()


def test_a_killed_process_loses_unfinished_pieces_only(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=3 * PIECE + 700)
    part._close()  # nothing was synced or written down
    again = open_part(tmp_path)
    assert again.coverage.written_bytes == 3 * PIECE
    again.close()


def test_a_claim_that_the_bytes_do_not_bear_out_does_not_count(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=4 * PIECE)
    part._close()
    _change(part.path, PIECE + 5)
    again = open_part(tmp_path)
    assert set(again.hashes) == {0, 2, 3}
    again.close()


def test_a_durable_piece_counts_and_is_read_again_later(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=2 * PIECE)
    part.close()
    _change(part.path, PIECE + 5)
    again = open_part(tmp_path)
    assert again.resumed == {0, 1}  # the hasher finds it, while the download goes on
    assert again.read_hash(1) != again.hashes[1]
    again.lose(1)
    assert again.coverage.free_bytes == again.job.size_bytes - PIECE
    again.close()
    third = open_part(tmp_path)
    assert set(third.hashes) == {0}
    third.close()


def test_the_beginning_of_a_piece_counts_only_if_it_is_there(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=PIECE + 400)
    part.close()
    _change(part.path, PIECE + 5)
    again = open_part(tmp_path)
    assert again.coverage.written_bytes == PIECE
    again.close()


def test_pieces_that_two_connections_shared_are_hashed_from_the_disk(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    content = memoryview(content_of())
    first = part.take(1)
    assert first is not None
    second = part.split(first, at_least=10)
    assert second is not None
    assert part.write(second, content[second.position : second.end]) > 0
    assert part.write(first, content[first.position : first.end]) > 0
    assert part.hashes[0] == hashlib.sha256(content[:PIECE]).digest()
    part.close()


def test_another_version_of_the_file_does_not_use_the_journal(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=2 * PIECE)
    part.close()
    other = FileJob("sub/model.gguf", part.job.size_bytes, "0" * 64, None, ())
    again = PartFile(tmp_path, other, piece_bytes=PIECE)
    assert again.coverage.written_bytes == 0
    assert again.path != part.path
    again.close()


def test_a_removed_partial_voids_its_journal(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=2 * PIECE)
    part.close()
    part.path.unlink()
    again = open_part(tmp_path)
    assert again.coverage.written_bytes == 0
    again.close()


def test_a_cut_partial_keeps_what_is_left(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part)
    part.close()
    os.truncate(part.path, 2 * PIECE + 3)
    again = open_part(tmp_path)
    assert set(again.hashes) == {0, 1}
    again.close()


def test_a_torn_journal_ends_at_its_last_good_record(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=3 * PIECE)
    part.close()
    journal = paths_of(tmp_path, part.job)[1]
    os.truncate(journal, 48 + 2 * RECORD_BYTES + 7)
    again = open_part(tmp_path)
    assert set(again.hashes) == {0, 1}
    fill(again)  # and it can be written on
    again.close()
    third = open_part(tmp_path)
    assert third.coverage.complete
    third.close()


@pytest.mark.parametrize("position", [0, 20, 48 + 3, 48 + RECORD_BYTES + 9])
def test_a_changed_byte_in_the_journal_is_not_believed(tmp_path: Path, position: int) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=3 * PIECE)
    part.close()
    _change(paths_of(tmp_path, part.job)[1], position)
    again = open_part(tmp_path)
    assert set(again.hashes) == set(range(max((position - 48) // RECORD_BYTES, 0)))
    again.close()


@pytest.mark.parametrize("what", ["removed", "replaced", "cut"])
def test_other_hands_on_the_open_file_are_noticed(tmp_path: Path, what: str) -> None:
    part = open_part(tmp_path)
    fill(part, up_to=PIECE)
    if what == "cut":
        os.truncate(part.path, 10)
    else:
        part.path.unlink()
        if what == "replaced":
            part.path.write_bytes(bytes(part.job.size_bytes))
    with pytest.raises(PartGoneError):
        part.sync()
    with pytest.raises(PartGoneError):
        part.finish()
    part._close()


def test_links_are_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path = paths_of(tmp_path, job_of())[0]
    path.parent.mkdir()
    for make in (path.symlink_to, path.hardlink_to):
        make(victim)
        with pytest.raises(OSError):
            open_part(tmp_path)
        path.unlink()
    assert victim.read_bytes() == b"precious"


def test_a_piece_is_done_when_it_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the last one lets the file be named and closed while its record is being written."""
    part = open_part(tmp_path)
    seen: list[tuple[bool, int, set[int]]] = []
    note_piece = PieceJournal.note_piece

    def watched(journal: PieceJournal, piece: int, sha256: bytes) -> None:
        note_piece(journal, piece, sha256)
        seen.append((part.complete, part.prefix_pieces, set(part.hashes)))

    monkeypatch.setattr(PieceJournal, "note_piece", watched)
    fill(part)
    assert seen == [(False, n, set(range(n))) for n in range(8)]
    assert part.complete
    part.finish()


def test_a_bad_file_is_set_aside(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part)
    bad = part.quarantine()
    assert bad.suffix == ".bad"
    assert bad.read_bytes() == content_of()
    again = open_part(tmp_path)
    assert again.coverage.written_bytes == 0
    again.close()


def test_files_that_only_git_knows() -> None:
    content = b"# Small\n"
    job = FileJob("README.md", len(content), None, "f" * 40, ())
    digest = whole_digest(job)
    digest.update(memoryview(content))
    expected = hashlib.sha1(b"blob 8\0# Small\n", usedforsecurity=False).hexdigest()
    assert digest.hexdigest() == expected


@given(data=st.data())
def test_after_a_power_loss_nothing_counts_that_is_not_on_the_disk(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any of the writes since the last sync may be lost, in any combination, the last one torn."""
    base = tmp_path_factory.mktemp("power")
    recorded = RecordedDisk()
    content = memoryview(content_of())
    with recorded:
        part = open_part(base / "live")
        leases = [lease for _ in range(3) if (lease := part.take(data.draw(st.integers(1, 3000))))]
        for _ in range(data.draw(st.integers(1, 25))):
            if data.draw(st.integers(0, 4)) == 0:
                part.sync()
                continue
            lease = data.draw(st.sampled_from(leases))
            if not lease.left:
                leases.remove(lease)
                part.give_back(lease)
                taken = part.take(data.draw(st.integers(1, 3000)))
                leases += [taken] if taken else []
                if not leases:
                    break
                continue
            end = min(lease.end, lease.position + data.draw(st.integers(1, 900)))
            part.write(lease, content[lease.position : end])
        if data.draw(st.booleans()):
            part.close()
        else:
            part._close()
    image = base / "after"
    recorded.crash(base / "live", image, data)
    again = open_part(image)
    for piece in range(again.coverage.n_pieces):
        if again.coverage.is_done(piece):
            expected = hashlib.sha256(content[piece * PIECE : (piece + 1) * PIECE]).digest()
            assert again.read_hash(piece) == expected == again.hashes[piece]
    fill(again)
    digest = whole_digest(again.job)
    for piece in range(again.coverage.n_pieces):
        for block in again.read_piece(piece):
            digest.update(block)
    assert digest.hexdigest() == again.job.sha256
    again.close()


def test_no_space_for_a_record_leaves_no_half_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    descriptor = disk.open_file(path)
    disk.append(descriptor, b"whole")
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:2]))
    with pytest.raises(OSError, match="No space"):
        disk.append(descriptor, b"half")
    os.close(descriptor)
    assert path.read_bytes() == b"whole"


def _change(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)
        file.seek(position)
        file.write(bytes([byte[0] ^ 0x40]))
