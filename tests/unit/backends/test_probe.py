"""Finding engines and asking them, with real programs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from kimi_desktop.backends import probe
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import Prober, embedded_build, find_llama_server
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.errors import BackendError, ErrorCode
from tests.support.misbehaving_engine import make_binary

posix = pytest.mark.skipif("sys.platform == 'win32'", reason="shell scripts")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def failure(binary: Path) -> BackendError:
    with pytest.raises(BackendError) as caught:
        asyncio.run(Prober().probe(binary))
    return caught.value


@posix
def test_a_build_is_asked_once_until_its_file_changes(tmp_path: Path) -> None:
    binary = make_binary(tmp_path / "llama-server")
    prober = Prober()
    assert prober.known(binary) is None
    build = asyncio.run(prober.probe(binary))
    assert build.kind is EngineKind.LLAMA_SERVER
    assert build.name == "llama.cpp b9876"
    assert build.unix_sockets
    assert build.flags["--n-cpu-moe"] == "N"
    assert build.devices == ()
    assert prober.known(binary) is build
    script(binary, "exit 3")
    assert prober.known(binary) is None
    with pytest.raises(BackendError):
        asyncio.run(prober.probe(binary))


@posix
def test_devices_are_asked_where_the_build_lists_them(tmp_path: Path) -> None:
    answers = """case "$1" in
--help) printf -- '--model FNAME  x\\n--list-devices  x\\n--version  x\\n';;
--version) echo "version: 5555 (abc)" >&2;;
--list-devices) printf 'Available devices:\\n  CUDA0: RTX (24078 MiB, 23675 MiB free)\\n';;
esac"""
    build = asyncio.run(Prober().probe(script(tmp_path / "llama-server", answers)))
    assert build.devices == ("CUDA0: RTX",)
    assert build.name == "llama.cpp b5555"
    assert not build.unix_sockets


@posix
def test_programs_that_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure(tmp_path / "none").code is ErrorCode.ENGINE_NOT_FOUND
    assert failure(tmp_path).code is ErrorCode.ENGINE_NOT_EXECUTABLE
    crash = script(tmp_path / "crash", "kill -ILL $$")
    assert failure(crash).code is ErrorCode.ENGINE_WRONG_CPU
    chatter = failure(script(tmp_path / "chatter", "echo I am no engine"))
    assert (chatter.code, chatter.params) == (
        ErrorCode.ENGINE_NOT_ONE,
        {"path": str(tmp_path / "chatter"), "detail": "I am no engine"},
    )
    monkeypatch.setattr(probe, "PROBE_TIMEOUT_S", 0.1)
    hanging = failure(script(tmp_path / "hanging", "exec sleep 600"))
    assert hanging.code is ErrorCode.ENGINE_NOT_BEGUN


@posix
def test_the_chosen_binary_comes_before_the_one_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_llama_server("") is None
    found = make_binary(tmp_path / "llama-server")
    assert find_llama_server("") == found
    assert find_llama_server("/opt/mine") == Path("/opt/mine")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_llama_server("~/mine") == tmp_path / "mine"


def test_the_embedded_engine_needs_no_question() -> None:
    build = embedded_build()
    assert build.kind is EngineKind.EMBEDDED
    assert build.program[0] == sys.executable
    assert int(build.name.removeprefix("llama.cpp b")) > 9000


def test_without_its_wheel_the_embedded_engine_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "WHEEL", "no_such_wheel")
    embedded_build.cache_clear()
    with pytest.raises(BackendError) as caught:
        embedded_build()
    assert caught.value.code is ErrorCode.ENGINE_NOT_FOUND


def test_only_what_is_allowed_reaches_an_engine() -> None:
    seen = engine_environment(
        {
            "PATH": "/bin",
            "LC_ALL": "C",
            "CUDA_DEVICE_ORDER": "FASTEST_FIRST",
            "CUDA_VISIBLE_DEVICES": "0",
            "LLAMA_ARG_TOOLS": "all",
            "LD_PRELOAD": "/x.so",
            "PYTHONPATH": "/evil",
            "HF_TOKEN": "hf_x",
            "HTTPS_PROXY": "http://p",
            "AIP_MODE": "1",
        },
        {"PYTHONPATH": "/ours"},
    )
    assert seen == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "PYTHONPATH": "/ours",
        "GGML_NO_BACKTRACE": "1",
    }
