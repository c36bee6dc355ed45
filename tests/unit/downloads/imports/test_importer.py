"""Proven, linked, and nothing of others touched."""

from __future__ import annotations

import errno
import io
import json
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.imports import importer as importing
from kimi_desktop.downloads.imports import link
from kimi_desktop.downloads.imports.importer import (
    ImportCancelledError,
    Importer,
)
from kimi_desktop.downloads.imports.layouts import find_models
from kimi_desktop.downloads.imports.places import Place
from kimi_desktop.downloads.imports.terminal import import_path, list_places
from kimi_desktop.downloads.imports.types import (
    FoundFile,
    FoundModel,
    ImportedModel,
    LinkKind,
    Origin,
    Outcome,
    Witness,
)
from kimi_desktop.downloads.kept_hashes import HASHES_FILE, read_hashes
from tests.unit.downloads.imports.conftest import (
    content,
    git_sha1,
    hf_repo,
    ollama_store,
    put,
    sha256,
)

Untouched = Callable[[Path], Callable[[], None]]
DATA = content("m", 100_000)
CONFIG = b'{"a": 1}'


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    hf_repo(tmp_path / "theirs", "org/model", {"Q8_0/m.gguf": DATA, "config.json": CONFIG})
    return tmp_path / "theirs"


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return tmp_path / "ours"


def run(path: Path, ours: Path) -> ImportedModel:
    (found,) = Importer(ours).run(find_models(path))
    return found


def outcomes(one: ImportedModel) -> list[Outcome]:
    return [file.outcome for file in one.files]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_to_what_is_no_model_are_refused(tmp_path: Path, ours: Path) -> None:
    secret = put(tmp_path / "elsewhere" / "shadow", b"root:x:0:0\n" * 50)
    weights = put(tmp_path / "elsewhere" / "real.gguf", DATA)
    theirs = tmp_path / "folder" / "org" / "model"
    theirs.mkdir(parents=True)
    (theirs / "a.gguf").symlink_to(weights)
    (theirs / "p.gguf").symlink_to(secret)
    (theirs / "config.json").symlink_to(secret)
    found = Importer(ours).run(find_models(theirs))
    came_out = {file.file.target: file.outcome for one in found for file in one.files}
    assert came_out.pop("a.gguf") is Outcome.LINKED
    assert came_out.pop("p.gguf") is Outcome.NO_WEIGHTS
    assert set(came_out.values()) <= {Outcome.LEADS_OUT}
    assert not [path for path in ours.rglob("*") if path.is_file() and path.stat().st_nlink > 1
                and path.samefile(secret)]  # fmt: skip


def test_from_the_hugging_face_cache(theirs: Path, ours: Path, untouched: Untouched) -> None:
    check = untouched(theirs)
    found = run(theirs, ours)
    check()
    assert found.is_whole
    assert outcomes(found) == [Outcome.LINKED] * 2
    assert all(file.is_proven for file in found.files)
    place = ours / "org" / "model" / "Q8_0" / "m.gguf"
    assert place.read_bytes() == DATA
    assert not place.is_symlink()  # the file itself, not the cache's own link
    assert found.files[0].sha256 == sha256(DATA)
    kept = read_hashes(ours / "org" / "model")
    assert kept["Q8_0/m.gguf"].sha256 == sha256(DATA)
    assert kept["config.json"].witness is Witness.STORE
    assert kept["config.json"].modified_ns == (ours / "org/model/config.json").stat().st_mtime_ns


def test_again_and_nothing_new(theirs: Path, ours: Path) -> None:
    run(theirs, ours)
    before = read_hashes(ours / "org/model")
    again = run(theirs, ours)
    assert outcomes(again) == [Outcome.ALREADY_THERE] * 2
    assert again.is_whole
    after = read_hashes(ours / "org/model")
    assert after["config.json"].proven_at >= before["config.json"].proven_at > 0
    assert {t: k.sha256 for t, k in after.items()} == {t: k.sha256 for t, k in before.items()}
    # A copy of the same bytes is the same too.
    place = ours / "org/model/Q8_0/m.gguf"
    place.unlink()
    place.write_bytes(DATA)
    assert outcomes(run(theirs, ours)) == [Outcome.ALREADY_THERE] * 2


