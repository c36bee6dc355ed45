"""How far a model is loaded, from two sources that are both real.

1. llama.cpp itself: its server reports the share of tensor bytes placed when it runs as a router's
   child (``LLAMA_SERVER_ROUTER_PORT`` is set), one line per step on stdout. Exact for what is
   copied (to VRAM, or without mmap). For memory-mapped tensors in RAM it jumps from 0 to 1.
2. The system: the bytes of the file that the process has mapped in (Linux maps the whole file in
   one call before the first step of 1), or read. Measured against the file's size; a file in the
   page cache counts as fast as it is mapped.

When layers go to a GPU out of a mapping, the mapping is the first half and the copying the second;
without a mapping (load mode "none") the first source is exact by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import psutil

from kimi_desktop.backends.types import LoadStep

STATE_PREFIX = "cmd_child_to_router:state:"
LEAST_BYTES = 64 * 2**20
"""Below this the second source shows nothing but libraries, and a load takes no time."""

_PART = re.compile(r"^(?P<stem>.*)-\d{5}-of-(?P<count>\d{5})\.gguf$")


class LoadProgress:
    """Joins both sources into one fraction that never goes back."""

    def __init__(
        self, total_bytes: int, *, copies: bool, arrived_bytes: Callable[[], int | None]
    ) -> None:
        """Begin.

        Args:
            total_bytes: of the model, all parts.
            copies: layers go to a GPU out of a mapping.
            arrived_bytes: of the process, None if unknown; what it says first is taken for the
                program itself.
        """
        self._total_bytes = total_bytes
        self._copies = copies
        self._arrived_bytes = arrived_bytes
        self._before: int | None = None
        self._told: float | None = None
        self._fraction = 0.0
        self.is_ready = False
        """The engine has said so."""
        self.step: LoadStep | None = None
        """llama.cpp does not tell."""

    def take_log(self, line: str) -> None:
        """Its log says nothing that can be counted."""

    def take_output(self, line: str) -> None:
        """A line of the engine's stdout; anything but its state is passed over."""
        if not line.startswith(STATE_PREFIX):
            return
        try:
            message = json.loads(line.removeprefix(STATE_PREFIX))
            state, payload = message["state"], message["payload"]
        except (ValueError, KeyError, TypeError):
            return
        if state == "ready":
            self.is_ready = True
        elif state == "loading" and isinstance(payload, dict):
            value = payload.get("value")
            if payload.get("current") == "text_model" and isinstance(value, (int, float)):
                self._told = min(max(float(value), 0.0), 1.0)

    def fraction(self) -> float | None:
        """0 ... 1, None when neither source says anything."""
        arrived = self._arrived()
        if arrived is None and self._told is None:
            return None
        read, told = arrived or 0.0, self._told or 0.0
        if self._copies and arrived is not None:
            now = 0.5 + 0.5 * told if told > 0 else 0.5 * read
        else:
            now = max(read, told)
        self._fraction = max(self._fraction, now)
        return self._fraction

    def _arrived(self) -> float | None:
        size = self._arrived_bytes()
        if size is None or self._total_bytes < LEAST_BYTES:
            return None
        if self._before is None:
            self._before = size
        return min(max(size - self._before, 0) / self._total_bytes, 1.0)


def arrived_bytes(pid: int) -> int | None:
    """File bytes that the process has mapped in, or read from disk, whichever is more."""
    try:
        process = psutil.Process(pid)
        mapped = getattr(process.memory_info(), "shared", None)
        read = process.io_counters().read_bytes if hasattr(process, "io_counters") else 0
    except (psutil.Error, OSError):
        return None
    return max(mapped, read) if mapped is not None else read or None


def model_bytes(model_path: Path) -> int:
    """Size of a model with all its parts; 0 when it is not there."""
    match = _PART.match(model_path.name)
    files = [model_path]
    if match:
        count = int(match["count"])
        files = [
            model_path.with_name(f"{match['stem']}-{number:05}-of-{count:05}.gguf")
            for number in range(1, count + 1)
        ]
    return sum(file.stat().st_size for file in files if file.is_file())
