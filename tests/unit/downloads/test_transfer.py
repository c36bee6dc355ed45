"""The engine from begin to end, with everything in order."""

from __future__ import annotations

import hashlib
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads import board, connection, dispatch, finisher, transfer
from kimi_desktop.downloads.board import Options
from kimi_desktop.downloads.digests import identity_of
from kimi_desktop.downloads.journal import replay
from kimi_desktop.downloads.kept_hashes import HASHES_FILE, read_hashes
from kimi_desktop.downloads.part_file import paths_of
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub
from tests.support.transfers import PIECE, WAIT_S, Run, assert_whole, sent_bytes, spec_of

SHARDS = [HubFile(f"model-{n:05}-of-00003.gguf", 9 * PIECE + n) for n in (1, 2, 3)]


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [*SHARDS, HubFile("config.json", content=b"{}", lfs=False)]
    with LocalHub("org/model", files) as running:
        yield running


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is on the disk: tests that wait for it need not wait long."""
    monkeypatch.setattr(finisher, "SYNC_S", 0.1)


def test_every_file_is_there_and_proven(hub: LocalHub, tmp_path: Path) -> None:
    run = Run(spec_of(hub, tmp_path)).now()
    assert run.transfer.complete
    assert_whole(hub, tmp_path)
    assert run.proven == [0, 1, 2, 3]
    last = run.progress[-1]
    assert last["done"] == last["total"] == last["hashed"] == sum(f.length for f in hub.files)
    assert (last["files_done"], last["files"], last["files_failed"]) == (4, 4, 0)
    assert sent_bytes(hub, "cdn", "hub") == last["total"]  # not a byte twice


def test_what_was_proven_is_kept_with_its_pieces(hub: LocalHub, tmp_path: Path) -> None:
    spec = spec_of(hub, tmp_path)
    Run(spec).now()
    known = read_hashes(tmp_path)
    assert set(known) == {file.path for file in hub.files}
    kept = known[SHARDS[0].path]
    content = SHARDS[0].read(0, SHARDS[0].length)
    assert kept.pieces == tuple(
        hashlib.sha256(content[at : at + PIECE]).digest() for at in range(0, len(content), PIECE)
    )
    assert (kept.sha256, kept.piece_bytes) == (SHARDS[0].sha256, PIECE)
    assert kept.sources == spec.files[0].sources
    assert kept.is_unchanged(tmp_path / SHARDS[0].path)
    assert known["config.json"].sha256 == hashlib.sha256(b"{}").hexdigest()
    assert known["config.json"].git_sha1 == hub.files[3].git_sha1


def test_a_second_run_fetches_nothing(hub: LocalHub, tmp_path: Path) -> None:
    Run(spec_of(hub, tmp_path)).now()
    hub.log.clear()
    again = Run(spec_of(hub, tmp_path)).now()
    assert again.transfer.complete
    assert hub.log == []
    assert again.proven == []  # unchanged since they were proven: not even read
    (tmp_path / HASHES_FILE).unlink()
    third = Run(again.spec).now()
    assert third.proven == [0, 1, 2, 3]
    assert hub.log == []
    assert len(read_hashes(tmp_path)[SHARDS[0].path].pieces) == 10


def test_somebody_elses_file_in_the_way_of_a_proven_one_gets_another_name(
    hub: LocalHub, tmp_path: Path
) -> None:
    same, short = (tmp_path / SHARDS[number].path for number in (1, 2))
    same.write_bytes(bytes(SHARDS[1].length))
    short.write_bytes(b"short")
    short.with_name(f"{short.name}.other").write_bytes(b"older")
    run = Run(spec_of(hub, tmp_path)).now()
    assert run.transfer.complete
    assert_whole(hub, tmp_path)
    assert same.with_name(f"{same.name}.other").read_bytes() == bytes(SHARDS[1].length)
    assert short.with_name(f"{short.name}.other").read_bytes() == b"older"
    assert short.with_name(f"{short.name}.other-2").read_bytes() == b"short"


def test_what_a_download_put_there_is_replaced(hub: LocalHub, tmp_path: Path) -> None:
    assert Run(spec_of(hub, tmp_path)).now().transfer.complete
    (tmp_path / SHARDS[1].path).write_bytes(bytes(SHARDS[1].length))
    assert Run(spec_of(hub, tmp_path)).now().transfer.complete
    assert_whole(hub, tmp_path)
    assert not list(tmp_path.glob("*.other*"))


def test_a_stop_keeps_everything_and_the_next_run_goes_on(hub: LocalHub, tmp_path: Path) -> None:
    hub.speeds["cdn"] = 400_000.0
    run = Run(spec_of(hub, tmp_path)).start()
    while not run.progress or run.progress[-1]["done"] < 3 * PIECE:
        time.sleep(0.02)
    run.stop()
    assert not run.transfer.complete
    assert not any((tmp_path / file.path).exists() for file in SHARDS)
    done = run.progress[-1]["done"]
    hub.speeds.clear()
    hub.log.clear()
    again = Run(spec_of(hub, tmp_path)).now()
    assert_whole(hub, tmp_path)
    assert again.progress[0]["done"] >= done
    assert sent_bytes(hub, "cdn", "hub") == again.progress[-1]["total"] - done


def test_progress_never_runs_backwards(hub: LocalHub, tmp_path: Path) -> None:
    hub.speeds["cdn"] = 600_000.0
    for number in (2, 4, 6):
        hub.faults.add("xet-bridge", Fault(cut_after=3000, reset=True), requests=(number,))
    run = Run(spec_of(hub, tmp_path)).now()
    done = [facts["done"] for facts in run.progress]
    assert done == sorted(done)
    assert_whole(hub, tmp_path)


def test_progress_stands_still_while_what_was_shown_is_lost(hub: LocalHub, tmp_path: Path) -> None:
    spec = spec_of(hub, tmp_path, only=[SHARDS[0].path])
    (job,) = spec.files
    hub.speeds["cdn"] = 4.0 * PIECE
    first = Run(spec).start()
    (work,) = first.transfer._board.files
    while work.part is None or not work.part.prefix_pieces:
        time.sleep(0.02)
    first.stop()
    shown = first.progress[-1]["done"]
    assert shown >= PIECE
    with paths_of(tmp_path, job)[0].open("r+b") as file:  # a fault of the disk
        file.write(bytes(100))
    hub.speeds["cdn"] = 1.0  # nothing comes that would hide it
    again = Run(spec).start()
    (work,) = again.transfer._board.files
    end = time.monotonic() + WAIT_S
    while work.part is None or work.durable_bytes > shown - PIECE:
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.6)  # it is told
    hub.speeds.clear()
    again.transfer.wake()
    again.wait()
    done = [facts["done"] for facts in again.progress]
    assert done[0] == shown
    assert done == sorted(done)
    assert (tmp_path / job.target).read_bytes() == SHARDS[0].read(0, SHARDS[0].length)


def test_progress_is_what_a_killed_run_leaves(hub: LocalHub, tmp_path: Path) -> None:
    spec = spec_of(hub, tmp_path / "a")
    hub.speeds["cdn"] = 2.0 * PIECE
    run = Run(spec).start()
    while not run.progress or run.progress[-1]["done"] < PIECE:
        time.sleep(0.02)
    shown = run.progress[-1]["done"]
    shutil.copytree(tmp_path / "a", tmp_path / "b")  # as the disk is at this moment
    run.stop()
    hub.speeds.clear()
    again = Run(replace(spec, folder=str(tmp_path / "b"))).now()
    assert shown <= again.progress[0]["done"] < spec.total_bytes
    assert_whole(hub, tmp_path / "b")


def test_what_is_not_on_the_disk_yet_is_no_progress(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finisher, "SYNC_S", 1e9)
    hub.speeds["cdn"] = 2.0 * PIECE
    run = Run(spec_of(hub, tmp_path, only=[SHARDS[0].path])).start()
    while not any(facts["parts"][0][1] > 0.1 for facts in run.progress):
        time.sleep(0.02)
    assert {facts["done"] for facts in run.progress} == {0}
    run.stop()
    assert run.progress[-1]["done"] > 0.1 * SHARDS[0].length  # a stop brings all of it there


@pytest.mark.parametrize(("after_s", "after_bytes"), [(0.1, 2**40), (1e9, 100)])
def test_what_comes_is_brought_to_the_disk_meanwhile(
    hub: LocalHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after_s: float,
    after_bytes: int,
) -> None:
    monkeypatch.setattr(finisher, "SYNC_S", after_s)
    monkeypatch.setattr(finisher, "SYNC_BYTES", after_bytes)
    spec = spec_of(hub, tmp_path, only=[SHARDS[0].path])
    (job,) = spec.files
    hub.speeds["cdn"] = 4.0 * PIECE
    run = Run(spec).start()
    end = time.monotonic() + WAIT_S
    durable: set[int] = set()
    while not durable and time.monotonic() < end:
        time.sleep(0.05)
        journal = paths_of(tmp_path, job)[1]
        if journal.exists():
            content = journal.read_bytes()
            account = replay(content, identity_of(job), job.size_bytes, PIECE)
            durable = account.durable if account else set()
    is_running = not run.transfer.complete
    run.stop()
    assert durable
    assert is_running


def test_a_disk_that_fills_up_ends_it_in_order(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "SPACE_EVERY_S", 0.1)
    free = [10**12]
    monkeypatch.setattr(
        board.shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(0, 0, free[0])
    )
    hub.speeds["cdn"] = 4.0 * PIECE
    run = Run(spec_of(hub, tmp_path), Options(piece_bytes=PIECE, most_connections=1)).start()
    while not hub.requests("cdn"):
        time.sleep(0.02)
    # Two files are not begun: one of them fits no more.
    free[0] = 2 * SHARDS[1].length - 1
    with pytest.raises(DownloadError) as caught:
        run.wait()
    assert caught.value.code is ErrorCode.DOWNLOAD_NO_SPACE
    assert not run.transfer.complete
    free[0] = 10**12
    hub.speeds.clear()
    Run(spec_of(hub, tmp_path)).now()
    assert_whole(hub, tmp_path)


def test_connections_share_a_single_file_and_the_slow_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "HELP_AFTER_S", 0.2)
    monkeypatch.setattr(dispatch, "MEASURED_AFTER_S", 0.2)
    file = HubFile("one.gguf", 6 * PIECE)
    with LocalHub("org/model", [file]) as hub:
        # The first connection crawls; the others take its rest over, again and again.
        hub.faults.add("xet-bridge", Fault(bytes_per_s=8_000.0), requests=(1,))
        Run(spec_of(hub, tmp_path)).now()
        assert_whole(hub, tmp_path)
        ranges = [request.range or "" for request in hub.requests("cdn")]
        starts = {int(text.removeprefix("bytes=").partition("-")[0]) for text in ranges}
        assert any(start % PIECE for start in starts), "somebody helped within a piece"


def test_the_speed_limit_holds_and_may_be_lifted(hub: LocalHub, tmp_path: Path) -> None:
    total = sum(file.length for file in hub.files)
    run = Run(spec_of(hub, tmp_path), Options(bytes_per_s=200_000.0, piece_bytes=PIECE)).start()
    time.sleep(1.5)
    early = run.progress[-1]["done"]
    assert early < 200_000 * 3
    assert early < total
    run.transfer.throttle.set_rate(None)
    run.wait()
    assert_whole(hub, tmp_path)


def test_another_source_may_be_chosen_on_the_way(hub: LocalHub, tmp_path: Path) -> None:
    hub.speeds["cdn"] = 300_000.0
    spec = spec_of(hub, tmp_path, ["hub", "modelscope"], only=[file.path for file in SHARDS])
    run = Run(spec).start()
    while not run.progress or not run.progress[-1]["done"]:
        time.sleep(0.02)
    assert run.progress[-1]["endpoint"] == hub.endpoint
    run.transfer.prefer(hub.modelscope)
    run.wait()
    assert run.progress[-1]["endpoint"] == hub.modelscope
    for file in SHARDS:
        assert (tmp_path / file.path).read_bytes() == file.read(0, file.length)
    assert sent_bytes(hub, "modelscope") > 0


def test_the_token_goes_to_its_hub_only(hub: LocalHub, tmp_path: Path) -> None:
    hub.repos[0].gated = "auto"
    hub.accounts["hf_secret"] = Account("ada", frozenset({"org/model"}))
    options = Options(piece_bytes=PIECE, tokens={hub.endpoint: "hf_secret"})
    Run(spec_of(hub, tmp_path), options).now()
    assert {request.token for request in hub.requests("hub")} == {"Bearer hf_secret"}
    assert {request.token for request in hub.requests("cdn")} == {None}


def test_empty_files(tmp_path: Path) -> None:
    with LocalHub("org/model", [HubFile("empty.txt", content=b"", lfs=False)]) as hub:
        run = Run(spec_of(hub, tmp_path)).now()
        assert run.transfer.complete
        assert (tmp_path / "empty.txt").read_bytes() == b""


def test_a_shard_of_nothing_is_never_done(tmp_path: Path) -> None:
    empty = hashlib.sha256(b"").hexdigest()
    spec = DownloadSpec("x", str(tmp_path), (FileJob("a.gguf", 0, empty, None, ()),), "", "c")
    with pytest.raises(DownloadError) as caught:
        Run(spec).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_BAD_LISTING
    assert not (tmp_path / "a.gguf").exists()


def test_a_file_that_nobody_offers_does_not_stop_the_others(hub: LocalHub, tmp_path: Path) -> None:
    spec = spec_of(hub, tmp_path)
    hub.files = [file for file in hub.files if file.path != SHARDS[0].path]
    run = Run(spec)
    with pytest.raises(DownloadError) as caught:
        run.now()
    assert caught.value.code is ErrorCode.DOWNLOAD_NOT_FOUND
    assert caught.value.params["file"] == SHARDS[0].path
    assert_whole(hub, tmp_path)
    assert run.progress[-1]["files_failed"] == 1


@pytest.mark.parametrize("target", ["../up.gguf", "/etc/up", "a/../../up", "C:up", "a\\up", ""])
def test_no_file_leaves_its_folder(tmp_path: Path, target: str) -> None:
    spec = DownloadSpec(
        "x", str(tmp_path / "in"), (FileJob(target, 1, "0" * 64, None, ()),), "", ""
    )
    with pytest.raises(DownloadError) as caught:
        Run(spec).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_BAD_LISTING
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["connection", "hasher"])
def test_what_nobody_foresaw_ends_it_and_keeps_what_came(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def slip(*_arguments: object) -> None:
        raise ZeroDivisionError("a slip of ours")

    target = connection.Connection if where == "connection" else finisher.Finisher
    name = "_account" if where == "connection" else "_hash"
    real = getattr(target, name)
    monkeypatch.setattr(target, name, slip)
    with pytest.raises(DownloadError) as caught:
        Run(spec_of(hub, tmp_path)).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_WORKER_DIED
    assert caught.value.params["detail"] == "ZeroDivisionError: a slip of ours"
    monkeypatch.setattr(target, name, real)
    Run(spec_of(hub, tmp_path)).now()
    assert_whole(hub, tmp_path)


def test_threads_end_with_the_transfer(hub: LocalHub, tmp_path: Path) -> None:
    before = threading.active_count()
    Run(spec_of(hub, tmp_path)).now()
    mine = [t for t in threading.enumerate() if t.name.startswith("connection-")]
    assert mine == []
    assert before
