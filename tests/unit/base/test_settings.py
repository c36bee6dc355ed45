from __future__ import annotations

import dataclasses
import errno
import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base import settings as module
from kimi_desktop.base.errors import ErrorCode, SettingsError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.settings import (
    MIGRATIONS,
    SCHEMA,
    ChatSettings,
    EngineSettings,
    HubSettings,
    LanguageChoice,
    ModelSettings,
    OtherServerSettings,
    ServeSettings,
    Settings,
    SettingsStore,
    ThemeChoice,
    WindowSettings,
)

words = st.text(max_size=30)
# Paths whose bytes are no text arrive with lone surrogates.
paths = st.text(st.characters(exclude_categories=()), max_size=30)

any_settings = st.builds(
    Settings,
    window=st.builds(
        WindowSettings,
        language=st.sampled_from(LanguageChoice),
        theme=st.sampled_from(ThemeChoice),
        rail_open=st.booleans(),
        page=words,
    ),
    models=st.builds(ModelSettings, folders=st.lists(paths, max_size=3).map(tuple), selected=paths),
    engine=st.builds(
        EngineSettings,
        llama_server=paths,
        loads=st.dictionaries(
            paths, st.dictionaries(words, st.integers() | words, max_size=3), max_size=3
        ),
    ),
    chat=st.builds(
        ChatSettings,
        temperature=st.floats(0, 2),
        top_p=st.floats(0, 1),
        max_tokens=st.integers(1, 1_000_000),
        thinking=st.booleans(),
        system_prompt=words,
    ),
    serve=st.builds(
        ServeSettings,
        port=st.integers(1024, 65535),
        encrypted=st.booleans(),
    ),
    hubs=st.builds(HubSettings, endpoint=words, owners=st.dictionaries(words, words, max_size=3)),
    other_servers=st.builds(
        OtherServerSettings,
        addresses=st.dictionaries(words, words, max_size=3),
        chosen=words,
        model=words,
    ),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "settings.json"


def write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, encoding="utf-8")


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def dark(settings: Settings) -> Settings:
    window = dataclasses.replace(settings.window, theme=ThemeChoice.DARK)
    return dataclasses.replace(settings, window=window)


def with_port(port: int) -> Callable[[Settings], Settings]:
    return lambda settings: dataclasses.replace(settings, serve=ServeSettings(port=port))


def codes(store: SettingsStore) -> list[ErrorCode]:
    return [problem.code for problem in store.problems]


def plain(value: Any) -> Any:
    """Comparable: a mapping read from a file is a read-only view."""
    if dataclasses.is_dataclass(value):
        parts = dataclasses.fields(value)
        return {part.name: plain(getattr(value, part.name)) for part in parts}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return value


def no_links(self: Path, target: Path) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_a_first_start_has_defaults_and_writes_nothing(file: Path) -> None:
    store = SettingsStore(file)
    assert store.settings == Settings()
    assert store.problems == []
    assert not file.parent.exists()


@given(any_settings)
def test_what_is_saved_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, settings: Settings
) -> None:
    file = tmp_path_factory.mktemp("settings") / "settings.json"
    SettingsStore(file).update(lambda _: settings)
    store = SettingsStore(file)
    assert store.problems == []
    assert plain(store.settings) == plain(settings)


def test_settings_that_were_read_can_be_saved_again(file: Path) -> None:
    write(file, {"schema": SCHEMA, "engine": {"loads": {"a.gguf": {"context": 8192}}}})
    SettingsStore(file).update(dark)
    assert SettingsStore(file).settings.engine.loads == {"a.gguf": {"context": 8192}}


def test_chinese_stays_readable_in_the_file(file: Path) -> None:
    chat = ChatSettings(system_prompt="你是一个助手")
    SettingsStore(file).update(lambda old: dataclasses.replace(old, chat=chat))
    assert "你是一个助手" in file.read_text(encoding="utf-8")


def test_keys_of_other_versions_survive(file: Path) -> None:
    write(
        file,
        {
            "schema": SCHEMA,
            "voice": {"volume": 3},
            "window": {"theme": "light", "glow": True},
        },
    )
    store = SettingsStore(file)
    assert store.problems == []
    store.update(dark)
    saved = read(file)
    assert saved["voice"] == {"volume": 3}
    assert saved["window"]["glow"] is True
    assert saved["window"]["theme"] == "dark"


