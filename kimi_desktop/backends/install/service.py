"""Engines in environments of their own: offered, installed, proven, chosen, removed. IO thread.

Commands come from any thread and return an Operation. Implements the window's EngineInstallService.
Publishes InstallProgressed and InstallsChanged. An installation that stops, by whatever, keeps what
it has: environment and the installer's own cache; the next one goes on from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import re
import shutil
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil

from kimi_desktop.backends.install.choose import offers_of, sizes_of
from kimi_desktop.backends.install.failures import explain_install
from kimi_desktop.backends.install.progress import InstallProgress
from kimi_desktop.backends.install.tools import (
    Tools,
    child_environment,
    find_tools,
    python_in,
)
from kimi_desktop.backends.install.types import (
    CPU,
    VLLM,
    InstalledEngine,
    InstallKind,
    InstallOffer,
    InstallPhase,
    InstallProgressed,
    Installs,
    InstallsChanged,
)
from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode, KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.files import write_atomically
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.base.units import format_file_size
from kimi_desktop.machine.accelerators import Accelerators, look_at_accelerators

MARK = "kimi-desktop.json"
"""In an environment: what it was made from, and whether that came to its end."""
TELL_EVERY_S = 0.25
TAIL_LINES = 60
_LINE_END = re.compile(rb"[\r\n]")


class EngineInstalls:
    """The environments of one engine and one profile."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        folder: Path,
        *,
        prove: Callable[[Path], Awaitable[object]],
        kind: InstallKind = VLLM,
        in_use: Callable[[Path], bool] = lambda _: False,
        rules: Callable[[], Path] = lambda: asset("engines"),
        look_at: Callable[[], Accelerators] = look_at_accelerators,
    ) -> None:
        """Join it.

        Args:
            io: whose thread and pool work.
            bus: where it publishes.
            store: names the Python in use.
            folder: of the environments.
            prove: asks the engine of an environment; raises when it does not run.
            kind: the engine.
            in_use: whether the engine runs out of this environment now.
            rules: the folder of the engines' rules and lists.
            look_at: this computer.
        """
        self._io = io
        self._bus = bus
        self._store = store
        self._folder = folder
        self._prove = prove
        self._kind = kind
        self._in_use = in_use
        self._rules = rules
        self._look_at = look_at
        self._turn = asyncio.Lock()

    def look(self) -> Operation[Installs]:
        """What fits this computer and what is here; asks no network."""
        return self._io.pool(self._look)

    def install(self, offer: InstallOffer) -> Operation[InstalledEngine]:
        """Make the environment, fill it, try it, use it from now on.

        Raises (from the operation):
            DownloadError: DOWNLOAD_NO_SPACE.
            BackendError: no Python, no network, no wheel, a wrong hash, or it does not run here.
        """
        return self._io.submit(lambda: self._install(offer))

    def use(self, install_id: str) -> Operation[None]:
        """Start the engine from this environment from now on."""
        return self._io.pool(self._use, install_id)

    def remove(self, install_id: str) -> Operation[None]:
        """Delete it, whole or begun.

        Raises (from the operation):
            BackendError: BUILD_IN_USE.
        """
        return self._io.pool(self._remove, install_id)

    def settle(self) -> Operation[None]:
        """Done when no installation is under way, a cancelled one's installer among them."""
        return self._io.submit(self._settle)

    async def _settle(self) -> None:
        async with self._turn:
            return

    # looking

    def _look(self) -> Installs:
        here = self._look_at()
        rules = self._rules()
        raw = json.loads((rules / f"{self._kind.name}-installs.json").read_text(encoding="utf-8"))
        offers = offers_of(raw, rules / self._kind.name, here)
        for_gpu = any(offer.accelerator != CPU for offer in offers)
        return Installs(offers, bool(here.makers) and not for_gpu, self._installed())

    def _installed(self) -> tuple[InstalledEngine, ...]:
        chosen = getattr(self._store.settings.engine, self._kind.setting)
        found = []
        for mark in sorted(self._folder.glob(f"*/{MARK}")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                facts = json.loads(mark.read_text(encoding="utf-8"))
                folder = mark.parent
                found.append(
                    InstalledEngine(
                        folder.name,
                        str(facts["name"]),
                        folder,
                        int(facts["size_bytes"]),
                        bool(facts["is_whole"]),
                        in_use=chosen == str(folder),
                    )
                )
        return tuple(found)

    # installing

    async def _install(self, offer: InstallOffer) -> InstalledEngine:
        async with self._turn:
            folder = self._folder / offer.id
            self._tell(offer, InstallPhase.PREPARING)
            await self._io.in_pool(self._begin, offer, folder)
            tools = await find_tools(
                offer.pythons, own=None if getattr(sys, "frozen", False) else sys.executable
            )
            if not python_in(folder).exists():
                await self._run(tools.make(folder), offer, folder, tools, None)
            links = os.environ.get(offer.links, "") if offer.links else ""
            progress = InstallProgress(await self._io.in_pool(sizes_of, offer.packages))
            await self._run(tools.fill(folder, offer, links), offer, folder, tools, progress)
            await self._io.in_pool(_write_alias, folder, offer)
            self._tell(offer, InstallPhase.PROVING)
            await self._prove(folder)
            done = await self._io.in_pool(self._finish, offer, folder)
        self._changed()
        return done

    def _begin(self, offer: InstallOffer, folder: Path) -> None:
        """Room, and a mark that says what this folder is to become."""
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < _needed_bytes(offer) - _size_of(folder):
            raise DownloadError(ErrorCode.DOWNLOAD_NO_SPACE, self._room(offer, folder))
        _mark(folder, offer, is_whole=False)

    def _finish(self, offer: InstallOffer, folder: Path) -> InstalledEngine:
        _mark(folder, offer, is_whole=True)
        self._choose(str(folder))
        return next(each for each in self._installed() if each.id == offer.id)

    async def _run(
        self,
        argv: tuple[str, ...],
        offer: InstallOffer,
        folder: Path,
        tools: Tools,
        progress: InstallProgress | None,
    ) -> None:
        """One step; ``progress`` follows it.

        Raises:
            KimiError: why it failed.
        """
        try:
            child = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=str(self._folder),
                env=child_environment(os.environ),
                start_new_session=sys.platform != "win32",
            )
        except OSError as error:
            params = {"name": offer.name, "detail": str(error)}
            raise BackendError(ErrorCode.INSTALL_FAILED, params) from error
        tail: deque[str] = deque(maxlen=TAIL_LINES)
        telling = None
        if progress is not None:
            telling = self._io.spawn(self._follow(child.pid, offer, progress), name="install")
        try:
            assert child.stdout is not None
            async for line in _lines(child.stdout):
                tail.append(line)
                if progress is not None:
                    progress.hear(line)
            code = await child.wait()
        finally:
            if telling is not None:
                telling.cancel()
            if child.returncode is None:
                await _end(child)
        if code:
            raise await self._io.in_pool(self._explain, tuple(tail), offer, folder, tools)

    async def _follow(self, pid: int, offer: InstallOffer, progress: InstallProgress) -> None:
        while True:
            progress.write(await self._io.in_pool(_written_bytes, pid))
            phase = InstallPhase.COMPILING if progress.compiled else InstallPhase.FETCHING
            self._tell(offer, phase, progress)
            await asyncio.sleep(TELL_EVERY_S)

    def _explain(
        self, lines: tuple[str, ...], offer: InstallOffer, folder: Path, tools: Tools
    ) -> KimiError:
        room = self._room(offer, folder)
        return explain_install(
            lines, offer, python=tools.version, path=str(room["path"]),
            needed=str(room["needed"]), free=str(room["free"]),
        )  # fmt: skip

    def _room(self, offer: InstallOffer, folder: Path) -> dict[str, str]:
        return {
            "path": str(folder),
            "needed": format_file_size(_needed_bytes(offer)),
            "free": format_file_size(shutil.disk_usage(folder).free),
        }

    def _tell(
        self, offer: InstallOffer, phase: InstallPhase, progress: InstallProgress | None = None
    ) -> None:
        done, total, package = 0, offer.size_bytes, ""
        if progress is not None:
            done, total, package = progress.done_bytes, progress.total_bytes, progress.package
            package = progress.compiled or package
        self._bus.publish(InstallProgressed(offer.id, phase, done, total, package, self._kind))

    # choosing and removing

    def _use(self, install_id: str) -> None:
        if any(each.id == install_id and each.is_whole for each in self._installed()):
            self._choose(str(self._folder / install_id))
        self._changed()

    def _remove(self, install_id: str) -> None:
        found = next((each for each in self._installed() if each.id == install_id), None)
        if found is None:
            return
        if self._in_use(found.folder):
            raise BackendError(ErrorCode.BUILD_IN_USE, {"build": found.name})
        if found.in_use:
            self._choose("")
        # The mark goes last: what a crash leaves behind can still be removed.
        for inside in found.folder.iterdir():
            if inside.name != MARK:
                _delete(inside)
        _delete(found.folder)
        self._changed()

    def _choose(self, python: str) -> None:
        def change(settings: Settings) -> Settings:
            engine = dataclasses.replace(settings.engine, **{self._kind.setting: python})  # type: ignore[arg-type]
            return dataclasses.replace(settings, engine=engine)

        self._store.update(change)

    def _changed(self) -> None:
        self._bus.publish(InstallsChanged(self._installed(), self._kind))


