"""The verb ``workers``, and workers for the verb ``plan``. Main thread."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from kimi_desktop.backends.engines.choose import engines_of
from kimi_desktop.backends.rpc.types import Worker
from kimi_desktop.backends.rpc.words import worker_line
from kimi_desktop.backends.rpc.workers import Workers
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.flags import RPC_FLAG


def manage_workers(
    paths: AppPaths,
    action: str,
    address: str,
    name: str,
    language: Language,
    *,
    json_output: bool,
    out: TextIO | None = None,
    error_out: TextIO | None = None,
) -> int:
    """List, add, check or remove workers; returns the exit code.

    That is 1 when one that was asked about cannot be used; one that is added is kept in any case.

    Args:
        paths: of the profile.
        action: list, add, check, remove.
        address: of the worker; "" for all, where that makes sense.
        name: of its devices, for add.
        language: of the sentences.
        json_output: one object instead of lines.
        out: where to write.
        error_out: for warnings.

    Raises:
        KimiError: no such worker, a bad address, or it could not be saved.
    """
    out, error_out = out or sys.stdout, error_out or sys.stderr
    before: Worker | None = None
    with _workers(paths) as (_, workers):
        if action == "remove":
            workers.remove(address).result()
            shown: tuple[Worker, ...] = ()
        elif action == "add":
            known = {each.address: each for each in workers.workers}
            shown = (workers.add(address, name).result(),)
            before = known.get(shown[0].address)
        elif action == "check" and address:
            shown = (workers.check(address).result(),)
        elif action == "check":
            shown = tuple(workers.check(str(each.address)).result() for each in workers.workers)
        else:
            shown = workers.refresh().result()
    if json_output:
        rows = [worker_object(worker, language) for worker in shown]
        out.write(json_text({"workers": rows}, indent=1) + "\n")
    else:
        lines = [worker_line(worker, language) for worker in shown]
        if action == "remove":
            lines = [message("workers.removed", language, address=address)]
        elif action == "add":
            lines = [message("workers.added", language), *lines]
        out.writelines(
            f"{printable(line)}\n" for line in lines or [message("workers.none", language)]
        )
    out.flush()
    failed = any(worker.error is not None for worker in shown)
    if action != "add":
        return 1 if failed else 0
    for key, holds in (("workers.replaced", before is not None), ("workers.no_answer", failed)):
        if holds:
            params = {"address": str(shown[0].address), "name": before.name if before else ""}
            error_out.write(message(key, language, **params) + "\n")
    return 0


def worker_object(worker: Worker, language: Language) -> dict[str, Any]:
    """A worker as JSON has it."""
    facts = worker.facts
    return {
        "address": str(worker.address),
        "name": worker.name,
        "protocol": facts.version_text if facts else None,
        "devices": [
            {"free": memory.free_bytes, "total": memory.total_bytes}
            for memory in (facts.devices if facts else ())
        ],
        "latency_s": worker.latency_s,
        "bytes_per_s": worker.bytes_per_s,
        "error": worker.error.code.value if worker.error else None,
        "words": worker_line(worker, language),
    }


def joined(paths: AppPaths, machine: Machine) -> Machine:
    """The machine with the devices of the workers that answer now. Blocking."""
    if not SettingsStore(paths.settings_file).settings.engine.workers:
        return machine
    with _workers(paths) as (_, workers):
        workers.refresh().result()
        return workers.join(machine)


@contextmanager
def _workers(paths: AppPaths) -> Iterator[tuple[IoLoop, Workers]]:
    store = SettingsStore(paths.settings_file)
    io = IoLoop()

    build = engines_of(paths, store).chosen_build

    def takes_workers() -> bool:
        return RPC_FLAG in io.submit(build).result().flags

    try:
        yield io, Workers(io, EventBus(), store, build=build, takes_workers=takes_workers)
    finally:
        io.close()