def test_missing_sections_and_values_are_defaults(file: Path) -> None:
    write(file, {"window": {"rail_open": True}})
    store = SettingsStore(file)
    assert store.problems == []
    assert store.settings.window == WindowSettings(rail_open=True)
    assert store.settings.chat == ChatSettings()


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("window", "theme", "pink"),
        ("window", "theme", 3),
        ("window", "rail_open", 1),
        ("window", "rail_open", "true"),
        ("window", "page", None),
        ("models", "folders", "one"),
        ("models", "folders", [1]),
        ("hubs", "owners", ["a"]),
        ("hubs", "owners", {"a": 1}),
        ("hubs", "owners", {"a": {"b": "c"}}),
        ("engine", "loads", []),
        ("engine", "loads", {"a": 1}),
        ("engine", "loads", {"a": {"b": [1]}}),
        ("engine", "loads", {"a": {"b": None}}),
        ("chat", "temperature", 2.5),
        ("chat", "temperature", float("nan")),
        ("chat", "temperature", 10**400),
        ("chat", "temperature", True),
        ("chat", "max_tokens", 0),
        ("chat", "max_tokens", 1.5),
        ("chat", "max_tokens", True),
        ("serve", "port", 80),
        ("serve", "port", "8080"),
    ],
)
def test_a_bad_value_costs_only_itself(file: Path, section: str, name: str, value: object) -> None:
    good = {"chat": {"thinking": False}, "window": {"enter_sends": False}}
    content = {**good, section: {**good.get(section, {}), name: value}}
    write(file, content)
    store = SettingsStore(file)
    assert codes(store) == [ErrorCode.SETTINGS_BAD_VALUE]
    assert store.problems[0].params["name"] == f"{section}.{name}"
    default = getattr(getattr(Settings(), section), name)
    assert getattr(getattr(store.settings, section), name) == default
    assert store.settings.chat.thinking is False
    assert store.settings.window.enter_sends is False
    for language in Language:
        assert f"{section}.{name}" in describe_error(store.problems[0], language)[0]


def test_whole_numbers_do_for_a_float(file: Path) -> None:
    write(file, {"chat": {"temperature": 1}})
    assert SettingsStore(file).settings.chat.temperature == 1.0


def test_a_section_that_is_no_object(file: Path) -> None:
    write(file, {"chat": [1, 2], "window": {"theme": "dark"}})
    store = SettingsStore(file)
    assert codes(store) == [ErrorCode.SETTINGS_BAD_VALUE]
    assert store.settings.window.theme is ThemeChoice.DARK
    store.update(dark)
    assert read(file)["chat"]["thinking"] is True


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[1]", "null", '"text"', "[" * 100_000),
        *(f'{{"schema": {number}}}' for number in ("0", "true", '"1"', "1.5", "-3", "1" * 5000)),
    ],
    ids=range(12),
)
def test_a_file_that_makes_no_sense(file: Path, content: str) -> None:
    write(file, content)
    store = SettingsStore(file)
    assert codes(store) == [ErrorCode.SETTINGS_UNREADABLE]
    assert store.settings == Settings()
    assert file.read_text(encoding="utf-8") == content  # as it was, until something is changed
    store.update(dark)
    store.update(with_port(9000))
    assert SettingsStore(file).settings.serve.port == 9000
    kept = file.with_suffix(".json.unreadable")
    assert kept.read_text(encoding="utf-8") == content  # and still there after more saves


def test_a_file_that_is_no_text(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"\xff\xfe\x00")
    store = SettingsStore(file)
    assert codes(store) == [ErrorCode.SETTINGS_UNREADABLE]
    store.update(dark)
    assert file.with_suffix(".json.unreadable").read_bytes() == b"\xff\xfe\x00"


def test_a_folder_in_its_place(file: Path) -> None:
    file.mkdir(parents=True)
    store = SettingsStore(file)
    assert codes(store) == [ErrorCode.SETTINGS_UNREADABLE]
    with pytest.raises(SettingsError) as failure:
        store.update(dark)
    assert failure.value.code is ErrorCode.SETTINGS_NOT_SAVED
    assert store.settings.window.theme is ThemeChoice.DARK


def test_a_newer_file_is_never_overwritten(file: Path) -> None:
    content = {"schema": SCHEMA + 1, "window": {"theme": "sepia"}}
    write(file, content)
    store = SettingsStore(file)
    assert codes(store) == [ErrorCode.SETTINGS_TOO_NEW]
    assert store.update(dark).window.theme is ThemeChoice.DARK
    assert store.settings.window.theme is ThemeChoice.DARK  # for this run
    assert read(file) == content
    assert list(file.parent.iterdir()) == [file]


