"""Runs the download worker and passes on what it says. On the IO thread."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.sources import first_chat_job
from kimi_desktop.downloads.types import Job

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 5.0
NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Keeps Windows from opening a console beside the app's window; 0 elsewhere."""
MAX_LINE_BYTES = 2**20

Progress = Callable[[int, int, str], None]


class Downloads:
    """Fetches and proves model files in a child process, one at a time."""

    def __init__(
        self,
        *,
        job: Callable[[Path], Job] = first_chat_job,
        command: Sequence[str] = (sys.executable, "-m", "kimi_desktop.downloads.worker"),
    ) -> None:
        self._job = job
        self._command = tuple(command)
        self._one = asyncio.Lock()

    async def fetch_first_chat(self, folder: Path, progress: Progress) -> Path:
        """Have the small instruct model in ``folder``; resumes what an earlier run began.

        Raises:
            DownloadError: it could not be fetched or proven.
        """
        async with self._one:
            return await self._run(self._job(folder), progress)

    async def _run(self, job: Job, progress: Progress) -> Path:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_LINE_BYTES,
            start_new_session=True,  # Ctrl+C in a terminal is ours to handle, by the lifeline
            creationflags=NO_WINDOW,
        )
        assert process.stdin and process.stdout and process.stderr  # noqa: PT018
        try:
            async with asyncio.TaskGroup() as group:
                errors = group.create_task(process.stderr.read())
                process.stdin.write(json.dumps(job.to_json()).encode() + b"\n")
                last: dict[str, Any] = {}
                async for line in process.stdout:
                    last = json.loads(line)
                    if last["event"] == "progress":
                        progress(last["done"], last["total"], last["phase"])
            code = await process.wait()
        finally:
            await _stop(process)
        return _result(last, code, errors.result().decode(errors="replace"))


def _result(last: dict[str, Any], code: int, errors: str) -> Path:
    match last.get("event"):
        case "done" if code == 0:
            return Path(last["path"])
        case "failed":
            raise DownloadError(ErrorCode(last["code"]), last["params"])
    log.error("the download worker ended with %s: %s", code, errors[-2000:])
    detail = errors.strip().splitlines()[-1] if errors.strip() else f"exit {code}"
    raise DownloadError(ErrorCode.DOWNLOAD_WORKER_DIED, {"detail": detail[:200]})


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the worker by its lifeline; by force when it does not listen."""
    if process.returncode is not None:
        return
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
