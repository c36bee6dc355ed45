"""Tokens: their place, their owner, and who never gets to see them."""

from __future__ import annotations

import json
import os
import sys
import types
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.hubs import tokens
from kimi_desktop.downloads.hubs.tokens import TokenPlace, TokenStore, system_keyring

HF = "https://huggingface.co"
SECRET = "hf_aSecretOfTheTests"


class Ring:
    """A keyring in memory, which can be locked."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._knock()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._knock()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._knock()
        del self.kept[service, username]

    def _knock(self) -> None:
        if self.locked:
            raise RuntimeError("locked")


@pytest.fixture
def ring() -> Ring:
    return Ring()


def store(folder: Path, ring: Ring | None, **environment: str) -> TokenStore:
    environment = {"HF_HOME": str(folder / "hf"), **environment}
    return TokenStore(folder, find_keyring=lambda: ring, environment=environment)


def test_the_keyring_keeps_it(tmp_path: Path, ring: Ring) -> None:
    first = store(tmp_path, ring)
    assert first.has_keyring
    assert first.find(HF) is None
    assert first.save(HF, f"  {SECRET}\n") is TokenPlace.KEYRING
    assert not list(tmp_path.iterdir())
    again = store(tmp_path, ring)
    assert again.value_of(HF) == SECRET
    found = again.find(HF)
    assert found is not None
    assert found.place is TokenPlace.KEYRING
    again.forget(HF)
    assert ring.kept == {}
    assert store(tmp_path, ring).value_of(HF) is None
    again.forget(HF)


def test_a_token_belongs_to_one_origin(tmp_path: Path, ring: Ring) -> None:
    kept = store(tmp_path, ring)
    kept.save(HF, SECRET)
    for other in (
        "https://hf-mirror.com",
        f"{HF}:8443",
        "http://huggingface.co",
        "https://x.hf.co",
    ):
        assert kept.value_of(other) is None


def test_it_is_not_shown_by_accident(tmp_path: Path, ring: Ring) -> None:
    kept = store(tmp_path, ring)
    kept.save(HF, SECRET)
    assert SECRET not in repr(kept.find(HF))


def test_without_a_keyring_it_lives_as_long_as_the_app(tmp_path: Path) -> None:
    kept = store(tmp_path, None)
    assert not kept.has_keyring
    assert kept.save(HF, SECRET) is TokenPlace.SESSION
    assert kept.value_of(HF) == SECRET
    assert not list(tmp_path.iterdir())
    assert store(tmp_path, None).value_of(HF) is None


def test_a_private_file_after_consent(tmp_path: Path, ring: Ring) -> None:
    kept = store(tmp_path, None)
    assert kept.save(HF, SECRET, in_file=True) is TokenPlace.FILE
    (file,) = tmp_path.iterdir()
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o644)
    again = store(tmp_path, None)
    found = again.find(HF)
    assert found is not None
    assert (found.value, found.place) == (SECRET, TokenPlace.FILE)
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
    again.save("https://hub.example", "other", in_file=True)
    again.forget("https://hub.example")
    assert json.loads(file.read_text()) == {HF: SECRET}
    # Once there is a keyring the file is not needed any more.
    assert store(tmp_path, ring).save(HF, SECRET, in_file=True) is TokenPlace.KEYRING
    assert not file.exists()


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"https://huggingface.co": 5}', '{"a": "b c"}']
)
def test_a_damaged_file_is_no_token(tmp_path: Path, content: str) -> None:
    (tmp_path / tokens.FILE_NAME).write_text(content)
    assert store(tmp_path, None).value_of(HF) is None


def test_a_locked_keyring(tmp_path: Path, ring: Ring) -> None:
    ring.locked = True
    kept = store(tmp_path, ring)
    assert kept.find(HF) is None
    with pytest.raises(DownloadError) as caught:
        kept.save(HF, SECRET)
    assert caught.value.code is ErrorCode.HUB_TOKEN_NOT_KEPT
    assert SECRET not in str(caught.value)
    assert kept.value_of(HF) == SECRET  # until the app ends
    assert kept.save(HF, SECRET, in_file=True) is TokenPlace.FILE
    ring.locked = False
    kept.save(HF, SECRET)
    stubborn = store(tmp_path, ring)
    ring.delete_password = None  # type: ignore[method-assign, assignment]
    with pytest.raises(DownloadError):
        stubborn.forget(HF)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DownloadError) as caught:
        store(tmp_path / "file", None).save(HF, SECRET, in_file=True)
    assert caught.value.code is ErrorCode.HUB_TOKEN_NOT_KEPT


@pytest.mark.parametrize("value", ["", "  ", "hf_a b", "hf_a\r\nX-Evil: 1", "hf_ä", "x" * 600])
def test_what_cannot_be_a_token(tmp_path: Path, ring: Ring, value: str) -> None:
    with pytest.raises(DownloadError) as caught:
        store(tmp_path, ring).save(HF, value)
    assert caught.value.code is ErrorCode.HUB_TOKEN_MALFORMED
    for language in Language:
        assert all(describe_error(caught.value, language))


def test_no_token_over_an_open_line(tmp_path: Path, ring: Ring) -> None:
    kept = store(tmp_path, ring)
    with pytest.raises(DownloadError):
        kept.save("http://hub.example", SECRET)
    assert kept.save("http://127.0.0.1:8000", SECRET) is TokenPlace.KEYRING
    ring.kept[tokens.SERVICE, "http://hub.example"] = SECRET
    assert kept.value_of("http://hub.example") is None


def test_tokens_of_other_programs(tmp_path: Path, ring: Ring) -> None:
    login = tmp_path / "hf" / "token"
    login.parent.mkdir()
    login.write_text(f"{SECRET}\n")
    found = store(tmp_path, ring).find(HF)
    assert found is not None
    assert (found.value, found.place) == (SECRET, TokenPlace.OTHER_PROGRAM)
    with_variable = store(tmp_path, ring, HF_TOKEN="hf_env")
    found = with_variable.find(HF)
    assert found is not None
    assert (found.value, found.place) == ("hf_env", TokenPlace.ENVIRONMENT)
    assert with_variable.value_of("https://hf-mirror.com") is None  # whatever HF_ENDPOINT says
    with_variable.forget(HF)
    assert login.read_text() == f"{SECRET}\n"
    with_variable.save(HF, "hf_mine")
    assert store(tmp_path, ring, HF_TOKEN="hf_env").value_of(HF) == "hf_mine"
    scope = store(tmp_path, None, MODELSCOPE_API_TOKEN="ms-1")
    assert scope.value_of("https://modelscope.cn") == "ms-1"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("hf_elsewhere")
    assert store(tmp_path, None, HF_TOKEN_PATH=str(elsewhere)).value_of(HF) == "hf_elsewhere"
    elsewhere.write_bytes(b"\xff\xfe")
    assert store(tmp_path, None, HF_TOKEN_PATH=str(elsewhere)).value_of(HF) is None


def backend(module: str, **attributes: object) -> object:
    made = type("Keyring", (), attributes)
    made.__module__ = module
    return made()


@pytest.mark.parametrize(
    ("found", "usable"),
    [
        (backend("keyring.backends.SecretService"), True),
        (backend("keyring.backends.macOS"), True),
        (backend("keyring.backends.fail"), False),
        (backend("keyring.backends.null"), False),
        (backend("keyrings.alt.file"), False),
        (backend("keyring.backends.chainer", backends=[backend("keyring.backends.kwallet")]), True),
        (backend("keyring.backends.chainer", backends=[]), False),
        (backend("keyring.backends.chainer", backends=[backend("keyrings.alt.file")]), False),
    ],
)
def test_which_keyrings_keep_a_secret(
    found: object, usable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("keyring")
    module.get_keyring = lambda: found  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", module)
    assert (system_keyring() is not None) is usable


def test_no_keyring_package_or_a_broken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert system_keyring() is None
    monkeypatch.setitem(sys.modules, "keyring", types.ModuleType("keyring"))
    assert system_keyring() is None
