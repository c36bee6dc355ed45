"""Files of sha256sum in the forms that people leave them in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.downloads.imports import checksums
from kimi_desktop.downloads.imports.checksums import (
    checksums_in,
    is_checksum_file,
    parse_checksums,
)

A, B = "a" * 64, "b" * 64


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("SHA256SUMS", True), ("sha256sum.txt", True), ("checksums.txt", True),
        ("checksums.sha256", True), ("model.gguf.sha256", True), ("x.sha256sums", True),
        ("checksum-sha256.txt", True), ("hashes.txt", True), ("SHA512SUMS", False),
        ("README.md", False), ("sha256.py", False),
    ],
)  # fmt: skip
def test_which_files_list_hashes(name: str, is_one: bool) -> None:
    assert is_checksum_file(name) is is_one


@pytest.mark.parametrize(
    ("text", "own_name", "found"),
    [
        (f"{A}  m.gguf\n{B} *sub/n.gguf\n", "SHA256SUMS", {"m.gguf": A, "sub/n.gguf": B}),
        (f"{A.upper()}  ./m.gguf", "SHA256SUMS", {"m.gguf": A}),
        (f"{A}\tm.gguf", "SHA256SUMS", {"m.gguf": A}),
        (f"SHA256 (a (1).gguf) = {A}", "CHECKSUM.txt", {"a (1).gguf": A}),
        (f"{A}\n", "m.gguf.sha256", {"m.gguf": A}),
        (f"{A}\n", "SHA256SUMS", {}),
        (f"\\{A}  a\\nb\\\\c", "SHA256SUMS", {"a\nb\\c": A}),
        (f"{A}  sub\\m.gguf", "SHA256SUMS", {"sub/m.gguf": A}),
        (f"# hashes\n\n{A}  m\n{A}  m\n", "SHA256SUMS", {"m": A}),
        (f"{A}  m\n{B}  m\n", "SHA256SUMS", {}),
        ("d41d8cd98f00b204e9800998ecf8427e  m.gguf", "SHA256SUMS", {}),
        ("", "SHA256SUMS", {}),
    ],
)
def test_forms(text: str, own_name: str, found: dict[str, str]) -> None:
    assert parse_checksums(text, own_name) == found


@given(st.text(), st.text())
def test_nonsense(text: str, own_name: str) -> None:
    for digest in parse_checksums(text, own_name).values():
        assert len(digest) == 64


def test_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "SHA256SUMS").write_text(f"{A}  m.gguf\n{B}  sub/n.gguf\n")
    (tmp_path / "o.gguf.sha256").write_text(B)
    (tmp_path / "sums.sha256").mkdir()
    assert checksums_in(tmp_path) == {
        tmp_path / "m.gguf": A,
        tmp_path / "sub" / "n.gguf": B,
        tmp_path / "o.gguf": B,
    }
    assert checksums_in(tmp_path / "none") == {}
    monkeypatch.setattr(checksums, "MAX_BYTES", 10)
    assert checksums_in(tmp_path) == {}
