"""An engine that runs a model's own code, shut in by bubblewrap: Linux. Blocking (pool).

No network but a loopback of its own, every file read-only but the engine's folder and a home that
is only for this, processes of its own. The engine is talked to through its Unix socket, which lies
in the engine's folder. GPUs and shared memory are there (/dev).
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kimi_desktop.base.errors import BackendError, ErrorCode

PROGRAM = "bwrap"
TRY_S = 10.0
WALLS = (
    "--die-with-parent", "--unshare-net", "--unshare-pid",
    "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc",
)  # fmt: skip


@functools.cache
def find_sandbox() -> str:
    """The program, when it works here; "" elsewhere and where the system forbids namespaces."""
    program = shutil.which(PROGRAM) if sys.platform == "linux" else None
    if program is None:
        return ""
    try:
        tried = subprocess.run(
            [program, *WALLS, "true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TRY_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return program if tried.returncode == 0 else ""


def sandboxed(argv: Sequence[str], folder: Path, home: Path) -> tuple[str, ...]:
    """The command line within its walls.

    Args:
        argv: of the engine.
        folder: it works in and that has its socket.
        home: made here; caches and temporary files go there.

    Raises:
        BackendError: ENGINE_NO_SANDBOX.
    """
    program = find_sandbox()
    if not program:
        raise BackendError(ErrorCode.ENGINE_NO_SANDBOX)
    scratch = home / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    writable = [word for place in (home, folder) for word in ("--bind", str(place), str(place))]
    variables = {
        "HOME": home,
        "XDG_CACHE_HOME": home / "cache",
        "TMPDIR": scratch,
    }
    told = [word for name, value in variables.items() for word in ("--setenv", name, str(value))]
    return (program, *WALLS, *writable, *told, "--chdir", str(folder), "--", *argv)
