"""A worker in words, for window and terminal. Pure."""

from __future__ import annotations

from kimi_desktop.backends.rpc.types import Worker
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.units import GIB, format_rate


def worker_memory(worker: Worker, language: Language) -> str:
    """How much of each of its devices is free; "" before it was reached."""
    devices = worker.facts.devices if worker.facts is not None else ()
    return ", ".join(
        message(
            "workers.row.free",
            language,
            free=f"{memory.free_bytes / GIB:.1f}",
            total=f"{memory.total_bytes / GIB:.1f}",
        )
        for memory in devices
    )


def link_words(worker: Worker, language: Language) -> str:
    """How fast the way to it is."""
    if worker.bytes_per_s is None:
        return message("workers.row.unmeasured", language)
    return format_rate(worker.bytes_per_s)


def worker_line(worker: Worker, language: Language) -> str:
    """One line of a list."""
    if worker.error is not None or worker.facts is None:
        problem = " ".join(describe_error(worker.error, language)) if worker.error else "–"
        line = message(
            "workers.row.failed",
            language,
            address=str(worker.address),
            name=worker.name,
            problem=problem,
        )
    else:
        line = message(
            "workers.row.ready",
            language,
            address=str(worker.address),
            name=worker.name,
            memory=worker_memory(worker, language),
            version=worker.facts.version_text,
            latency=f"{(worker.latency_s or 0.0) * 1e3:.2f}",
            rate=link_words(worker, language),
        )
    return line.replace(" :", ":").replace(" ：", "：")