def _needed_bytes(offer: InstallOffer) -> int:
    """The environment, and what the installer keeps in its cache."""
    return offer.installed_bytes + offer.size_bytes


def _mark(folder: Path, offer: InstallOffer, *, is_whole: bool) -> None:
    size = _size_of(folder) if is_whole else 0
    facts = {"name": offer.name, "is_whole": is_whole, "size_bytes": size}
    write_atomically(folder / MARK, json.dumps(facts).encode())


def _size_of(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - 60,000 files
    return total


def _write_alias(folder: Path, offer: InstallOffer) -> None:
    """Its program asks for the version of ``vllm``, and knows its platform by that."""
    if not offer.alias:
        return
    for packages in (*folder.glob("lib/python*/site-packages"), folder / "Lib/site-packages"):
        if packages.is_dir():
            facts = packages / f"vllm-{offer.version.partition('+')[0]}.dist-info"
            facts.mkdir(exist_ok=True)
            text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {offer.version}\n"
            (facts / "METADATA").write_text(text, encoding="utf-8")


def _delete(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def _written_bytes(pid: int) -> int:
    """By a process and its children; 0 where the system does not say."""
    total = 0
    with contextlib.suppress(psutil.Error, AttributeError):
        process = psutil.Process(pid)
        for each in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error, AttributeError):
                counted = each.io_counters()
                total += getattr(counted, "write_chars", counted.write_bytes)
    return total


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    rest = b""
    while chunk := await stream.read(65_536):
        *whole, rest = _LINE_END.split(rest + chunk)
        for line in whole:
            yield line.decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


async def _end(child: asyncio.subprocess.Process) -> None:
    """It and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
    await child.wait()
