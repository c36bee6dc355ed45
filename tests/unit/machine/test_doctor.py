from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.base.terminal import display_width
from kimi_desktop.machine.doctor import doctor, table
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.planner.tiers import machine_verdict
from tests.support.machines import machine
from tests.support.nvml_playback import PlaybackNvml

ESCAPE = "\x1b["


def shown(language: Language, *, columns: int, colours: bool) -> list[str]:
    found = machine()
    verdict = machine_verdict(found, language)
    return table(found, verdict, language, columns=columns, colours=colours)


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def columns_of_column(lines: list[str], words: list[str]) -> set[int]:
    """At which column of the screen each of the words begins."""
    found = set()
    for word in words:
        line = next(line for line in lines if word in line)
        found.add(display_width(line[: line.index(word)]))
    return found


def test_rows_side_by_side() -> None:
    lines = shown(Language.EN, columns=140, colours=False)
    assert lines[0] == "This machine: Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
    assert lines[2].split() == ["Result", "Part", "Seen", "Expected"]
    assert columns_of_column(lines, ["Seen", "AMD Ryzen", "755.4", "31.2 GiB free", "NVMe"]) == {25}
    starts = columns_of_column(lines, ["Expected", "AVX2 and 4", "552 GiB with", "584 GB for"])
    assert len(starts) == 1
    assert lines[-2].startswith(
        "Tier 4 of 5  31.8 GiB of VRAM and 755.4 GiB of RAM: Kimi K2.6 fits"
    )
    assert lines[-1].endswith(". 5 passed, 0 warnings, 2 unknown, 0 failed.")


def test_chinese_characters_are_two_columns_wide() -> None:
    lines = shown(Language.ZH_CN, columns=140, colours=False)
    words = ["检测到", "AMD Ryzen", "755.4", "可用 31.2 GiB", "NVMe"]
    assert len(columns_of_column(lines, words)) == 1
    assert len(columns_of_column(lines, ["要求", "AVX2，至少", "PCIe 4.0 x16 或更快"])) == 1


def test_a_narrow_terminal_puts_the_expected_below() -> None:
    lines = shown(Language.EN, columns=80, colours=False)
    assert "Expected: AVX2 and 4 cores or more" in [line.strip() for line in lines]
    assert max(display_width(line) for line in lines[:-2]) <= 80


def test_colours_only_where_they_are_allowed() -> None:
    plain = shown(Language.EN, columns=140, colours=False)
    painted = shown(Language.EN, columns=140, colours=True)
    assert not any(ESCAPE in line for line in plain)
    assert any(f"{ESCAPE}32m✓ PASSED" in line for line in painted)


@pytest.fixture
def gpus(tmp_path: Path) -> GpuReader:
    return GpuReader(PlaybackNvml("h200.json"), tmp_path)


@pytest.mark.parametrize("language", list(Language))
def test_the_table_of_this_machine(language: Language, tmp_path: Path, gpus: GpuReader) -> None:
    out = io.StringIO()
    code = doctor(
        json_output=False,
        language=language,
        folders=[tmp_path],
        out=out,
        judge=machine_verdict,
        gpus=gpus,
    )
    assert code == 0
    assert "NVIDIA H200" in out.getvalue()
    assert ESCAPE not in out.getvalue()


def test_one_json_object(tmp_path: Path, gpus: GpuReader) -> None:
    out = io.StringIO()
    code = doctor(
        json_output=True,
        language=Language.EN,
        folders=[tmp_path],
        out=out,
        judge=machine_verdict,
        gpus=gpus,
    )
    assert code == 0
    written = json.loads(out.getvalue())
    assert written["schema"] == 1
    assert written["gpus"][0]["vram_total_gib"] == 140.4
    assert written["disks"][0]["path"] == str(tmp_path)


@pytest.mark.parametrize(("no_color", "painted"), [("", True), ("1", False)])
def test_no_color_is_honoured(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    gpus: GpuReader,
    no_color: str,
    painted: bool,
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Screen()
    doctor(
        json_output=False,
        language=Language.EN,
        folders=[tmp_path],
        out=screen,
        judge=machine_verdict,
        gpus=gpus,
    )
    assert (ESCAPE in screen.getvalue()) is painted


def test_the_library_is_let_go(tmp_path: Path) -> None:
    library = PlaybackNvml("h200.json")
    doctor(
        json_output=True,
        language=Language.EN,
        folders=[tmp_path],
        out=io.StringIO(),
        judge=machine_verdict,
        gpus=GpuReader(library, tmp_path),
    )
    assert library.calls[-1] == "Shutdown"
