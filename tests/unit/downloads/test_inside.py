"""Links in a model's folder lead no download out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.inside import check_inside
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.transfers import PIECE, Run, assert_whole, spec_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need a privilege")

FILE = HubFile("UD-Q4_0/model.gguf", 3 * PIECE)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", [FILE]) as running:
        yield running


@pytest.mark.parametrize("link", ["UD-Q4_0", PARTIAL_FOLDER])
def test_nothing_is_written_through_a_link_that_leads_out(
    hub: LocalHub, tmp_path: Path, link: str
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "model"
    outside.mkdir()
    folder.mkdir()
    (folder / link).symlink_to(outside)
    with pytest.raises(DownloadError) as caught:
        Run(spec_of(hub, folder)).now()
    assert caught.value.code is ErrorCode.DOWNLOAD_LEADS_OUT
    assert list(outside.iterdir()) == []


def test_a_link_as_the_file_is_replaced(hub: LocalHub, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "model" / "UD-Q4_0").mkdir(parents=True)
    (tmp_path / "model" / FILE.path).symlink_to(victim)
    Run(spec_of(hub, tmp_path / "model")).now()
    assert_whole(hub, tmp_path / "model")
    assert victim.read_text() == "mine"


def test_links_that_stay_inside_and_the_folder_itself_may_be(hub: LocalHub, tmp_path: Path) -> None:
    (tmp_path / "real" / "elsewhere").mkdir(parents=True)
    (tmp_path / "real" / "UD-Q4_0").symlink_to("elsewhere")
    (tmp_path / "model").symlink_to("real")
    Run(spec_of(hub, tmp_path / "model")).now()
    assert_whole(hub, tmp_path / "model")


def test_what_is_not_there_leads_nowhere(tmp_path: Path) -> None:
    check_inside(tmp_path / "none", ["a/b/c.gguf"])
