"""The process that moves the bytes, so that the window never stutters.

``python -m kimi_desktop.downloads.worker``: the order as one JSON line on stdin, then commands, one
a line; what happens as JSON lines on stdout. Its stdin is also its lifeline: when that ends (pause,
or the app is gone in whatever way) it stops, and everything that came is kept.

Order: ``{"spec": {...}, "options": {...}}``, or ``{"verify": "PATH"}``.
Commands: ``{"do": "limit", "bytes_per_s": n|null}``, ``{"do": "prefer",
"endpoint": "..."|null}``, ``{"do": "wake"}``. Out: ``{"event": "progress", ...}``,
``{"event": "file", "index": n}``, and last ``{"event": "done"}``, ``{"event": "stopped"}`` or
``{"event": "failed", "code": "...", "params": {...}}``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from kimi_desktop.base.errors import KimiError
from kimi_desktop.downloads.board import Options
from kimi_desktop.downloads.transfer import Transfer
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.downloads.verify.reading import VerifyCancelledError
from kimi_desktop.downloads.verify.verifier import verify

STOPPED_EXIT = 3
GRACE_S = 12.0
"""A stop writes down what came; a disk that hangs may hold that up. After this it just ends."""
NICENESS = 5
"""The window goes first where processors are few."""


class Worker:
    """One order and its end.

    Args:
        orders: the order and the commands; its end is the lifeline's.
        out: where it tells.
        leave: ends the process when a stop takes too long.
    """

    def __init__(
        self, orders: TextIO, out: TextIO, leave: Callable[[int], object] = os._exit
    ) -> None:
        self._orders = orders
        self._out = out
        self._leave = leave
        self._lock = threading.Lock()

    def main(self) -> int:
        """0 = done, 1 = failed (the reason was told), 3 = stopped."""
        order = json.loads(self._orders.readline())
        return self._verify(order) if "verify" in order else self._download(order)

    def _download(self, order: Mapping[str, Any]) -> int:
        spec = DownloadSpec.from_json(order["spec"])
        transfer = Transfer(spec, self.tell, Options(**order.get("options", {})))
        self._listen(transfer.stop, lambda command: _obey(transfer, command))
        try:
            transfer.run()
        except KimiError as error:
            self.tell({"event": "failed", "code": error.code.value, "params": dict(error.params)})
            return 1
        self.tell({"event": "done" if transfer.complete else "stopped"})
        return 0 if transfer.complete else STOPPED_EXIT

    def _verify(self, order: Mapping[str, Any]) -> int:
        cancelled = threading.Event()
        self._listen(cancelled.set, lambda _command: None)
        try:
            report = verify(
                Path(order["verify"]),
                lambda done, total, rate: self.tell(
                    {"event": "progress", "done": done, "total": total, "bytes_per_s": rate}
                ),
                cancelled,
            )
        except VerifyCancelledError:
            self.tell({"event": "stopped"})
            return STOPPED_EXIT
        except KimiError as error:
            self.tell({"event": "failed", "code": error.code.value, "params": dict(error.params)})
            return 1
        self.tell({"event": "done", "report": report.to_json()})
        return 0

    def tell(self, facts: Mapping[str, Any]) -> None:
        """One line; from any thread."""
        with self._lock, suppress(OSError):  # nobody listens any more: the lifeline ends us
            self._out.write(json.dumps(facts) + "\n")
            self._out.flush()

    def _listen(self, stop: Callable[[], None], obey: Callable[[Mapping[str, Any]], None]) -> None:
        """Take commands until the lifeline ends; then stop."""

        def listen() -> None:
            while line := self._orders.readline():
                obey(json.loads(line))
            stop()
            threading.Event().wait(GRACE_S)
            self._leave(STOPPED_EXIT)

        threading.Thread(target=listen, daemon=True).start()


def _obey(transfer: Transfer, command: Mapping[str, Any]) -> None:
    match command["do"]:
        case "limit":
            transfer.throttle.set_rate(command["bytes_per_s"])
        case "prefer":
            transfer.prefer(command["endpoint"])
        case "wake":
            transfer.wake()


if __name__ == "__main__":
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    code = Worker(sys.stdin, sys.stdout).main()
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)  # the listening thread still waits for the lifeline
