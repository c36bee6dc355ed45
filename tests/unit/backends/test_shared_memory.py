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
7f1000003000-7f1000004000 rw-s 00000000 00:1b 45    /dev/shm/psm_/../../etc/passwd
7f1000004000-7f1000005000 r-xp 00000000 fd:00 46    /usr/lib/psm_library.so
"""


def test_only_names_of_multiprocessing_in_the_maps_of_these_processes(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "maps").write_text(MAPS)
    assert mapped_by([7, 8], tmp_path) == {"psm_1a2b3c4d", "sem.mp-x_y8"}
    assert mapped_by([8], tmp_path) == set()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    for name in ("psm_1", "sem.mp-2", "pulse"):
        (tmp_path / name).write_text("x")
    outside = tmp_path.parent / "psm_outside"
    outside.write_text("x")
    remove(["psm_1", "psm_gone", "pulse", "../psm_outside"], tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["pulse", "sem.mp-2"]
    assert outside.exists()


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
        names = mapped_by([child.pid])
        assert names == {name}
        # Python's own tracker would remove it after a while; it is a process of its own.
        child.kill()
    remove(names)
    assert not os.path.exists(f"/dev/shm/{name}")  # noqa: PTH110 - a name, not a path of ours
