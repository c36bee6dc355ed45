"""Asks a build of llama.cpp whether it would load a model, with a file that has no weights.

The engine is started with ``header_copy.probe_bytes``: the model's metadata and vocabulary, and a
tensor of each number format with a name of no model. It goes through formats, architecture,
hyperparameters and vocabulary as it would with the model itself, and ends when the first weight is
missing. Nothing is loaded and no GPU is touched; 0.3 to 1.3 s, most of it for the vocabulary.

Async, on the IO thread; the file is written in the pool.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import python_path
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.models.will_load import Answer, BuildAnswer

TIMEOUT_S = 30.0
MAX_OUTPUT_BYTES = 2**20
MOST_DETAIL = 200

# The wording of llama.cpp from b1500 on. What is not matched is no answer.
_ANSWERS: Sequence[tuple[re.Pattern[str], Answer]] = (
    (re.compile(r"unknown model architecture: '([^']*)'"), Answer.ARCHITECTURE),
    (re.compile(r"unknown (?:pre-tokenizer type|tokenizer): '([^']*)'"), Answer.TOKENIZER),
    (re.compile(r"invalid ggml type (\d+)"), Answer.TENSOR_TYPE),
    (re.compile(r"error loading model vocabulary: (.+)"), Answer.TOKENIZER),
    (re.compile(r"error loading model hyperparameters: (.+)"), Answer.METADATA),
    (re.compile(r"tensor '([^']*)' not found|missing tensor '?([^'\n]*)"), Answer.LOADS),
    (re.compile(r"wrong number of tensors"), Answer.LOADS),
    (re.compile(r"error loading model: (.+)"), Answer.UNCLEAR),
)

_LOAD = "import sys, llama_cpp; llama_cpp.Llama(sys.argv[1], n_gpu_layers=0, n_ctx=32)"


class LoadProber:
    """Asks builds and remembers their answers as long as the program runs."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, ...], str, str], BuildAnswer] = {}

    async def ask(self, build: EngineBuild, probe: bytes) -> BuildAnswer:
        """What ``build`` says of a model.

        Args:
            build: an installed build; whatever it does, this does not raise for it.
            probe: ``header_copy.probe_bytes`` of the model.
        """
        key = (build.program, build.name, hashlib.sha256(probe).hexdigest())
        if key not in self._known:
            answer = await _ask(build, probe)
            if answer.answer is Answer.UNCLEAR:  # it may be clear another time
                return answer
            self._known[key] = answer
        return self._known[key]


async def _ask(build: EngineBuild, probe: bytes) -> BuildAnswer:
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory(prefix="kimi-probe-") as folder:
        file = Path(folder) / "probe.gguf"
        try:
            await loop.run_in_executor(None, file.write_bytes, probe)
            output, code = await _run(probe_command(build, file))
        except (OSError, TimeoutError) as error:
            return BuildAnswer(Answer.UNCLEAR, f"{type(error).__name__}: {error}"[:MOST_DETAIL])
    return read_answer(output, code)


def probe_command(build: EngineBuild, file: Path) -> tuple[str, ...]:
    """The command line: no GPU, no warming up, no address that others could reach or hold."""
    if build.kind is EngineKind.LLAMA_CPP_PYTHON:  # its library alone, which listens nowhere
        return (build.program[0], "-P", "-c", _LOAD, str(file))
    words = [*build.program, "-m", str(file)]
    wanted = (
        ("--fit", "off"),
        ("--device", "none"),
        ("--n-gpu-layers", "0"),
        ("--no-warmup",),
        ("--offline",),
    )
    for flag, *values in wanted:
        if flag in build.flags:
            words += [flag, *values]
    if build.unix_sockets:
        words += ["--host", str(file.with_name("probe.sock"))]
    else:
        words += ["--host", "127.0.0.1", "--port", "0"]
    return tuple(words)


def read_answer(output: str, code: int | None) -> BuildAnswer:
    """The answer in an engine's output.

    Args:
        output: what it wrote to both streams.
        code: its exit code, for an answer without words.
    """
    for pattern, answer in _ANSWERS:
        if match := pattern.search(output):
            groups = [group for group in match.groups() if group] if match.groups() else []
            detail = "" if answer is Answer.LOADS else "".join(groups[:1]).strip()
            return BuildAnswer(answer, detail[:MOST_DETAIL])
    last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    return BuildAnswer(Answer.UNCLEAR, (last.strip() or f"exit {code}")[:MOST_DETAIL])


async def _run(command: Sequence[str]) -> tuple[str, int | None]:
    extra = {"PYTHONPATH": python_path()}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=engine_environment(os.environ, extra),
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            assert process.stdout is not None
            output = bytearray()
            while piece := await process.stdout.read(2**16):
                output += piece[: max(MAX_OUTPUT_BYTES - len(output), 0)]
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return output.decode("utf-8", "replace"), process.returncode
