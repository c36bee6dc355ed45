"""The queue with the real worker process against the real local hub."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.events import Event
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads import child, service, watching
from kimi_desktop.downloads.job_run import JobRun
from kimi_desktop.downloads.jobs import JobStore, kept_jobs
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER
from kimi_desktop.downloads.queue_types import (
    DownloadFinished,
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
    PartState,
)
from kimi_desktop.downloads.source_choice import MOST_JITTER_S
from kimi_desktop.downloads.types import DownloadSpec
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault, captive_portal, retry_later
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub
from tests.support.queues import WAIT_S, Queue, nobody_left, workers
from tests.support.transfers import assert_whole, sent_bytes, spec_of

READY, PAUSED, QUEUED = DownloadState.READY, DownloadState.PAUSED, DownloadState.QUEUED
FAILED, DOWNLOADING = DownloadState.FAILED, DownloadState.DOWNLOADING
FILES = [HubFile("a.gguf", 40 * MIB + 5), HubFile("b.gguf", 30 * MIB), HubFile("c.json", 900)]


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", FILES) as running:
        yield running


@pytest.fixture
def spec(hub: LocalHub, tmp_path: Path) -> DownloadSpec:
    return spec_of(hub, tmp_path / "models" / "org" / "model")


def slow(hub: LocalHub) -> None:
    hub.speeds["cdn"] = 4.0 * MIB


def started(queue: Queue, spec: DownloadSpec, at_least: int = MIB) -> str:
    key = queue.downloads.add(spec).result(WAIT_S).id
    queue.until(key, lambda status: status.done_bytes >= at_least)
    return key


def test_a_download_from_queued_to_ready(hub: LocalHub, spec: DownloadSpec, tmp_path: Path) -> None:
    with Queue(tmp_path) as queue:
        added = queue.downloads.add(spec).result(WAIT_S)
        assert added.state in (QUEUED, DOWNLOADING)
        finished = queue.heard.wait(DownloadFinished).status
        assert finished.state is READY
        assert (finished.shards_done, finished.shards) == (3, 3)
        assert finished.done_bytes == finished.total_bytes == spec.total_bytes
        assert_whole(hub, Path(spec.folder))
        assert nobody_left()
        told = queue.heard.all(DownloadProgressed)
        assert told[-1].status.source == "127.0.0.1"
        assert [event.status.done_bytes for event in told] == sorted(
            event.status.done_bytes for event in told
        )
        assert queue.heard.all(DownloadsChanged)[-1].downloads == (finished,)
        parts = [event.status.parts for event in told]
        assert all(len(of_files) == 3 for of_files in parts)
        assert {part.state for part in parts[-1]} <= {PartState.DONE, PartState.CHECKING}
        files = queue.downloads.files(finished.id)
        assert [file.name for file in files] == ["a.gguf", "b.gguf", "c.json"]
        assert all(len(file.sha256) == 64 for file in files[:2])
        assert queue.downloads.files("nobody") == ()


def test_when_it_was_paused_and_ended_is_kept(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        key = started(queue, spec)
        assert queue.one(key).rested_at is None
        before = time.time()
        paused = queue.downloads.pause(key).result(WAIT_S)
        assert paused.rested_at is not None
        assert before <= paused.rested_at <= time.time()
    with Queue(tmp_path) as queue:
        assert queue.one(key).rested_at == paused.rested_at
        hub.speeds.clear()
        assert queue.downloads.resume(key).result(WAIT_S).rested_at is None
        ready = queue.until_state(key, READY)
        assert ready.rested_at is not None
        assert ready.rested_at > paused.rested_at
    assert {job.id: job.rested_at for job in kept_jobs(tmp_path / "downloads.sqlite3")} == {
        key: ready.rested_at
    }


def test_sources_are_measured_when_asked_and_at_a_change(hub: LocalHub, tmp_path: Path) -> None:
    slow(hub)
    spec = spec_of(hub, tmp_path / "models" / "org" / "model", ("hub", "modelscope"))
    with Queue(tmp_path) as queue:
        key = started(queue, spec)
        assert queue.one(key).measured == ()
        measured = queue.downloads.measure(key).result(WAIT_S).measured
        assert {one.endpoint for one in measured} == {hub.endpoints["hub"], hub.modelscope}
        assert all(one.bytes_per_s > 0 for one in measured)
        queue.downloads.prefer(key, hub.modelscope).result(WAIT_S)
        again = queue.until(key, lambda status: status.measured != measured).measured
        assert min(one.at for one in again) > max(one.at for one in measured)
        queue.downloads.set_speed_limit(MIB).result(WAIT_S)
        asked = len(hub.log)
        queue.downloads.pause(key).result(WAIT_S)
        queue.downloads.prefer(key, hub.endpoints["hub"]).result(
            WAIT_S
        )  # a probe would not keep to the limit
        assert queue.one(key).measured == again
        assert len(hub.log) - asked < 2 * len(spec.files)
    with Queue(tmp_path) as queue:
        assert queue.one(key).measured == again


def test_pause_and_resume_lose_nothing(hub: LocalHub, spec: DownloadSpec, tmp_path: Path) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        key = started(queue, spec, 5 * MIB)
        paused = queue.downloads.pause(key).result(WAIT_S)
        assert (paused.state, paused.reason) == (PAUSED, None)
        assert any(0 < part.share < 1 for part in paused.parts)
        assert nobody_left()
        before = sent_bytes(hub)
        hub.speeds.clear()
        assert queue.downloads.resume(key).result(WAIT_S).state in (QUEUED, DOWNLOADING)
        queue.until_state(key, READY)
        assert_whole(hub, Path(spec.folder))
        # What was on its way through the sockets at the pause is all that comes twice.
        assert sent_bytes(hub) <= spec.total_bytes + 8 * MIB
        assert before < spec.total_bytes


def test_a_restart_goes_on_by_itself(hub: LocalHub, spec: DownloadSpec, tmp_path: Path) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        key = started(queue, spec, 3 * MIB)
        done = queue.one(key).done_bytes
    assert nobody_left()
    hub.speeds.clear()
    with Queue(tmp_path) as queue:
        assert queue.one(key).done_bytes >= done
        queue.until_state(key, READY)
        assert_whole(hub, Path(spec.folder))


def test_what_the_user_paused_stays_paused_over_a_restart(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        key = started(queue, spec)
        queue.downloads.pause(key).result(WAIT_S)
    with Queue(tmp_path) as queue:
        time.sleep(0.3)
        assert queue.one(key).state is PAUSED
        assert not workers()


def test_a_killed_worker_is_started_again(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "CRASH_PAUSE_S", 0.05)
    slow(hub)
    with Queue(tmp_path) as queue:
        key = started(queue, spec, 2 * MIB)
        for worker in workers():
            worker.kill()
        hub.speeds.clear()
        queue.until_state(key, READY)
        assert_whole(hub, Path(spec.folder))


def test_a_worker_that_cannot_even_begin_is_given_up(
    spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "CRASH_PAUSE_S", 0.01)
    program = "import sys; sys.stderr.write('Traceback\\nMemoryError: no'); sys.exit(9)"
    with Queue(tmp_path, command=(sys.executable, "-c", program)) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        failed = queue.until_state(key, FAILED)
        assert failed.reason is not None
        assert failed.reason.code is ErrorCode.DOWNLOAD_WORKER_DIED
        assert failed.reason.params["detail"] == "MemoryError: no"


def test_a_worker_that_does_not_listen_is_killed(
    spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "STOP_TIMEOUT_S", 0.3)
    began = tmp_path / "began"
    program = f"import pathlib, time; pathlib.Path({str(began)!r}).touch(); time.sleep(300)"
    with Queue(tmp_path, command=(sys.executable, "-c", program)) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        while not began.exists():
            time.sleep(0.02)
        assert workers()
        queue.downloads._running.stop(PAUSED)  # type: ignore[union-attr]
        queue.downloads.close()
        assert nobody_left()
        assert key


def test_failures_cross_with_their_reason(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    hub.faults.add("/resolve/", Fault(status=403, headers=(("X-Error-Code", "GatedRepo"),)))
    with Queue(tmp_path) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        failed = queue.until_state(key, FAILED)
        assert failed.reason is not None
        assert failed.reason.code is ErrorCode.HUB_GATED_NO_TOKEN
        assert queue.heard.wait(DownloadFinished).status == failed
    with Queue(tmp_path) as queue:  # the reason is kept
        again = queue.one(key)
        assert again.reason is not None
        assert (again.state, again.reason.params) == (FAILED, failed.reason.params)
        hub.faults.clear()
        queue.downloads.resume(key).result(WAIT_S)
        queue.until_state(key, READY)


def test_a_token_is_asked_for_by_origin_and_kept_nowhere(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    hub.repos[0].gated = "auto"
    hub.accounts["hf_secret"] = Account("ada", frozenset({"org/model"}))
    asked: list[str] = []

    def token_of(origin: str) -> str | None:
        asked.append(origin)
        return "hf_secret"

    with Queue(tmp_path, token_of=token_of) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        queue.until_state(key, READY)
    assert asked == [hub.endpoint]
    for file in tmp_path.glob("downloads.sqlite3*"):
        assert b"hf_secret" not in file.read_bytes()


def test_one_at_a_time_in_the_order_that_the_user_wants(hub: LocalHub, tmp_path: Path) -> None:
    slow(hub)
    names = ("a.gguf", "b.gguf", "c.json")
    specs = [spec_of(hub, tmp_path / name, only=[name]) for name in names]
    with Queue(tmp_path) as queue:
        first, second, third = (queue.downloads.add(one).result(WAIT_S).id for one in specs)
        queue.until_state(first, DOWNLOADING)
        assert (queue.one(second).state, queue.one(third).state) == (QUEUED, QUEUED)
        queue.downloads.move(third, 0).result(WAIT_S)
        assert [status.id for status in queue.downloads.downloads] == [third, first, second]
        assert queue.one(first).state is DOWNLOADING  # the running one goes on
        queue.downloads.start_now(second).result(WAIT_S)
        queue.until_state(second, DOWNLOADING)
        assert queue.one(first).state is QUEUED
        hub.speeds.clear()
        for key in (first, second, third):
            queue.until_state(key, READY)
        queue.heard.wait(DownloadFinished, 3)
        order = [event.status.id for event in queue.heard.all(DownloadFinished)]
        assert order == [second, third, first]


def test_an_urgent_one_goes_first_and_the_other_goes_on_after_it(
    hub: LocalHub, tmp_path: Path
) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        large = started(queue, spec_of(hub, tmp_path / "a", only=["a.gguf"]))
        small = spec_of(hub, tmp_path / "c", only=["c.json"])
        urgent = queue.downloads.add(small, first=True).result(WAIT_S).id
        hub.speeds.clear()
        queue.until_state(large, READY)
        queue.heard.wait(DownloadFinished, 2)
        order = [event.status.id for event in queue.heard.all(DownloadFinished)]
        assert order == [urgent, large]


def test_cancel_removes_what_is_not_proven(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        key = started(queue, spec)
        queue.until(key, lambda status: status.shards_done == 1)
        queue.downloads.cancel(key).result(WAIT_S)
        assert queue.downloads.downloads == ()
        assert not (Path(spec.folder) / PARTIAL_FOLDER).exists()
        assert (Path(spec.folder) / "c.json").exists()
        with pytest.raises(DownloadError) as caught:
            queue.downloads.resume(key).result(WAIT_S)
        assert caught.value.code is ErrorCode.DOWNLOAD_UNKNOWN
    assert JobStore(tmp_path / "downloads.sqlite3").load() == ()


def test_forget_leaves_the_files(hub: LocalHub, spec: DownloadSpec, tmp_path: Path) -> None:
    with Queue(tmp_path) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        queue.until_state(key, READY)
        queue.downloads.forget(key).result(WAIT_S)
        assert queue.downloads.downloads == ()
    assert_whole(hub, Path(spec.folder))


def test_the_speed_limit_is_kept_and_reaches_the_running_one(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    with Queue(tmp_path) as queue:
        queue.downloads.set_speed_limit(2 * MIB).result(WAIT_S)
        key = started(queue, spec, 1)
        time.sleep(1.0)
        assert queue.one(key).done_bytes < 12 * MIB
        queue.downloads.set_speed_limit(None).result(WAIT_S)
        queue.until_state(key, READY)
        assert queue.downloads.speed_limit is None
        queue.downloads.set_speed_limit(5).result(WAIT_S)
    with Queue(tmp_path) as queue:
        assert queue.downloads.speed_limit == 5


def test_another_source_is_chosen_on_the_way_and_remembered(hub: LocalHub, tmp_path: Path) -> None:
    slow(hub)
    spec = spec_of(hub, tmp_path / "m", ["hub", "modelscope"], only=["a.gguf"])
    with Queue(tmp_path) as queue:
        key = started(queue, spec)
        assert queue.one(key).sources == (hub.endpoint, hub.modelscope)
        queue.downloads.prefer(key, hub.modelscope).result(WAIT_S)
        hub.speeds.clear()
        ready = queue.until_state(key, READY)
        assert ready.preferred == hub.modelscope
        assert hub.requests("modelscope", "FilePath")


def test_after_sleep_the_connections_are_new(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = iter([False, True])
    monkeypatch.setattr(watching.SleepWatch, "has_slept", lambda _self: next(slept, False))
    sent: list[object] = []
    send = JobRun.send

    def listen(run: JobRun, **command: object) -> None:
        sent.append(command["do"])
        send(run, **command)

    monkeypatch.setattr(JobRun, "send", listen)
    hub.faults.add("xet-bridge", Fault(stall_s=120.0, stall_after=1000))
    with Queue(tmp_path) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        while len(hub.requests("cdn")) < 2:
            time.sleep(0.02)
        hub.faults.clear()
        queue.until_state(key, READY)
    assert sent == ["wake"]  # not only the time-out of a silent line


def test_a_network_that_comes_back_wakes_what_waits_for_it(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    send = JobRun.send

    def listen(run: JobRun, **command: object) -> None:
        sent.append(command["do"])
        send(run, **command)

    monkeypatch.setattr(JobRun, "send", listen)
    slow(hub)
    with Queue(tmp_path) as queue:
        queue.downloads.network_changed().result(WAIT_S)  # nothing to wake
        key = started(queue, spec)
        queue.downloads.network_changed().result(WAIT_S)  # it waits for nothing
        queue.downloads.pause(key).result(WAIT_S)
        hub.faults.add("/resolve/", captive_portal())
        queue.downloads.resume(key).result(WAIT_S)
        queue.until(key, lambda status: status.waiting is not None)
        hub.faults.clear()
        assert sent == []
        queue.downloads.network_changed().result(WAIT_S)
        assert sent == ["wake"]
        hub.speeds.clear()
        queue.until_state(key, READY)


def test_a_drive_that_is_not_connected_is_waited_for(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TICK_S", 0.05)
    slow(hub)
    models, away = tmp_path / "models", tmp_path / "away"
    with Queue(tmp_path) as queue:
        key = started(queue, spec, 2 * MIB)
        queue.downloads.pause(key).result(WAIT_S)
        models.rename(away)
        queue.downloads.resume(key).result(WAIT_S)
        gone = queue.until(key, lambda status: status.state is PAUSED)
        assert gone.reason is not None
        assert gone.reason.code is ErrorCode.DOWNLOAD_VOLUME_GONE
        assert not models.exists()
        hub.speeds.clear()
        away.rename(models)
        queue.until_state(key, READY)
        assert_whole(hub, Path(spec.folder))


def test_what_was_deleted_is_fetched_again_when_it_is_asked_for(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    (tmp_path / "something else").touch()
    with Queue(tmp_path) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        queue.until_state(key, READY)
        shutil.rmtree(spec.folder)
        assert queue.downloads.add(spec).result(WAIT_S).state is not READY
        queue.until_state(key, READY)
        assert_whole(hub, Path(spec.folder))


def test_retry_begins_anew_where_the_folder_was_emptied(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    slow(hub)
    models = tmp_path / "models"
    with Queue(tmp_path) as queue:
        key = started(queue, spec, 2 * MIB)
        queue.downloads.pause(key).result(WAIT_S)
        models.rename(tmp_path / "away")
        hub.speeds.clear()
        assert queue.downloads.retry(key).result(WAIT_S).done_bytes == 0
        queue.until_state(key, READY)
        assert_whole(hub, Path(spec.folder))


def test_a_full_disk_pauses_and_goes_on_when_there_is_space(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "TICK_S", 0.05)
    store = JobStore(tmp_path / "downloads.sqlite3")
    full = DownloadError(
        ErrorCode.DOWNLOAD_NO_SPACE, {"path": spec.folder, "needed": "9 GB", "free": "1 GB"}
    )
    with Queue(tmp_path) as queue:
        key = queue.downloads.add(spec).result(WAIT_S).id
        queue.until_state(key, READY)
    (job,) = store.load()
    Path(spec.folder, "a.gguf").unlink()
    store.save([replace(job, state=PAUSED, reason=full, done_bytes=0)])
    store.close()
    free = [0]
    usage = type("Usage", (), {"free": property(lambda _self: free[0])})
    monkeypatch.setattr(watching.shutil, "disk_usage", lambda _path: usage())
    with Queue(tmp_path) as queue:
        time.sleep(1.0)
        paused = queue.one(key)
        assert paused.state is PAUSED
        assert paused.reason is not None
        assert paused.reason.params["needed"] == "9 GB"
        free[0] = 10**12
        queue.until_state(key, READY)


def test_a_server_that_keeps_waiting_does_not_hold_up_the_others(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "GIVE_WAY_AFTER_S", 0.3)
    hub.faults.add("a.gguf", retry_later("600"))
    with Queue(tmp_path) as queue:
        stuck = queue.downloads.add(spec_of(hub, tmp_path / "a", only=["a.gguf"])).result(WAIT_S)
        other = queue.downloads.add(spec_of(hub, tmp_path / "b", only=["b.gguf"])).result(WAIT_S)
        waiting = queue.until(stuck.id, lambda status: status.waiting)
        assert waiting.waiting is not None
        assert waiting.waiting.code is ErrorCode.HUB_BUSY
        assert waiting.retry_in_s is not None
        assert 500 < waiting.retry_in_s <= 600 + MOST_JITTER_S
        queue.until_state(other.id, READY)


def test_a_damaged_queue_is_set_aside(hub: LocalHub, spec: DownloadSpec, tmp_path: Path) -> None:
    (tmp_path / "downloads.sqlite3").write_bytes(b"no database at all" * 100)
    with Queue(tmp_path) as queue:
        assert queue.downloads.downloads == ()
        key = queue.downloads.add(spec).result(WAIT_S).id
        queue.until_state(key, READY)
    assert list(tmp_path.glob("*.damaged-*"))


def test_in_the_terminal_the_downloads_of_others_are_left_alone(
    hub: LocalHub, tmp_path: Path
) -> None:
    slow(hub)
    with Queue(tmp_path) as queue:
        other = started(queue, spec_of(hub, tmp_path / "a", only=["a.gguf"]))
    hub.speeds.clear()
    with Queue(tmp_path, resumes=False) as queue:
        mine = queue.downloads.add(spec_of(hub, tmp_path / "b", only=["b.gguf"])).result(WAIT_S)
        queue.until_state(mine.id, READY)
        assert [status.id for status in queue.downloads.downloads] == [mine.id]
    with Queue(tmp_path) as queue:
        queue.until_state(other, READY)
        assert queue.one(mine.id).state is READY


def test_closing_while_it_downloads_leaves_no_process(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    hub.faults.add("xet-bridge", Fault(stall_s=120.0))
    with Queue(tmp_path) as queue:
        queue.downloads.add(spec).result(WAIT_S)
        while not hub.requests("cdn"):
            time.sleep(0.02)
    assert nobody_left()


def test_another_try_in_the_moment_of_a_failure_is_not_lost(
    hub: LocalHub, spec: DownloadSpec, tmp_path: Path
) -> None:
    hub.faults.add("/resolve/", Fault(status=404))
    with Queue(tmp_path) as queue:
        again: list[object] = []

        def try_again(event: Event) -> None:
            if not isinstance(event, DownloadsChanged) or again:
                return
            if any(status.state is FAILED for status in event.downloads):
                hub.faults.clear()
                again.append(queue.downloads.add(spec))

        queue.bus.subscribe(try_again)
        key = queue.downloads.add(spec).result(WAIT_S).id
        queue.until_state(key, READY)
        assert again
