"""The file of the programs' keys: private, whole, and shared between programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ServeError
from kimi_desktop.serve.keys import ClientKeys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "serve-keys.json"


def test_nothing_is_written_before_a_key_is_needed(file: Path) -> None:
    keys = ClientKeys(file)
    assert (keys.keys.own, keys.keys.by_name()) == ("", {})
    assert not file.parent.exists()


@pytest.mark.skipif("os.name != 'posix'", reason="file modes")
def test_only_the_owner_can_read_them(file: Path) -> None:
    own = ClientKeys(file).make_own().own
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    assert ClientKeys(file).make_own().own == own
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"own": "a", "clients": 3}', "\udcff"])
def test_a_damaged_file_opens_nothing(file: Path, content: str) -> None:
    file.parent.mkdir()
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    keys = ClientKeys(file)
    assert keys.keys.by_name() == {}
    keys.make_own()
    assert json.loads(file.read_text(encoding="utf-8"))["own"] == keys.keys.own


def test_keys_are_of_their_own_and_shown_in_no_repr(file: Path) -> None:
    keys = ClientKeys(file)
    keys.make_own()
    assert keys.add("a\x1b[31m\tb") == "a [31m b"
    assert len(set(keys.keys.by_name().values())) == 2
    assert not any(key in repr(keys.keys) for key in keys.keys.by_name().values())


def test_one_that_cannot_be_kept_holds(file: Path) -> None:
    file.parent.write_text("in the way", encoding="utf-8")
    keys = ClientKeys(file)
    with pytest.raises(ServeError) as caught:
        keys.make_own()
    assert caught.value.code is ErrorCode.SERVE_KEYS_NOT_KEPT
    assert keys.keys.own
