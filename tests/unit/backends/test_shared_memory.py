"""What killed engines leave in /dev/shm: found by their own maps, and nothing else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kimi_desktop.backends.shared_memory import mapped_by, remove

MAPS = """\
7f1000000000-7f1000001000 rw-s 00000000 00:1b 42    /dev/shm/psm_1a2b3c4d
7f1000001000-7f1000002000 rw-s 00000000 00:1b 43    /dev/shm/sem.mp-x_y8
7f1000002000-7f1000003000 rw-s 00000000 00:1b 44    /dev/shm/pulse-shm-12
7f1000003000-7f1000004000 rw-s 00000000 00:1b 45    /dev/shm/sem.Ab12Cd (deleted)
7f1000004000-7f1000005000 r-xp 00000000 fd:00 46    /usr/lib/psm_library.so
"""


def test_inodes_of_shared_memory_in_the_maps_of_these_processes(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "maps").write_text(MAPS)
    assert mapped_by([7, 8], tmp_path) == {42, 43, 44, 45}
    assert mapped_by([8], tmp_path) == set()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    inodes = {}
    for name in ("psm_1", "sem.mp-2", "sem.mp-3", "pulse"):
        (tmp_path / name).write_text("x")
        inodes[name] = (tmp_path / name).stat().st_ino
    remove({inodes["psm_1"], inodes["sem.mp-2"], inodes["pulse"]}, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pulse", "sem.mp-3"]
    remove(set(), tmp_path)
    remove({1}, tmp_path / "gone")


CHILD = """
import os, sys
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=4096)
print(block.name, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm is Linux's")
def test_a_real_block_of_a_killed_process_goes() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        inodes = mapped_by([child.pid])
        assert inodes == {os.stat(f"/dev/shm/{name}").st_ino}  # noqa: PTH116
        # Python's own tracker would remove it after a while; it is a process of its own.
        child.kill()
    remove(inodes)
    assert not os.path.exists(f"/dev/shm/{name}")  # noqa: PTH110 - a name, not a path of ours
