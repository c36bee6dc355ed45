"""Whether a fresh build runs here and sees the GPUs, and why not. On the IO thread."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.probe import Prober, missing_library
from kimi_desktop.downloads.engine_builds.types import Accelerator

TIMEOUT_S = 20.0
_PARTS = {
    Accelerator.CUDA: "ggml-cuda",
    Accelerator.HIP: "ggml-hip",
    Accelerator.VULKAN: "ggml-vulkan",
}
"""llama.cpp loads these when it starts, and says nothing when one cannot be."""
_LOAD = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"


async def probe_build(program: Path) -> EngineBuild:
    """What it says of itself.

    Raises:
        BackendError: it does not run: wrong processor, a missing library, not this program.
    """
    return await Prober().probe(program)


async def why_no_gpu(program: Path, accelerator: Accelerator) -> str:
    """The library that the part for GPUs lacks; "" when that is not why.

    Asked in a child process: a library of somebody else's is not loaded into this one.
    """
    part = _part(program.parent, accelerator)
    if part is None:
        return ""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        "-c",
        _LOAD,
        str(part),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=engine_environment(os.environ),
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return ""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    text = output.decode("utf-8", "replace")
    found = missing_library(text)
    if found is None:
        match = re.search(r"OSError: (\S+?): cannot open shared object file", text)
        found = match[1] if match else None
    return found or ""


def _part(folder: Path, accelerator: Accelerator) -> Path | None:
    name = _PARTS.get(accelerator)
    if name is None:
        return None
    found = [path for path in folder.glob(f"*{name}*") if path.suffix in (".so", ".dll")]
    return found[0] if found else None
