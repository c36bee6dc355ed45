"""What servers, networks and disks do wrong, row by row of the fault matrix, through the engine."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads import disk, finisher, line, pace, source_choice, transfer
from kimi_desktop.downloads.answers import Cure, Request, of_exception
from kimi_desktop.downloads.board import Options
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER
from tests.support.hub.content import HubFile
from tests.support.hub.faults import (
    Fault,
    captive_portal,
    expired_signature,
    not_satisfiable,
    redirect,
    retry_later,
    too_many_requests,
)
from tests.support.hub.server import TLS_CERTIFICATE, LocalHub
from tests.support.transfers import PIECE, Run, assert_whole, sent_bytes, source_of, spec_of

CDN = "xet-bridge"
HUB = "/resolve/"
MODEL = HubFile("model.gguf", 12 * PIECE + 77)
OTHER = HubFile("other.gguf", MODEL.length)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are not what these tests are about."""
    monkeypatch.setattr(pace, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(pace, "MOST_WAIT_S", 0.1)
    monkeypatch.setattr(finisher, "SYNC_S", 0.1)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", [MODEL]) as running:
        yield running


def run(hub: LocalHub, folder: Path, *origins: str, one: bool = False, patience: float = 60) -> Run:
    options = Options(piece_bytes=PIECE, most_connections=1 if one else 4, patience_s=patience)
    return Run(spec_of(hub, folder, origins or ("hub",)), options)


def code_of(hub: LocalHub, folder: Path, *origins: str, patience: float = 60) -> ErrorCode:
    with pytest.raises(DownloadError) as caught:
        run(hub, folder, *origins, patience=patience).now()
    assert not (folder / MODEL.path).exists()
    return caught.value.code


# the line


@pytest.mark.parametrize("reset", [True, False])
def test_a_cut_goes_on_at_its_offset(hub: LocalHub, tmp_path: Path, reset: bool) -> None:
    hub.faults.add(CDN, Fault(cut_after=PIECE // 2, reset=reset), requests=(1, 2, 4))
    run(hub, tmp_path, one=True).now()
    assert_whole(hub, tmp_path)
    # A reset takes with it what the system had not handed over yet.
    assert sent_bytes(hub) <= MODEL.length + (3 * PIECE // 2 if reset else 0)
    assert len(hub.requests("hub")) == 4  # every new connection asks the hub again


def test_cuts_without_end_are_survived_as_long_as_something_comes(
    hub: LocalHub, tmp_path: Path
) -> None:
    hub.faults.add(CDN, Fault(cut_after=PIECE // 3))
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)


def test_a_silence(hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "STALL_TIMEOUT_S", 0.3)
    hub.faults.add(CDN, Fault(stall_s=30.0, stall_after=1000), requests=(1, 2))
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)


def test_a_trickle_is_replaced(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "DEAD_SLOW_AFTER_S", 2)
    hub.faults.add(CDN, Fault(bytes_per_s=40.0), requests=(1,))
    run(hub, tmp_path, one=True).now()
    assert_whole(hub, tmp_path)
    assert len(hub.requests("cdn")) >= 2


def test_one_that_lags_far_behind_its_peers_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "SLOW_AFTER_S", 2)
    files = [HubFile(f"{n}.gguf", 40 * PIECE) for n in range(4)]
    with LocalHub("org/model", files) as hub:
        hub.speeds["cdn"] = 800_000.0
        slow = files[0].xet_hash
        hub.faults.add(slow, Fault(bytes_per_s=2_000.0), requests=(1,))
        run(hub, tmp_path).now()
        assert_whole(hub, tmp_path)
        first, second = (hub.requests("cdn", slow)[n].range or "" for n in (0, 1))
        assert first != second


def test_nobody_there_is_waited_for(hub: LocalHub, tmp_path: Path) -> None:
    hub.speeds["cdn"] = 300_000.0
    running = run(hub, tmp_path).start()
    while not running.progress or not running.progress[-1]["done"]:
        time.sleep(0.02)
    with hub.offline():
        while (running.progress[-1]["waiting"] or {}).get("code") != "downloads.offline":
            time.sleep(0.02)
    hub.speeds.clear()
    running.wait()
    assert_whole(hub, tmp_path)


def test_patience_has_an_end(hub: LocalHub, tmp_path: Path) -> None:
    with hub.offline():
        assert code_of(hub, tmp_path, patience=0.5) is ErrorCode.DOWNLOAD_OFFLINE


def test_after_sleep_every_connection_is_new_and_no_error_counts(
    hub: LocalHub, tmp_path: Path
) -> None:
    hub.faults.add(CDN, Fault(stall_s=120.0, stall_after=1000))
    running = run(hub, tmp_path).start()
    while len(hub.requests("cdn")) < 4:
        time.sleep(0.02)
    hub.faults.clear()
    running.transfer.wake()
    running.wait()
    assert_whole(hub, tmp_path)
    assert len(hub.requests("hub")) >= 8


# answers that are no good


def test_no_ranges_mean_one_stream(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(ignore_range=True))
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)


def test_no_ranges_after_an_interruption(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(ignore_range=True))
    hub.faults.add(CDN, Fault(ignore_range=True, cut_after=5 * PIECE), requests=(1,))
    run(hub, tmp_path, one=True).now()
    assert_whole(hub, tmp_path)


def test_200_with_a_content_range_is_a_range(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(plain_status=True))
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)
    assert sent_bytes(hub) == MODEL.length


@pytest.mark.parametrize(
    "fault",
    [
        Fault(shift=3),
        Fault(total=MODEL.length + 1),
        Fault(headers=(("Content-Range", "bytes 5-4/9"),)),
        Fault(headers=(("Content-Range", "garbage"),)),
        Fault(headers=(("Content-Range", None),)),
        Fault(headers=(("Content-Encoding", "gzip"),)),
        Fault(gzip=True),
        not_satisfiable(MODEL.length),
    ],
)
def test_a_wrong_answer_is_dropped_before_a_byte_is_written(
    hub: LocalHub, tmp_path: Path, fault: Fault
) -> None:
    hub.faults.add(CDN, fault, requests=(1,))
    running = run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)
    assert running.progress[-1]["replaced"] == 0


