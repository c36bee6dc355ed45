"""Assembling the starter model: from the real packages, and from broken ones."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models import starter
from kimi_desktop.models.starter import install_starter, starter_available

CONTENT = [bytes([65 + number]) * (700_000 + number) for number in range(4)]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four small packages in place of the real ones, and a home without a cache."""
    root = tmp_path / "packages"
    for (_, name), content, number in zip(starter._PARTS, CONTENT, range(4), strict=True):
        data = root / f"little_part{number}" / "data"
        data.mkdir(parents=True)
        (data.parent / "__init__.py").write_text("")
        (data / name).write_bytes(content)
    parts = tuple((f"little_part{n}", name) for n, (_, name) in enumerate(starter._PARTS))
    whole = b"".join(CONTENT)
    monkeypatch.syspath_prepend(root)
    monkeypatch.setattr(starter, "_PARTS", parts)
    monkeypatch.setattr(starter, "STARTER_BYTES", len(whole))
    monkeypatch.setattr(starter, "STARTER_SHA256", hashlib.sha256(whole).hexdigest())
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    return root


def failed(folder: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        install_starter(folder)
    for language in Language:
        assert all(describe_error(caught.value, language))
    assert not list(folder.glob("**/*.part"))
    return caught.value


def test_assembles_once(packages: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    folder = tmp_path / "models"
    path = install_starter(folder, lambda *step: seen.append(step))
    assert path.read_bytes() == b"".join(CONTENT)
    assert [entry.name for entry in folder.iterdir()] == [starter.STARTER_FILE]
    assert seen[0][2] == "assembling"
    assert seen[-1] == (starter.STARTER_BYTES, starter.STARTER_BYTES, "checking")
    before = path.stat().st_mtime_ns
    assert install_starter(folder) == path
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * len(b"".join(CONTENT))])
def test_a_damaged_file_is_replaced(packages: Path, tmp_path: Path, damage: bytes) -> None:
    (tmp_path / starter.STARTER_FILE).write_bytes(damage)
    assert install_starter(tmp_path).read_bytes() == b"".join(CONTENT)


def test_a_missing_package_is_named(packages: Path, tmp_path: Path) -> None:
    assert starter_available()
    (packages / "little_part2" / "data" / starter._PARTS[2][1]).unlink()
    error = failed(tmp_path / "models")
    assert error.code is ErrorCode.STARTER_MISSING
    assert error.params["package"] == "little_part2"
    assert not starter_available()


def test_an_uninstalled_package_is_named(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starter, "_PARTS", (("no_such_package", "x"),))
    assert failed(tmp_path / "models").params["package"] == "no_such_package"


def test_a_damaged_part_never_gets_the_name(packages: Path, tmp_path: Path) -> None:
    part = packages / "little_part1" / "data" / starter._PARTS[1][1]
    content = bytearray(part.read_bytes())
    content[1000] ^= 1
    part.write_bytes(content)
    error = failed(tmp_path / "models")
    assert error.code is ErrorCode.STARTER_DAMAGED
    assert list((tmp_path / "models").iterdir()) == []


def test_no_space_is_said_before_anything_is_written(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr(starter.shutil, "disk_usage", lambda _folder: usage)
    assert failed(tmp_path / "models").code is ErrorCode.MODEL_NO_SPACE


def test_a_disk_that_fills_up(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert failed(tmp_path / "models").code is ErrorCode.MODEL_NO_SPACE


def test_a_folder_that_cannot_be_written(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    error = failed(tmp_path / "file" / "models")
    assert error.code is ErrorCode.MODEL_NOT_SAVED


def test_cancelling_leaves_nothing(packages: Path, tmp_path: Path) -> None:
    cancelled = threading.Event()
    with pytest.raises(CancelledError):
        install_starter(tmp_path, lambda *_step: cancelled.set(), cancelled)
    assert not list(tmp_path.glob("*.gguf*")) + list(tmp_path.glob(".kimi*"))


def test_a_copy_in_the_package_cache_is_shared(packages: Path, tmp_path: Path) -> None:
    cache = tmp_path / "home" / ".cache" / starter._PACKAGE / starter.STARTER_FILE
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"".join(CONTENT))
    path = install_starter(tmp_path / "models")
    assert path.samefile(cache)


def test_a_wrong_copy_in_the_package_cache_is_not(packages: Path, tmp_path: Path) -> None:
    cache = tmp_path / "home" / ".cache" / starter._PACKAGE / starter.STARTER_FILE
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"z" * starter.STARTER_BYTES)
    path = install_starter(tmp_path / "models")
    assert not path.samefile(cache)
    assert path.read_bytes() == b"".join(CONTENT)


def test_old_leftovers_are_swept(packages: Path, tmp_path: Path) -> None:
    old = tmp_path / ".kimi-starter-old.part"
    old.write_text("x")
    os.utime(old, (1, 1))
    fresh = tmp_path / ".kimi-starter-fresh.part"
    fresh.write_text("another process at work")
    install_starter(tmp_path)
    assert not old.exists()
    assert fresh.exists()


def test_the_terminal(
    packages: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path / "profile"))
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert starter.main() == 0
    output = capsys.readouterr()
    assert starter.STARTER_FILE in output.out
    assert "100 % of 2.8 MB" in output.err
    monkeypatch.setattr(starter, "_PARTS", (("no_such_package", "x"),))
    (tmp_path / "profile" / "data" / "models" / starter.STARTER_FILE).unlink()
    assert starter.main() == 1
    assert "pip install" in capsys.readouterr().err

    def interrupted(*_arguments: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(starter, "install_starter", interrupted)
    assert starter.main() == 130


@pytest.mark.real_model
@pytest.mark.skipif(not starter_available(), reason="the starter packages are not installed")
def test_the_real_model(tmp_path: Path) -> None:
    environment = dict(os.environ, KIMI_DESKTOP_HOME=str(tmp_path), LC_ALL="C.UTF-8")
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop.models.starter"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path = tmp_path / "data" / "models" / starter.STARTER_FILE
    assert path.stat().st_size == 253_113_024
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    assert digest == "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"


def test_steps_are_few(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most four a second, however fast the disk is."""
    clock = iter(n * 0.1 for n in range(1, 1_000))
    tick: Callable[[], float] = lambda: next(clock)  # noqa: E731
    monkeypatch.setattr(starter.time, "monotonic", tick)
    seen: list[int] = []
    install_starter(tmp_path, lambda done, _total, _phase: seen.append(done))
    assert 1 <= len(seen) <= 4
