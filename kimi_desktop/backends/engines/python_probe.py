"""Finds server engines in Python environments and asks them. IO thread; children are spawned here.

Where: what the user points at (a Python, a program, an environment's folder), the program on PATH,
or the environment of this app. The version comes from the installed files in a tenth of a second;
the help takes an import of 10 to 25 seconds, so what it said is kept on disk for that version.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.engines.argparse_help import parse_argparse_help
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import WRONG_CPU_EXITS, not_startable
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.files import write_atomically
from kimi_desktop.models.will_load import version_numbers

ASK_TIMEOUT_S = 30.0
HELP_TIMEOUT_S = 240.0
"""An import of torch from a slow disk."""
LONGEST_DETAIL = 300
HEAD_BYTES = 512

_SHEBANG = re.compile(rb"^#!\s*(?:/usr/bin/env )?([^\s]*python[\w.]*)\s*$", re.MULTILINE)
_POLYGLOT = re.compile(rb"^'''exec' \"?([^\"\n]*?python[\w.]*)\"? ", re.MULTILINE)
_QUESTION = """\
import importlib.metadata as m, importlib.util as u, json, sys
name = sys.argv[1]
spec = u.find_spec(name)
version = ""
for each in (name, name + "-cpu"):
    try:
        version = m.version(each)
        break
    except m.PackageNotFoundError:
        pass
place = list(spec.submodule_search_locations or [""])[0] if spec else ""
print(json.dumps({"place": place, "version": version}))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """A package in a Python environment."""

    python: Path
    package: Path
    """Its folder in site-packages."""
    version: str


def find_program(chosen: str, name: str) -> Path | None:
    """What a start would use: what was chosen, else the program on PATH, else our own Python."""
    if chosen:
        return Path(chosen).expanduser()
    if found := shutil.which(name):
        return Path(found)
    return Path(sys.executable) if importlib.util.find_spec(name) is not None else None


def python_of(place: Path, name: str) -> Path:
    """The Python behind a Python, an environment's folder, or a program installed in one. Blocking.

    Raises:
        BackendError: ENGINE_NOT_FOUND, ENGINE_NOT_IN_PYTHON.
    """
    if place.is_dir():
        for inner in ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe"):
            if (place / inner).exists():
                return place / inner
        raise not_in_python(place, name)
    if not place.exists():
        raise BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": str(place)})
    if place.name.startswith("python"):
        return place
    try:
        with place.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise not_startable(place, error) from error
    if match := _SHEBANG.match(head) or _POLYGLOT.search(head):
        found = Path(os.fsdecode(match[1]))
        found = found if found.is_absolute() else Path(shutil.which(str(found)) or found)
        if found.exists():
            return found
    beside = place.with_name("python.exe" if place.suffix == ".exe" else "python")
    if beside.exists():
        return beside
    raise not_in_python(place, name)


async def find_installed(place: Path, name: str, title: str) -> Installed:
    """The package ``name`` of the environment that ``place`` points at.

    Raises:
        BackendError: ENGINE_NOT_FOUND, ENGINE_NOT_EXECUTABLE, ENGINE_NOT_IN_PYTHON.
    """
    python = python_of(place, title)
    code, text = await output_of((str(python), "-I", "-c", _QUESTION, name), ASK_TIMEOUT_S)
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
        found = json.loads(text.strip().splitlines()[-1])
        if code == 0 and found["place"]:
            return Installed(python, Path(found["place"]), str(found["version"]))
    raise not_in_python(place, title)


async def find_installed_since(place: Path, name: str, title: str, floor: str) -> Installed:
    """The same of at least a version. A tenth of a second.

    Raises:
        BackendError: as ``find_installed``, and ENGINE_TOO_OLD.
    """
    installed = await find_installed(place, name, title)
    if version_numbers(installed.version)[:3] < version_numbers(floor):
        params = {"name": title, "version": installed.version or "?", "floor": floor}
        raise BackendError(ErrorCode.ENGINE_TOO_OLD, params)
    return installed


async def output_of(
    argv: tuple[str, ...], timeout_s: float, extra: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Exit code and what a program prints.

    Raises:
        BackendError: it cannot be run, is for another processor, or takes too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=engine_environment(os.environ, extra),
        )
    except OSError as error:
        raise not_startable(Path(argv[0]), error) from error
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate()
    except TimeoutError as error:
        detail = f"{' '.join(argv[:3])}: {timeout_s:.0f} s"
        raise BackendError(ErrorCode.ENGINE_START_FAILED, {"detail": detail}) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode in WRONG_CPU_EXITS:
        raise BackendError(ErrorCode.ENGINE_WRONG_CPU, {"path": argv[0]})
    return process.returncode or 0, output.decode("utf-8", "replace")


class HelpMemory:
    """What the help of an installation said, kept on disk for its version. Blocking."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, str]] = {}

    def recall(self, installed: Installed) -> dict[str, str] | None:
        """The flags, None when it was not asked yet or has changed."""
        name = _name_of(installed)
        if name not in self._known and self._folder is not None:
            with contextlib.suppress(OSError, ValueError):
                found = json.loads((self._folder / name).read_text(encoding="utf-8"))
                self._known[name] = {str(flag): str(values) for flag, values in found.items()}
        return self._known.get(name)

    def keep(self, installed: Installed, flags: dict[str, str]) -> None:
        """Remember it; a full disk only means that it is asked again."""
        name = _name_of(installed)
        self._known[name] = flags
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                write_atomically(self._folder / name, json.dumps(flags).encode())


async def ask_flags(
    memory: HelpMemory, installed: Installed, command: tuple[str, ...], needed: str
) -> dict[str, str]:
    """The flags of an installation by its help.

    Args:
        memory: of earlier answers.
        installed: which.
        command: prints the help.
        needed: a flag without which it is no such help.

    Raises:
        BackendError: it prints no help.
    """
    known = memory.recall(installed)
    if known is not None:
        return known
    quiet = {"COLUMNS": "200", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    code, text = await output_of(command, HELP_TIMEOUT_S, quiet)
    flags = parse_argparse_help(text)
    if needed not in flags:
        said = [line for line in text.splitlines() if line.strip()][-1:] or [f"exit {code}"]
        detail = said[0].strip()[:LONGEST_DETAIL]
        raise BackendError(ErrorCode.ENGINE_START_FAILED, {"detail": detail})
    memory.keep(installed, flags)
    return flags


def not_in_python(place: Path, name: str) -> BackendError:
    """The environment does not have it."""
    return BackendError(ErrorCode.ENGINE_NOT_IN_PYTHON, {"path": str(place), "name": name})


def _name_of(installed: Installed) -> str:
    try:
        changed = installed.package.stat().st_mtime_ns
    except OSError:
        changed = 0
    what = f"{installed.python}\n{installed.package}\n{installed.version}\n{changed}"
    return f"flags-{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"