def test_twice_wrong_means_another_source(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(shift=3))
    run(hub, tmp_path, "hub", "modelscope").now()
    assert_whole(hub, tmp_path)
    assert sent_bytes(hub, "modelscope") == MODEL.length


def test_twice_wrong_without_another_source_is_said(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(shift=3))
    assert code_of(hub, tmp_path) is ErrorCode.DOWNLOAD_BROKEN


def test_extra_bytes_are_not_read(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(extra=b"more than was asked for"))
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)


@pytest.mark.parametrize(
    "fault",
    [
        not_satisfiable(MODEL.length - 5),
        Fault(total=MODEL.length + 9),
        Fault(headers=(("X-Linked-ETag", f'"{"0" * 64}"'),)),
    ],
)
def test_another_version_upstream_is_said(hub: LocalHub, tmp_path: Path, fault: Fault) -> None:
    hub.faults.add(HUB if fault.headers and fault.status is None else CDN, fault)
    assert code_of(hub, tmp_path) is ErrorCode.DOWNLOAD_CHANGED


def test_a_newer_commit_does_not_disturb(hub: LocalHub, tmp_path: Path) -> None:
    spec = spec_of(hub, tmp_path)
    hub.repos[0].change([HubFile("model.gguf", 5000)])
    Run(spec, Options(piece_bytes=PIECE)).now()
    assert (tmp_path / "model.gguf").read_bytes() == MODEL.read(0, MODEL.length)


def test_a_sign_in_page_is_waited_out_and_nothing_is_written(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(HUB, captive_portal())
    running = run(hub, tmp_path).start()
    while not any(facts["waiting"] for facts in running.progress):
        time.sleep(0.02)
    assert running.progress[-1]["waiting"]["code"] == "downloads.portal"
    assert running.progress[-1]["done"] == 0
    hub.faults.clear()
    running.wait()
    assert_whole(hub, tmp_path)


SIGN_IN = b"<!DOCTYPE html><p>Please sign in"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=511, body=SIGN_IN),
        Fault(status=200, body=SIGN_IN, headers=(("X-Repo-Commit", None), ("Content-Type", None))),
        Fault(
            status=200,
            body=SIGN_IN,
            headers=(("X-Repo-Commit", None), ("Content-Type", "application/octet-stream")),
        ),
    ],
)
def test_a_sign_in_page_that_does_not_say_so(hub: LocalHub, tmp_path: Path, fault: Fault) -> None:
    hub.faults.add(HUB, fault)
    running = run(hub, tmp_path).start()
    while not any(facts["waiting"] for facts in running.progress):
        time.sleep(0.02)
    assert running.progress[-1]["waiting"]["code"] == "downloads.portal"
    assert running.progress[-1]["done"] == 0
    hub.faults.clear()
    running.wait()
    assert_whole(hub, tmp_path)


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://x/y", "http://me:pw@127.0.0.1/"])
def test_redirects_to_bad_places_end_it(hub: LocalHub, tmp_path: Path, location: str) -> None:
    hub.faults.add(HUB, redirect(location))
    assert code_of(hub, tmp_path) is ErrorCode.DOWNLOAD_REDIRECT


