"""What builds of llama.cpp say of a model without weights: played, and the real embedded one."""

from __future__ import annotations

import asyncio
import struct
import sys
from pathlib import Path

import pytest

from kimi_desktop.backends import load_probe
from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engine_checks import EngineChecks
from kimi_desktop.backends.load_probe import LoadProber, probe_command, read_answer
from kimi_desktop.backends.probe import embedded_build
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.header_copy import HeaderCopy, copy_file_header, probe_bytes
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel
from kimi_desktop.models.will_load import Answer, BuildAnswer, Finding
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import write_model
from tests.support.tiny_kimi import make_tiny_kimi

OUTPUTS = {
    "E llama_model_load: error loading model: unknown model architecture: 'kimi-k9'":
        BuildAnswer(Answer.ARCHITECTURE, "kimi-k9"),
    "error loading model: error loading model vocabulary: unknown pre-tokenizer type: 'kimi-k9'":
        BuildAnswer(Answer.TOKENIZER, "kimi-k9"),
    "error loading model vocabulary: unknown tokenizer: 'gpt9'":
        BuildAnswer(Answer.TOKENIZER, "gpt9"),
    "error loading model vocabulary: cannot find tokenizer merges in model file":
        BuildAnswer(Answer.TOKENIZER, "cannot find tokenizer merges in model file"),
    "gguf_init_from_file_impl: tensor 'probe.99' has invalid ggml type 99 (NONE)":
        BuildAnswer(Answer.TENSOR_TYPE, "99"),
    "error loading model hyperparameters: key not found in model: x.context_length":
        BuildAnswer(Answer.METADATA, "key not found in model: x.context_length"),
    "error loading model: check_tensor_dims: tensor 'token_embd.weight' not found":
        BuildAnswer(Answer.LOADS),
    "error loading model: missing tensor 'token_embd.weight'": BuildAnswer(Answer.LOADS),
    "error loading model: done_getting_tensors: wrong number of tensors; expected 3, got 0":
        BuildAnswer(Answer.LOADS),
    "error loading model: something new": BuildAnswer(Answer.UNCLEAR, "something new"),
    "first\nlast words\n\n": BuildAnswer(Answer.UNCLEAR, "last words"),
    "": BuildAnswer(Answer.UNCLEAR, "exit -4"),
}  # fmt: skip


@pytest.mark.parametrize(("output", "answer"), OUTPUTS.items())
def test_words_of_an_engine(output: str, answer: BuildAnswer) -> None:
    assert read_answer(output, -4) == answer


def build_of(*program: str, flags: dict[str, str] | None = None) -> EngineBuild:
    return EngineBuild(EngineKind.LLAMA_SERVER, program, flags or {}, name="llama.cpp b1")


def test_only_flags_that_the_build_knows() -> None:
    build = build_of("llama-server", flags={"--fit": "on", "--device": "D"})
    words = probe_command(build, Path("x.gguf"))
    assert words[:3] == ("llama-server", "-m", "x.gguf")
    assert words[3:] == ("--fit", "off", "--device", "none", "--host", "127.0.0.1", "--port", "0")


