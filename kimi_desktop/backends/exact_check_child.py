"""The exact check's own process: ``python -m kimi_desktop.backends.exact_check_child``.

Reads one JSON object from stdin, has the wheel's llama.cpp do a dry run on pretended GPUs, and
writes one to stdout. Nothing of a model is loaded; what goes wrong here, down to a crash, leaves
the app without a badge and nothing else. Ends when its stdin is closed: the app has gone.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kimi_desktop.backends.dry_run.library import Library, UnknownBuildError
from kimi_desktop.backends.dry_run.measure import DryRun, RefusedError
from kimi_desktop.backends.dry_run.pretended import GpuSize
from kimi_desktop.backends.dry_run.self_check import check
from kimi_desktop.planner.types import Placement

NICENESS = 10


def main() -> int:
    """Answer one question; always 0 when there is an answer, even a refusal."""
    question = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    answer = answer_to(question)
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    os._exit(0)  # llama.cpp's own clean-up has nothing to clean


def answer_to(question: Mapping[str, Any]) -> dict[str, Any]:
    """``devices`` with [weights, cache, compute] of each, or ``unknown`` or ``refused``."""
    gpus = [GpuSize(*sizes) for sizes in question["gpus"]]
    try:
        run = DryRun(Library.of_wheel(), gpus)
        with tempfile.TemporaryDirectory(prefix="kimi-check-") as folder:
            check(run, Path(folder), len(gpus))
        found = run.measure(Path(question["model"]), read_placement(question["placement"]))
    except (UnknownBuildError, OSError) as error:
        return {"unknown": str(error)}
    except RefusedError as error:
        return {"refused": str(error)}
    sizes = {str(device): dataclasses.astuple(size) for device, size in found.items()}
    return {"devices": sizes}


def read_placement(values: Mapping[str, Any]) -> Placement:
    """A placement from what ``dataclasses.asdict`` made of it."""
    overrides = tuple((pattern, device) for pattern, device in values["overrides"])
    split = tuple(values["tensor_split"])
    return Placement(**{**values, "overrides": overrides, "tensor_split": split})


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
