"""kill -9 at any time: no bad file has its final name, at most a piece per connection is lost."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.base.units import MIB
from tests.support.hub.server import LocalHub
from tests.support.kills import CONNECTIONS, PIECE, Kills, many_files
from tests.support.transfers import assert_whole

KILLS = 10
FILES = 64
SIZE_BYTES = 3 * MIB // 2
"""So small that the whole is over in seconds, and yet more than a piece."""


def test_ten_kills(tmp_path: Path) -> None:
    with LocalHub("org/model", many_files(FILES, SIZE_BYTES)) as hub:
        kills = Kills(hub, tmp_path, bytes_per_s=6.0 * MIB)
        for _ in range(KILLS):
            kills.kill_once()
        assert kills.n_proven < FILES  # the kills came in the middle
        kills.bytes_per_s = 0
        kills.finish()
        assert_whole(hub, tmp_path)
    assert kills.n_proven == FILES
    assert kills.most_lost_bytes <= CONNECTIONS * PIECE
