"""Records of engines: what they name, and what is done with damaged ones."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kimi_desktop.backends.leftovers import (
    SAME_START_S,
    EngineRecord,
    end_leftovers,
    end_tree,
    find_leftovers,
    is_alive,
    process_started,
    write_record,
)
from kimi_desktop.backends.types import Leftover

NOBODY = 2**22 - 1
LEAVING = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"],
                         stdout=subprocess.DEVNULL)
print(os.getpid(), child.pid, flush=True)
"""


@dataclass
class Session:
    """A process whose session's leader has left."""

    session: int
    pid: int

    def lives(self) -> bool:
        return process_started(self.pid) is not None

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def start_session(folder: Path) -> Session:
    done = subprocess.run(
        [sys.executable, "-c", LEAVING],
        cwd=folder,
        stdout=subprocess.PIPE,
        start_new_session=True,
        check=True,
    )
    session, pid = map(int, done.stdout.split())
    return Session(session, pid)


def record(folder: Path, **changes: object) -> EngineRecord:
    facts = {
        "pid": NOBODY,
        "process_started": 1000.0,
        "owner_pid": NOBODY,
        "owner_started": 900.0,
        "model_path": "/m.gguf",
        "folder": str(folder),
    }
    return EngineRecord(**{**facts, **changes})  # type: ignore[arg-type]


def test_number_and_start_must_both_match() -> None:
    started = process_started(os.getpid())
    assert started is not None
    assert is_alive(os.getpid(), started)
    assert is_alive(os.getpid(), started + SAME_START_S / 2)
    assert not is_alive(os.getpid(), started + 2 * SAME_START_S)
    assert not is_alive(NOBODY, started)


def test_the_files_of_an_engine_that_is_gone_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "engine-0123abcd"
    folder.mkdir()
    (folder / "e.sock").write_text("", encoding="utf-8")
    write_record(tmp_path, folder.name, record(folder))
    assert find_leftovers(tmp_path) == ()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif("not hasattr(os, 'getsid')", reason="no sessions")
def test_a_number_that_another_session_has_by_now_is_not_ours(tmp_path: Path) -> None:
    """The engine is long gone, its number is a stranger's who has left, and his child works on."""
    folder = tmp_path / "engine-0123abcd"
    folder.mkdir()
    strangers, workers = start_session(tmp_path), start_session(folder)
    try:
        write_record(tmp_path, "a", record(folder, pid=strangers.session))
        assert find_leftovers(tmp_path) == ()
        end_leftovers(tmp_path, [Leftover(strangers.session, "/m.gguf", 1000.0)], 0.1)
        write_record(tmp_path, "b", record(folder, pid=workers.session))
        (found,) = find_leftovers(tmp_path)
        end_leftovers(tmp_path, [found], 5.0)
        assert (strangers.lives(), workers.lives()) == (True, False)
    finally:
        strangers.end()
        workers.end()


def test_a_damaged_record_is_removed_and_removes_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.engine.json").write_text("{", encoding="utf-8")
    (tmp_path / "b.engine.json").write_text('{"pid": 1}', encoding="utf-8")
    (tmp_path / "other.json").write_text("{}", encoding="utf-8")
    victim = tmp_path / "models"
    victim.mkdir()
    write_record(tmp_path, "c", record(victim))
    assert find_leftovers(tmp_path) == ()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["models", "other.json"]


def test_no_runtime_folder_is_no_leftover(tmp_path: Path) -> None:
    assert find_leftovers(tmp_path / "none") == ()


def test_only_what_was_named_is_ended(tmp_path: Path) -> None:
    folder = tmp_path / "engine-0123abcd"
    folder.mkdir()
    file = write_record(tmp_path, folder.name, record(folder))
    end_leftovers(tmp_path, [Leftover(NOBODY, "/m.gguf", 1234.0)], 0.1)
    assert file.exists()
    end_leftovers(tmp_path, [Leftover(NOBODY, "/m.gguf", 1000.0)], 0.1)
    assert not file.exists()
    assert not folder.exists()


def test_a_process_that_began_at_another_time_is_not_ended() -> None:
    end_tree(os.getpid(), 12345.0, 0.1)
