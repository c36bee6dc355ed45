"""Official builds of llama.cpp: looked up, fetched through the queue, proven, chosen, removed.

Commands come from any thread and return an Operation. Implements the window's EngineBuildService.
Publishes BuildProgressed and BuildsChanged.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.engine_builds.choose import BuildRules, offers_of
from kimi_desktop.downloads.engine_builds.probing import probe_build, why_no_gpu
from kimi_desktop.downloads.engine_builds.releases import (
    ReleasePlace,
    list_releases,
    release_named,
)
from kimi_desktop.downloads.engine_builds.shelf import UNPACKED_PER_BYTE, BuildShelf
from kimi_desktop.downloads.engine_builds.types import (
    Accelerator,
    BuildOffer,
    BuildOffers,
    BuildPhase,
    BuildProgressed,
    BuildsChanged,
    InstalledBuild,
)
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus
from kimi_desktop.downloads.service import Downloads
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from kimi_desktop.machine.accelerators import Accelerators, look_at_accelerators

PATIENCE_S = 20.0
TELL_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class BuildSource:
    """The data files: where releases are, and which archive is for whom."""

    place: ReleasePlace
    rules: BuildRules

    @classmethod
    def shipped(cls) -> BuildSource:
        """Those of this program."""
        hosts = json.loads(asset("hubs.json").read_text(encoding="utf-8"))
        rules = asset("engines") / "llama-cpp-builds.json"
        found = BuildRules.from_json(json.loads(rules.read_text(encoding="utf-8")))
        return cls(ReleasePlace(**hosts["engine_releases"][found.name]), found)


class EngineBuilds:
    """The builds of one profile.

    Args:
        io: whose thread and pool work.
        bus: where it publishes.
        store: names the program in use.
        folder: of the builds.
        downloads: the queue.
        in_use: whether the engine runs this program now.
        source: where they come from.
        look_at: this computer.
    """

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        folder: Path,
        downloads: Downloads,
        *,
        in_use: Callable[[Path], bool] = lambda _program: False,
        source: Callable[[], BuildSource] = BuildSource.shipped,
        look_at: Callable[[], Accelerators] = look_at_accelerators,
    ) -> None:
        self._io = io
        self._bus = bus
        self._store = store
        self._shelf = BuildShelf(folder)
        self._downloads = downloads
        self._in_use = in_use
        self._read_source = source
        self._look_at = look_at
        self._turn = asyncio.Lock()

    @cached_property
    def _source(self) -> BuildSource:
        return self._read_source()

    def installed(self) -> Operation[tuple[InstalledBuild, ...]]:
        """Those that are here, the newest first."""
        return self._io.pool(self._builds)

    def look(self, tag: str = "") -> Operation[BuildOffers]:
        """What the newest release (or the one named) has for this computer.

        Raises (from the operation):
            DownloadError: no network, too many requests, no such release, and BUILD_NONE_HERE.
        """
        return self._io.pool(self._look, tag)

    def install(self, offer: BuildOffer) -> Operation[InstalledBuild]:
        """Fetch, prove, unpack and try it; in use afterwards unless it sees no GPU that it is for.

        Cancelled, it keeps what came; the next one goes on from there.

        Raises (from the operation):
            DownloadError: it could not be fetched, proven or unpacked.
            BackendError: it does not run on this computer; nothing of it is kept.
        """
        return self._io.submit(lambda: self._install(offer))

    def use(self, build_id: str) -> Operation[InstalledBuild | None]:
        """Start engines with this one from now on; "" = the llama.cpp that comes with the app."""
        return self._io.pool(self._use, build_id)

    def remove(self, build_id: str) -> Operation[None]:
        """Delete one; if engines were to start with it, the embedded one takes its place."""
        return self._io.pool(self._remove, build_id)

    # looking

    def _builds(self) -> tuple[InstalledBuild, ...]:
        engine = self._store.settings.engine
        chosen = "" if engine.llama_python else engine.llama_server
        return tuple(
            dataclasses.replace(build, in_use=str(build.program) == chosen)
            for build in self._shelf.builds()
        )

    def _look(self, tag: str) -> BuildOffers:
        place, rules = self._source.place, self._source.rules
        here = self._look_at()
        releases = (release_named(place, tag),) if tag else list_releases(place)
        best: BuildOffers | None = None
        for release in releases:
            offers = offers_of(release, rules, here, place.host)
            if offers is None:
                continue
            if best is None:
                best = offers
            # The very newest may lack what the one before it has.
            if offers.offers[0].accelerator is not Accelerator.CPU or not here.makers:
                return offers
        if best is None:
            params = {"system": f"{here.system} {here.arch}", "host": place.host}
            raise DownloadError(ErrorCode.BUILD_NONE_HERE, params)
        return best

    # installing

    async def _install(self, offer: BuildOffer) -> InstalledBuild:
        unproven = next((one.name for one in offer.archives if not one.sha256), None)
        if unproven is not None:
            params = {"file": unproven, "host": offer.host}
            raise DownloadError(ErrorCode.BUILD_NO_CHECKSUM, params)
        async with self._turn:
            await self._io.in_pool(self._check_space, offer)
            await self._fetch(offer)
            program = await self._unpack(offer)
            build = await self._prove(offer, program)
            if not build.sees_no_gpu:
                await self._io.in_pool(self._choose, str(build.program))
        builds = await self._io.in_pool(self._builds)
        self._bus.publish(BuildsChanged(builds))
        return next((one for one in builds if one.id == build.id), build)

    def _check_space(self, offer: BuildOffer) -> None:
        self._shelf.folder.mkdir(parents=True, exist_ok=True)
        needed = offer.size_bytes * (1 + UNPACKED_PER_BYTE)
        free = shutil.disk_usage(self._shelf.folder).free
        if free < needed:
            params = {
                "path": str(self._shelf.folder),
                "needed": format_file_size(needed),
                "free": format_file_size(free),
            }
            raise DownloadError(ErrorCode.DOWNLOAD_NO_SPACE, params)

    async def _fetch(self, offer: BuildOffer) -> None:
        spec = self._spec(offer)
        status = await self._downloads.enqueue(spec, first=True, patience_s=PATIENCE_S)
        key = status.id

        def progress(status: DownloadStatus) -> None:
            checking = status.state in (DownloadState.VERIFYING, DownloadState.READY)
            phase = BuildPhase.CHECKING if checking else BuildPhase.DOWNLOADING
            self._tell(offer, phase, status.done_bytes, status.total_bytes)

        try:
            status = await self._downloads.until_over(key, progress)
        except asyncio.CancelledError:
            self._downloads.pause(key)
            raise
        if status.reason is not None:
            raise status.reason
        if status.state is not DownloadState.READY:  # paused on the Downloads tab
            raise asyncio.CancelledError
        self._downloads.forget(key)

    def _spec(self, offer: BuildOffer) -> DownloadSpec:
        place, rules = self._source.place, self._source.rules
        jobs = tuple(
            FileJob(
                archive.name,
                archive.size_bytes,
                archive.sha256,
                None,
                (Source(HubKind.GITHUB, place.site, place.repo, offer.tag, archive.name),),
            )
            for archive in offer.archives
        )
        title = f"{rules.name} {offer.id}"
        licence = ", ".join(offer.licences)
        return DownloadSpec(title, str(self._shelf.archives), jobs, licence, offer.tag)

    async def _unpack(self, offer: BuildOffer) -> Path:
        stopped = threading.Event()
        told = 0.0
        expected = offer.size_bytes * UNPACKED_PER_BYTE

        def tell(count: int) -> None:
            nonlocal told
            if time.monotonic() - told >= TELL_EVERY_S:
                told = time.monotonic()
                self._tell(offer, BuildPhase.UNPACKING, count, max(count, expected))

        work = self._io.pool(
            self._shelf.unpack, offer, self._source.rules.program, tell, stopped.is_set
        )
        try:
            return await self._wait(work)
        except asyncio.CancelledError:
            stopped.set()
            with suppress(InterruptedError):
                program = await self._wait(work)
                await self._io.in_pool(self._shelf.discard_unpacked, program)
            raise

    async def _wait(self, work: Operation[Path]) -> Path:
        done: asyncio.Future[Path] = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()

        def end(result: Path | None, error: BaseException | None) -> None:
            if done.cancelled():
                return
            if error is not None:
                done.set_exception(error)
            else:
                assert result is not None
                done.set_result(result)

        def ended(result: Path | None, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(end, result, error)

        work.on_done(ended)
        return await done

    async def _prove(self, offer: BuildOffer, program: Path) -> InstalledBuild:
        self._tell(offer, BuildPhase.PROBING, 0, 0)
        try:
            found = await probe_build(program)
            lacking = ""
            if not found.devices and offer.accelerator is not Accelerator.CPU:
                lacking = await why_no_gpu(program, offer.accelerator)
            build = await self._io.in_pool(self._shelf.keep, offer, program, found.devices, lacking)
        except BaseException:
            await self._io.in_pool(self._shelf.discard_unpacked, program)
            raise
        await self._io.in_pool(self._shelf.clear)
        return build

    def _tell(self, offer: BuildOffer, phase: BuildPhase, done: int, total: int) -> None:
        self._bus.publish(BuildProgressed(offer, phase, done, total))

    # choosing and removing

    def _use(self, build_id: str) -> InstalledBuild | None:
        build = self._shelf.find(build_id) if build_id else None
        if build_id and build is None:
            raise BackendError(ErrorCode.BUILD_UNKNOWN, {"build": build_id[:80]})
        self._choose("" if build is None else str(build.program))
        self._changed()
        return build

    def _remove(self, build_id: str) -> None:
        build = self._shelf.find(build_id)
        if build is not None and self._in_use(build.program):
            raise BackendError(ErrorCode.BUILD_IN_USE, {"build": build_id})
        self._shelf.remove(build_id)
        if build is not None and self._store.settings.engine.llama_server == str(build.program):
            self._choose("")
        self._changed()

    def _choose(self, program: str) -> None:
        def change(settings: Settings) -> Settings:
            engine = dataclasses.replace(settings.engine, llama_server=program, llama_python="")
            return dataclasses.replace(settings, engine=engine)

        self._store.update(change)

    def _changed(self) -> None:
        self._bus.publish(BuildsChanged(self._builds()))
