"""Where other programs keep their models, by their own variables and habits. No I/O but settings.

Only places are named here; whether anything is there, ``layouts`` finds out.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.downloads.imports.types import Origin

MAX_SETTINGS_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of another program."""

    origin: Origin
    path: Path


def usual_places(
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
    system: str | None = None,
) -> tuple[Place, ...]:
    """Every place that a program may use here, also those that do not exist.

    Args:
        home: of the user.
        environment: instead of this process's.
        system: as ``platform.system`` names it.
    """
    variables = os.environ if environment is None else environment
    usual = _Usual(home or Path.home(), variables, system or platform.system())
    found = (
        *usual.huggingface(),
        *usual.modelscope(),
        *usual.lm_studio(),
        *usual.jan(),
        *usual.ollama(),
    )
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class _Usual:
    home: Path
    variables: Mapping[str, str]
    system: str

    def _named(self, *names: str) -> Path | None:
        """The folder of the first variable that is set."""
        for name in names:
            if value := self.variables.get(name, "").strip():
                return self._absolute(value)
        return None

    def _absolute(self, text: str) -> Path:
        return self.home / text[2:] if text.startswith("~/") else Path(text)

    @property
    def _cache(self) -> Path:
        return self._named("XDG_CACHE_HOME") or self.home / ".cache"

    def huggingface(self) -> Iterator[Place]:
        home = self._named("HF_HOME") or self._cache / "huggingface"
        yield Place(
            Origin.HUGGINGFACE, self._named("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE") or home / "hub"
        )
        if cache := self._named("LLAMA_CACHE"):
            yield Place(Origin.HUGGINGFACE, cache)
        # Older builds of llama.cpp kept plain files there.
        yield Place(Origin.FOLDER, self._llama_cache)

    @property
    def _llama_cache(self) -> Path:
        if self.system == "Darwin":
            return self.home / "Library" / "Caches" / "llama.cpp"
        if self.system == "Windows":
            return (self._named("LOCALAPPDATA") or self.home / "AppData" / "Local") / "llama.cpp"
        return self._cache / "llama.cpp"

    def modelscope(self) -> Iterator[Place]:
        cache = self._named("MODELSCOPE_CACHE") or self.home / ".cache" / "modelscope"
        for below in ("models", "hub/models", "hub"):
            yield Place(Origin.MODELSCOPE, cache.joinpath(*below.split("/")))

    def lm_studio(self) -> Iterator[Place]:
        for folder in (self.home / ".lmstudio", self.home / ".cache" / "lm-studio"):
            if moved := _moved(folder / "settings.json"):
                yield Place(Origin.LM_STUDIO, self._absolute(moved))
            yield Place(Origin.LM_STUDIO, folder / "models")

    def jan(self) -> Iterator[Place]:
        if self.system == "Windows":
            bases = [self._named("APPDATA") or self.home / "AppData" / "Roaming"]
        elif self.system == "Darwin":
            bases = [self.home / "Library" / "Application Support"]
        else:
            share = self._named("XDG_DATA_HOME") or self.home / ".local" / "share"
            bases = [share, self._named("XDG_CONFIG_HOME") or self.home / ".config"]
        for base in bases:
            yield Place(Origin.JAN, base / "Jan" / "data" / "llamacpp" / "models")

    def ollama(self) -> Iterator[Place]:
        if named := self._named("OLLAMA_MODELS"):
            yield Place(Origin.OLLAMA, named)
        yield Place(Origin.OLLAMA, self.home / ".ollama" / "models")
        if self.system == "Linux":  # the service's own user
            yield Place(Origin.OLLAMA, Path("/usr/share/ollama/.ollama/models"))


def _moved(settings: Path) -> str | None:
    """The folder that LM Studio was told to use."""
    with suppress(OSError, ValueError):
        if settings.stat().st_size <= MAX_SETTINGS_BYTES:
            data = json.loads(settings.read_text(encoding="utf-8"))
            folder = data.get("downloadsFolder") if isinstance(data, dict) else None
            return folder if isinstance(folder, str) and folder.strip() else None
    return None
