"""What can be seen of an engine at the moment it ends, under the names that a diagnosis knows.

Reads /proc, limits and the model's file: pool threads. Every fact is optional; what a system does
not tell is left out, and nothing here raises.
"""

from __future__ import annotations

import contextlib
import errno
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from kimi_desktop.backends.types import EngineFacts, LoadSettings
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.machine.cgroup import find_cgroup, read_memory_limit

MEMORY_CAP_SHARE = 0.95
"""A cgroup's limit below this share of the RAM is what the engine ran against."""
HEAD_BYTES = 8
_LIMITS = {"ulimit_n": "RLIMIT_NOFILE", "ulimit_u": "RLIMIT_NPROC", "ulimit_v": "RLIMIT_AS"}


@dataclass(frozen=True, slots=True)
class ModelFileBefore:
    """The model's first file as it was when the engine was started."""

    size_bytes: int | None = None

    @classmethod
    def look(cls, file: Path) -> ModelFileBefore:
        """Now."""
        try:
            return cls(file.stat().st_size)
        except OSError:
            return cls()


def facts_of_end(
    *,
    code: int | None,
    phase: str,
    lines: Sequence[str],
    oom_kills: int,
    settings: LoadSettings,
    before: ModelFileBefore,
    is_alive: bool = False,
    around: Mapping[str, Any] | None = None,
) -> EngineFacts:
    """All of it.

    Args:
        code: exit code, negative for a signal; None when nobody knows it.
        phase: "load" or "serve": how far the engine had come.
        lines: its log, keys removed.
        oom_kills: how often the system killed for memory since the start.
        settings: what was loaded.
        before: the model's file at the start.
        is_alive: it still runs and does not get ready.
        around: what else was seen (``surroundings``).
    """
    machine = {
        **_memory(),
        **_limits(),
        **_file(settings.model_path, before),
        "cgroup_oom_kill": oom_kills,
        **(around or {}),
    }
    return EngineFacts(
        code=code if code is not None and code >= 0 else None,
        signal=signal_name(code) if code is not None and code < 0 else None,
        is_alive=is_alive,
        phase=phase,
        log=tuple(lines),
        machine=machine,
    )


def facts_of_refusal(
    error: OSError | None,
    lines: Sequence[str],
    settings: LoadSettings,
    around: Mapping[str, Any] | None = None,
) -> EngineFacts:
    """Of an engine that could not be started at all; ``around`` as of ``facts_of_end``."""
    number = error.errno if error is not None else None
    return EngineFacts(
        spawn_errno=errno.errorcode.get(number, str(number)) if number else None,
        phase="start",
        log=tuple(lines),
        machine={
            **_memory(),
            **_limits(),
            **_file(settings.model_path, ModelFileBefore()),
            **(around or {}),
        },
    )


def signal_name(code: int) -> str:
    """SIGSEGV for -11; the number itself when it has no name."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return str(-code)


def _memory() -> dict[str, Any]:
    facts: dict[str, Any] = {"cpu_cores": psutil.cpu_count(logical=False) or psutil.cpu_count()}
    with contextlib.suppress(psutil.Error, OSError):
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        facts["ram_gib"] = round(memory.total / GIB, 2)
        facts["mem_available_gib"] = round(memory.available / GIB, 2)
        facts["swap_free_gib"] = round(swap.free / GIB, 2)
        with contextlib.suppress(OSError, ValueError):
            limit = read_memory_limit(find_cgroup(Path("/"), "memory"))
            if limit is not None and limit.limit_bytes < MEMORY_CAP_SHARE * memory.total:
                facts["memory_limit_mib"] = limit.limit_bytes // MIB
                facts["host_ram_gib"] = facts["ram_gib"]
    return facts


def _limits() -> dict[str, Any]:
    try:
        import resource  # noqa: PLC0415 - POSIX only
    except ImportError:
        return {}
    facts: dict[str, Any] = {}
    for name, constant in _LIMITS.items():
        number = getattr(resource, constant, None)
        if number is None:
            continue
        soft = resource.getrlimit(number)[0]
        if soft != resource.RLIM_INFINITY:
            in_mib = name == "ulimit_v"
            facts[f"{name}_mib" if in_mib else name] = soft // MIB if in_mib else soft
    return facts


def _file(model: Path, before: ModelFileBefore) -> Mapping[str, Any]:
    facts: dict[str, Any] = {"model_file": model.name}
    try:
        if model.is_dir():
            return facts if (model / "config.json").is_file() else facts | {"is_directory": True}
        size = model.stat().st_size
        facts["file_bytes"] = facts["file_bytes_now"] = size
        facts["model_gib"] = round(size / GIB, 3)
        with model.open("rb") as stream:
            facts["first_bytes"] = stream.read(HEAD_BYTES).hex(" ")
    except FileNotFoundError:
        facts["file_exists"] = False
        facts["file_bytes_now"] = 0
    except OSError as error:
        facts["file_error"] = errno.errorcode.get(error.errno or 0, "")
    if before.size_bytes is not None:
        facts["file_bytes_at_load"] = before.size_bytes
    return facts