def test_a_blob_that_is_not_what_its_name_says(
    theirs: Path, ours: Path, untouched: Untouched
) -> None:
    blob = theirs / "models--org--model" / "blobs" / sha256(DATA)
    damaged = bytearray(DATA)
    damaged[5000] ^= 1
    blob.write_bytes(damaged)
    check = untouched(theirs)
    found = run(theirs, ours)
    check()
    assert outcomes(found) == [Outcome.DAMAGED, Outcome.LINKED]
    assert not found.is_whole
    assert not (ours / "org/model/Q8_0/m.gguf").exists()
    assert found.files[0].sha256 == sha256(bytes(damaged))
    small = theirs / "models--org--model" / "blobs" / git_sha1(CONFIG)
    small.write_bytes(b"{}")
    assert outcomes(run(theirs, ours))[1] is Outcome.DAMAGED


def test_a_name_that_is_taken(theirs: Path, ours: Path) -> None:
    mine = put(ours / "org/model/Q8_0/m.gguf", b"mine")
    same_length = put(ours / "org/model/config.json", b"12345678")
    assert outcomes(run(theirs, ours)) == [Outcome.NAME_TAKEN] * 2
    assert (mine.read_bytes(), same_length.read_bytes()) == (b"mine", b"12345678")


def test_a_folder_in_the_way(theirs: Path, ours: Path) -> None:
    (ours / "org/model/config.json").mkdir(parents=True)
    assert outcomes(run(theirs, ours))[1] is Outcome.NAME_TAKEN


def test_from_ollama(tmp_path: Path, ours: Path, untouched: Untouched) -> None:
    store = ollama_store(tmp_path / "ollama", {"llama3/8b": {"model": DATA}})
    check = untouched(store)
    found = run(store, ours)
    check()
    assert (ours / "ollama/llama3-8b/llama3-8b.gguf").read_bytes() == DATA
    assert found.files[0].is_proven


def test_a_file_that_nobody_vouches_for(tmp_path: Path, ours: Path) -> None:
    put(tmp_path / "own" / "m.gguf", DATA)
    found = run(tmp_path / "own", ours)
    assert found.is_whole
    assert not found.files[0].is_proven
    assert read_hashes(ours / "imported/own")["m.gguf"].witness is Witness.NOBODY


def test_a_checksum_file_is_honoured(tmp_path: Path, ours: Path) -> None:
    own = tmp_path / "own"
    put(own / "m.gguf", DATA)
    put(own / "n.gguf", content("n"))
    put(own / "SHA256SUMS", f"{sha256(DATA)}  m.gguf\n{'0' * 64}  n.gguf\n")
    found = run(own, ours)
    assert outcomes(found) == [Outcome.LINKED, Outcome.DAMAGED]
    assert found.files[0].is_proven


def test_what_lies_in_the_library_already(ours: Path) -> None:
    put(ours / "imported" / "own" / "m.gguf", DATA)
    found = run(ours / "imported" / "own", ours)
    assert outcomes(found) == [Outcome.ALREADY_THERE]


def found_file(path: Path, target: str = "m.gguf", size: int = len(DATA)) -> FoundModel:
    return FoundModel(
        Origin.FOLDER, "imported/x", path.parent, (FoundFile(path, target, size),), ()
    )


def test_gone_meanwhile(tmp_path: Path, ours: Path) -> None:
    (one,) = Importer(ours).run([found_file(tmp_path / "gone.gguf")])
    assert outcomes(one) == [Outcome.UNREADABLE]
    assert one.files[0].detail


def test_no_link_works(tmp_path: Path, ours: Path) -> None:
    def cannot(_source: Path, _target: Path) -> None:
        raise OSError(errno.EPERM, "not permitted")

    path = put(tmp_path / "m.gguf", DATA)
    methods = {LinkKind.SYMBOLIC_LINK: cannot}
    (one,) = Importer(ours, methods=methods).run([found_file(path)])
    assert outcomes(one) == [Outcome.NOT_LINKED]
    assert one.files[0].detail == "not permitted"


def test_changed_while_it_was_linked(tmp_path: Path, ours: Path) -> None:
    path = put(tmp_path / "m.gguf", DATA)

    def link_late(source: Path, target: Path) -> None:
        source.write_bytes(b"other")
        link.hard_link(source, target)

    (one,) = Importer(ours, methods={LinkKind.HARD_LINK: link_late}).run([found_file(path)])
    assert outcomes(one) == [Outcome.UNREADABLE]
    assert not (ours / "imported/x/m.gguf").exists()
    path.write_bytes(DATA)

    def link_and_lose(source: Path, target: Path) -> None:
        link.symbolic_link(source, target)
        source.unlink()

    (one,) = Importer(ours, methods={LinkKind.SYMBOLIC_LINK: link_and_lose}).run([found_file(path)])
    assert outcomes(one) == [Outcome.UNREADABLE]


