"""Which GPUs the user lets programs see (``CUDA_VISIBLE_DEVICES``), by NVML's numbers. Pure.

CUDA gives the GPUs of that list new numbers from 0. Plans, settings and graphs count as NVML does,
so the list is applied here, once, and engines get GPUs by our numbers and not the variable.
"""

from __future__ import annotations

from collections.abc import Sequence

VARIABLE = "CUDA_VISIBLE_DEVICES"
MIG_PREFIX = "MIG-"
"""Of the UUIDs of parts of a GPU."""


def is_mapped(value: str | None) -> bool:
    """The list names whole GPUs; parts of one (MIG) are known to CUDA alone."""
    return value is not None and MIG_PREFIX not in value


def visible(value: str | None, uuids: Sequence[str]) -> tuple[int, ...]:
    """The numbers of the GPUs that may be used, in NVML's order.

    Args:
        value: of the variable; None when it is not set. As CUDA reads it, everything from the first
            entry on that names no GPU is left out, so "" and "-1" hide all.
        uuids: of all GPUs, "GPU-...".
    """
    everything = range(len(uuids))
    if value is None or not is_mapped(value):
        return tuple(everything)
    found: list[int] = []
    for entry in value.split(","):
        text = entry.strip()
        if text.isascii() and text.isdigit():
            matches = [int(text)] if int(text) < len(uuids) else []
        elif text.startswith("GPU-"):
            matches = [number for number in everything if uuids[number].startswith(text)]
        else:
            matches = []
        if len(matches) != 1:
            break
        found.append(matches[0])
    return tuple(sorted(set(found)))


def shown(numbers: str, value: str | None) -> str:
    """The list that shows only some of the GPUs that are visible.

    Args:
        numbers: as CUDA counts under ``value``: "0,2", "" for none.
        value: of the variable now.
    """
    if not numbers or not value:
        return numbers
    entries = value.split(",")
    places = [int(number) for number in numbers.split(",")]
    return ",".join(entries[place] for place in places if place < len(entries))


def part_of_gpu(value: str | None) -> str | None:
    """The UUID of the part (MIG) that programs see; CUDA takes the first one alone."""
    if value is None:
        return None
    parts = (entry.strip() for entry in value.split(","))
    return next((part for part in parts if part.startswith(MIG_PREFIX)), None)
