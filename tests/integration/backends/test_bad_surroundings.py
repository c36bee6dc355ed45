"""Engines in odd places and bad company: each ends in a named state, nothing is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.types import ChatRequest, EngineState, Sampling
from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.base.messages import Language, describe_error
from tests.support.engine_bench import EngineBench, embedded, engine_bench, scripted
from tests.support.misbehaving_engine import make_binary, script_file
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="POSIX programs and sockets")

MIB = 1 << 20
SOCKET_PATH_MAX = 104
"""Of macOS; Linux has 108."""


@pytest.fixture
def bench() -> Iterator[EngineBench]:
    with engine_bench() as made:
        yield made


def answer(bench: EngineBench) -> str:
    async def ask() -> str:
        client = bench.service.client()
        assert client is not None
        request = ChatRequest((("user", "hi"),), Sampling(max_tokens=64))
        return "".join([delta.content async for delta in client.stream_chat(request)])

    return bench.io.submit(ask).result(60)


@pytest.mark.parametrize(
    "name", ["a b  c", 'it\'s "quoted"', "月之暗面", "🌙 moon", "-ngl 5", "$HOME %d"]
)
def test_a_model_with_an_odd_name(bench: EngineBench, tiny_kimi: Path, tmp_path: Path, name: str):
    folder = tmp_path / name
    folder.mkdir()
    model = folder / f"{name}.gguf"
    shutil.copyfile(tiny_kimi, model)
    assert bench.service.start(embedded(model)).result(60).state is EngineState.READY
    assert answer(bench) == said("hello_fast")


def test_a_model_that_is_deleted_while_it_runs(
    bench: EngineBench, tiny_kimi: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.gguf"
    shutil.copyfile(tiny_kimi, model)
    bench.service.start(embedded(model)).result(60)
    model.unlink()
    assert answer(bench) == said("hello_fast")
    bench.service.stop().result(60)
    with pytest.raises(KimiError) as caught:
        bench.service.start(embedded(model)).result(60)
    assert caught.value.code is ErrorCode.MODEL_NOT_FOUND
    assert bench.service.status.state is EngineState.FAILED


def test_a_hundred_megabytes_of_log(bench: EngineBench, tmp_path: Path) -> None:
    binary = make_binary(tmp_path / "llama-server")
    model = script_file(tmp_path / "model", start=[{"flood": 100}, {"log": "the last word"}])
    assert bench.service.start(scripted(model, binary)).result(60).state is EngineState.READY
    assert answer(bench) == "Hello world"
    kept = sum(file.stat().st_size for file in bench.paths.logs.rglob("*") if file.is_file())
    assert 0 < kept < 32 * MIB
    assert "the last word" in bench.service.log_text()


@pytest.mark.parametrize(
    ("says", "fact"),
    [
        (
            "error while loading shared libraries: libcudart.so.12: cannot open shared object file",
            "libcudart.so.12",
        ),
        ("/lib/libc.so.6: version `GLIBC_2.38' not found", "GLIBC_2.38"),
    ],
)
def test_a_library_that_is_missing_is_named(
    bench: EngineBench, tmp_path: Path, says: str, fact: str
) -> None:
    binary = tmp_path / "llama-server"
    script = f"#!/bin/sh\ncat >&2 <<'END'\nllama-server: {says}\nEND\nexit 127\n"
    binary.write_text(script, encoding="utf-8")
    binary.chmod(0o755)
    with pytest.raises(KimiError) as caught:
        bench.service.start(scripted(script_file(tmp_path / "model"), binary)).result(60)
    for language in Language:
        assert fact in " ".join(describe_error(caught.value, language))


def test_a_folder_too_deep_for_a_socket(tiny_kimi: Path, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    bench = EngineBench(deep)
    try:
        assert bench.service.start(embedded(tiny_kimi)).result(60).state is EngineState.READY
        assert answer(bench) == said("hello_fast")
        endpoint = bench.service.endpoint
        assert endpoint is not None
        place = endpoint.socket_path
        assert place is None or len(os.fsencode(place)) < SOCKET_PATH_MAX
    finally:
        bench.close()
