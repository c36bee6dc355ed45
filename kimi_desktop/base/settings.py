"""Typed settings in one JSON file: migrated, replaced atomically, the previous file kept.

A value that is not allowed falls back to its default and is reported; keys this version does not
know survive a save. Called from the Qt thread or the terminal: the file is a few KiB.
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import ErrorCode, SettingsError

SCHEMA = 1


class LanguageChoice(StrEnum):
    """The language of the window and the terminal."""

    SYSTEM = "system"
    EN = "en"
    ZH_CN = "zh_CN"


class ThemeChoice(StrEnum):
    """Which palette the window wears."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


def _between(low: float, high: float) -> dict[str, Any]:
    return {"low": low, "high": high}


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """Look and layout."""

    language: LanguageChoice = LanguageChoice.SYSTEM
    theme: ThemeChoice = ThemeChoice.SYSTEM
    enter_sends: bool = True
    rail_open: bool = False
    chat_list_open: bool = True
    inspector_open: bool = True
    page: str = "chat"
    wizard_done: bool = False


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Where models are and which one is chosen."""

    folders: tuple[str, ...] = ()
    """Besides the default models folder."""
    selected: str = ""
    """Id of the chosen local model."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How engines are found and models loaded."""

    llama_server: str = ""
    """A llama-server binary to use instead of the embedded engine."""
    loads: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    """Per model id, the load settings that differ from the defaults."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Sampling and behaviour of new answers."""

    temperature: float = field(default=1.0, metadata=_between(0.0, 2.0))
    top_p: float = field(default=0.95, metadata=_between(0.0, 1.0))
    max_tokens: int = field(default=4096, metadata=_between(1, 1_000_000))
    thinking: bool = True
    system_prompt: str = ""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """The gateway."""

    port: int = field(default=8080, metadata=_between(1024, 65535))
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it."""

    window: WindowSettings = WindowSettings()
    models: ModelSettings = ModelSettings()
    engine: EngineSettings = EngineSettings()
    chat: ChatSettings = ChatSettings()
    serve: ServeSettings = ServeSettings()


Migration = Callable[[dict[str, Any]], dict[str, Any]]
MIGRATIONS: Mapping[int, Migration] = {}
"""From schema n to n + 1; each has a test (a test says so)."""


class SettingsStore:
    """The one owner of the settings file.

    ``problems`` lists what had to be corrected while reading, to be shown once.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._raw: dict[str, Any] = {}
        self._writable = True
        self.problems: list[SettingsError] = []
        self._settings = self._load()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    def update(self, change: Callable[[Settings], Settings]) -> Settings:
        """Replace the settings and save them.

        Raises:
            SettingsError: not saved; the new settings hold in memory all the same.
        """
        with self._lock:
            self._settings = change(self._settings)
            self._save()
            return self._settings

    def _load(self) -> Settings:
        try:
            text = self._file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Settings()
        except (OSError, UnicodeDecodeError) as error:
            self._report(
                ErrorCode.SETTINGS_UNREADABLE, error, path=str(self._file), detail=str(error)
            )
            return Settings()
        try:
            raw = json.loads(text)
            if not isinstance(raw, dict):
                raise TypeError("not a JSON object")  # noqa: TRY301
        except (ValueError, TypeError) as error:
            self._report(
                ErrorCode.SETTINGS_UNREADABLE, error, path=str(self._file), detail=str(error)
            )
            return Settings()
        schema = raw.get("schema", SCHEMA)
        if not isinstance(schema, int) or schema > SCHEMA:
            self._writable = False  # never overwrite what a newer version wrote
            self._report(
                ErrorCode.SETTINGS_TOO_NEW,
                None,
                path=str(self._file),
                found=str(schema),
                known=SCHEMA,
            )
            return Settings()
        for number in range(schema, SCHEMA):
            raw = MIGRATIONS[number](raw)
        self._raw = raw
        return self._read_sections(raw)

    def _read_sections(self, raw: Mapping[str, Any]) -> Settings:
        sections: dict[str, Any] = {}
        for section in dataclasses.fields(Settings):
            kind = type(section.default)
            found = raw.get(section.name)
            sections[section.name] = self._read_section(kind, section.name, found)
        return Settings(**sections)

    def _read_section(self, kind: type[Any], name: str, found: object) -> object:
        if found is None:
            return kind()
        if not isinstance(found, dict):
            self._report(ErrorCode.SETTINGS_BAD_VALUE, None, name=name, value=str(found)[:80])
            return kind()
        hints = typing.get_type_hints(kind)
        values: dict[str, Any] = {}
        for option in dataclasses.fields(kind):
            if option.name not in found:
                continue
            try:
                values[option.name] = _checked(
                    found[option.name], hints[option.name], option.metadata
                )
            except (TypeError, ValueError):
                self._report(
                    ErrorCode.SETTINGS_BAD_VALUE,
                    None,
                    name=f"{name}.{option.name}",
                    value=str(found[option.name])[:80],
                )
        return kind(**values)

    def _save(self) -> None:
        if not self._writable:
            return
        raw = dict(self._raw)
        raw["schema"] = SCHEMA
        for section in dataclasses.fields(Settings):
            known = dataclasses.asdict(getattr(self._settings, section.name))
            before = raw.get(section.name)
            raw[section.name] = {**(before if isinstance(before, dict) else {}), **known}
        text = json.dumps(raw, indent=2, ensure_ascii=False) + "\n"
        temporary = self._file.with_suffix(".json.new")
        previous = self._file.with_suffix(".json.previous")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as out:
                os.fchmod(out.fileno(), 0o600) if hasattr(os, "fchmod") else None
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            if self._file.exists():
                self._file.replace(previous)
            temporary.replace(self._file)
        except OSError as error:
            raise SettingsError(
                ErrorCode.SETTINGS_NOT_SAVED,
                {"path": str(self._file), "detail": error.strerror or str(error)},
                cause=error,
            ) from error
        self._raw = raw

    def _report(self, code: ErrorCode, cause: BaseException | None, **params: str | int) -> None:
        self.problems.append(SettingsError(code, params, cause=cause))


def _checked(value: Any, kind: Any, limits: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The value as ``kind``, within its limits.

    Raises:
        TypeError, ValueError: it is not allowed.
    """
    origin = typing.get_origin(kind)
    if origin is tuple:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise TypeError(value)
        return tuple(value)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
            raise TypeError(value)
        return types.MappingProxyType(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind:
        raise TypeError(value)
    if "low" in limits and not limits["low"] <= value <= limits["high"]:
        raise ValueError(value)
    return value
