"""``kimi-desktop doctor``: the hardware check in a terminal. Blocking, on the caller's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.terminal import (
    Colour,
    colours_allowed,
    columns_of,
    display_width,
    json_text,
    pad,
    paint,
)
from kimi_desktop.machine.checks import check_rows
from kimi_desktop.machine.describe import describe
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.measured import read_measured, with_measured
from kimi_desktop.machine.probe import look
from kimi_desktop.machine.types import CheckRow, JudgeMachine, Machine, Result, Verdict

MeasureNow = Callable[[Machine], Machine]
"""Measures the bandwidths of a machine and keeps them."""

GAP = "  "
MARKS = {Result.PASSED: "✓", Result.WARN: "!", Result.FAILED: "✗", Result.UNKNOWN: "?"}
COLOURS = {
    Result.PASSED: Colour.GREEN,
    Result.WARN: Colour.YELLOW,
    Result.FAILED: Colour.RED,
    Result.UNKNOWN: Colour.MUTED,
}


def doctor(
    *,
    json_output: bool,
    language: Language,
    folders: Sequence[Path],
    out: TextIO,
    judge: JudgeMachine,
    gpus: GpuReader | None = None,
    measured_file: Path | None = None,
    measure_now: MeasureNow | None = None,
) -> int:
    """Look at the machine and print what was seen: a table, or one JSON object.

    Args:
        json_output: the object that ``--machine`` reads back, instead of the table.
        language: of the table.
        folders: whose disks are looked at.
        out: where it is written.
        judge: what the machine is good for.
        gpus: reads the GPUs.
        measured_file: bandwidths that were measured before.
        measure_now: measures them first.

    Returns the exit code: 0, whatever the rows say (the check itself worked).

    Raises:
        HardwareError: the system does not even tell its memory.
    """
    reader = gpus or GpuReader()
    try:
        machine = look(folders, reader)
    finally:
        reader.close()
    if measured_file is not None:
        machine = with_measured(machine, read_measured(measured_file, machine))
    if measure_now is not None:
        machine = measure_now(machine)
    if json_output:
        out.write(json_text(describe(machine), indent=1) + "\n")
    else:
        lines = table(
            machine,
            judge(machine, language),
            language,
            columns=columns_of(out),
            colours=colours_allowed(out),
        )
        out.writelines(f"{line}\n" for line in lines)
    return 0


def table(
    machine: Machine, summary: Verdict, language: Language, *, columns: int, colours: bool
) -> list[str]:
    """The rows as lines: side by side where they fit, else "Expected" below what was seen."""
    rows = check_rows(machine, language)
    marks = [_mark(row, language) for row in rows]
    parts = [message(f"machine.part.{row.part}", language) for row in rows]
    heads = [
        message(f"machine.column.{name}", language)
        for name in ("result", "part", "seen", "expected")
    ]
    result_width = _widest([heads[0], *marks])
    part_width = _widest([heads[1], *parts])
    seen_width = _widest([heads[2], *(text for row in rows for text in (row.seen, row.detail))])
    before = result_width + part_width + 2 * len(GAP)
    expected_width = _widest([heads[3], *(row.expected for row in rows)])
    side_by_side = before + seen_width + len(GAP) + expected_width <= columns

    def muted(text: str) -> str:
        return paint(text, Colour.MUTED, allowed=colours)

    head = [pad(heads[0], result_width), pad(heads[1], part_width)]
    head += [pad(heads[2], seen_width), heads[3]] if side_by_side else [heads[2]]
    lines = [
        message("machine.title", language, system=machine.system),
        "",
        muted(GAP.join(head).rstrip()),
    ]
    for row, mark, part in zip(rows, marks, parts, strict=True):
        cells = [
            paint(pad(mark, result_width), COLOURS[row.result], allowed=colours),
            pad(part, part_width),
            pad(row.seen, seen_width) if side_by_side else row.seen,
        ]
        if side_by_side:
            cells.append(muted(row.expected))
        lines.append(GAP.join(cells).rstrip())
        lines.append(" " * before + muted(row.detail))
        if not side_by_side:
            below = message("machine.expected_below", language, expected=row.expected)
            lines.append(" " * before + muted(below))
    tier = message("machine.tier", language, number=summary.tier_number, count=summary.tier_count)
    lines += [
        "",
        f"{paint(tier, Colour.BOLD, allowed=colours)}{GAP}{summary.headline}",
        muted(summary.detail),
    ]
    return lines


def _mark(row: CheckRow, language: Language) -> str:
    return f"{MARKS[row.result]} {message(f'machine.result.{row.result.value}', language)}"


def _widest(texts: Sequence[str]) -> int:
    return max(map(display_width, texts))
