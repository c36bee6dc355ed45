"""Jobs in their file, their order, and what paused ones wait for."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads import watching
from kimi_desktop.downloads.job_status import status_of, with_progress
from kimi_desktop.downloads.jobs import Job, JobStore, job_id, moved, next_of
from kimi_desktop.downloads.part_file import paths_of
from kimi_desktop.downloads.partial_files import remove_partial
from kimi_desktop.downloads.queue_types import (
    DownloadState,
    DownloadStatus,
    MeasuredSource,
    PartState,
    PartStatus,
)
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from kimi_desktop.downloads.watching import Patience, SleepWatch, may_go_on

SOURCE = Source(HubKind.HUGGINGFACE, "https://hub.example", "a/b", "c" * 40, "m.gguf")
FULL = DownloadError(ErrorCode.DOWNLOAD_NO_SPACE, {"path": "/x", "needed": "1 GB", "free": "0 B"})


def spec(folder: str = "/models/a/b", target: str = "m.gguf") -> DownloadSpec:
    job = FileJob(target, 1000, "ab" * 32, None, (SOURCE,))
    return DownloadSpec("a/b Q4", folder, (job,), "mit", "c" * 40)


def job(name: str = "x", **changes: object) -> Job:
    return replace(Job(name, spec()), **changes)  # type: ignore[arg-type]


def test_comes_back_as_it_was(tmp_path: Path) -> None:
    store = JobStore(tmp_path / "new" / "downloads.sqlite3")
    first = job("one", state=DownloadState.PAUSED, reason=FULL, position=2.0, done_bytes=7)
    speed = MeasuredSource("https://hub.example", 5e6, 1000.0)
    first = replace(first, rested_at=1234.5, measured=(speed,))
    second = job("two", priority=1, preferred="https://hub.example", patience_s=5.0, position=1.0)
    store.save([first, second])
    store.close()
    found = store.load()
    assert [one.id for one in found] == ["two", "one"]
    assert found[0] == second
    assert found[1].reason is not None
    assert (found[1].reason.code, found[1].reason.params) == (FULL.code, FULL.params)
    assert replace(found[1], reason=None) == replace(first, reason=None)
    store.remove("one")
    assert [one.id for one in store.load()] == ["two"]
    store.close()


def test_rows_of_another_version_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "downloads.sqlite3"
    store = JobStore(file)
    store.save([job("ours"), job("theirs")])
    store.close()
    with sqlite3.connect(file) as db:
        db.execute("UPDATE downloads SET state = 'dreaming' WHERE id = 'theirs'")
    db.close()
    assert [one.id for one in store.load()] == ["ours"]
    store.save([job("ours", done_bytes=5)])
    store.close()
    db = sqlite3.connect(file)
    assert db.execute("SELECT count(*) FROM downloads").fetchone() == (2,)
    db.close()


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    store = JobStore(tmp_path / "taken" / "downloads.sqlite3")
    with pytest.raises(DownloadError) as caught:
        store.save([job()])
    assert caught.value.code is ErrorCode.DOWNLOAD_QUEUE_FAILED
    with pytest.raises(DownloadError):
        store.load()


def test_the_same_files_in_the_same_folder_are_the_same_download() -> None:
    other = replace(spec().files[0], sources=())
    assert job_id(spec()) == job_id(replace(spec(), title="x", files=(other,)))
    assert job_id(spec()) != job_id(spec(folder="/models/elsewhere"))
    assert job_id(spec()) != job_id(spec(target="n.gguf"))


def test_whose_turn_it_is() -> None:
    jobs = [
        job("paused", state=DownloadState.PAUSED, position=0.0),
        job("later", position=5.0),
        job("next", position=3.0),
    ]
    assert next_of(jobs) == jobs[2]
    urgent = job("urgent", position=9.0, priority=1)
    assert next_of([*jobs, urgent]) == urgent
    assert next_of(jobs[:1]) is None


@given(st.integers(1, 8), st.data())
def test_moving_changes_one_place_only(count: int, data: st.DataObject) -> None:
    jobs = [job(str(n), position=n * 1.5) for n in range(count)]
    key = str(data.draw(st.integers(0, count - 1)))
    index = data.draw(st.integers(-2, count + 2))
    order = [one.id for one in moved(jobs, key, index)]
    assert order[max(min(index, count - 1), 0)] == key
    rest = [str(n) for n in range(count) if str(n) != key]
    assert [name for name in order if name != key] == rest


def facts(**changes: object) -> dict[str, object]:
    return {
        "done": 400, "hashed": 300, "files_done": 0, "files_failed": 0, "bytes_per_s": 100.0,
        "connections": 4, "endpoint": "https://hub.example", "verifying": None,
        "hashed_per_s": 50.0,
        "repairing": False, "replaced": 0, "waiting": None, "retry_in_s": None,
    } | changes  # fmt: skip


def test_what_people_see() -> None:
    status = with_progress(job(), facts())
    assert (status.state, status.eta_s, status.source) == (
        DownloadState.DOWNLOADING, 6.0, "hub.example",
    )  # fmt: skip
    assert with_progress(job(done_bytes=450), facts()).done_bytes == 450  # never backwards
    verifying = with_progress(job(), facts(verifying=1, bytes_per_s=0.0))
    assert verifying.state is DownloadState.VERIFYING
    assert (verifying.bytes_per_s, verifying.eta_s) == (50.0, 14.0)  # of what is hashed
    assert with_progress(job(), facts(bytes_per_s=0.0)).eta_s is None
    waiting = {"code": "downloads.offline", "params": {"host": "hub.example"}}
    stuck = with_progress(job(), facts(waiting=waiting))
    assert stuck.waiting is not None
    assert (stuck.waiting.code, stuck.eta_s) == (ErrorCode.DOWNLOAD_OFFLINE, None)
    parts = with_progress(job(), facts(parts=[["done", 1.0], ["coming", 0.25]])).parts
    assert parts == (PartStatus(PartState.DONE, 1.0), PartStatus(PartState.COMING, 0.25))
    ready = status_of(job(state=DownloadState.READY))
    assert (ready.done_bytes, ready.shards_done, ready.is_over) == (1000, 1, True)
    assert with_progress(job(), facts()).is_running


class _Usage:
    def __init__(self, free: int) -> None:
        self.free = free


def test_what_paused_downloads_wait_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = replace(Job("x", spec(str(tmp_path))), state=DownloadState.PAUSED)
    assert not may_go_on(paused)  # the user paused it
    no_space = replace(paused, reason=FULL)
    for free, goes_on in ((10**9, False), (2**30 + 1020, True)):
        monkeypatch.setattr(watching.shutil, "disk_usage", lambda _path, free=free: _Usage(free))
        assert may_go_on(no_space) is goes_on
    assert not may_go_on(replace(no_space, state=DownloadState.FAILED))

    def unplugged(_path: Path) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(watching.shutil, "disk_usage", unplugged)
    assert not may_go_on(no_space)
    gone = DownloadError(ErrorCode.DOWNLOAD_VOLUME_GONE, {"path": str(tmp_path)})
    assert may_go_on(replace(paused, reason=gone))
    assert not may_go_on(replace(paused, reason=gone, spec=spec(str(tmp_path / "not there"))))
    held = DownloadError(ErrorCode.DOWNLOAD_HELD, {"path": "x"})
    assert may_go_on(replace(paused, reason=held))
    other = DownloadError(ErrorCode.DOWNLOAD_PART_GONE, {"path": "x"})
    assert not may_go_on(replace(paused, reason=other))


def test_sleep_is_noticed_by_either_clock() -> None:
    now = [1000.0, 50.0]
    watch = SleepWatch(lambda: now[0], lambda: now[1])
    for wall, monotonic, slept in ((1, 1, False), (29, 1, False), (3600, 1, True), (1, 40, True)):
        now[0] += wall
        now[1] += monotonic
        assert watch.has_slept() is slept
    now[0] -= 5000  # somebody set the clock back
    assert not watch.has_slept()


def test_patience_with_a_server() -> None:
    now = [0.0]
    patience = Patience(lambda: now[0])
    busy = DownloadError(ErrorCode.HUB_BUSY, {"host": "x", "wait_s": 5})
    offline = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "x"})
    idle = DownloadStatus("x", "t", "/f", DownloadState.DOWNLOADING, 10)
    waiting = replace(idle, waiting=busy)
    assert not patience.is_over(waiting)
    now[0] = 61.0
    assert patience.is_over(waiting)
    assert not patience.is_over(idle)
    assert not patience.is_over(waiting)  # it began anew
    now[0] = 500.0
    assert not patience.is_over(replace(idle, waiting=offline))


def test_what_a_cancelled_download_leaves(tmp_path: Path) -> None:
    one = spec(str(tmp_path / "a" / "b"))
    folder = Path(one.folder)
    data, journal = paths_of(folder, one.files[0])
    data.parent.mkdir(parents=True)
    for path in (data, journal, data.with_suffix(".bad")):
        path.touch()
    remove_partial(one)
    assert list(tmp_path.iterdir()) == []
    remove_partial(one)  # nothing there: nothing happens
    folder.mkdir(parents=True)
    (folder / "proven.gguf").touch()
    remove_partial(one)
    assert (folder / "proven.gguf").exists()
