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
from kimi_desktop.base.files import write_atomically

SCHEMA = 2


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
    llama_python: str = ""
    """A Python (or its environment's folder) whose llama-cpp-python serves instead of both."""
    vllm_python: str = ""
    """A Python (or its environment's folder) that has vLLM; "" = the one on PATH, or our own."""
    sglang_python: str = ""
    """The same of SGLang."""
    server_engine: str = "vllm"
    """What serves folders of safetensors: vllm or sglang (unknown: vllm)."""
    loads: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    """Per model id, what the user chose: wishes for the planner, or load settings."""
    options: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    """Per model id, what llama.cpp is told besides a placement."""
    profile: str = "safe"
    """What plans are good at: safe, balanced, long_context or fastest (unknown: safe)."""
    workers: Mapping[str, Mapping[str, int | str]] = field(default_factory=dict)
    """Per address of an RPC worker: its device's name, and its link as it was last measured."""
    first_question: bool = True
    """Ask a model one short question after loading, and tell when the answer is none."""
    step_down: bool = False
    """After a failure for memory take the next smaller step by itself; never a shorter context."""


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
    """The gateway. Keys are kept elsewhere (``serve.keys``); an open local network is not kept."""

    port: int = field(default=8080, metadata=_between(1024, 65535))
    encrypted: bool = False
    """In the local network by TLS, with a certificate of its own."""


@dataclass(frozen=True, slots=True)
class DownloadSettings:
    """How models are fetched."""

    bytes_per_s: int = field(default=0, metadata=_between(0, 10**12))
    """The speed limit over all downloads; 0 = none."""
    connections: int = field(default=8, metadata=_between(1, 16))
    """At most so many at once."""


@dataclass(frozen=True, slots=True)
class HubSettings:
    """Where models come from. Tokens are kept elsewhere (``downloads.hubs.tokens``)."""

    endpoint: str = ""
    """A hub of one's own or a mirror, asked first; ``HF_ENDPOINT`` goes before it."""
    looks_for_newer: bool = True
    """Whether a hub is asked once a day for newer versions of models that are here."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Origin of a hub -> name of the account whose token is kept."""


@dataclass(frozen=True, slots=True)
class OtherServerSettings:
    """Servers that somebody else runs. Keys are kept elsewhere (``server_keys``)."""

    addresses: Mapping[str, str] = field(default_factory=dict)
    """Name -> address of its API."""
    chosen: str = ""
    """The one that Attach means; "" = a model of the library is chosen."""
    model: str = ""
    """Of that server."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it."""

    window: WindowSettings = WindowSettings()
    models: ModelSettings = ModelSettings()
    engine: EngineSettings = EngineSettings()
    chat: ChatSettings = ChatSettings()
    serve: ServeSettings = ServeSettings()
    downloads: DownloadSettings = DownloadSettings()
    hubs: HubSettings = HubSettings()
    other_servers: OtherServerSettings = OtherServerSettings()


Migration = Callable[[dict[str, Any]], dict[str, Any]]


def _from_1(raw: dict[str, Any]) -> dict[str, Any]:
    """Keys leave this file for good (they are made anew), and so does an open local network."""
    serve = raw.get("serve")
    if isinstance(serve, dict):
        gone = ("api_key", "clients", "address")
        serve = {name: value for name, value in serve.items() if name not in gone}
        raw = {**raw, "serve": serve}
    return raw


MIGRATIONS: Mapping[int, Migration] = {1: _from_1}
"""From schema n to n + 1; each has a test (a test says so)."""


class SettingsStore:
    """The one owner of the settings file.

    ``problems`` lists what had to be corrected while reading, to be shown once.
    """

    def __init__(self, file: Path) -> None:
        # A settings file that is a link (kept with other dotfiles) stays one.
        self._file = Path(os.path.realpath(file))
        self._lock = threading.Lock()
        self._raw: dict[str, Any] = {}
        self._writable = True
        self._is_understood = True
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
            return self._not_understood(error)
        try:
            raw = json.loads(text)
            if not isinstance(raw, dict):
                raise TypeError("not a JSON object")  # noqa: TRY301
            schema = raw.get("schema", SCHEMA)
            if type(schema) is not int or schema < 1:
                raise ValueError(f"schema {schema!r}")  # noqa: TRY301
        except (ValueError, TypeError, RecursionError) as error:
            return self._not_understood(error)
        if schema > SCHEMA:
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

    def _not_understood(self, error: Exception) -> Settings:
        self._is_understood = False
        self._report(ErrorCode.SETTINGS_UNREADABLE, error, path=str(self._file), detail=str(error))
        return Settings()

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
            except (TypeError, ValueError, OverflowError):
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
            before = raw.get(section.name)
            known = _plain(getattr(self._settings, section.name))
            raw[section.name] = {**(before if isinstance(before, dict) else {}), **known}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._keep_previous()
            write_atomically(self._file, _to_json(raw), private=True)
        except OSError as error:
            raise SettingsError(
                ErrorCode.SETTINGS_NOT_SAVED,
                {"path": str(self._file), "detail": error.strerror or str(error)},
                cause=error,
            ) from error
        self._raw = raw

    def _keep_previous(self) -> None:
        """Beside the file, under another name; the file itself stays where it is.

        One that could not be understood gets a name that later saves leave alone.

        Raises:
            OSError: it cannot be kept.
        """
        if not self._file.exists():
            return
        suffix = ".json.previous" if self._is_understood else ".json.unreadable"
        kept = self._file.with_suffix(suffix)
        beside = self._file.with_suffix(".json.link")
        try:
            beside.unlink(missing_ok=True)
            beside.hardlink_to(self._file)
            beside.replace(kept)
        except OSError:  # a file system without hard links
            write_atomically(kept, self._file.read_bytes(), private=True)
        self._is_understood = True

    def _report(self, code: ErrorCode, cause: BaseException | None, **params: str | int) -> None:
        self.problems.append(SettingsError(code, params, cause=cause))


def _plain(section: Any) -> dict[str, Any]:  # noqa: ANN401 - any of the sections
    """A section as JSON has it."""
    values = {option.name: getattr(section, option.name) for option in dataclasses.fields(section)}
    return {
        name: {
            key: dict(entry) if isinstance(entry, Mapping) else entry
            for key, entry in value.items()
        }
        if isinstance(value, Mapping)
        else value
        for name, value in values.items()
    }


def _to_json(raw: Mapping[str, Any]) -> str:
    """Readable where it can be; a path whose bytes are no text keeps them as escapes."""
    text = json.dumps(raw, indent=2, ensure_ascii=False)
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(raw, indent=2)
    return text + "\n"


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
        holds = _is_word if typing.get_args(kind)[1] is str else _is_flat
        if not isinstance(value, dict) or not all(map(holds, value.values())):
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


def _is_word(value: object) -> bool:
    return isinstance(value, str)


def _is_flat(value: object) -> bool:
    """An object of words and numbers."""
    return isinstance(value, dict) and all(isinstance(entry, str | int) for entry in value.values())
