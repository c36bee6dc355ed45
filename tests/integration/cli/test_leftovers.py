"""A machine without a window: what a killed run left behind is ended by the next one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kimi_desktop.backends.engine_folder import make_engine_folder
from kimi_desktop.backends.leftovers import EngineRecord, process_started, write_record
from kimi_desktop.base.paths import AppPaths
from tests.integration.cli.test_verbs import profile, run

__all__ = ["profile"]
NOBODY = 2**22 - 1


def left_behind(paths: AppPaths, owner: int = NOBODY) -> subprocess.Popen[bytes]:
    """A process with the record of an engine."""
    folder = make_engine_folder(paths.runtime)
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], cwd=folder, start_new_session=True
    )
    record = EngineRecord(
        pid=process.pid,
        process_started=process_started(process.pid) or 0.0,
        owner_pid=owner,
        owner_started=process_started(owner) or 0.0,
        model_path="/m/old.gguf",
        folder=str(folder),
    )
    write_record(paths.runtime, folder.name, record)
    return process


@pytest.mark.parametrize("verb", ["chat", "bench"])
def test_the_next_start_ends_an_engine_whose_owner_is_gone(profile: AppPaths, verb: str) -> None:
    profile.make()
    gone, owned = left_behind(profile), left_behind(profile, os.getpid())
    try:
        words = ["--prompt", "hi"] if verb == "chat" else ["--users", "1"]
        done = run(profile, verb, *words)
        assert done.returncode == 0
        assert f"An engine of an earlier run was still running (old.gguf, process {gone.pid})" in (
            done.stderr
        )
        assert gone.poll() is not None
        assert owned.poll() is None  # a second program with this profile has it
        assert str(owned.pid) not in done.stderr
    finally:
        for process in (gone, owned):
            process.kill()
            process.wait()
