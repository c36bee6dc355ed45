"""The lines of vLLM's log that say how far it has come: those of 0.18 to 0.33. Pure."""

from __future__ import annotations

import re

from kimi_desktop.backends.engines.server_log import Counted, LogTable, ServerReader, marks_of
from kimi_desktop.backends.types import LoadPhase

WEIGHTS_FROM, WEIGHTS_TO = 0.15, 0.75
GRAPHS_FROM, GRAPHS_TO = 0.87, 0.95

_SHARDS = re.compile(r"Loading [\w ]*checkpoint shards:\s*\d+% Completed \| (\d+)/(\d+)")
_GRAPHS = re.compile(r"Capturing CUDA graphs?.*?\|\s*(\d+)/(\d+)")
TABLE = LogTable(
    ready=re.compile(r"Application startup complete"),
    counted=(
        Counted(_SHARDS, LoadPhase.WEIGHTS, WEIGHTS_FROM, WEIGHTS_TO),
        Counted(_GRAPHS, LoadPhase.GRAPHS, GRAPHS_FROM, GRAPHS_TO),
    ),
    marks=marks_of(
        (
            (r"non-default args: ", 0.03, LoadPhase.CONFIG),
            (r"Resolved architecture: ", 0.06, LoadPhase.CONFIG),
            (r"Initializing a V1 LLM engine", 0.12, LoadPhase.CONFIG),
            (r"Starting to load model ", WEIGHTS_FROM, LoadPhase.WEIGHTS),
            (r"Loading weights took |Model loading took ", WEIGHTS_TO, LoadPhase.COMPILE),
            (
                r"Warming up model for the compilation|Dynamo bytecode transform"
                r"|Compiling a graph|Using cache directory: .* for vLLM's torch\.compile",
                0.78,
                LoadPhase.COMPILE,
            ),
            (
                r"torch\.compile takes |torch\.compile took |Warming up done",
                0.84,
                LoadPhase.CACHE,
            ),
            (r"Available KV cache memory: |for KV cache on node", 0.85, LoadPhase.CACHE),
            (r"\w+ KV cache size: [\d,]+ tokens", 0.86, LoadPhase.CACHE),
            (r"Graph capturing finished", GRAPHS_TO, LoadPhase.WARM_UP),
            (r"init engine \(profile", 0.97, LoadPhase.WARM_UP),
            (r"Starting vLLM server on ", 0.99, LoadPhase.WARM_UP),
        )
    ),
)


class VllmReader(ServerReader):
    """See ``LoadReader``."""

    def __init__(self) -> None:
        super().__init__(TABLE)
