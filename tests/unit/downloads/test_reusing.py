"""What other programs have is proven, linked and not fetched."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.downloads import proving, reusing
from kimi_desktop.downloads.board import Options
from kimi_desktop.downloads.kept_hashes import read_hashes
from kimi_desktop.downloads.verify.mending import mend
from kimi_desktop.downloads.verify.verifier import verify
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.transfers import PIECE, Run, assert_whole, sent_bytes, spec_of

MODEL = HubFile("model.gguf", 9 * PIECE + 5)
OTHER = HubFile("other.gguf", 4 * PIECE)
OPTIONS = Options(piece_bytes=PIECE, reuse=True)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", [MODEL, OTHER]) as running:
        yield running


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """LM Studio's folder, with a file of the model under another name."""
    monkeypatch.setattr(reusing, "LEAST_BYTES", 1)
    home = tmp_path / "home"
    monkeypatch.setattr(Path, "home", lambda: home)
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS"):
        monkeypatch.delenv(name, raising=False)
    path = home / ".lmstudio" / "models" / "somebody" / "Model-GGUF" / "theirs.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(MODEL.read(0, MODEL.length))
    return path


def test_a_file_of_another_program_is_linked(hub: LocalHub, tmp_path: Path, theirs: Path) -> None:
    folder = tmp_path / "models" / "org" / "model"
    run = Run(spec_of(hub, folder), OPTIONS).now()
    assert run.transfer.complete
    assert_whole(hub, folder)
    assert sent_bytes(hub) == OTHER.length
    assert (folder / MODEL.path).samefile(theirs)
    kept = read_hashes(folder)[MODEL.path]
    assert len(kept.pieces) == 10
    assert kept.sources == run.spec.files[0].sources


def test_another_file_of_the_same_length_is_not_taken(
    hub: LocalHub, tmp_path: Path, theirs: Path
) -> None:
    theirs.write_bytes(bytes(MODEL.length))
    folder = tmp_path / "models" / "org" / "model"
    Run(spec_of(hub, folder), OPTIONS).now()
    assert_whole(hub, folder)
    assert theirs.read_bytes() == bytes(MODEL.length)


def test_without_links_it_is_copied(
    hub: LocalHub, tmp_path: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(errno.EXDEV, "another drive")

    monkeypatch.setattr(reusing, "link_file", refuse)
    folder = tmp_path / "models" / "org" / "model"
    Run(spec_of(hub, folder), OPTIONS).now()
    assert_whole(hub, folder)
    assert sent_bytes(hub) == OTHER.length
    assert not (folder / MODEL.path).samefile(theirs)


def test_a_file_that_cannot_be_read_is_fetched(
    hub: LocalHub, tmp_path: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_proof: object) -> bool:
        raise OSError(errno.EIO, "their disk")

    monkeypatch.setattr(proving.FileProof, "step", fail)
    folder = tmp_path / "models" / "org" / "model"
    Run(spec_of(hub, folder), OPTIONS).now()
    assert_whole(hub, folder)
    assert sent_bytes(hub) == MODEL.length + OTHER.length


def test_nobody_asked_for_it(hub: LocalHub, tmp_path: Path, theirs: Path) -> None:
    folder = tmp_path / "models" / "org" / "model"
    Run(spec_of(hub, folder)).now()
    assert sent_bytes(hub) == MODEL.length + OTHER.length
    assert theirs.stat().st_nlink == 1


def test_a_repair_leaves_the_other_programs_file_alone(
    hub: LocalHub, tmp_path: Path, theirs: Path
) -> None:
    folder = tmp_path / "models" / "org" / "model"
    Run(spec_of(hub, folder), OPTIONS).now()
    with theirs.open("r+b") as file:  # the same blocks: both are bad now
        file.seek(2 * PIECE)
        file.write(b"flipped")
    damaged = theirs.read_bytes()
    spec = mend(verify(folder))
    assert spec is not None
    hub.log.clear()
    Run(spec, Options(piece_bytes=PIECE)).now()
    assert_whole(hub, folder)
    assert sent_bytes(hub) == PIECE
    assert theirs.read_bytes() == damaged
    assert theirs.stat().st_nlink == 1
