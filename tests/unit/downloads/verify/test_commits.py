"""A set of parts that are right one by one, and together no set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.kept_hashes import HASHES_FILE
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.downloads.verify.mending import mend
from kimi_desktop.downloads.verify.types import PartState
from kimi_desktop.downloads.verify.verifier import verify
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel, ModelState
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import write_set
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.transfers import Run, spec_of

OK, MIXED = PartState.OK, PartState.MIXED


@pytest.fixture(params=["gguf", "safetensors"])
def names(request: pytest.FixtureRequest) -> list[str]:
    return [f"k-{n:05}-of-00003.{request.param}" for n in (1, 2, 3)]


def files(tmp_path: Path, names: list[str], version: str) -> list[HubFile]:
    """A model of three parts; every version of it has other bytes at the end of each."""
    if names[0].endswith("safetensors"):
        return [HubFile(name, content=name.encode() + version.encode()) for name in names]
    place = tmp_path / version
    place.mkdir()
    paths = write_set(place, "k", 3)
    return [HubFile(p.name, content=p.read_bytes() + version.encode()) for p in paths]


@pytest.fixture
def hub(tmp_path: Path, names: list[str]) -> Iterator[LocalHub]:
    with LocalHub("org/model", files(tmp_path, names, "a")) as running:
        yield running


@pytest.fixture
def old(hub: LocalHub, tmp_path: Path) -> DownloadSpec:
    return spec_of(hub, tmp_path / "models" / "org" / "model")


@pytest.fixture
def new(hub: LocalHub, old: DownloadSpec, tmp_path: Path, names: list[str]) -> DownloadSpec:
    """Another commit, whose first part is the same."""
    hub.repos[0].change([hub.files[0], *files(tmp_path, names, "b")[1:]])
    return spec_of(hub, Path(old.folder))


def row(folder: Path) -> LocalModel:
    (found,) = Library(kv_bytes_per_token).scan([folder])
    return found


def states(folder: Path) -> list[PartState]:
    return [part.state for part in verify(folder).parts]


def test_parts_of_two_commits_are_named_part_by_part(
    old: DownloadSpec, new: DownloadSpec, names: list[str]
) -> None:
    folder = Path(old.folder)
    Run(old).now()
    Run(replace(new, files=new.files[:2])).now()
    report = verify(folder)
    # The first part is the same in both, the third only in the old one.
    assert [part.state for part in report.parts] == [MIXED, MIXED, MIXED]
    assert not report.is_good
    assert [part.detail for part in report.parts] == [
        new.commit[:12], new.commit[:12], old.commit[:12],
    ]  # fmt: skip
    with pytest.raises(DownloadError) as caught:
        mend(report)
    assert caught.value.code is ErrorCode.DOWNLOAD_REPAIR_MIXED
    assert caught.value.params["repo"] == "org/model"
    Run(new).now()
    assert states(folder) == [OK, OK, OK]


def test_one_commit_though_another_has_some_of_the_same_files(
    old: DownloadSpec, new: DownloadSpec
) -> None:
    folder = Path(old.folder)
    Run(old).now()
    Run(new).now()
    assert states(folder) == [OK, OK, OK]
    Run(replace(new, files=new.files[:1])).now()
    assert states(folder) == [OK, OK, OK]


def test_the_library_never_calls_it_ready(hub: LocalHub, tmp_path: Path) -> None:
    hub.files = files(tmp_path, ["k.gguf"], "c")
    old = spec_of(hub, tmp_path / "models" / "org" / "model")
    Run(old).now()
    assert row(Path(old.folder)).state is ModelState.READY
    hub.repos[0].change(files(tmp_path, ["k.gguf"], "d"))
    new = spec_of(hub, Path(old.folder))
    Run(replace(new, files=new.files[:1])).now()
    found = row(Path(old.folder))
    assert found.state is ModelState.BROKEN
    assert found.problem is not None
    assert found.problem.code is ErrorCode.MODEL_PARTS_MIXED
    which = str(found.problem.params["which"])
    assert f"{new.commit[:12]}: k-00001-of-00003.gguf" in which
    assert f"{old.commit[:12]}: k-00002-of-00003.gguf, k-00003-of-00003.gguf" in which
    assert found.verified is None
    Run(new).now()
    assert row(Path(old.folder)).state is ModelState.READY


def test_a_record_without_commits_says_nothing_of_them(
    old: DownloadSpec, new: DownloadSpec
) -> None:
    folder = Path(old.folder)
    Run(old).now()
    Run(replace(new, files=new.files[:2])).now()
    record = folder / HASHES_FILE
    raw = json.loads(record.read_text())
    for kept in raw["files"].values():
        del kept["commits"], kept["repo"]
    record.write_text(json.dumps(raw))
    assert states(folder) == [OK, OK, OK]
