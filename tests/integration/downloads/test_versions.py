"""Two commits of one repository in one folder: nothing proven is replaced unasked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.jobs import Job, JobStore, job_id
from kimi_desktop.downloads.kept_hashes import read_hashes
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER, paths_of
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.downloads.types import DownloadSpec
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.queues import WAIT_S, Queue
from tests.support.transfers import PIECE, Options, Run, assert_whole, sent_bytes, spec_of

READY, PAUSED = DownloadState.READY, DownloadState.PAUSED
SAME = HubFile("same.gguf", 20 * MIB)
OLD = [HubFile("a.gguf", 40 * MIB), SAME]
NEW = [HubFile("a.gguf", 41 * MIB, seed="new"), SAME]


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", OLD) as running:
        yield running


@pytest.fixture
def old(hub: LocalHub, tmp_path: Path) -> DownloadSpec:
    return spec_of(hub, tmp_path / "models" / "org" / "model")


@pytest.fixture
def new(hub: LocalHub, old: DownloadSpec) -> DownloadSpec:
    hub.repos[0].change(NEW)
    return spec_of(hub, Path(old.folder))


def begun(hub: LocalHub, queue: Queue, spec: DownloadSpec) -> str:
    """A download that is under way, with pieces of both files."""
    hub.speeds["cdn"] = 6.0 * MIB
    key = queue.downloads.add(spec).result(WAIT_S).id
    queue.until(key, lambda status: status.done_bytes >= 34 * MIB)
    return key


def left_unfinished(home: Path, spec: DownloadSpec, asked_at: float) -> str:
    """The row of a download that a killed app had in hand."""
    job = Job(job_id(spec), spec, DownloadState.DOWNLOADING, asked_at=asked_at)
    store = JobStore(home / "downloads.sqlite3")
    store.save([job])
    store.close()
    return job.id


@pytest.mark.parametrize("resumes", [True, False], ids=["window", "terminal"])
def test_another_commit_takes_an_unfinished_download_over(
    hub: LocalHub, old: DownloadSpec, new: DownloadSpec, tmp_path: Path, resumes: bool
) -> None:
    with Queue(tmp_path) as queue:
        begun(hub, queue, old)
        if not resumes:
            queue.downloads.pause(job_id(old)).result(WAIT_S)
        else:
            hub.speeds.clear()
            before = sent_bytes(hub)
            key = queue.downloads.add(new).result(WAIT_S).id
            assert [one.id for one in queue.downloads.downloads] == [key]
            queue.until_state(key, READY)
    if not resumes:  # by another process, with the same file of jobs
        hub.speeds.clear()
        before = sent_bytes(hub)
        with Queue(tmp_path, resumes=False) as queue:
            queue.until_state(queue.downloads.add(new).result(WAIT_S).id, READY)
    assert_whole(hub, Path(new.folder))  # the partial files of the older one are gone, too
    # What both have in common had come in part, and came once.
    assert sent_bytes(hub) - before < new.total_bytes - 4 * MIB
    with Queue(tmp_path) as queue:
        assert [one.id for one in queue.downloads.downloads] == [job_id(new)]


def test_files_that_only_the_older_one_has_stay_its_own(
    hub: LocalHub, old: DownloadSpec, new: DownloadSpec, tmp_path: Path
) -> None:
    part = replace(new, files=new.files[:1])
    with Queue(tmp_path) as queue:
        hub.speeds["cdn"] = 4.0 * MIB
        queue.downloads.add(old).result(WAIT_S)
        hub.speeds.clear()
        queue.until_state(queue.downloads.add(part).result(WAIT_S).id, READY)
        rest = replace(old, files=old.files[1:])
        queue.until_state(job_id(rest), READY)
        assert {one.id for one in queue.downloads.downloads} == {job_id(part), job_id(rest)}
    assert_whole(hub, Path(new.folder))


def test_what_another_process_downloads_is_not_taken_from_it(
    hub: LocalHub, old: DownloadSpec, new: DownloadSpec, tmp_path: Path
) -> None:
    with Queue(tmp_path) as window:
        key = begun(hub, window, old)
        with Queue(tmp_path, resumes=False) as terminal:
            other = terminal.downloads.add(new).result(WAIT_S).id
            status = terminal.until_state(other, PAUSED)
            assert status.reason is not None
            assert status.reason.code is ErrorCode.DOWNLOAD_FOLDER_BUSY
        hub.speeds.clear()
        window.until_state(key, READY)


def test_an_older_download_that_goes_on_by_itself_replaces_nothing(
    hub: LocalHub, old: DownloadSpec, new: DownloadSpec, tmp_path: Path
) -> None:
    asked_at = time.time()
    with Queue(tmp_path, resumes=False) as queue:
        queue.until_state(queue.downloads.add(new).result(WAIT_S).id, READY)
    key = left_unfinished(tmp_path, old, asked_at)
    with Queue(tmp_path) as queue:
        status = queue.until_state(key, PAUSED, READY)
        assert status.reason is not None
        assert status.reason.code is ErrorCode.DOWNLOAD_OTHER_VERSION
        assert status.reason.params["file"] == "a.gguf"
        assert status.reason.params["there"] == new.commit[:12]
        assert_whole(hub, Path(new.folder))
        # Whoever wants the older one all the same says so.
        queue.downloads.resume(key).result(WAIT_S)
        queue.until_state(key, READY)
    assert read_hashes(Path(old.folder))["a.gguf"].sha256 == old.files[0].sha256


def test_the_newer_one_is_kept_by_taking_the_older_one_off_the_list(
    hub: LocalHub, old: DownloadSpec, new: DownloadSpec, tmp_path: Path
) -> None:
    asked_at = time.time()
    Run(new).now()
    key = left_unfinished(tmp_path, old, asked_at)
    data, journal = paths_of(Path(old.folder), old.files[0])
    data.parent.mkdir()
    data.write_bytes(bytes(100))
    with Queue(tmp_path) as queue:
        queue.until_state(key, PAUSED)
        queue.downloads.cancel(key).result(WAIT_S)
    assert_whole(hub, Path(new.folder))
    assert not data.exists()
    assert not journal.exists()


def test_what_was_asked_for_later_replaces_what_was_proven_before(
    hub: LocalHub, old: DownloadSpec, new: DownloadSpec
) -> None:
    Run(new).now()
    with pytest.raises(DownloadError) as caught:
        Run(old, Options(piece_bytes=PIECE, asked_at=time.time() - 3600)).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_OTHER_VERSION
    Run(old, Options(piece_bytes=PIECE, asked_at=time.time())).now()
    kept = read_hashes(Path(old.folder))
    assert kept["a.gguf"].commits == (old.commit,)
    assert kept["same.gguf"].commits == (new.commit, old.commit)
    assert {one.repo for one in kept.values()} == {"org/model"}
    assert not (Path(old.folder) / PARTIAL_FOLDER).exists()
