"""Whether a hub has another version of a model that is here: which files count, how often."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.downloads import newer
from kimi_desktop.downloads.hubs.hub import HubClient, custom_hub
from kimi_desktop.downloads.kept_hashes import KeptHash, keep_hashes
from kimi_desktop.downloads.newer import NewerVersions
from kimi_desktop.downloads.newer_types import NewerVersion, NewerVersionsFound
from kimi_desktop.models.hash_record import Witness
from kimi_desktop.models.types import LocalModel, ModelState
from tests.support.heard import Heard
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub

WAIT_S = 30.0
NAMES = ("M-Q4_K_M-00001-of-00002.gguf", "M-Q4_K_M-00002-of-00002.gguf")
FILES = [HubFile(NAMES[0], 5000), HubFile(NAMES[1], 4000), HubFile("README.md", 20, lfs=False)]


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", FILES) as running:
        yield running


@pytest.fixture
def model(hub: LocalHub, tmp_path: Path) -> LocalModel:
    """Both parts, proven at the hub's first commit."""
    folder = tmp_path / "models" / "org" / "model"
    folder.mkdir(parents=True)
    kept = {}
    for file in hub.files[:2]:
        (folder / file.path).write_bytes(b"")
        one = KeptHash(file.sha256, file.length, 1, Witness.LISTING)
        kept[file.path] = one.seen_in(hub.repo, hub.commit)
    keep_hashes(folder, kept)
    files = tuple(folder / name for name in NAMES)
    return LocalModel("m", files[0], "M", 9000, 2, 2, ModelState.READY, None, None, files=files)


class Asking:
    def __init__(self, hub: LocalHub, tmp_path: Path) -> None:
        self.io, self.bus = IoLoop(), EventBus()
        self.heard = Heard(self.bus)
        self.is_wanted = True
        hubs = (custom_hub(hub.endpoint),)
        file = tmp_path / "newer.json"
        self.newer = NewerVersions(
            self.io, self.bus, file, HubClient(), lambda: hubs, wanted=lambda: self.is_wanted
        )

    def look(self, *models: LocalModel, again: bool = False) -> tuple[NewerVersion, ...]:
        return self.newer.look(models, again=again).result(WAIT_S)


@pytest.fixture
def asking(hub: LocalHub, tmp_path: Path) -> Iterator[Asking]:
    one = Asking(hub, tmp_path)
    yield one
    one.io.close()


def test_another_hash_under_the_same_name_is_a_newer_version(
    hub: LocalHub, model: LocalModel, asking: Asking
) -> None:
    here = hub.commit
    assert asking.look(model) == ()
    hub.repos[0].change([FILES[0], dataclasses.replace(FILES[1], head=b"new"), FILES[2]])
    (found,) = asking.look(model, again=True)
    assert found == NewerVersion("m", "org/model:Q4_K_M", here[:12], hub.commit[:12])
    assert asking.newer.found == (found,)
    assert asking.heard.all(NewerVersionsFound)[-1].versions == (found,)


def test_a_commit_that_changes_other_files_is_none(
    hub: LocalHub, model: LocalModel, asking: Asking
) -> None:
    hub.repos[0].change([*FILES[:2], HubFile("README.md", 30, lfs=False)])
    assert asking.look(model) == ()


def test_a_hub_is_asked_once_a_day(
    hub: LocalHub, model: LocalModel, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking.look(model, model)
    asked = len(hub.log)
    assert asked
    asking.look(model)
    assert len(hub.log) == asked
    monkeypatch.setattr(newer, "DAY_S", 0.0)
    asking.look(model)
    assert len(hub.log) == 2 * asked


def test_nobody_is_asked_where_the_settings_say_so(
    hub: LocalHub, model: LocalModel, asking: Asking
) -> None:
    asking.is_wanted = False
    asking.look(model)
    assert not hub.log
    asking.look(model, again=True)  # somebody wants to know
    assert hub.log


def test_models_of_unknown_origin_are_not_asked_about(
    hub: LocalHub, model: LocalModel, asking: Asking, tmp_path: Path
) -> None:
    other = dataclasses.replace(model, id="x", files=(tmp_path / "x.gguf",))
    assert asking.look(other, again=True) == ()
    assert not hub.log


def test_a_hub_that_fails_is_said_only_when_somebody_asks(
    hub: LocalHub, model: LocalModel, asking: Asking
) -> None:
    hub.faults.add("/api/", Fault(status=404, headers=(("X-Error-Code", "RepoNotFound"),)))
    assert asking.look(model) == ()
    with pytest.raises(DownloadError):
        asking.look(model, again=True)
