"""What is here already is not fetched again."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.downloads.imports.layouts import find_models
from kimi_desktop.downloads.imports.reuse import reusable, reuse
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from tests.unit.downloads.imports.conftest import content, hf_repo, put, sha256

A, B = content("a"), content("b")


def spec(folder: Path, *files: tuple[str, bytes]) -> DownloadSpec:
    jobs = tuple(FileJob(name, len(data), sha256(data), None, ()) for name, data in files)
    return DownloadSpec("t", str(folder / "org" / "model"), jobs, "", "")


def test_the_same_bytes_elsewhere(tmp_path: Path) -> None:
    hf_repo(tmp_path / "hub", "x/y", {"other-name.gguf": A})
    put(tmp_path / "lm" / "o" / "m" / "b.gguf", B)
    wanted = spec(tmp_path / "ours", ("a.gguf", A), ("sub/b.gguf", B), ("c.gguf", content("c")))
    models = (*find_models(tmp_path / "hub"), *find_models(tmp_path / "lm"))
    files = reusable(wanted, models)
    # All have one size; only those of which nobody knows that they are something else may be it.
    assert [file.target for file in files] == ["a.gguf", "sub/b.gguf", "c.gguf"]
    assert files[0].path.name == "other-name.gguf"
    assert reuse(wanted, files) == ("a.gguf", "sub/b.gguf")
    folder = Path(wanted.folder)
    assert (folder / "a.gguf").read_bytes() == A
    assert (folder / "sub" / "b.gguf").read_bytes() == B
    assert not (folder / "c.gguf").exists()
    assert [file.target for file in reusable(wanted, models)] == ["c.gguf"]


def test_nothing_fits(tmp_path: Path) -> None:
    hf_repo(tmp_path / "hub", "x/y", {"b.gguf": B})
    models = find_models(tmp_path / "hub")
    assert reusable(spec(tmp_path, ("a.gguf", A)), models) == ()  # its store names another hash
    assert reusable(spec(tmp_path, ("a.gguf", A + b"x")), models) == ()
    small = DownloadSpec("t", str(tmp_path), (FileJob("x", len(B), None, "g", ()),), "", "")
    assert reusable(small, models) == ()
    assert reuse(small, ()) == ()
