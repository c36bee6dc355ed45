"""Verifying and repairing through the worker process and the queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.downloads.verify.service import VerifyService
from kimi_desktop.downloads.verify.types import PartState, VerifyProgressed
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.queues import WAIT_S, Queue, nobody_left, workers
from tests.support.transfers import assert_whole, sent_bytes, spec_of

FILES = [HubFile("a.gguf", 40 * MIB + 5), HubFile("b.gguf", 20 * MIB)]


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", FILES) as running:
        yield running


def test_a_bad_range_is_found_and_only_that_is_fetched(hub: LocalHub, tmp_path: Path) -> None:
    folder = tmp_path / "org" / "model"
    with Queue(tmp_path) as queue:
        service = VerifyService(queue.io, queue.bus, queue.downloads)
        key = queue.downloads.add(spec_of(hub, folder)).result(WAIT_S).id
        queue.until_state(key, DownloadState.READY)
        assert service.verify(folder).result(WAIT_S).is_good
        with (folder / "a.gguf").open("r+b") as file:
            file.seek(20 * MIB)
            file.write(b"flipped")
        report = service.verify(folder / "a.gguf").result(WAIT_S)
        assert [part.state for part in report.parts] == [PartState.ALTERED]
        last = queue.heard.all(VerifyProgressed)[-1]
        assert last.path == str(folder / "a.gguf")
        assert last.done_bytes == last.total_bytes == 40 * MIB + 5
        hub.log.clear()
        status = service.repair(report).result(WAIT_S)
        assert status is not None
        assert status.id == key  # the same download goes on
        assert (status.title, status.licence) == ("org/model", "apache-2.0")
        queue.until_state(key, DownloadState.READY)
        assert sent_bytes(hub) == 16 * MIB
        assert_whole(hub, folder)
        assert service.verify(folder).result(WAIT_S).is_good
        assert nobody_left()


def test_swapped_parts_need_no_download(hub: LocalHub, tmp_path: Path) -> None:
    folder = tmp_path / "org" / "model"
    with Queue(tmp_path) as queue:
        service = VerifyService(queue.io, queue.bus, queue.downloads)
        key = queue.downloads.add(spec_of(hub, folder)).result(WAIT_S).id
        queue.until_state(key, DownloadState.READY)
        (folder / "a.gguf").rename(folder / "c")
        (folder / "b.gguf").rename(folder / "a.gguf")
        (folder / "c").rename(folder / "b.gguf")
        report = service.verify(folder).result(WAIT_S)
        assert [part.state for part in report.parts] == [PartState.SWAPPED] * 2
        hub.log.clear()
        service.repair(report).result(WAIT_S)
        queue.until_state(key, DownloadState.READY)
        assert hub.log == []
        assert_whole(hub, folder)


def test_cancel_ends_the_process(tmp_path: Path) -> None:
    with (tmp_path / "large.gguf").open("wb") as file:
        file.truncate(60 * 2**30)  # sparse: a minute of hashing
    with Queue(tmp_path) as queue:
        service = VerifyService(queue.io, queue.bus, queue.downloads)
        operation = service.verify(tmp_path / "large.gguf")
        queue.heard.wait(VerifyProgressed)
        assert workers()
        operation.cancel()
        assert nobody_left()


def test_nothing_there(tmp_path: Path) -> None:
    with Queue(tmp_path) as queue:
        service = VerifyService(queue.io, queue.bus, queue.downloads)
        with pytest.raises(DownloadError) as caught:
            service.verify(tmp_path / "none").result(WAIT_S)
        assert caught.value.code is ErrorCode.IMPORT_NOT_THERE
