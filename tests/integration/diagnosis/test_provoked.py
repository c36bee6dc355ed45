"""Causes provoked for real: the embedded llama.cpp fails, and the diagnosis says why."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.backends.end_facts import facts_of_refusal
from kimi_desktop.backends.types import EngineState, EngineStatus, LoadSettings
from kimi_desktop.diagnosis.collect import evidence_of_status
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.read import from_log
from kimi_desktop.diagnosis.types import Diagnosis
from tests.support.gguf_files import write_set
from tests.support.provoked import provoked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals of Linux")

QUESTION = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 4}


def named(found: Diagnosis) -> tuple[str, bool]:
    best = found.cause
    assert best is not None, found
    return best.cause, best.confidence >= 0.6


@pytest.fixture
def model(tmp_path: Path, tiny_kimi: Path) -> Path:
    """A copy that a test may spoil."""
    file = tmp_path / "kimi 月.gguf"
    shutil.copy(tiny_kimi, file)
    return file


def patch(file: Path, old: bytes, new: bytes) -> None:
    assert len(old) == len(new)
    data = file.read_bytes()
    assert old in data
    file.write_bytes(data.replace(old, new, 1))


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    os.truncate(file, 0)


def hole_at_the_head(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(bytes(4096) + data[4096:])


def web_page(file: Path) -> None:
    file.write_bytes(b"<!DOCTYPE html><html>login</html>" * 200)


def lfs_pointer(file: Path) -> None:
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")


def future_version(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(4)
        stream.write(struct.pack("<I", 9))


def big_endian(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(4)
        stream.write(struct.pack(">I", 3))


def unknown_architecture(file: Path) -> None:
    patch(file, b"deepseek2", b"kimi-next")


def unknown_key(file: Path) -> None:
    patch(file, b"deepseek2.block_count", b"deepseek2.block_numbr")


def unknown_tokenizer(file: Path) -> None:
    patch(file, b"kimi-k2", b"kimi-k9")


def tensor_with_another_name(file: Path) -> None:
    patch(file, b"blk.0.attn_norm.weight", b"blk.0.attn_nrom.weight")


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (cut, "file_truncated"),
        (empty, "file_truncated"),
        (hole_at_the_head, "file_corrupted"),
        (web_page, "not_a_model_file"),
        (lfs_pointer, "not_a_model_file"),
        (future_version, "engine_too_old_for_model"),
        (big_endian, "format_unsupported_by_engine"),
        (unknown_architecture, "engine_too_old_for_model"),
        (unknown_key, "model_metadata_mismatch"),
        (unknown_tokenizer, "tokenizer_unsupported"),
        (tensor_with_another_name, "model_metadata_mismatch"),
        (lambda file: file.unlink(), "path_wrong"),
        (lambda file: (file.unlink(), file.mkdir()), "path_wrong"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_spoilt_file(
    model: Path, tmp_path: Path, spoil: Callable[[Path], object], cause: str
) -> None:
    spoil(model)
    with provoked(model, tmp_path) as run:
        assert named(run.diagnosis()) == (cause, True)


def test_a_missing_and_a_swapped_part(tmp_path: Path) -> None:
    parts = write_set(tmp_path, "set", 3)
    with provoked(parts[1], tmp_path) as run:
        assert named(run.diagnosis()) == ("shard_set_incomplete", True)
    parts[2].unlink()
    with provoked(parts[0], tmp_path) as run:
        found = run.diagnosis()
    assert named(found) == ("shard_set_incomplete", True)
    assert found.cause is not None
    assert "00003-of-00003" in found.cause.line


def _without_override() -> None:
    """Root reads every file unless these capabilities (1, 2) are out of its bounding set."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):
        libc.prctl(24, capability, 0, 0, 0)


def test_a_file_that_may_not_be_read(model: Path, tmp_path: Path) -> None:
    model.chmod(0)
    limit = _without_override if os.geteuid() == 0 else None
    with provoked(model, tmp_path, limit=limit) as run:
        assert named(run.diagnosis()) == ("permission_denied", True)


