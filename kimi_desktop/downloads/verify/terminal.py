"""The verb ``verify``: how far it is, and every part that is not as it should be. Main thread."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from kimi_desktop.base.errors import DownloadError, ErrorCode, Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.terminal import json_text, printable
from kimi_desktop.base.units import format_duration, format_file_size, format_rate
from kimi_desktop.downloads.kept_hashes import DAMAGED_FILE, has_damaged_record
from kimi_desktop.downloads.progress_line import ProgressLine
from kimi_desktop.downloads.verify.types import PartState, PartVerdict, VerifyReport
from kimi_desktop.downloads.verify.verifier import verify
from kimi_desktop.downloads.verify.words import good_sentence
from kimi_desktop.models.hash_record import HASHES_FILE, LEVELS


def verify_path(
    path: Path,
    language: Language,
    *,
    json_output: bool,
    out: TextIO = sys.stdout,
    progress_out: TextIO = sys.stderr,
) -> VerifyReport:
    """Verify the model at ``path`` and tell what was found.

    Raises:
        DownloadError: nothing is there.
    """
    line = ProgressLine(progress_out)
    places = (path, *list(path.absolute().parents)[: LEVELS + 1])
    damaged = [folder for folder in places if has_damaged_record(folder)]

    def progress(done: int, total: int, rate: float) -> None:
        if json_output:
            told = {"event": "progress", "done": done, "total": total, "bytes_per_s": round(rate)}
            out.write(json_text(told) + "\n")
            out.flush()
            return
        left = (total - done) / rate if rate > 1 else 0.0
        line.show(
            done / max(total, 1),
            message(
                "verify.progress",
                language,
                percent=100 * done // max(total, 1),
                size=format_file_size(total),
                rate=format_rate(rate),
                eta=format_duration(left, language),
            ),
        )

    try:
        report = verify(path, progress)
    finally:
        line.clear()
    for folder in damaged:
        record = str(folder / HASHES_FILE)
        if json_output:
            out.write(json_text({"event": "damaged_record", "path": record}) + "\n")
        else:
            text = message("verify.damaged_record", language, path=record, name=DAMAGED_FILE)
            out.write(text + "\n")
    if json_output:
        out.write(json_text({"event": "report", **report.to_json()}) + "\n")
    else:
        _tell(report, language, out)
    out.flush()
    return report


def bad_report(report: VerifyReport) -> DownloadError:
    """The sentence for a model that is not as it should be."""
    params: dict[str, Param] = {"bad": len(report.problems), "count": len(report.parts)}
    return DownloadError(ErrorCode.VERIFY_BAD, params)


def sentence(part: PartVerdict, language: Language) -> str:
    """What a part is."""
    wanted = part.expected_bytes
    bad = part.bad_bytes or (wanted if wanted is not None else part.size_bytes)
    return message(
        f"verify.part.{part.state.value}",
        language,
        file=part.target,
        size=format_file_size(part.size_bytes),
        wanted="?" if wanted is None else format_file_size(wanted),
        bad=format_file_size(bad),
        other=part.other,
        found=part.sha256,
        detail=part.detail,
    )


def _tell(report: VerifyReport, language: Language, out: TextIO) -> None:
    for part in report.parts:
        if part.state is not PartState.OK:
            out.write(printable(sentence(part, language)) + "\n")
    if report.is_good:
        out.write(printable(good_sentence(report, language)) + "\n")
