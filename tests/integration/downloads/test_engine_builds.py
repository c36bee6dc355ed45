"""Official builds through the real queue, from a local release server with real archives."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import time
from collections import namedtuple
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode, KimiError
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.engine_builds import service
from kimi_desktop.downloads.engine_builds.service import EngineBuilds
from kimi_desktop.downloads.engine_builds.types import (
    Accelerator,
    BuildPhase,
    BuildProgressed,
    BuildsChanged,
    InstalledBuild,
)
from kimi_desktop.downloads.queue_types import DownloadsChanged, DownloadState
from kimi_desktop.machine.accelerators import Accelerators
from tests.support.hub.faults import Fault
from tests.support.queues import WAIT_S, Queue, nobody_left
from tests.support.releases import LocalReleases, program_text, tar_gz, zipped

pytestmark = pytest.mark.skipif(os.name != "posix", reason="its programs are shell scripts")

OLD, NEW = "b100", "b200"
LINUX = Accelerators("linux", "x64", frozenset({"amd"}), has_vulkan=True)
PC = Accelerators("windows", "x64", frozenset({"nvidia"}), cuda=(13, 0), capability=(8, 9))
FULL = namedtuple("FULL", "total used free")


def linux_archive(tag: str, *devices: str, program: bytes | None = None, bulk: int = 0) -> bytes:
    files = {
        f"llama-{tag}/LICENSE": b"MIT",
        f"llama-{tag}/llama-server": program or program_text(tag, *devices),
        f"llama-{tag}/libllama.so.0.1": os.urandom(bulk),
    }
    return tar_gz(files, {f"llama-{tag}/libllama.so": "libllama.so.0.1"})


def linux_release(tag: str, **options: object) -> dict[str, bytes]:
    vulkan = linux_archive(tag, "Vulkan0", **options)  # type: ignore[arg-type]
    return {
        f"llama-{tag}-bin-ubuntu-x64.tar.gz": linux_archive(tag),
        f"llama-{tag}-bin-ubuntu-vulkan-x64.tar.gz": vulkan,
    }


@pytest.fixture
def server() -> Iterator[LocalReleases]:
    with LocalReleases({NEW: linux_release(NEW), OLD: linux_release(OLD)}) as running:
        yield running


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with Queue(tmp_path) as running:
        yield running


class Shop:
    """The service, asked as the terminal asks it."""

    def __init__(self, server: LocalReleases, queue: Queue, here: Accelerators = LINUX) -> None:
        self.queue = queue
        self.running: set[Path] = set()
        self.folder = queue.home / "engines"
        self.service = EngineBuilds(
            queue.io,
            queue.bus,
            queue.settings,
            self.folder,
            queue.downloads,
            in_use=self.running.__contains__,
            source=server.source,
            look_at=lambda: here,
        )

    @property
    def chosen(self) -> str:
        return self.queue.settings.settings.engine.llama_server

    def get(self, tag: str = "") -> InstalledBuild:
        offer = self.service.look(tag).result(WAIT_S).offers[0]
        return self.service.install(offer).result(WAIT_S)

    def failure(self, tag: str = "") -> KimiError:
        with pytest.raises(KimiError) as caught:
            self.get(tag)
        return caught.value

    def ids(self) -> list[tuple[str, bool]]:
        builds = self.service.installed().result(WAIT_S)
        return [(build.id, build.in_use) for build in builds]

    def left(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


def test_fetched_proven_unpacked_tried_and_chosen(server: LocalReleases, queue: Queue) -> None:
    shop = Shop(server, queue)
    offer = shop.service.look().result(WAIT_S).offers[0]
    assert (offer.id, offer.licences, offer.host) == ("b200-vulkan", ("MIT",), "127.0.0.1")
    assert offer.size_bytes == len(server.releases[NEW]["llama-b200-bin-ubuntu-vulkan-x64.tar.gz"])
    build = shop.service.install(offer).result(WAIT_S)
    assert build.devices == ("Vulkan0: Card",)
    assert build.in_use
    assert not build.sees_no_gpu
    assert shop.chosen == str(build.program)
    assert (build.program.parent / "libllama.so").is_symlink()
    assert shop.left() == ["b200-vulkan"]
    phases = [event.phase for event in queue.heard.all(BuildProgressed)]
    assert list(dict.fromkeys(phases))[-1] is BuildPhase.PROBING
    assert BuildPhase.CHECKING in phases
    assert queue.heard.all(BuildsChanged)[-1].builds == (build,)
    queue.heard.wait(DownloadsChanged)
    while queue.downloads.downloads:
        time.sleep(0.02)  # taken off the list by itself
    assert {request.status for request in server.requests("store")} <= {200, 206}


def test_versions_stand_side_by_side_and_one_is_in_use(server: LocalReleases, queue: Queue) -> None:
    shop = Shop(server, queue)
    shop.get(OLD)
    new = shop.get()
    assert shop.ids() == [("b200-vulkan", True), ("b100-vulkan", False)]
    shop.service.use("b100-vulkan").result(WAIT_S)
    assert shop.ids() == [("b200-vulkan", False), ("b100-vulkan", True)]
    shop.service.remove("b100-vulkan").result(WAIT_S)
    assert shop.chosen == ""
    shop.service.use(new.id).result(WAIT_S)
    shop.running.add(new.program)
    with pytest.raises(BackendError) as caught:
        shop.service.remove(new.id).result(WAIT_S)
    assert caught.value.code is ErrorCode.BUILD_IN_USE
    shop.running.clear()
    shop.service.use("").result(WAIT_S)
    assert shop.ids() == [("b200-vulkan", False)]
    for command in (shop.service.use, shop.service.remove):
        with pytest.raises(BackendError) as caught:
            command("../b200").result(WAIT_S)
        assert caught.value.code is ErrorCode.BUILD_UNKNOWN
    shop.service.remove(new.id).result(WAIT_S)
    assert shop.left() == []


def test_the_cuda_runtime_is_put_beside_the_program(queue: Queue) -> None:
    release = {
        "llama-b200-bin-win-cuda-13.3-x64.zip": zipped(
            {"llama-server": program_text(NEW, "CUDA0")}
        ),
        "cudart-llama-bin-win-cuda-13.3-x64.zip": zipped({"cudart64_13.dll": b"MZ"}),
    }
    with LocalReleases({NEW: release}) as server:
        shop = Shop(server, queue, PC)
        build = shop.get()
        assert build.id == "b200-cuda-13.3"
        assert (build.program.parent / "cudart64_13.dll").read_bytes() == b"MZ"
        assert shop.left() == ["b200-cuda-13.3"]


def test_a_release_that_is_not_complete_yet_is_passed_over(queue: Queue) -> None:
    only_cpu = {"llama-b300-bin-ubuntu-x64.tar.gz": linux_archive("b300")}
    with LocalReleases({"b300": only_cpu, "b299": {}, NEW: linux_release(NEW)}) as server:
        assert Shop(server, queue).service.look().result(WAIT_S).offers[0].id == "b200-vulkan"
        plain = dataclasses.replace(LINUX, makers=frozenset())
        assert Shop(server, queue, plain).service.look().result(WAIT_S).offers[0].id == "b300-cpu"


def test_without_a_network(
    server: LocalReleases, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(server, queue)
    offer = shop.service.look().result(WAIT_S).offers[0]
    with server.offline():
        assert shop.failure().code is ErrorCode.DOWNLOAD_OFFLINE
    with monkeypatch.context() as patch, server.offline():
        patch.setattr(service, "PATIENCE_S", 1.0)
        with pytest.raises(DownloadError) as caught:
            shop.service.install(offer).result(WAIT_S)
    assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE
    assert (shop.ids(), shop.chosen) == ([], "")
    assert shop.service.install(offer).result(WAIT_S).in_use


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        (
            Fault(status=403, headers=(("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1"))),
            1,
        ),
        (Fault(status=403, headers=(("Retry-After", "60"),)), 60),
        (Fault(status=429, headers=(("Retry-After", "90"),)), 91),
    ],
)
def test_too_many_requests(server: LocalReleases, queue: Queue, fault: Fault, wait_s: int) -> None:
    server.faults.add("/releases", fault, origin="api")
    error = Shop(server, queue).failure()
    assert error.code is ErrorCode.HUB_BUSY
    assert abs(int(error.params["wait_s"]) - wait_s) <= 1


def test_answers_that_are_no_listing(server: LocalReleases, queue: Queue) -> None:
    shop = Shop(server, queue)
    server.faults.add("/releases", Fault(body=b"{}"), origin="api")
    assert shop.failure().code is ErrorCode.DOWNLOAD_BAD_LISTING
    server.faults.clear()
    server.faults.add("/releases", Fault(body=b"<html>sign in</html>"), origin="api")
    assert shop.failure().code is ErrorCode.DOWNLOAD_PORTAL


@pytest.mark.parametrize("tag", ["b999", "../../x", "b1 --evil"])
def test_a_release_that_is_not_there(server: LocalReleases, queue: Queue, tag: str) -> None:
    assert Shop(server, queue).failure(tag).code is ErrorCode.BUILD_NO_RELEASE


def test_a_system_without_a_build(server: LocalReleases, queue: Queue) -> None:
    error = Shop(server, queue, Accelerators("linux", "riscv64")).failure()
    assert error.code is ErrorCode.BUILD_NONE_HERE
    assert error.params["system"] == "linux riscv64"


def test_bytes_that_are_not_what_the_release_lists(server: LocalReleases, queue: Queue) -> None:
    server.faults.add("/asset/", Fault(flip_at=40), origin="store")
    shop = Shop(server, queue)
    error = shop.failure()
    assert error.code is ErrorCode.DOWNLOAD_HASH_MISMATCH
    assert (shop.ids(), shop.chosen) == ([], "")


def test_an_archive_without_a_digest_is_not_fetched(server: LocalReleases, queue: Queue) -> None:
    server.without_digest.add("llama-b200-bin-ubuntu-vulkan-x64.tar.gz")
    shop = Shop(server, queue)
    assert shop.failure().code is ErrorCode.BUILD_NO_CHECKSUM
    assert server.requests("site") == []


def test_a_disk_without_space(
    server: LocalReleases, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: FULL(10**9, 10**9, 1000))
    assert Shop(server, queue).failure().code is ErrorCode.DOWNLOAD_NO_SPACE
    assert server.requests("site") == []


@pytest.mark.parametrize(
    ("program", "code", "named"),
    [
        (
            b"#!/bin/sh\necho 'llama-server: error while loading shared libraries: libcudart.so.13:"
            b" cannot open shared object file: No such file or directory' >&2; exit 127\n",
            ErrorCode.ENGINE_MISSING_LIBRARY,
            "libcudart.so.13",
        ),
        (
            b'#!/bin/sh\necho "llama-server: /lib/x86_64-linux-gnu/libc.so.6: version'
            b" \\`GLIBC_2.38' not found (required by llama-server)\" >&2; exit 1\n",
            ErrorCode.ENGINE_OLD_SYSTEM,
            "GLIBC_2.38",
        ),
        (b"#!/bin/sh\nkill -ILL $$\n", ErrorCode.ENGINE_WRONG_CPU, None),
        (b"#!/bin/sh\necho hello\n", ErrorCode.ENGINE_NOT_ONE, None),
        (b"\x7fELF not really", ErrorCode.ENGINE_NOT_EXECUTABLE, None),
    ],
)
def test_a_build_that_does_not_run_is_not_kept(
    queue: Queue, program: bytes, code: ErrorCode, named: str | None
) -> None:
    with LocalReleases({NEW: linux_release(NEW, program=program)}) as server:
        shop = Shop(server, queue)
        error = shop.failure()
        assert error.code is code
        assert error.params.get("library") == named
        assert (shop.ids(), shop.chosen) == ([], "")
        assert shop.left() == ["archives"]  # another try need not fetch it again


def test_a_build_that_sees_no_gpu_is_kept_but_not_chosen(queue: Queue) -> None:
    with LocalReleases({NEW: linux_release(NEW, program=program_text(NEW))}) as server:
        shop = Shop(server, queue)
        build = shop.get()
        assert build.sees_no_gpu
        assert not build.in_use
        assert shop.chosen == ""


def test_an_archive_that_leads_out(queue: Queue) -> None:
    bad = tar_gz({"llama/llama-server": program_text(NEW), "../../out": b"x"})
    with LocalReleases({NEW: {"llama-b200-bin-ubuntu-vulkan-x64.tar.gz": bad}}) as server:
        shop = Shop(server, queue)
        assert shop.failure().code is ErrorCode.BUILD_BAD_ARCHIVE
        assert not (queue.home / "out").exists()
        assert shop.left() == ["archives"]


def test_cancel_keeps_what_came_and_the_next_one_goes_on(queue: Queue) -> None:
    with LocalReleases({NEW: linux_release(NEW, bulk=24 * MIB)}) as server:
        server.speeds["store"] = 4.0 * MIB
        shop = Shop(server, queue)
        offer = shop.service.look().result(WAIT_S).offers[0]
        operation = shop.service.install(offer)
        while not any(status.done_bytes > MIB for status in queue.downloads.downloads):
            assert not operation.done
            time.sleep(0.02)
        operation.cancel()
        assert nobody_left()
        with pytest.raises((CancelledError, asyncio.CancelledError)):
            operation.result(WAIT_S)
        (status,) = queue.downloads.downloads
        queue.until_state(status.id, DownloadState.PAUSED)
        server.speeds.clear()
        server.log.clear()
        assert shop.service.install(offer).result(WAIT_S).accelerator is Accelerator.VULKAN
        assert sum(request.sent_bytes for request in server.requests("store")) < 24 * MIB
