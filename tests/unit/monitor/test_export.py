from __future__ import annotations

import csv
import errno
import os
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, MonitorError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.monitor import export
from kimi_desktop.monitor.export import export_csv, to_csv
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.types import Phase
from tests.support.samples import GIB, gpu_sample, sample

ROWS = (
    Row(sample(1_796_058_112.18), 5.0),
    Row(
        sample(
            1_796_058_117.18,
            phase=Phase.DECODE,
            tokens_per_s=18.43219,
            engine_rss_bytes=GIB,
            requests_waiting=2.0,
            prefix_hit_percent=12.34567,
            gpus=(gpu_sample(1, load_percent=None),),
        ),
        1.0,
    ),
)


def test_the_table_reads_back() -> None:
    first, second = csv.DictReader(to_csv(ROWS).splitlines())
    assert first["time"] == "2026-11-30T17:01:52.180+00:00"
    assert (first["step_s"], first["phase"]) == ("5", "idle")
    assert first["tokens_per_s"] == ""
    assert first["gpu1_vram_used_bytes"] == ""  # no such card in that second
    assert second["tokens_per_s"] == "18.432"
    assert (second["requests_waiting"], second["requests_running"]) == ("2.0", "")
    assert second["prefix_hit_percent"] == "12.346"
    assert second["ram_used_bytes"] == str(20 * GIB)
    assert second["gpu1_power_w"] == "212.5"
    assert second["gpu1_load_percent"] == ""


def test_an_empty_session_has_a_header() -> None:
    assert to_csv(()).startswith("time,step_s,phase,tokens_per_s,")


def test_an_older_file_is_replaced_and_nothing_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("old", encoding="utf-8")
    assert export_csv(ROWS, file) == file
    assert file.read_text(encoding="utf-8") == to_csv(ROWS)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_so_and_keeps_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    file = tmp_path / "samples.csv"
    file.write_text("old", encoding="utf-8")

    def full(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MonitorError) as failure:
        export_csv(ROWS, file)
    assert failure.value.code is ErrorCode.EXPORT_DISK_FULL
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]
    for language in Language:
        assert str(file) in describe_error(failure.value, language)[0]


@pytest.mark.parametrize("name", ["missing/samples.csv", f"{'x' * 300}.csv"])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(MonitorError) as failure:
        export_csv(ROWS, tmp_path / name)
    assert failure.value.code is ErrorCode.EXPORT_FAILED
    assert failure.value.params["detail"]


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: Path, text: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(export, "write_atomically", refuse)
    with pytest.raises(MonitorError) as failure:
        export_csv(ROWS, tmp_path / "samples.csv")
    assert failure.value.code is ErrorCode.EXPORT_FAILED
    assert failure.value.params["detail"] == "Read-only file system"
