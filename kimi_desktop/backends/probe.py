"""Finds engines and asks them what they can do. Runs their ``--help`` on the IO thread, once each.

The embedded engine needs no question: its flags are ours, its version is the wheel's.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import kimi_desktop
from kimi_desktop.backends.command import (
    EngineBuild,
    parse_devices,
    parse_help,
    parse_other_names,
    parse_version,
)
from kimi_desktop.backends.embedded_flags import help_text
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.errors import BackendError, ErrorCode

EMBEDDED_MODULE = "kimi_desktop.backends.embedded"
WHEEL = "xllamacpp"
PROBE_TIMEOUT_S = 30.0
"""A GPU build loads its libraries and drivers before it prints its help."""

WRONG_CPU_EXITS: Mapping[int, str] = {
    -4: "SIGILL",
    132: "SIGILL",
    0xC000001D: "STATUS_ILLEGAL_INSTRUCTION",
    -1073741795: "STATUS_ILLEGAL_INSTRUCTION",
}
"""Exit codes of a program that uses instructions which this processor lacks (the second: a shell's
way to say the first; the fourth: the third as a signed number)."""


def python_command(module: str, *options: str) -> tuple[str, ...]:
    """How a module of this package is run as a program, with ``python_path`` in its environment."""
    return (sys.executable, "-P", *options, "-m", module)


def python_path() -> str:
    """PYTHONPATH for ``python_command``: where this package lies."""
    return str(Path(kimi_desktop.__file__).resolve().parent.parent)


@cache
def embedded_build() -> EngineBuild:
    """The embedded engine; looked at once, because every move of a slider asks for it.

    Raises:
        BackendError: ENGINE_NOT_FOUND, the wheel is not installed.
    """
    if importlib.util.find_spec(WHEEL) is None:
        raise BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": WHEEL})
    number = importlib.metadata.version(WHEEL).rpartition(".")[2]
    return EngineBuild(
        kind=EngineKind.EMBEDDED,
        program=python_command(EMBEDDED_MODULE),
        flags=parse_help(help_text()),
        other_names=parse_other_names(help_text()),
        name=f"llama.cpp b{number}",
        unix_sockets=sys.platform != "win32",
        devices=("Metal",) if sys.platform == "darwin" else (),
    )


def find_llama_server(chosen: str) -> Path | None:
    """The binary that the user chose, else one on PATH, else None."""
    if chosen:
        return Path(chosen).expanduser()
    found = shutil.which("llama-server")
    return Path(found) if found else None


class Prober:
    """Asks binaries and remembers the answers until the file changes."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int], EngineBuild] = {}

    def known(self, binary: Path) -> EngineBuild | None:
        """What was found out about ``binary`` as it is now; runs nothing."""
        try:
            return self._known.get(_identity(binary))
        except OSError:
            return None

    async def probe(self, binary: Path) -> EngineBuild:
        """What the build at ``binary`` can do.

        Raises:
            BackendError: ENGINE_NOT_FOUND, ENGINE_NOT_EXECUTABLE, ENGINE_WRONG_CPU, or
                ENGINE_MISSING_LIBRARY, ENGINE_OLD_SYSTEM, ENGINE_NOT_ONE (what it prints is no
                help of a llama-server), or ENGINE_NOT_BEGUN (it does not end).
        """
        try:
            identity = _identity(binary)
        except OSError as error:
            raise not_startable(binary, error) from error
        if identity not in self._known:
            self._known[identity] = await _ask(binary)
        return self._known[identity]


def not_startable(program: Path, error: OSError) -> BackendError:
    """Why the system refuses to run ``program``."""
    missing = isinstance(error, FileNotFoundError) and not program.exists()
    code = ErrorCode.ENGINE_NOT_FOUND if missing else ErrorCode.ENGINE_NOT_EXECUTABLE
    params = {"path": str(program), "detail": error.strerror or str(error)}
    return BackendError(code, params, cause=error)


def _identity(binary: Path) -> tuple[str, int, int]:
    facts = binary.stat()
    return str(binary), facts.st_mtime_ns, facts.st_size


_MISSING = re.compile(
    r"error while loading shared libraries: (\S+?):"  # Linux
    r"|Library not loaded: (\S+)"  # macOS
)
_OLD_SYSTEM = re.compile(r"version [`'](GLIBC\w*_[\d.]+)' not found")
MISSING_DLL_EXITS = frozenset({0xC0000135, 0xC0000135 - 2**32})
"""STATUS_DLL_NOT_FOUND; Windows does not say which."""


def missing_library(text: str) -> str | None:
    """The library that a program could not load, as the system's loader tells it."""
    match = _MISSING.search(text)
    return (match[1] or match[2]) if match else None


def _check_loads(binary: Path, text: str, code: int | None) -> None:
    """Raise what the system's loader says."""
    if match := _OLD_SYSTEM.search(text):
        params = {"path": str(binary), "library": match[1]}
        raise BackendError(ErrorCode.ENGINE_OLD_SYSTEM, params)
    library = missing_library(text) or ("DLL" if code in MISSING_DLL_EXITS else None)
    if library is not None:
        params = {"path": str(binary), "library": library}
        raise BackendError(ErrorCode.ENGINE_MISSING_LIBRARY, params)


async def _ask(binary: Path) -> EngineBuild:
    text = await output_of(binary, "--help")
    flags = parse_help(text)
    if "--model" not in flags:
        said = [line.strip() for line in text.splitlines() if line.strip()]
        params = {"path": str(binary), "detail": said[-1][-200:] if said else "–"}
        raise BackendError(ErrorCode.ENGINE_NOT_ONE, params)
    version = await output_of(binary, "--version") if "--version" in flags else ""
    devices = await output_of(binary, "--list-devices") if "--list-devices" in flags else ""
    return EngineBuild(
        kind=EngineKind.LLAMA_SERVER,
        program=(str(binary),),
        flags=flags,
        other_names=parse_other_names(text),
        name=parse_version(version),
        unix_sockets=sys.platform != "win32" and ".sock" in text,
        devices=parse_devices(devices),
    )


async def output_of(binary: Path, *words: str) -> str:
    """What a program of an engine prints, stdout and stderr together, to its end.

    Raises:
        BackendError: it does not run here, or does not end.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            str(binary),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=engine_environment(os.environ),
        )
    except OSError as error:
        raise not_startable(binary, error) from error
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError as error:
        detail = f"{binary.name} {' '.join(words)}: {PROBE_TIMEOUT_S:.0f} s"
        raise BackendError(ErrorCode.ENGINE_NOT_BEGUN, {"detail": detail}) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode in WRONG_CPU_EXITS:
        raise BackendError(ErrorCode.ENGINE_WRONG_CPU, {"path": str(binary)})
    text = output.decode("utf-8", "replace")
    if process.returncode:
        _check_loads(binary, text, process.returncode)
    return text
