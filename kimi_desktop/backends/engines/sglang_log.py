"""The lines of SGLang's log that say how far it has come. By its source, 0.5.10 to 0.5.23. Pure.

Its HTTP server answers before a first request of its own went through; only after that it says
that it is ready.
"""

from __future__ import annotations

import re

from kimi_desktop.backends.engines.server_log import Counted, LogTable, marks_of
from kimi_desktop.backends.types import LoadPhase

WEIGHTS_FROM, WEIGHTS_TO = 0.15, 0.75
GRAPHS_FROM, GRAPHS_TO = 0.86, 0.94

_SHARDS = re.compile(r"(?:checkpoint|loading) shards:\s*\d+%[^|]*\|[^|]*?(\d+)/(\d+)")
_GRAPHS = re.compile(r"Capturing batches.*?\|[^|]*\|\s*(\d+)/(\d+)")
TABLE = LogTable(
    ready=re.compile(r"The server is fired up and ready to roll"),
    counted=(
        Counted(_SHARDS, LoadPhase.WEIGHTS, WEIGHTS_FROM, WEIGHTS_TO),
        Counted(_GRAPHS, LoadPhase.GRAPHS, GRAPHS_FROM, GRAPHS_TO),
    ),
    marks=marks_of(
        (
            (r"server_args=(?:ServerArgs\(|\{)", 0.04, LoadPhase.CONFIG),
            (r"Init torch distributed", 0.10, LoadPhase.CONFIG),
            (r"Load weight begin", WEIGHTS_FROM, LoadPhase.WEIGHTS),
            (r"Load weight end", WEIGHTS_TO, LoadPhase.CACHE),
            (r"KV Cache is allocated", 0.82, LoadPhase.CACHE),
            (r"Memory pool end", 0.85, LoadPhase.CACHE),
            (r"Capture cuda graph begin", GRAPHS_FROM, LoadPhase.GRAPHS),
            (r"Capture cuda graph end", GRAPHS_TO, LoadPhase.WARM_UP),
            (r"max_total_num_tokens=\d+, ", 0.95, LoadPhase.WARM_UP),
            (r"Application startup complete|Uvicorn running on", 0.97, LoadPhase.WARM_UP),
        )
    ),
)