@pytest.mark.parametrize(
    "flags",
    [("--n-gpu-layer", "99"), ("-c", "32k"), ("-fa", "maybe"), ("-ctk", "q9_9"), ("--temp-x",)],
    ids=" ".join,
)
def test_a_bad_flag(model: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    with provoked(model, tmp_path, *flags) as run:
        assert named(run.diagnosis()) == ("bad_argument", True)


def test_a_taken_port(model: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with provoked(model, tmp_path, "--port", str(port)) as run:
            assert named(run.diagnosis(port_owner="python3")) == ("port_in_use", True)


def test_a_quantized_v_cache_without_flash_attention(model: Path, tmp_path: Path) -> None:
    with provoked(model, tmp_path, "-ctk", "q8_0", "-ctv", "q8_0", "-fa", "off") as run:
        assert named(run.diagnosis()) == ("kv_quant_needs_flash_attn", True)


def memory_limit(mib: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (mib << 20, mib << 20))


def test_a_context_too_large_for_the_memory(model: Path, tmp_path: Path) -> None:
    with provoked(model, tmp_path, "-c", "80000000", limit=memory_limit(4096)) as run:
        assert named(run.diagnosis()) == ("kv_cache_oom", True)


def test_a_limit_on_open_files(tmp_path: Path) -> None:
    parts = write_set(tmp_path, "set", 60)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    with provoked(parts[0], tmp_path, limit=limit) as run:
        assert named(run.diagnosis()) == ("ulimit_hit", True)


def test_a_broken_template(model: Path, tmp_path: Path) -> None:
    template = "{% for m in messages %}{{ m['content'] | kimi_tool_sep }}{% endfor %}"
    with provoked(model, tmp_path, "--chat-template", template, until_ready=True) as run:
        if run.port is not None:  # some builds notice it at the first message only
            run.ask("/v1/chat/completions", QUESTION)
        assert named(run.diagnosis()) == ("template_broken", True)


def test_a_template_that_refuses_the_messages(model: Path, tmp_path: Path) -> None:
    template = (
        "{% for m in messages %}{% if loop.index0 % 2 == 1 and m['role'] == 'user' %}"
        "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
        "{{ m['content'] }}{% endfor %}"
    )
    twice = {"messages": [{"role": "user", "content": "a"}] * 2, "max_tokens": 4}
    with provoked(model, tmp_path, "--chat-template", template, until_ready=True) as run:
        run.ask("/v1/chat/completions", twice)
        assert named(run.diagnosis()) == ("template_rejects_messages", True)


LONG = {"messages": [{"role": "user", "content": "hello world " * 2000}], "max_tokens": 4}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}
IMAGE = {"messages": [{"role": "user", "content": [PICTURE]}]}


@pytest.mark.parametrize(
    ("path", "body", "cause"),
    [
        ("/v1/chat/completions", LONG, "prompt_exceeds_context"),
        ("/v1/chat/completions", {**QUESTION, "grammar": 'root ::= ("yes" |'}, "grammar_invalid"),
        ("/v1/chat/completions", IMAGE, "client_request_mismatch"),
        ("/v1/chat/completion", QUESTION, "client_request_mismatch"),
    ],
    ids=["too long", "grammar", "image", "address"],
)
def test_a_bad_request(model: Path, tmp_path: Path, path: str, body: object, cause: str) -> None:
    with provoked(model, tmp_path, until_ready=True) as run:
        run.ask(path, body)
        assert named(run.diagnosis()) == (cause, True)


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (signal.SIGKILL, "killed_from_outside"),
        (signal.SIGHUP, "killed_from_outside"),
        (signal.SIGILL, "cpu_instruction_unsupported"),
        (signal.SIGSEGV, "engine_bug_crash"),
        (signal.SIGABRT, "engine_bug_crash"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_signal(model: Path, tmp_path: Path, number: signal.Signals, cause: str) -> None:
    with provoked(model, tmp_path, "-lv", "4", until_ready=True) as run:
        run.process.send_signal(number)
        run.process.wait(timeout=30)
        assert named(run.diagnosis()) == (cause, True)


def test_a_frozen_engine(model: Path, tmp_path: Path) -> None:
    with provoked(model, tmp_path, until_ready=True) as run:
        run.process.send_signal(signal.SIGSTOP)
        assert named(run.diagnosis()) == ("process_frozen", True)


def test_a_file_that_shrinks_under_a_running_engine(model: Path, tmp_path: Path) -> None:
    flags = ("--load-mode", "mmap", "--no-repack", "--no-warmup")
    with provoked(model, tmp_path, *flags, until_ready=True) as run:
        os.truncate(model, 4096)
        run.ask("/v1/chat/completions", QUESTION)
        run.process.wait(timeout=30)
        assert named(run.diagnosis()) == ("storage_lost_while_running", True)


def test_a_full_disk() -> None:
    """A program's own words when it cannot write; /dev/full is always full."""
    write = "open('/dev/full', 'w').write('x' * 10**6)"
    done = subprocess.run([sys.executable, "-c", write], stderr=subprocess.PIPE, check=False)
    assert named(diagnose(from_log(done.stderr.decode()))) == ("disk_full", True)


def test_a_program_that_is_none(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_bytes(b"\x7fELFxxxx")
    program.chmod(0o755)
    refused: OSError | None = None
    try:
        subprocess.run([str(program)], check=False)
    except OSError as error:
        refused = error
    assert refused is not None
    settings = LoadSettings(model)
    status = EngineStatus(
        EngineState.FAILED, settings=settings, facts=facts_of_refusal(refused, (), settings)
    )
    assert named(diagnose(evidence_of_status(status, None))) == ("engine_binary_unusable", True)


def test_too_many_threads(model: Path, tmp_path: Path) -> None:
    settings = LoadSettings(model, context=512, n_threads=512)
    with provoked(model, tmp_path, until_ready=True, settings=settings) as run:
        run.ask("/v1/chat/completions", QUESTION)
        slow = replace(run.evidence(), phase="perf")
        assert named(diagnose(slow)) == ("threads_misconfigured", True)
