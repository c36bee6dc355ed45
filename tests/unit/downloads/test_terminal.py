"""The verbs ``download`` and ``verify`` in this process: what they print."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.base.messages.text import Text
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.downloads.hubs.hub import custom_hub
from kimi_desktop.downloads.preflight_types import Level, Row
from kimi_desktop.downloads.preparing import preparing
from kimi_desktop.downloads.progress_line import BAR_COLUMNS, ProgressLine
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus, PreparedDownload
from kimi_desktop.downloads.terminal import DownloadVerb, progress_text
from kimi_desktop.downloads.verify.terminal import bad_report, verify_path
from tests.support.hub.content import HubFile
from tests.support.hub.faults import retry_later
from tests.support.hub.server import LocalHub

FILES = [
    HubFile("a-00001-of-00002.gguf", 300_000),
    HubFile("a-00002-of-00002.gguf", 200_000),
    HubFile("README.md", content=b"# Hi\n", lfs=False),
]


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", FILES) as running:
        yield running


@pytest.fixture
def prepared(hub: LocalHub, tmp_path: Path) -> PreparedDownload:
    prepare = preparing(hubs=lambda: [custom_hub(hub.endpoint)])
    return prepare("org/model", tmp_path / "models", ["*"], None)


def verb(
    tmp_path: Path, *, json_output: bool = False, language: Language = Language.EN
) -> tuple[DownloadVerb, io.StringIO, Screen]:
    out, screen = io.StringIO(), Screen()
    one = DownloadVerb(
        AppPaths.under(tmp_path / "home"),
        language,
        lambda _origin: None,
        json_output=json_output,
        out=out,
        progress_out=screen,
    )
    return one, out, screen


def test_people_read_what_comes_and_how_it_ended(
    prepared: PreparedDownload, tmp_path: Path
) -> None:
    one, out, screen = verb(tmp_path)
    one.fetch(prepared)
    text = out.getvalue()
    assert "org/model a: 3 files, 500 KB (500 KB to fetch)" in text
    assert "every byte proven" in text
    assert "█" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_in_a_pipe_one_line_per_file(
    hub: LocalHub, prepared: PreparedDownload, tmp_path: Path
) -> None:
    hub.speeds["cdn"] = 200_000.0
    out = io.StringIO()
    DownloadVerb(
        AppPaths.under(tmp_path), Language.EN, lambda _origin: None, out=out, progress_out=out
    ).fetch(prepared)
    assert "\r" not in out.getvalue()
    assert "1/3" in out.getvalue()


def test_programs_read_json(prepared: PreparedDownload, tmp_path: Path) -> None:
    one, out, screen = verb(tmp_path, json_output=True)
    one.fetch(prepared)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert told[0]["event"] == "prepared"
    assert told[0]["total_bytes"] == 500_005
    assert {row["level"] for row in told[0]["rows"]} <= {"ok", "warn"}
    assert (told[-1]["event"], told[-1]["state"]) == ("ended", "ready")
    assert screen.getvalue() == ""


def test_what_stands_against_it_is_said_and_nothing_is_written(
    prepared: PreparedDownload, tmp_path: Path
) -> None:
    row = Row(
        "space", Level.STOP, Text("Too little space.", "空间不足。"), Text("Free some.", "请清理。")
    )
    stopped = replace(prepared, preflight=replace(prepared.preflight, rows=(row,)))
    one, out, _ = verb(tmp_path, language=Language.ZH_CN)
    with pytest.raises(DownloadError) as caught:
        one.fetch(stopped)
    assert caught.value.code is ErrorCode.DOWNLOAD_STOPPED
    assert "空间不足。 请清理。" in out.getvalue()
    assert not (tmp_path / "models").exists()


def test_a_busy_server_is_told_once(
    hub: LocalHub, prepared: PreparedDownload, tmp_path: Path
) -> None:
    hub.faults.add("/resolve/", retry_later("2"), requests=(1, 2, 3, 4))
    one, out, _ = verb(tmp_path)
    one.fetch(prepared)
    assert out.getvalue().count("takes no more requests") == 1


def test_lines_of_every_state() -> None:
    status = DownloadStatus(
        "x", "t", "/f", DownloadState.DOWNLOADING, 10**9, 5 * 10**8, shards=14, shards_done=6,
        bytes_per_s=1.2e8, eta_s=61.0, source="hub.example",
    )  # fmt: skip
    text = progress_text(status, Language.EN)
    assert text == "50 %  500 MB of 1.0 GB  120.0 MB/s  1 min 1 s left  6/14  hub.example"
    verifying = replace(status, verifying_shard=7)
    assert "Verifying shard 7 of 14" in progress_text(verifying, Language.EN)
    assert "正在校验" in progress_text(verifying, Language.ZH_CN)
    assert progress_text(replace(status, eta_s=None, source=""), Language.EN).endswith("6/14")


def test_a_line_is_as_wide_as_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen()
    line = ProgressLine(screen)
    line.show(0.5, "下载中 " * 20)
    shown = screen.getvalue().removeprefix("\r").removesuffix("\x1b[K")
    assert shown.startswith("█" * (BAR_COLUMNS // 2) + "░")
    assert len(shown) < 40
    pipe = io.StringIO()
    ProgressLine(pipe).show(0.5, "x")
    ProgressLine(pipe).clear()
    assert pipe.getvalue() == ""


def test_verify_says_what_is_wrong(prepared: PreparedDownload, tmp_path: Path) -> None:
    verb(tmp_path)[0].fetch(prepared)
    folder = Path(prepared.spec.folder)
    out, screen = io.StringIO(), Screen()
    report = verify_path(folder, Language.EN, json_output=False, out=out, progress_out=screen)
    assert report.is_good
    assert "All 3 files are as they should be" in out.getvalue()
    assert "Verifying" in screen.getvalue()
    (folder / "README.md").write_bytes(b"# No\n")
    (folder / FILES[0].path).unlink()
    out = io.StringIO()
    report = verify_path(folder, Language.EN, json_output=False, out=out, progress_out=out)
    assert out.getvalue() == (
        "README.md: altered. 5 B must be fetched again.\na-00001-of-00002.gguf: missing.\n"
    )
    error = bad_report(report)
    assert (error.code, error.params) == (ErrorCode.VERIFY_BAD, {"bad": 2, "count": 3})
    out = io.StringIO()
    verify_path(folder, Language.EN, json_output=True, out=out, progress_out=out)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert told[0]["event"] == "progress"
    assert (told[-1]["event"], told[-1]["good"]) == ("report", False)
