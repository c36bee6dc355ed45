"""The real worker process against the real local hub, driven by the service."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import psutil
import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.downloads import service
from kimi_desktop.downloads.service import Downloads
from kimi_desktop.downloads.types import HubKind, Job, Source
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub

TIMEOUT_S = 60
REPO, MODEL = "org/small-chat", "small-Q8_0.gguf"
MIB = 2**20


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub(REPO, [HubFile(MODEL, 24 * MIB + 5)]) as running:
        yield running


def job_of(hub: LocalHub) -> Callable[[Path], Job]:
    source = Source(HubKind.HUGGINGFACE, hub.endpoint, REPO, "main", MODEL)
    return lambda folder: Job(str(folder), f"{REPO}/{MODEL}", (source,))


def children() -> list[psutil.Process]:
    return [p for p in psutil.Process().children() if p.status() != psutil.STATUS_ZOMBIE]


def nobody_left() -> bool:
    for _ in range(100):
        if not children():
            return True
        time.sleep(0.1)
    return False


def test_fetches_in_a_process_of_its_own(io: IoLoop, hub: LocalHub, tmp_path: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    downloads = Downloads(job=job_of(hub))
    path = io.submit(
        lambda: downloads.fetch_first_chat(tmp_path, lambda *step: steps.append(step))
    ).result(TIMEOUT_S)
    assert path == tmp_path / REPO / MODEL
    assert path.stat().st_size == 24 * MIB + 5
    assert steps[-1] == (24 * MIB + 5, 24 * MIB + 5, "checking")
    assert nobody_left()


def test_errors_cross_with_their_code(io: IoLoop, hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add("xet-bridge", Fault(flip_at=5))
    operation = io.submit(
        lambda: Downloads(job=job_of(hub)).fetch_first_chat(tmp_path, lambda *_step: None)
    )
    with pytest.raises(DownloadError) as caught:
        operation.result(TIMEOUT_S)
    assert caught.value.code is ErrorCode.DOWNLOAD_HASH_MISMATCH
    assert caught.value.params["file"] == MODEL
    assert nobody_left()


def test_cancel_ends_the_process_and_the_next_run_goes_on(
    io: IoLoop, hub: LocalHub, tmp_path: Path
) -> None:
    hub.faults.add("xet-bridge", Fault(cut_after=8 * MIB), requests=(1,))
    hub.faults.add("xet-bridge", Fault(stall_s=120.0), requests=(2,))
    downloads = Downloads(job=job_of(hub))
    operation = io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None))
    while len(hub.requests("cdn")) < 2:  # the second request hangs
        assert not operation.done
        time.sleep(0.02)
    operation.cancel()
    assert nobody_left()
    assert not (tmp_path / REPO / MODEL).exists()
    path = io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None)).result(
        TIMEOUT_S
    )
    assert path.stat().st_size == 24 * MIB + 5
    last = hub.requests("cdn")[-1].range
    assert last is not None
    assert int(last.removeprefix("bytes=").partition("-")[0]) >= 7 * MIB


def test_kill_in_mid_download_loses_nothing(io: IoLoop, hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add("xet-bridge", Fault(cut_after=8 * MIB), requests=(1,))
    hub.faults.add("xet-bridge", Fault(stall_s=120.0), requests=(2,))
    downloads = Downloads(job=job_of(hub))
    operation = io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None))
    while len(hub.requests("cdn")) < 2:
        time.sleep(0.02)
    for child in children():
        child.kill()
    with pytest.raises(DownloadError) as caught:
        operation.result(TIMEOUT_S)
    assert caught.value.code is ErrorCode.DOWNLOAD_WORKER_DIED
    path = io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None)).result(
        TIMEOUT_S
    )
    assert path.stat().st_size == 24 * MIB + 5
    last = hub.requests("cdn")[-1].range
    assert last is not None
    assert not last.startswith("bytes=0-")


def test_closing_the_app_ends_the_worker(hub: LocalHub, tmp_path: Path) -> None:
    hub.faults.add("xet-bridge", Fault(stall_s=120.0))
    io = IoLoop()
    operation = io.submit(
        lambda: Downloads(job=job_of(hub)).fetch_first_chat(tmp_path, lambda *_step: None)
    )
    while not hub.requests("cdn"):
        time.sleep(0.02)
    io.close()
    with pytest.raises((CancelledError, asyncio.CancelledError)):
        operation.result(TIMEOUT_S)
    assert nobody_left()


def test_a_worker_that_talks_no_sense(io: IoLoop, hub: LocalHub, tmp_path: Path) -> None:
    program = "import sys; sys.stderr.write('Traceback\\nMemoryError: no'); sys.exit(9)"
    downloads = Downloads(job=job_of(hub), command=(sys.executable, "-c", program))
    with pytest.raises(DownloadError) as caught:
        io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None)).result(
            TIMEOUT_S
        )
    assert caught.value.code is ErrorCode.DOWNLOAD_WORKER_DIED
    assert caught.value.params["detail"] == "MemoryError: no"


def test_a_worker_that_does_not_listen_is_killed(
    io: IoLoop, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "STOP_TIMEOUT_S", 0.3)
    began = tmp_path / "began"
    program = f"import pathlib, time; pathlib.Path({str(began)!r}).touch(); time.sleep(300)"
    downloads = Downloads(job=job_of(hub), command=(sys.executable, "-c", program))
    operation = io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None))
    while not began.exists():
        time.sleep(0.02)
    operation.cancel()
    assert nobody_left()


def test_two_wishes_are_one_after_the_other(io: IoLoop, hub: LocalHub, tmp_path: Path) -> None:
    downloads = Downloads(job=job_of(hub))
    barrier = threading.Barrier(2)

    def wish() -> Path:
        barrier.wait(TIMEOUT_S)
        return io.submit(lambda: downloads.fetch_first_chat(tmp_path, lambda *_step: None)).result(
            TIMEOUT_S
        )

    results = [io.pool(wish), io.pool(wish)]
    assert results[0].result(TIMEOUT_S) == results[1].result(TIMEOUT_S)
    assert len(hub.requests("cdn")) == 1
