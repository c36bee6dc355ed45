"""The supervisor: a small process between the app and one engine, so that none is ever orphaned.

``python -S -m kimi_desktop.backends.supervisor``. It reads one JSON line (what to start) and then
commands from its stdin, a pipe that only the app holds. When the pipe closes, when the app's
process ends, or on ``end``, it ends the engine: politely, then, after the grace time, the whole
tree. Events go to stdout as JSON lines; the engine's stderr is this process's own, which the app
reads; what the engine prints to stdout (llama.cpp: its own progress, else little) comes as events.

The main thread starts the engine and waits for it (the parent-death signal is tied to the thread
that starts it); three daemon threads listen to the app, to the engine's stdout and for the app's
end. Standard library only: starting it costs some 30 ms.

Protocol. In: ``{"argv": [...], "env": {...}, "folder": "...", "owner": pid, "grace_s": 10,
"farewell": "...", "interrupts": false, "clears_shared_memory": false}``, then ``end``. The folder
(``engine_folder``) is where the engine works; it is removed at the end. The farewell is a line for
the engine's stdin before it is asked to end. Out: ``{"event": "started", "pid": n}``,
``{"event": "failed", "errno": n, "detail": "..."}``,
``{"event": "line", "text": "..."}``, and last ``{"event": "exited", "code": n}`` (negative: the
signal).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from kimi_desktop.backends.engine_folder import remove_engine_folder
from kimi_desktop.backends.process_tree import EngineProcess, ProcessTree, process_tree
from kimi_desktop.backends.shared_memory import mapped_by, remove

LONGEST_LINE_BYTES = 65_536
LAST_WORDS_S = 2.0
"""For what a dead engine's stdout still holds; a process that got away may keep the pipe open."""
LOOK_EVERY_S = 2.0
"""For shared memory: what a killed engine had mapped cannot be read any more."""


class Supervisor:
    """Starts one engine, waits for its end, and brings it about when asked."""

    def __init__(self, tree: ProcessTree, order: dict[str, Any]) -> None:
        self._tree = tree
        self._order = order
        self._write_lock = threading.Lock()
        self._end_lock = threading.Lock()
        self._process: EngineProcess | None = None
        self._ending: threading.Timer | None = None
        self._shared_memory: set[int] = set()
        self._clears = bool(order.get("clears_shared_memory"))
        self._is_over = threading.Event()

    def run(self) -> int:
        """Returns when nothing of the engine is left."""
        order = self._order
        try:
            process = self._tree.spawn(order["argv"], order["env"], order["folder"])
        except (OSError, ValueError) as error:
            number = error.errno if isinstance(error, OSError) else None
            self._tell(event="failed", errno=number, detail=str(error))
            self._clean_up()
            return 1
        self._process = process
        self._tell(event="started", pid=process.pid)
        last_words = threading.Thread(target=self._listen_to_engine, daemon=True)
        last_words.start()
        for work in (
            self._listen_to_app,
            self._wait_for_owner,
            *([self._watch_shared_memory] if self._clears else []),
        ):
            threading.Thread(target=work, daemon=True).start()
        code = process.wait()
        self._note_shared_memory()  # of workers that outlive it
        self._tree.kill(process)
        last_words.join(LAST_WORDS_S)
        self._is_over.set()
        remove(self._shared_memory)
        if self._ending is not None:
            self._ending.cancel()
        self._clean_up()
        self._tell(event="exited", code=code)
        return 0

    def end(self, *_: object) -> None:
        """Ask the engine to end and, after the grace time, end it. Once."""
        process = self._process
        with self._end_lock:
            if process is None or self._ending is not None:
                return
            self._ending = threading.Timer(self._order["grace_s"], self._tree.kill, (process,))
            self._ending.daemon = True
        self._note_shared_memory()
        interrupts = bool(self._order.get("interrupts"))
        self._tree.ask_to_end(process, self._order["farewell"], interrupts=interrupts)
        self._ending.start()

    def _listen_to_app(self) -> None:
        for line in sys.stdin.buffer:
            if line.strip() == b"end":
                self.end()
        self.end()

    def _listen_to_engine(self) -> None:
        stdout = self._process.stdout if self._process is not None else None
        if stdout is None:
            return
        while line := stdout.readline(LONGEST_LINE_BYTES):
            self._tell(event="line", text=line.decode("utf-8", "replace").rstrip("\r\n"))

    def _watch_shared_memory(self) -> None:
        while not self._is_over.wait(LOOK_EVERY_S):
            self._note_shared_memory()

    def _note_shared_memory(self) -> None:
        if self._clears:
            self._shared_memory |= mapped_by(self._tree.members())

    def _wait_for_owner(self) -> None:
        self._tree.wait_for_owner(self._order["owner"])
        self.end()

    def _tell(self, **event: object) -> None:
        line = json.dumps(event) + "\n"
        with self._write_lock, contextlib.suppress(OSError):  # the app may be gone
            sys.stdout.write(line)
            sys.stdout.flush()

    def _clean_up(self) -> None:
        remove_engine_folder(Path(self._order["folder"]))


def main() -> int:
    """Read the order, start the engine, stay until it is gone."""
    line = sys.stdin.buffer.readline()
    if not line.strip():  # the app went before it said what to start
        return 0
    supervisor = Supervisor(process_tree(), json.loads(line))
    for name in ("SIGINT", "SIGHUP"):  # a terminal's Ctrl+C is the app's business
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGTERM, supervisor.end)
    return supervisor.run()


if __name__ == "__main__":
    code = main()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(code)  # a thread may still be blocked in a read