# refusals


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_an_expired_signature_costs_a_new_address(
    hub: LocalHub, tmp_path: Path, status: int
) -> None:
    expired = expired_signature()
    hub.faults.add(CDN, Fault(status=status, body=expired.body), requests=(1, 3))
    run(hub, tmp_path, one=True).now()
    assert_whole(hub, tmp_path)
    assert len(hub.requests("hub")) == 3


def test_three_refused_signatures_in_a_row_are_enough(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, expired_signature())
    assert code_of(hub, tmp_path) is ErrorCode.DOWNLOAD_REFUSED
    assert len(hub.requests("cdn")) <= source_choice.MAX_RESOLVES + 4


def test_signatures_that_last_two_seconds(tmp_path: Path) -> None:
    with LocalHub("org/model", [MODEL], signature_s=2.0) as hub:
        hub.speeds["cdn"] = 60_000.0
        run(hub, tmp_path).now()
        assert_whole(hub, tmp_path)


@pytest.mark.parametrize("ahead_s", [-400_000.0, 400_000.0])
def test_a_clock_that_is_wrong_does_not_matter_to_signatures(
    tmp_path: Path, ahead_s: float
) -> None:
    with LocalHub("org/model", [MODEL], clock_offset_s=ahead_s) as hub:
        run(hub, tmp_path, one=True).now()
        assert_whole(hub, tmp_path)
        assert len(hub.requests("hub")) == 1  # the kept address was taken for good


@pytest.mark.parametrize(
    ("headers", "status", "expected"),
    [
        ((("X-Error-Code", "GatedRepo"),), 403, ErrorCode.HUB_GATED_NO_TOKEN),
        ((("X-Error-Code", "RepoNotFound"),), 401, ErrorCode.HUB_NO_REPO),
        ((("X-Error-Code", "RevisionNotFound"),), 404, ErrorCode.HUB_NO_REVISION),
        ((("X-Error-Code", "EntryNotFound"),), 404, ErrorCode.DOWNLOAD_NOT_FOUND),
        ((), 410, ErrorCode.DOWNLOAD_NOT_FOUND),
        ((), 403, ErrorCode.DOWNLOAD_REFUSED),
        ((), 451, ErrorCode.DOWNLOAD_REFUSED),
    ],
)
def test_a_no_of_the_hub_is_final(
    hub: LocalHub,
    tmp_path: Path,
    headers: tuple[tuple[str, str], ...],
    status: int,
    expected: ErrorCode,
) -> None:
    hub.faults.add(HUB, Fault(status=status, headers=headers))
    assert code_of(hub, tmp_path) is expected
    assert len(hub.requests("hub")) <= 4  # once per connection: no loop


@pytest.mark.parametrize(
    ("code", "expected"),
    [("GatedRepo", ErrorCode.HUB_GATED), ("", ErrorCode.HUB_BAD_TOKEN)],
)
def test_with_a_token_a_no_means_something_else(
    hub: LocalHub, tmp_path: Path, code: str, expected: ErrorCode
) -> None:
    headers = (("X-Error-Code", code),) if code else ()
    hub.faults.add(HUB, Fault(status=401, headers=headers))
    options = Options(piece_bytes=PIECE, tokens={hub.endpoint: "hf_secret"})
    with pytest.raises(DownloadError) as caught:
        Run(spec_of(hub, tmp_path), options).now()
    assert caught.value.code is expected


@pytest.mark.parametrize(
    "fault",
    [
        too_many_requests("resolvers", wait_s=0),
        retry_later("1"),
        retry_later(formatdate(time.time() + 2, usegmt=True)),
        retry_later("1", status=503),
        Fault(status=429),
    ],
)
def test_too_many_requests_are_waited_out(hub: LocalHub, tmp_path: Path, fault: Fault) -> None:
    hub.faults.add(HUB, fault, requests=(1,))
    run(hub, tmp_path, one=True).now()
    assert_whole(hub, tmp_path)
    assert len(hub.requests("hub")) == 2