def test_cancel(theirs: Path, ours: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(ImportCancelledError):
        Importer(ours, cancelled=cancelled).run(find_models(theirs))
    assert not ours.exists()


def test_progress_ends_at_all_of_it(
    theirs: Path, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "PROGRESS_S", 0.0)
    told: list[tuple[int, int, str]] = []
    Importer(ours, lambda *step: told.append(step)).run(find_models(theirs))
    total = len(DATA) + len(CONFIG)
    assert told[-1] == (total, total, "")
    assert {step[1] for step in told} == {total}
    assert {"Q8_0/m.gguf", "config.json"} <= {step[2] for step in told}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"files": []}', '{"files": {"a": {}}}', '{"files": 1}']
)
def test_hashes_that_say_nothing(tmp_path: Path, text: str) -> None:
    put(tmp_path / HASHES_FILE, text)
    assert read_hashes(tmp_path) == {}


# in the terminal


def spoken(path: Path, ours: Path, language: Language, *, as_json: bool) -> tuple[str, str]:
    out, progress = io.StringIO(), io.StringIO()
    progress.isatty = lambda: True  # type: ignore[method-assign]
    import_path(path, ours, language, json_output=as_json, out=out, progress_out=progress)
    return out.getvalue(), progress.getvalue()


@pytest.mark.parametrize("language", list(Language))
def test_in_words(theirs: Path, ours: Path, language: Language) -> None:
    text, progress = spoken(theirs, ours, language, as_json=False)
    assert text.count("org/model") == 2
    assert "100 %" in progress
    assert progress.endswith("\r\x1b[K")


@pytest.mark.parametrize("language", list(Language))
def test_what_nobody_vouches_for_is_not_called_checked(
    tmp_path: Path, ours: Path, language: Language
) -> None:
    put(tmp_path / "own" / "m.gguf", DATA)
    text, _ = spoken(tmp_path / "own", ours, language, as_json=False)
    assert ("checked" in text, "已校验" in text) == (False, False)
    assert "imported/own" in text.splitlines()[-1]


def test_as_json(theirs: Path, ours: Path) -> None:
    text, progress = spoken(theirs, ours, Language.EN, as_json=True)
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines if line["event"] != "progress"] == ["found", "model"]
    weights = lines[-1]["files"][0]
    assert (weights["outcome"], weights["sha256"]) == ("linked", sha256(DATA))
    assert (weights["witness"], weights["expected"]) == ("store", sha256(DATA))
    assert progress == ""


@pytest.mark.parametrize("language", list(Language))
def test_problems_are_named_file_by_file(theirs: Path, ours: Path, language: Language) -> None:
    blobs = theirs / "models--org--model" / "blobs"
    (blobs / sha256(DATA)).write_bytes(b"GGUF")
    (blobs / git_sha1(CONFIG)).unlink()
    out = io.StringIO()
    with pytest.raises(DownloadError) as caught:
        import_path(theirs, ours, language, json_output=False, out=out, progress_out=io.StringIO())
    assert caught.value.code is ErrorCode.IMPORT_INCOMPLETE
    assert caught.value.params == {"bad": 2, "count": 2}
    lines = out.getvalue().splitlines()
    assert sum("Q8_0/m.gguf" in line for line in lines) == 1
    assert sum("config.json" in line for line in lines) == 1
    assert "{" not in out.getvalue()


@pytest.mark.parametrize("language", list(Language))
def test_the_usual_places_are_listed(theirs: Path, tmp_path: Path, language: Language) -> None:
    out = io.StringIO()
    places = [Place(Origin.HUGGINGFACE, theirs)]
    list_places(language, json_output=False, places=places, out=out)
    assert "org/model" in out.getvalue()
    list_places(language, json_output=False, places=[], out=out)
    assert len(out.getvalue().splitlines()) == 3
    out = io.StringIO()
    list_places(language, json_output=True, places=places, out=out)
    assert json.loads(out.getvalue())["origin"] == "huggingface"


def test_a_long_name_does_not_break_the_line(theirs: Path, ours: Path, tmp_path: Path) -> None:
    model = find_models(theirs)[0]
    long = replace(model.files[0], target="x" * 150 + ".gguf")
    put(tmp_path / "long" / ("x" * 150 + ".gguf"), DATA)
    assert long.size_bytes == len(DATA)
    _, progress = spoken(tmp_path / "long", ours, Language.EN, as_json=False)
    assert all(len(line) < 120 for line in progress.split("\r"))
