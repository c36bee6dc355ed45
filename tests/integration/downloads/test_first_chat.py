"""The small chat model through the real queue, from the hubs of a data file."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.first_chat import FirstChat, prepare_first_chat
from kimi_desktop.downloads.hubs.hub import known_hubs
from kimi_desktop.downloads.queue_types import DownloadState
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub
from tests.support.queues import WAIT_S, Queue, nobody_left

REPO, MODEL = "org/small-chat", "small-Q8_0.gguf"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [HubFile(MODEL, 24 * MIB + 5), HubFile("README.md", content=b"# Hi\n", lfs=False)]
    with LocalHub(REPO, files) as running:
        yield running


def fetcher(hub: LocalHub, queue: Queue) -> FirstChat:
    data = {
        "hubs": [
            {"id": "a", "name": "A", "kind": "huggingface", "endpoint": hub.endpoint},
            {"id": "b", "name": "B", "kind": "modelscope", "endpoint": hub.modelscope},
        ],
        "publishers": ["org"],
        "first_chat": {"name": "Small", "repo": REPO, "file": MODEL},
    }
    file = queue.home / "hubs.json"
    file.write_text(json.dumps(data))
    return FirstChat(
        queue.io,
        queue.downloads,
        lambda folder: prepare_first_chat(
            folder, hubs=lambda: known_hubs(data_file=file), data_file=file
        ),
    )


def test_fetched_and_proven(hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    steps: list[tuple[int, int, str]] = []
    with Queue(tmp_path) as queue:
        chat = fetcher(hub, queue)
        path = queue.io.submit(
            lambda: chat.fetch_first_chat(tmp_path / "models", lambda *step: steps.append(step))
        ).result(WAIT_S)
        assert path == tmp_path / "models" / REPO / MODEL
        assert path.read_bytes() == hub.files[0].read(0, 24 * MIB + 5)
        assert steps[-1] == (24 * MIB + 5, 24 * MIB + 5, "checking")
        (status,) = queue.downloads.downloads
        assert len(status.sources) == 2
        assert not (path.parent / "README.md").exists()


def test_no_network_is_said_at_once(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    with Queue(tmp_path) as queue, hub.offline():
        chat = fetcher(hub, queue)
        with pytest.raises(DownloadError) as caught:
            queue.io.submit(lambda: chat.fetch_first_chat(tmp_path, lambda *_step: None)).result(
                WAIT_S
            )
        assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE
        assert queue.downloads.downloads == ()


def test_a_failure_has_its_reason(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    hub.faults.add("xet-bridge|/oss/", Fault(flip_at=5))
    with Queue(tmp_path) as queue:
        chat = fetcher(hub, queue)
        with pytest.raises(DownloadError) as caught:
            queue.io.submit(lambda: chat.fetch_first_chat(tmp_path, lambda *_step: None)).result(
                WAIT_S
            )
        assert caught.value.code is ErrorCode.DOWNLOAD_HASH_MISMATCH
        assert caught.value.params["file"] == MODEL


def test_cancel_pauses_and_the_next_press_goes_on(
    hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    hub.speeds["cdn"] = 4.0 * MIB
    with Queue(tmp_path) as queue:
        chat = fetcher(hub, queue)
        operation = queue.io.submit(lambda: chat.fetch_first_chat(tmp_path, lambda *_step: None))
        while not any(status.done_bytes > MIB for status in queue.downloads.downloads):
            assert not operation.done
            time.sleep(0.02)
        operation.cancel()
        assert nobody_left()
        with pytest.raises((CancelledError, asyncio.CancelledError)):
            operation.result(WAIT_S)
        (status,) = queue.downloads.downloads
        queue.until_state(status.id, DownloadState.PAUSED)
        hub.speeds.clear()
        hub.log.clear()
        path = queue.io.submit(lambda: chat.fetch_first_chat(tmp_path, lambda *_step: None)).result(
            WAIT_S
        )
        assert path.stat().st_size == 24 * MIB + 5
        sent = sum(request.sent_bytes for request in hub.log if request.origin == "cdn")
        assert sent < 24 * MIB
