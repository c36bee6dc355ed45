"""One file from a hub that misbehaves in every way that hubs do."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads import fetch as fetching
from kimi_desktop.downloads import line as lines
from kimi_desktop.downloads.fetch import MAX_FAILURES, FetchCancelledError, fetch
from kimi_desktop.downloads.types import HubKind, Job, Source
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub

CDN = "xet-bridge"
MIB = 2**20


def run(job: Job, progress: Callable[[int, int, str], None] = lambda *_step: None) -> Path:
    return fetch(job, progress, threading.Event())


def failed(job: Job) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        run(job)
    assert not target(job).exists()
    for language in Language:
        assert all(describe_error(caught.value, language))
    return caught.value


def target(job: Job) -> Path:
    return Path(job.folder) / job.target


def partials(job: Job) -> list[Path]:
    return sorted((Path(job.folder) / ".kimi-partial").glob("*"))


def proven(hub: LocalHub, path: Path) -> bool:
    file = hub.file(path.name)
    assert file is not None
    return hashlib.sha256(path.read_bytes()).hexdigest() == file.sha256


def test_fetches_and_proves(hub: LocalHub, job: Job) -> None:
    steps: list[tuple[int, int, str]] = []
    path = run(job, lambda *step: steps.append(step))
    assert path == target(job)
    assert proven(hub, path)
    assert partials(job) == []
    assert steps[-1][0] == steps[-1][1] == path.stat().st_size
    assert [step[0] for step in steps] == sorted(step[0] for step in steps)


def test_modelscope_and_its_quirk(hub: LocalHub, job: Job, modelscope: Source) -> None:
    job = dataclasses.replace(job, sources=(modelscope,))
    hub.faults.add("FilePath", Fault(cut_after=2 * MIB), requests=(1,))
    assert proven(hub, run(job))
    assert [r.status for r in hub.requests("hub", "FilePath")] == [200, 200]


def test_what_is_there_and_right_is_not_fetched_again(hub: LocalHub, job: Job) -> None:
    path = run(job)
    hub.log.clear()
    assert run(job) == path
    assert hub.requests("cdn") == []


def test_what_is_there_and_wrong_is_replaced(hub: LocalHub, job: Job) -> None:
    path = run(job)
    size = path.stat().st_size
    path.write_bytes(b"x" * size)
    assert proven(hub, run(job))
    path.write_bytes(b"short")
    assert proven(hub, run(job))


@pytest.mark.parametrize("reset", [False, True])
def test_cut_lines_go_on_where_they_stopped(hub: LocalHub, job: Job, reset: bool) -> None:
    hub.faults.add(CDN, Fault(cut_after=MIB + 17, reset=reset), requests=(1, 2))
    assert proven(hub, run(job))
    ranges = [request.range or "" for request in hub.requests("cdn")]
    starts = [int(text.removeprefix("bytes=").partition("-")[0]) for text in ranges]
    assert starts[0] == 0
    assert starts == sorted(starts)
    assert len(starts) == 3
    if not reset:  # a reset throws away what the receiver has not read yet
        assert starts[-1] >= MIB
    # Every new connection asks the hub for a new signature.
    assert len(hub.requests("hub", "/resolve/")) == 3


def test_an_earlier_run_is_taken_up(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(cut_after=2 * MIB), requests=(1,))
    hub.faults.add(CDN, Fault(cut_after=0), requests=tuple(range(2, 50)))
    assert failed(job).code is ErrorCode.DOWNLOAD_BROKEN
    (part,) = partials(job)
    kept = part.stat().st_size
    assert kept >= MIB
    hub.faults.clear()
    hub.log.clear()
    assert proven(hub, run(job))
    (request,) = hub.requests("cdn")
    assert request.range == f"bytes={kept}-{target(job).stat().st_size - 1}"


def test_a_rotten_earlier_part_is_fetched_anew(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(cut_after=2 * MIB), requests=(1,))
    hub.faults.add(CDN, Fault(status=503), requests=tuple(range(2, 50)))
    failed(job)
    (part,) = partials(job)
    with part.open("r+b") as file:
        file.write(b"rotten")
    hub.faults.clear()
    assert proven(hub, run(job))


def test_a_part_that_is_too_long_is_cut(hub: LocalHub, job: Job) -> None:
    file = hub.file(Path(job.target).name)
    assert file is not None
    folder = Path(job.folder) / ".kimi-partial"
    folder.mkdir(parents=True)
    (folder / f"{file.sha256[:12]}.part").write_bytes(file.read(0, file.length) + b"more")
    hub.log.clear()
    assert proven(hub, run(job))
    assert hub.requests("cdn") == []


def test_no_progress_ends_in_an_error(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(cut_after=100))
    error = failed(job)
    assert error.code is ErrorCode.DOWNLOAD_BROKEN
    assert error.params["detail"] == "short body"
    assert len(hub.requests("cdn")) == MAX_FAILURES


def test_progress_renews_the_patience(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(cut_after=MIB + MIB // 4))
    hub.faults.add(CDN, Fault(status=503), requests=(2, 4, 6))
    assert proven(hub, run(job))


def test_a_flipped_bit_never_gets_the_name(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(flip_at=3 * MIB))
    error = failed(job)
    assert error.code is ErrorCode.DOWNLOAD_HASH_MISMATCH
    file = hub.file(Path(job.target).name)
    assert file is not None
    assert error.params["expected"] == file.sha256
    assert error.params["found"] != file.sha256
    assert [path.suffix for path in partials(job)] == [".bad"]


def test_a_second_hub_helps(hub: LocalHub, job: Job, source: Source, modelscope: Source) -> None:
    hub.faults.add(CDN, Fault(flip_at=10))
    job = dataclasses.replace(job, sources=(source, modelscope))
    assert proven(hub, run(job))


def test_a_second_hub_takes_up_what_the_first_left(
    hub: LocalHub, job: Job, source: Source, modelscope: Source
) -> None:
    hub.faults.add(CDN, Fault(cut_after=2 * MIB), requests=(1,))
    hub.faults.add(CDN, Fault(status=500), requests=tuple(range(2, 50)))
    job = dataclasses.replace(job, sources=(source, modelscope))
    assert proven(hub, run(job))
    (request,) = hub.requests("hub", "FilePath")
    assert request.range is not None
    assert not request.range.startswith("bytes=0-")


def test_offline_everywhere(job: Job, source: Source) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
        sources = (
            dataclasses.replace(source, endpoint=nobody),
            dataclasses.replace(source, endpoint=nobody, kind=HubKind.MODELSCOPE),
        )
        error = failed(dataclasses.replace(job, sources=sources))
    assert error.code is ErrorCode.DOWNLOAD_OFFLINE


def test_the_telling_error_wins(hub: LocalHub, job: Job, source: Source) -> None:
    offline = dataclasses.replace(source, endpoint="http://127.0.0.1:9")
    gone = dataclasses.replace(source, repo="org/none")
    error = failed(dataclasses.replace(job, sources=(offline, gone)))
    assert error.code is ErrorCode.HUB_NO_REPO


def test_a_cdn_that_is_not_there(hub: LocalHub, job: Job) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        gone = f"http://localhost:{taken.getsockname()[1]}/x"
        hub.faults.add("/resolve/", Fault(status=302, headers=(("Location", gone),)))
        assert failed(job).code is ErrorCode.DOWNLOAD_OFFLINE


@pytest.mark.parametrize(
    "fault",
    [
        Fault(shift=1),
        Fault(total=99),
        Fault(headers=(("Content-Range", None),)),
        Fault(headers=(("Content-Range", "bytes x-y/z"),)),
        Fault(headers=(("Content-Encoding", "gzip"),)),
        Fault(status=500),
        Fault(status=403),
        Fault(status=416, headers=(("Content-Range", "bytes */77"),)),
    ],
)
def test_wrong_answers_are_dropped_before_a_byte_is_written(
    hub: LocalHub, job: Job, fault: Fault
) -> None:
    hub.faults.add(CDN, fault, requests=(1,))
    if fault.status == 416:
        assert failed(job).code is ErrorCode.DOWNLOAD_BROKEN
        return
    assert proven(hub, run(job))
    hub.faults.clear()
    target(job).unlink()
    hub.faults.add(CDN, fault)
    expected = ErrorCode.DOWNLOAD_REFUSED if fault.status == 403 else ErrorCode.DOWNLOAD_BROKEN
    assert failed(job).code is expected
    assert [path.stat().st_size for path in partials(job)] == [0]


def test_expired_signatures_are_renewed(hub: LocalHub, job: Job) -> None:
    hub.signature_s = -5
    error = failed(job)
    assert error.code is ErrorCode.DOWNLOAD_REFUSED
    assert len(hub.requests("hub", "/resolve/")) == MAX_FAILURES
    hub.signature_s = 60
    assert proven(hub, run(job))


def test_a_server_without_ranges(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(ignore_range=True))
    hub.faults.add(CDN, Fault(ignore_range=True, cut_after=2 * MIB), requests=(1,))
    assert proven(hub, run(job))


def test_extra_bytes_are_not_taken(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(extra=b"surprise"))
    assert proven(hub, run(job))


def test_a_portal_in_mid_download(hub: LocalHub, job: Job) -> None:
    page = Fault(body=b"<html>", headers=(("Content-Type", "text/html"),))
    hub.faults.add(CDN, page)
    assert failed(job).code is ErrorCode.DOWNLOAD_PORTAL


def test_gone_in_between(hub: LocalHub, job: Job) -> None:
    hub.faults.add("/resolve/", Fault(status=404))
    assert failed(job).code is ErrorCode.DOWNLOAD_NOT_FOUND


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://localhost/x", "https://user@localhost/x", "//", None],
)
def test_redirects_that_are_not_followed(hub: LocalHub, job: Job, location: str | None) -> None:
    hub.faults.add("/resolve/", Fault(status=302, headers=(("Location", location),)))
    if location is None:
        hub.faults.add("/resolve/", Fault(status=302, body=b""))
    assert failed(job).code is ErrorCode.DOWNLOAD_REFUSED


def test_redirect_loops_end(hub: LocalHub, job: Job) -> None:
    again = f"{hub.endpoint}/{hub.repo}/resolve/main/small-Q8_0.gguf"
    hub.faults.add("/resolve/", Fault(status=302, headers=(("Location", again),)))
    assert failed(job).code is ErrorCode.DOWNLOAD_REFUSED
    assert len(hub.requests("hub", "/resolve/")) == lines.MAX_REDIRECTS + 1


def test_a_line_that_stalls(hub: LocalHub, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "STALL_TIMEOUT_S", 0.2)
    hub.faults.add(CDN, Fault(stall_s=1.0), requests=(1,))
    assert proven(hub, run(job))


def test_no_space_is_said_before_the_first_byte(
    hub: LocalHub, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 2**20})
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _folder: usage)
    error = failed(job)
    assert error.code is ErrorCode.DOWNLOAD_NO_SPACE
    assert error.params["free"] == "1.0 MB"
    assert hub.requests("cdn") == []


def test_a_disk_that_fills_up_keeps_what_is_there(
    hub: LocalHub, job: Job, modelscope: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching.os, "fsync", full)
    job = dataclasses.replace(job, sources=(*job.sources, modelscope))
    assert failed(job).code is ErrorCode.DOWNLOAD_NO_SPACE
    assert hub.requests("hub", "FilePath") == []  # another hub would not help
    monkeypatch.undo()
    hub.log.clear()
    assert proven(hub, run(job))
    assert hub.requests("cdn") == []


def test_a_folder_that_cannot_be_written(hub: LocalHub, job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    job = dataclasses.replace(job, folder=str(tmp_path / "file"))
    with pytest.raises(DownloadError) as caught:
        run(job)
    assert caught.value.code is ErrorCode.DOWNLOAD_NOT_WRITTEN


def test_cancelling_keeps_the_part(hub: LocalHub, job: Job) -> None:
    hub.faults.add(CDN, Fault(cut_after=2 * MIB), requests=(1,))
    cancelled = threading.Event()

    def stop_early(done: int, _total: int, _phase: str) -> None:
        if done:
            cancelled.set()

    with pytest.raises(FetchCancelledError):
        fetch(job, stop_early, cancelled)
    with pytest.raises(FetchCancelledError):
        fetch(job, stop_early, cancelled)
    assert not target(job).exists()
    assert len(partials(job)) == 1
    assert proven(hub, run(job))


def test_certificates_are_not_argued_with(
    hub: LocalHub, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise ssl.SSLCertVerificationError(1, "certificate verify failed")

    monkeypatch.setattr(fetching, "open_range", refuse)
    error = failed(job)
    assert error.code is ErrorCode.DOWNLOAD_REFUSED
    assert "certificate" in str(error.params["detail"])


def test_a_broken_protocol(hub: LocalHub, job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def garbage(*_arguments: object) -> None:
        raise http.client.BadStatusLine("garbage")

    monkeypatch.setattr(fetching, "open_range", garbage)
    assert failed(job).code is ErrorCode.DOWNLOAD_BROKEN
