"""The record beside a model."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.imports.types import Witness
from kimi_desktop.downloads.kept_hashes import (
    DAMAGED_FILE,
    HASHES_FILE,
    KeptHash,
    keep_hashes,
    read_hashes,
)
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from kimi_desktop.downloads.verify.terminal import verify_path
from tests.support.gguf_files import llama_metadata, write_model

SOURCE = Source(HubKind.MODELSCOPE, "https://hub.example", "a/b", "master", "m.gguf")
KEPT = KeptHash(
    "ab" * 32, 20, 1234567890123456789, Witness.LISTING, "cd" * 20, 5.5, 16,
    (b"1" * 32, b"2" * 32), (SOURCE,),
)  # fmt: skip


def test_comes_back_as_it_was(tmp_path: Path) -> None:
    keep_hashes(tmp_path, {"m.gguf": KEPT})
    keep_hashes(tmp_path, {"other.gguf": replace(KEPT, pieces=(), piece_bytes=0)})
    assert read_hashes(tmp_path) == {
        "m.gguf": KEPT,
        "other.gguf": replace(KEPT, pieces=(), piece_bytes=0),
    }


def test_a_damaged_record_is_kept_when_a_new_one_is_begun_and_verify_says_so(
    tmp_path: Path,
) -> None:
    path = write_model(tmp_path / "m.gguf", llama_metadata("M"))
    (tmp_path / HASHES_FILE).write_text("{torn")
    for is_damaged in (True, False):
        out = io.StringIO()
        verify_path(path, Language.EN, json_output=False, out=out, progress_out=io.StringIO())
        assert (DAMAGED_FILE in out.getvalue()) is is_damaged
    assert (tmp_path / DAMAGED_FILE).read_text() == "{torn"
    assert list(read_hashes(tmp_path)) == ["m.gguf"]


def test_a_record_without_pieces_is_read(tmp_path: Path) -> None:
    old = {"sha256": "ab" * 32, "size_bytes": 3, "modified_ns": 4, "witness": "store"}
    (tmp_path / HASHES_FILE).write_text(json.dumps({"version": 1, "files": {"m": old}}))
    assert read_hashes(tmp_path) == {"m": KeptHash("ab" * 32, 3, 4, Witness.STORE)}


@pytest.mark.parametrize("pieces", ["AAAA", "", "AAAA" * 11 + "A=="])
def test_pieces_that_do_not_fit_the_length_do_not_count(tmp_path: Path, pieces: str) -> None:
    keep_hashes(tmp_path, {"m.gguf": KEPT})
    raw = json.loads((tmp_path / HASHES_FILE).read_text())
    raw["files"]["m.gguf"]["pieces"] = pieces
    (tmp_path / HASHES_FILE).write_text(json.dumps(raw))
    known = read_hashes(tmp_path)
    assert not known or known["m.gguf"].pieces == ()


def test_a_changed_file_is_noticed_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(20))
    facts = path.stat()
    kept = replace(KEPT, modified_ns=facts.st_mtime_ns)
    assert kept.is_unchanged(path)
    os.utime(path, ns=(1, facts.st_mtime_ns + 1))
    assert not kept.is_unchanged(path)
    assert not kept.is_unchanged(tmp_path / "gone")


def test_a_spec_crosses_as_json() -> None:
    job = FileJob("m.gguf", 5, "ab" * 32, None, (SOURCE,))
    spec = DownloadSpec("t", "/models/a/b", (job,), "mit", "c" * 40)
    assert DownloadSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert spec.total_bytes == 5