def test_every_older_schema_has_a_migration_and_each_has_a_test() -> None:
    assert set(MIGRATIONS) == set(range(1, SCHEMA))
    tested = {name for name in globals() if name.startswith("test_migration_from_")}
    assert tested == {f"test_migration_from_{number}" for number in MIGRATIONS}


def test_migration_from_1(file: Path) -> None:
    """Keys and an open local network leave the settings."""
    serve = {"port": 9000, "api_key": "kd-old", "clients": {"a": "kd-a"}, "address": "10.0.0.2"}
    write(file, {"schema": 1, "serve": serve})
    store = SettingsStore(file)
    assert store.settings.serve.port == 9000
    store.update(dark)
    assert read(file)["serve"] == {"port": 9000, "encrypted": False}


def test_migrations_run_in_order(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule itself, with steps of our own: names move, nothing else is lost."""

    def first(raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "window": {"theme": raw.pop("colours")}}

    def second(raw: dict[str, Any]) -> dict[str, Any]:
        theme = {"night": "dark"}[raw["window"]["theme"]]
        return {**raw, "window": {"theme": theme}}

    monkeypatch.setattr(module, "SCHEMA", 3)
    monkeypatch.setattr(module, "MIGRATIONS", {1: first, 2: second})
    write(file, {"schema": 1, "colours": "night", "voice": 1})
    store = SettingsStore(file)
    assert store.settings.window.theme is ThemeChoice.DARK
    store.update(with_port(9000))
    saved = read(file)
    assert (saved["schema"], saved["voice"], saved["window"]["theme"]) == (3, 1, "dark")
    assert read(file.with_suffix(".json.previous"))["colours"] == "night"


@pytest.mark.parametrize("links", [True, False])
def test_the_file_before_is_kept(file: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    store = SettingsStore(file)
    for port in (9001, 9002, 9003):
        store.update(with_port(port))
    assert read(file)["serve"]["port"] == 9003
    assert read(file.with_suffix(".json.previous"))["serve"]["port"] == 9002
    assert len(list(file.parent.iterdir())) == 2


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_reads_it(file: Path) -> None:
    store = SettingsStore(file)
    store.update(dark)
    store.update(with_port(9000))
    for entry in file.parent.iterdir():
        assert entry.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_copy_of_it_is_the_owners_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "hardlink_to", no_links)
    store = SettingsStore(file)
    store.update(dark)
    store.update(with_port(9000))
    assert file.with_suffix(".json.previous").stat().st_mode & 0o777 == 0o600


def test_a_link_to_the_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "settings.json"
    write(real, {})
    file.parent.mkdir()
    file.symlink_to(real)
    SettingsStore(file).update(dark)
    assert file.is_symlink()
    assert read(real)["window"]["theme"] == "dark"


@pytest.mark.parametrize(
    ("step", "number"),
    [("fsync", errno.ENOSPC), ("open", errno.EROFS), ("fsync", errno.EIO)],
)
def test_a_save_that_fails_leaves_the_file_whole(
    file: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int
) -> None:
    store = SettingsStore(file)
    store.update(with_port(9001))
    before = file.read_text(encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(SettingsError) as failure:
            store.update(with_port(9002))
    assert failure.value.code is ErrorCode.SETTINGS_NOT_SAVED
    assert failure.value.params["detail"] == os.strerror(number)
    assert store.settings.serve.port == 9002  # it holds until the app closes
    assert file.read_text(encoding="utf-8") == before
    assert not [entry for entry in file.parent.iterdir() if entry.suffix == ".new"]
    store.update(dark)
    assert SettingsStore(file).settings.serve.port == 9002


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(file: Path) -> None:
    store = SettingsStore(file)
    store.update(dark)
    file.parent.chmod(0o500)
    try:
        with pytest.raises(SettingsError) as failure:
            store.update(with_port(9002))
        assert failure.value.code is ErrorCode.SETTINGS_NOT_SAVED
    finally:
        file.parent.chmod(0o700)


def test_changes_from_several_threads_are_all_kept(file: Path) -> None:
    store = SettingsStore(file)

    def add(number: int) -> None:
        def change(old: Settings) -> Settings:
            folders = (*old.models.folders, str(number))
            return dataclasses.replace(old, models=ModelSettings(folders=folders))

        store.update(change)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(SettingsStore(file).settings.models.folders) == list("01234567")
