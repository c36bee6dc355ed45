"""The system's own trash, through Qt, and back out of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kimi_desktop.downloads.keeping import removal as removing
from kimi_desktop.models.library import Library
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.ui.trash import move_to_trash
from tests.support.gguf_files import write_set

pytestmark = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="would fill the person's own trash"
)


@pytest.fixture
def home_trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "share"
    data.mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    return data / "Trash"


def test_a_model_goes_into_the_trash_and_comes_back(tmp_path: Path, home_trash: Path) -> None:
    shelf = tmp_path / "models"
    paths = write_set(shelf / "org" / "name", "m-Q4_0", 3)
    before = [path.read_bytes() for path in paths]
    library = Library(kv_bytes_per_token)
    (model,) = library.scan([shelf])
    removal = removing.look_at_removal(model, (), [shelf])
    removed = removing.remove(removal, move_to_trash)
    assert library.scan([shelf]) == ()
    ((original, place),) = removed.moved
    assert original == shelf / "org" / "name"
    assert place.is_relative_to(home_trash / "files")
    assert list((home_trash / "info").iterdir())
    removing.restore(removed)
    assert [path.read_bytes() for path in paths] == before
    assert not list((home_trash / "info").iterdir())
    assert not list((home_trash / "files").iterdir())


def test_a_link_goes_and_its_target_stays(tmp_path: Path, home_trash: Path) -> None:
    target = tmp_path / "blob"
    target.write_bytes(b"weights")
    link = tmp_path / "m.gguf"
    link.symlink_to(target)
    place = move_to_trash(link)
    assert place.is_symlink()
    assert target.read_bytes() == b"weights"


def test_what_is_not_there(tmp_path: Path, home_trash: Path) -> None:
    with pytest.raises(OSError, match="gone") as caught:
        move_to_trash(tmp_path / "gone")
    assert caught.value.strerror