def test_while_one_origin_wants_rest_another_is_asked(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(HUB, retry_later("3600"))
    run(hub, tmp_path, "hub", "modelscope").now()
    assert_whole(hub, tmp_path)
    assert len(hub.requests("hub")) <= 4


def test_while_the_hub_wants_rest_signed_addresses_go_on(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "FIRST_CONNECTIONS", 2)
    hub.speeds["cdn"] = 6.0 * PIECE
    only = spec_of(hub, tmp_path, only=[MODEL.path])
    running = Run(only, Options(piece_bytes=PIECE, most_connections=2)).start()
    while len([r for r in hub.requests("cdn") if r.sent_bytes]) < 2:
        time.sleep(0.02)
    asked = len(hub.requests("hub"))
    hub.faults.add(HUB, too_many_requests("resolvers", wait_s=3600))
    hub.faults.add(CDN, Fault(cut_after=100, reset=True), requests=(1,))
    hub.speeds.clear()
    running.wait()
    assert (tmp_path / MODEL.path).read_bytes() == MODEL.read(0, MODEL.length)
    # The connection that broke asked once more, and then left the hub alone.
    assert len(hub.requests("hub")) - asked == 1


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 520, 529])
def test_trouble_of_the_server_passes(hub: LocalHub, tmp_path: Path, status: int) -> None:
    hub.faults.add(CDN, Fault(status=status), requests=(1, 2))
    hub.faults.add(HUB, Fault(status=status), requests=(2,))
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)


# trust


def test_a_certificate_that_nobody_signed_is_refused(tmp_path: Path) -> None:
    with LocalHub("org/model", [MODEL], tls=True) as hub:
        with pytest.raises(DownloadError) as caught:
            run(hub, tmp_path).now()
        assert caught.value.code is ErrorCode.DOWNLOAD_REFUSED
        assert "certificate" in str(caught.value.params["detail"])
        assert hub.log == []


def test_tls_with_a_trusted_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kimi_desktop.downloads.transport import tls_context  # noqa: PLC0415

    monkeypatch.setenv("SSL_CERT_FILE", str(TLS_CERTIFICATE))
    tls_context.cache_clear()
    try:
        with LocalHub("org/model", [MODEL], tls=True) as hub:
            run(hub, tmp_path).now()
            assert_whole(hub, tmp_path)
    finally:
        tls_context.cache_clear()


def test_a_wrong_clock_and_a_proxy_are_named(hub: LocalHub) -> None:
    import ssl  # noqa: PLC0415

    request = Request(spec_of(hub, Path("/x")).files[0], source_of(hub, MODEL), 0)
    early = ssl.SSLCertVerificationError(1, "certificate is not yet valid")
    early.verify_message = "certificate is not yet valid"
    assert of_exception(early, request).error.code is ErrorCode.DOWNLOAD_CLOCK_WRONG
    login = OSError("Tunnel connection failed: 407 Proxy Authentication Required")
    trouble = of_exception(login, request)
    assert trouble.cure is Cure.ANOTHER
    assert "407" in str(trouble.error.params["detail"])


# bytes that are wrong


def test_a_flipped_bit_is_found_and_only_then_fetched_again(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(flip_at=5 * PIECE + 9), requests=(6,))
    running = run(hub, tmp_path, one=True).now()
    assert_whole(hub, tmp_path)
    assert running.progress[-1]["replaced"] == 1
    assert any(facts["repairing"] for facts in running.progress) or len(running.progress) < 3


def test_a_source_that_repeats_its_mistake_is_left(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(flip_at=5 * PIECE + 9))
    running = run(hub, tmp_path, "hub", "modelscope", one=True).now()
    assert_whole(hub, tmp_path)
    assert running.progress[-1]["replaced"] >= 1
    assert sent_bytes(hub, "modelscope") >= MODEL.length


