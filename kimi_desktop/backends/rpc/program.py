"""The worker's program: llama.cpp's RPC server, found beside its llama-server or on PATH."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.command import parse_help
from kimi_desktop.backends.probe import find_llama_server, output_of
from kimi_desktop.backends.rpc.addresses import WorkerAddress
from kimi_desktop.base.errors import BackendError, ErrorCode

NAMES = ("ggml-rpc-server", "rpc-server")
"""Today's name, then that of builds before 2026."""


@dataclass(frozen=True, slots=True)
class WorkerProgram:
    """One installed RPC server."""

    path: Path
    flags: Mapping[str, str]
    """Every name of every flag -> its metavar."""


def find_worker_program(chosen_llama_server: str) -> Path:
    """The RPC server beside the llama-server that a start would use, else on PATH. Blocking.

    Raises:
        BackendError: WORKER_NO_PROGRAM.
    """
    server = find_llama_server(chosen_llama_server)
    folders = [server.parent, server.resolve().parent] if server is not None else []
    for place in (*map(str, folders), None):
        for name in NAMES:
            if found := shutil.which(name, path=place):
                return Path(found)
    searched = ", ".join(dict.fromkeys([*map(str, folders), "PATH"]))
    raise BackendError(ErrorCode.WORKER_NO_PROGRAM, {"places": searched})


async def probe_worker_program(path: Path) -> WorkerProgram:
    """Ask it for its flags; nothing is computed.

    Raises:
        BackendError: it is not an RPC server, or does not run here.
    """
    text = await output_of(path, "--help")
    flags = parse_help("\n".join(line.strip() for line in text.splitlines()))
    if "--host" not in flags or "--port" not in flags:
        detail = text.strip()[-200:] or f"{path.name} --help"
        raise BackendError(ErrorCode.WORKER_ENDED, {"detail": detail})
    return WorkerProgram(path, flags)


def worker_command(
    program: WorkerProgram, address: WorkerAddress, devices: Sequence[str] = ()
) -> tuple[str, ...]:
    """The command that lends this machine's devices at ``address``.

    Args:
        program: what is installed.
        address: the only one that it listens at.
        devices: names as llama.cpp has them (CUDA0, CPU); none = all that it finds.

    Raises:
        BackendError: ENGINE_BAD_ARGUMENT, the build cannot choose devices.
    """
    words = [str(program.path), "--host", address.host, "--port", str(address.port)]
    if devices:
        if "--device" not in program.flags:
            raise BackendError(ErrorCode.ENGINE_BAD_ARGUMENT, {"detail": "--device"})
        words += ["--device", ",".join(devices)]
    return tuple(words)
