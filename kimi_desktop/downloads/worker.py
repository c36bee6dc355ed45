"""The process that moves the bytes, so that the window never stutters.

``python -m kimi_desktop.downloads.worker``: one JSON job on the first line of stdin, one JSON
object per line on stdout while it works. Its stdin is also its lifeline: when that ends (cancel,
or the app is gone in whatever way) it stops; the partial file stays for the next time.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from kimi_desktop.base.errors import KimiError
from kimi_desktop.downloads.fetch import FetchCancelledError, fetch
from kimi_desktop.downloads.types import Job

CANCELLED_EXIT = 3
GRACE_S = 3.0
"""A blocked read may hold the worker; after this it just ends."""


def main() -> int:
    """Run the job of stdin. 0 = proven and in place, 1 = failed (the reason was printed)."""
    job = Job.from_json(json.loads(sys.stdin.readline()))
    cancelled = threading.Event()
    threading.Thread(target=_watch, args=(cancelled,), daemon=True).start()
    try:
        path = fetch(
            job,
            lambda done, total, phase: _say(event="progress", done=done, total=total, phase=phase),
            cancelled,
        )
    except FetchCancelledError:
        return CANCELLED_EXIT
    except KimiError as error:
        _say(event="failed", code=error.code.value, params=dict(error.params))
        return 1
    _say(event="done", path=str(path))
    return 0


def _watch(cancelled: threading.Event) -> None:
    while sys.stdin.readline():
        pass
    cancelled.set()
    threading.Event().wait(GRACE_S)
    os._exit(CANCELLED_EXIT)


def _say(**facts: Any) -> None:  # noqa: ANN401
    try:
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
    except OSError:  # nobody listens any more; the lifeline ends us
        pass


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the watching thread still waits for the lifeline