def test_an_answer_is_remembered_and_an_unclear_one_asked_again(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    script = f"open({str(counter)!r}, 'a').write('x'); print({{!r}})"

    async def ask(prober: LoadProber, words: str) -> list[BuildAnswer]:
        build = build_of(sys.executable, "-c", script.format(words))
        return [await prober.ask(build, b"probe") for _ in range(2)]

    clear = asyncio.run(ask(LoadProber(), "unknown model architecture: 'x'"))
    assert clear == [BuildAnswer(Answer.ARCHITECTURE, "x")] * 2
    assert counter.read_text() == "x"
    asyncio.run(ask(LoadProber(), "nothing to see"))
    assert counter.read_text() == "xxx"


def test_a_build_that_cannot_be_run_or_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = asyncio.run(LoadProber().ask(build_of("/nowhere/llama-server"), b""))
    assert gone.answer is Answer.UNCLEAR
    assert "FileNotFoundError" in gone.detail
    monkeypatch.setattr(load_probe, "TIMEOUT_S", 0.2)
    hangs = build_of(sys.executable, "-c", "import time; time.sleep(60)")
    assert asyncio.run(LoadProber().ask(hangs, b"")).answer is Answer.UNCLEAR


# the real engine


def answer_of(copy: HeaderCopy, raw: bytes | None = None) -> BuildAnswer:
    types = {tensor.type for tensor in copy.header.tensors}
    probe = probe_bytes(copy, types) if raw is None else raw
    return asyncio.run(LoadProber().ask(embedded_build(), probe))


@pytest.fixture(scope="module")
def kimi(tmp_path_factory: pytest.TempPathFactory) -> HeaderCopy:
    path = tmp_path_factory.mktemp("kimi") / "tiny-kimi.gguf"
    make_tiny_kimi(path)
    return copy_file_header(path)


def changed(copy: HeaderCopy, old: str, new: str) -> bytes:
    """The probe with another text of the same length."""
    assert len(old) == len(new)
    types = {tensor.type for tensor in copy.header.tensors}
    raw = probe_bytes(copy, types)
    assert raw.count(old.encode()) >= 1
    return raw.replace(old.encode(), new.encode())


def test_the_real_engine_knows_kimi(kimi: HeaderCopy) -> None:
    assert answer_of(kimi) == BuildAnswer(Answer.LOADS)


def test_the_real_engine_does_not_know(kimi: HeaderCopy) -> None:
    architecture = kimi.header.text("general.architecture") or ""
    other = architecture[:-1] + "9"
    assert answer_of(kimi, changed(kimi, architecture, other)) == BuildAnswer(
        Answer.ARCHITECTURE, other
    )
    key = f"{architecture}.context_length"
    missing = answer_of(kimi, changed(kimi, key, key[:-1] + "9"))
    assert missing.answer is Answer.METADATA
    assert key in missing.detail
    pre = kimi.header.text("tokenizer.ggml.pre") or ""
    unknown = answer_of(kimi, changed(kimi, text(pre), text(pre[:-1] + "~")))
    assert unknown == BuildAnswer(Answer.TOKENIZER, pre[:-1] + "~")


def text(value: str) -> str:
    return struct.pack("<Q", len(value)).decode("latin-1") + value


def test_the_real_engine_does_not_know_a_format(kimi: HeaderCopy) -> None:
    raw = bytearray(probe_bytes(kimi, {tensor.type for tensor in kimi.header.tensors}))
    at = raw.find(b"probe.")
    name = raw[at : raw.index(b"\x01\x00\x00\x00", at)]
    struct.pack_into("<I", raw, at + len(name) + 4 + 8, 99)
    assert answer_of(kimi, bytes(raw)) == BuildAnswer(Answer.TENSOR_TYPE, "99")


# together


def library_row(folder: Path) -> LocalModel:
    (row,) = Library(kv_bytes_per_token).scan([folder])
    return row


async def real_build() -> EngineBuild:
    return embedded_build()


async def no_build() -> EngineBuild:
    raise BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": "xllamacpp"})


def test_a_row_of_the_library(tmp_path: Path) -> None:
    io = IoLoop()
    try:
        checks = EngineChecks(io, build=real_build, catalogue=shipped_catalogue)
        make_tiny_kimi(tmp_path / "tiny-kimi.gguf")
        verdict = checks.will_load(library_row(tmp_path)).result(60)
        assert verdict.will_load
        assert verdict.build.startswith("llama.cpp b")
    finally:
        io.close()


def test_without_an_engine_and_with_a_file_that_has_gone(tmp_path: Path) -> None:
    io = IoLoop()
    try:
        path = write_model(tmp_path / "model.gguf")
        row = library_row(tmp_path)
        none = EngineChecks(io, build=no_build, catalogue=shipped_catalogue)
        assert none.will_load(row).result(60).found[0].kind is Finding.NOT_ASKED
        path.unlink()
        real = EngineChecks(io, build=real_build, catalogue=shipped_catalogue)
        gone = real.will_load(row).result(60)
        assert gone.will_load is None
        assert gone.found[0].kind is Finding.UNCLEAR
    finally:
        io.close()


def test_llama_cpp_python_is_asked_by_its_library_and_listens_nowhere() -> None:
    build = EngineBuild(EngineKind.LLAMA_CPP_PYTHON, ("/env/bin/python", "-P", "-m", "x"), {})
    words = probe_command(build, Path("x.gguf"))
    assert words[0] == "/env/bin/python"
    assert words[-1] == "x.gguf"
    assert "llama_cpp.Llama(" in words[3]
    assert not {"--host", "--port", "-m"} & set(words)
