"""The verb ``engine``: official llama.cpp builds in the terminal. Main thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.engine_builds.service import EngineBuilds
from kimi_desktop.downloads.engine_builds.types import (
    BuildOffer,
    BuildOffers,
    BuildProgressed,
    InstalledBuild,
)
from kimi_desktop.downloads.progress_line import ProgressLine
from kimi_desktop.downloads.service import Downloads

EMBEDDED = "embedded"


class EngineVerb:
    """Runs one action of the verb. Use as a context manager.

    Args:
        paths: of the profile.
        language: of the texts.
        json_output: JSON lines instead of text.
        out: where results go.
        progress_out: where the progress bar goes, if it is a terminal.
        options: for ``EngineBuilds``.
    """

    def __init__(
        self,
        paths: AppPaths,
        language: Language,
        *,
        json_output: bool = False,
        out: TextIO | None = None,
        progress_out: TextIO | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._language = language
        self._json = json_output
        self._out = out or sys.stdout
        self._line = ProgressLine(progress_out or sys.stderr)
        self._io = IoLoop()
        bus = EventBus()
        bus.subscribe(self._hear)
        store = SettingsStore(paths.settings_file)
        self._downloads = Downloads(self._io, bus, paths.downloads_file, store, resumes=False)
        self._builds = EngineBuilds(
            self._io, bus, store, paths.engine_builds_folder, self._downloads, **(options or {})
        )

    def __enter__(self) -> EngineVerb:
        return self

    def __exit__(self, *_error: object) -> None:
        self._io.close()

    def run(
        self,
        action: str,
        name: str,
        kind: str | None,
        *,
        agrees: Callable[[], bool] = lambda: True,
    ) -> None:
        """Do it.

        Args:
            action: list, look, get, use or remove.
            name: a release for look and get, a build for use and remove.
            kind: an accelerator instead of the best one.
            agrees: asked before a build is fetched, which was shown.

        Raises:
            DownloadError, BackendError: as ``EngineBuilds``; BUILD_NO_SUCH_KIND.
            KeyboardInterrupt: what came is kept.
        """
        if action == "list":
            self._list(self._builds.installed().result())
        elif action == "look":
            self._show(self._builds.look(name).result())
        elif action == "get":
            self._get(_of_kind(self._builds.look(name).result(), kind), agrees)
        elif action == "use":
            build = self._builds.use("" if name in ("", EMBEDDED) else name).result()
            shown = build.id if build else message("builds.embedded", self._language)
            self._tell("used", {"event": "used", "build": build.id if build else ""}, build=shown)
        else:
            self._builds.remove(name).result()
            self._tell("removed", {"event": "removed", "build": name}, build=name)

    def _list(self, builds: Sequence[InstalledBuild]) -> None:
        for build in builds:
            line = self._words("here", build=build.id, accelerator=self._accelerator(build),
                               size=format_file_size(build.size_bytes))  # fmt: skip
            if build.in_use:
                line = self._words("in_use_mark", line=line)
            self._write(line, _describe(build))
        if not builds and not self._json:
            self._out.write(self._words("none_installed") + "\n")

    def _show(self, found: BuildOffers) -> None:
        for offer in found.offers:
            self._write(self._offer(offer), _describe_offer(offer))
        self._notes(found)

    def _notes(self, found: BuildOffers) -> None:
        for key, holds in (("lacks_cuda", found.lacks_cuda), ("lacks_vulkan", found.lacks_vulkan)):
            if holds and not self._json:
                self._out.write(self._words(key) + "\n")

    def _get(self, offer: BuildOffer, agrees: Callable[[], bool]) -> None:
        self._write(self._offer(offer), {**_describe_offer(offer), "event": "offer"})
        self._out.flush()
        if not agrees():
            return
        try:
            self._downloads.start().result()
            operation = self._builds.install(offer)
            try:
                build = operation.result()
            except KeyboardInterrupt:
                operation.cancel()
                raise
        finally:
            self._line.clear()
            self._downloads.close()
        facts = {**_describe(build), "event": "installed"}
        if build.sees_no_gpu:
            key = "sees_no_gpu_lacking" if build.lacking else "sees_no_gpu"
            self._write(self._words(key, library=build.lacking), {})
            self._tell("installed_unused", facts, build=build.id)
        else:
            self._tell("installed", facts, build=build.id, path=str(build.program))

    def _hear(self, event: Event) -> None:
        if not isinstance(event, BuildProgressed):
            return
        if self._json:
            facts = {"event": "progress", "phase": event.phase.value}
            self._object({**facts, "done": event.done_bytes, "total": event.total_bytes})
            return
        phase = self._words(f"phase.{event.phase.value}")
        fraction = event.done_bytes / event.total_bytes if event.total_bytes else 1.0
        size = format_file_size(event.total_bytes) if event.total_bytes else ""
        self._line.show(fraction, f"{event.offer.id} {phase} {size}".rstrip())

    def _offer(self, offer: BuildOffer) -> str:
        return self._words(
            "offer",
            build=offer.id,
            accelerator=self._accelerator(offer),
            size=format_file_size(offer.size_bytes),
            licence=", ".join(offer.licences),
            host=offer.host,
        )

    def _accelerator(self, build: BuildOffer | InstalledBuild) -> str:
        return self._words(f"accelerator.{build.accelerator.value}")

    def _words(self, key: str, **params: str | int) -> str:
        return message(f"builds.{key}", self._language, **params)

    def _tell(self, key: str, facts: Mapping[str, Any], **params: str) -> None:
        self._write(self._words(key, **params), facts)

    def _write(self, line: str, facts: Mapping[str, Any]) -> None:
        if not self._json:
            self._out.write(printable(line) + "\n")
        elif facts:
            self._object(facts)

    def _object(self, facts: Mapping[str, Any]) -> None:
        self._out.write(json_text(facts) + "\n")
        self._out.flush()


def _of_kind(found: BuildOffers, kind: str | None) -> BuildOffer:
    offers = [offer for offer in found.offers if kind in (None, offer.accelerator.value)]
    if not offers:
        known = ", ".join(dict.fromkeys(offer.accelerator.value for offer in found.offers))
        params = {"kind": str(kind)[:40], "known": known}
        raise DownloadError(ErrorCode.BUILD_NO_SUCH_KIND, params)
    return offers[0]


def _describe(build: InstalledBuild) -> dict[str, Any]:
    return {
        "build": build.id,
        "tag": build.tag,
        "accelerator": build.accelerator.value,
        "program": str(build.program),
        "size_bytes": build.size_bytes,
        "devices": list(build.devices),
        "lacking": build.lacking,
        "in_use": build.in_use,
    }


def _describe_offer(offer: BuildOffer) -> dict[str, Any]:
    return {
        "build": offer.id,
        "tag": offer.tag,
        "accelerator": offer.accelerator.value,
        "size_bytes": offer.size_bytes,
        "licences": list(offer.licences),
        "host": offer.host,
        "archives": [
            {"name": one.name, "size_bytes": one.size_bytes, "sha256": one.sha256}
            for one in offer.archives
        ],
    }
