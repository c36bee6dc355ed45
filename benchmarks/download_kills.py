"""Kills the downloader 200 times (or as often as said) while it fetches a set of 64 files.

``python benchmarks/download_kills.py [KILLS]``. After each kill every file that has its final name
is read and must be right; at the end the whole set must be there. Prints what the kills cost.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimi_desktop.base.units import MIB
from tests.support.hub.server import LocalHub
from tests.support.kills import CONNECTIONS, PIECE, Kills, many_files
from tests.support.transfers import sent_bytes

FILES = 64


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    files = many_files(FILES)
    total = sum(file.length for file in files)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, LocalHub("org/model", files) as hub:
        # So slow that the set is not there before the last kill.
        kills = Kills(hub, Path(folder), bytes_per_s=1.25 * total / wanted, seed=wanted)
        while kills.kills < wanted and not kills.kill_once():
            if kills.kills % 20 == 0:
                print(f"{kills.kills:4} kills, {kills.n_proven:2} of {FILES} files proven")
        kills.bytes_per_s = 0
        kills.finish()
        assert kills.n_proven == FILES
        assert not (Path(folder) / ".kimi-partial").exists()
        twice = sent_bytes(hub) - total
    most = CONNECTIONS * PIECE
    pieces = f"{kills.most_lost_bytes / PIECE:.2f} pieces, bound {CONNECTIONS} (one a connection)"
    print(f"kills                          {kills.kills}")
    print(f"bad files with a final name    0 of {FILES}")
    print(f"lost by one kill, at most      {pieces}")
    print(f"lost by all kills              {kills.lost_bytes / MIB:.1f} of {total / MIB:.0f} MiB")
    print(f"sent twice, sockets included   {twice / MIB:.1f} MiB")
    print(f"time                           {time.monotonic() - began:.0f} s")
    return 0 if kills.most_lost_bytes <= most else 1


if __name__ == "__main__":
    raise SystemExit(main())