def test_what_no_source_can_prove_is_set_aside(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add(CDN, Fault(flip_at=5 * PIECE + 9))
    with pytest.raises(DownloadError) as caught:
        run(hub, tmp_path).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_HASH_MISMATCH
    assert caught.value.params["expected"] == MODEL.sha256
    assert caught.value.params["found"] != MODEL.sha256
    assert not (tmp_path / MODEL.path).exists()
    bad = list((tmp_path / PARTIAL_FOLDER).iterdir())
    assert [path.suffix for path in bad] == [".bad"]
    hub.faults.clear()
    Run(spec_of(hub, tmp_path), Options(piece_bytes=PIECE)).now()
    assert (tmp_path / MODEL.path).read_bytes() == MODEL.read(0, MODEL.length)


def test_an_object_that_is_swapped_meanwhile(tmp_path: Path) -> None:
    with LocalHub("org/model", [MODEL, OTHER]) as hub:
        hub.faults.add(MODEL.xet_hash, Fault(swap=OTHER.path), requests=(2, 3))
        run(hub, tmp_path).now()
        assert_whole(hub, tmp_path)


def test_a_piece_that_the_disk_spoils_is_the_only_one_fetched_again(
    hub: LocalHub, tmp_path: Path
) -> None:
    hub.speeds["cdn"] = 500_000.0
    running = run(hub, tmp_path, one=True).start()
    while not running.progress or running.progress[-1]["done"] < 3 * PIECE:
        time.sleep(0.01)
    running.stop()
    part = next((tmp_path / PARTIAL_FOLDER).glob("*.part"))
    with part.open("r+b") as file:
        file.seek(PIECE + 5)
        byte = file.read(1)
        file.seek(PIECE + 5)
        file.write(bytes([byte[0] ^ 1]))
    done = running.progress[-1]["done"]
    hub.speeds.clear()
    hub.log.clear()
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)
    assert sent_bytes(hub) == MODEL.length - done + PIECE


# the disk


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, ErrorCode.DOWNLOAD_NO_SPACE),
        (errno.EDQUOT, ErrorCode.DOWNLOAD_NO_SPACE),
        (errno.EFBIG, ErrorCode.DOWNLOAD_FILE_TOO_LARGE),
        (errno.EIO, ErrorCode.DOWNLOAD_NOT_WRITTEN),
        (errno.EROFS, ErrorCode.DOWNLOAD_NOT_WRITTEN),
        (errno.EACCES, ErrorCode.DOWNLOAD_NOT_WRITTEN),
        (errno.ENODEV, ErrorCode.DOWNLOAD_NOT_WRITTEN),
    ],
)
def test_a_disk_that_fails_keeps_every_finished_piece(
    hub: LocalHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    expected: ErrorCode,
) -> None:
    real = disk.PositionedFile.write
    written = 0

    def write(file: disk.PositionedFile, data: memoryview, offset: int) -> None:
        nonlocal written
        if written > 6 * PIECE:
            raise OSError(number, os.strerror(number))
        written += len(data)
        real(file, data, offset)

    monkeypatch.setattr(disk.PositionedFile, "write", write)
    assert code_of(hub, tmp_path) is expected
    monkeypatch.setattr(disk.PositionedFile, "write", real)
    hub.log.clear()
    again = run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)
    assert again.progress[0]["done"] > 0
    assert sent_bytes(hub) < MODEL.length - 4 * PIECE


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_no_room_for_the_file_is_known_before_a_byte_is_asked_for(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def reserve(_descriptor: int, _size: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(disk, "reserve", reserve)
    code_of(hub, tmp_path)
    assert hub.log == []


def test_a_name_that_is_too_long(hub: LocalHub, tmp_path: Path) -> None:
    hub.files = [HubFile("x" * 300 + ".gguf", 1000)]
    with pytest.raises(DownloadError) as caught:
        run(hub, tmp_path).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_NOT_WRITTEN
    assert "long" in str(caught.value.params["detail"])


def test_a_partial_file_that_somebody_removes(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kimi_desktop.downloads import finisher  # noqa: PLC0415

    monkeypatch.setattr(finisher, "SYNC_S", 0.2)
    hub.speeds["cdn"] = 100_000.0
    running = run(hub, tmp_path).start()
    while not running.progress or not running.progress[-1]["done"]:
        time.sleep(0.02)
    next((tmp_path / PARTIAL_FOLDER).glob("*.part")).unlink()
    with pytest.raises(DownloadError) as caught:
        running.wait()
    assert caught.value.code is ErrorCode.DOWNLOAD_PART_GONE
    hub.speeds.clear()
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)


def test_a_virus_scanner_that_does_not_let_go(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class HeldError(PermissionError):
        winerror = 32

    def replace(_source: Path, _target: Path) -> None:
        raise HeldError(errno.EACCES, "held")

    real = os.replace
    monkeypatch.setattr(disk, "RENAME_PAUSE_S", 0.0)
    monkeypatch.setattr(os, "replace", replace)
    assert code_of(hub, tmp_path) is ErrorCode.DOWNLOAD_HELD
    monkeypatch.setattr(os, "replace", real)
    hub.log.clear()
    run(hub, tmp_path).now()
    assert_whole(hub, tmp_path)
    assert hub.log == []  # everything was there already
