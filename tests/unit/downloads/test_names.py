"""File names that may be written, and those that may not, on any system."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.downloads.names import NameProblem, name_problem, suspicious_names


@pytest.mark.parametrize(
    "path",
    [
        "model.gguf",
        "UD-Q2_K_XL/Kimi-K2.6-UD-Q2_K_XL-00001-of-00008.gguf",
        "模型/权重.safetensors",
        "a b/c (1) [x] {y} 'z' & $ # @ ! ~x.json",
        ".gitattributes",
        "console.txt",
        "nullable/auxiliary.json",
        "a" * 196 + ".txt",
        unicodedata.normalize("NFC", "naïve.txt"),
    ],
)
def test_fine(path: str) -> None:
    assert name_problem(path) is None


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", NameProblem.LENGTH),
        ("/etc/passwd", NameProblem.LEADS_OUT),
        ("\\\\server\\share", NameProblem.LEADS_OUT),
        ("C:/x", NameProblem.LEADS_OUT),
        ("c:x", NameProblem.LEADS_OUT),
        ("../x", NameProblem.LEADS_OUT),
        ("a/../../x", NameProblem.LEADS_OUT),
        ("a\\..\\x", NameProblem.LEADS_OUT),
        ("a//b", NameProblem.LEADS_OUT),
        ("a/./b", NameProblem.LEADS_OUT),
        ("a/", NameProblem.LEADS_OUT),
        ("a\x00b", NameProblem.CONTROL),
        ("a\nb", NameProblem.CONTROL),
        ("a\u202egpj.exe", NameProblem.CONTROL),
        ("a\u2028b", NameProblem.CONTROL),
        ("a\ud800b", NameProblem.CONTROL),
        ("a\\b", NameProblem.CHARACTER),
        ("file:stream", NameProblem.CHARACTER),
        ("what?.txt", NameProblem.CHARACTER),
        ("NUL", NameProblem.DEVICE),
        ("a/con.txt", NameProblem.DEVICE),
        ("Com1.gguf", NameProblem.DEVICE),
        ("lpt¹", NameProblem.DEVICE),
        ("aux .txt", NameProblem.DEVICE),
        ("a.", NameProblem.EDGE),
        ("a /b", NameProblem.EDGE),
        (" a", NameProblem.EDGE),
        ("~root/x", NameProblem.EDGE),
        (".kimi-partial/x", NameProblem.EDGE),
        (".KIMI", NameProblem.EDGE),
        ("a" * 201, NameProblem.LENGTH),
        ("é" * 101, NameProblem.LENGTH),
        ("/".join(["a" * 100] * 6), NameProblem.LENGTH),
        (unicodedata.normalize("NFD", "naïve.txt"), NameProblem.FORM),
    ],
)
def test_refused(path: str, problem: NameProblem) -> None:
    assert name_problem(path) is problem
    (found,) = suspicious_names(["fine.txt", path])
    assert found.problem is problem
    assert found.shown.isprintable()


@pytest.mark.parametrize(
    ("paths", "refused"),
    [
        (["README.md", "readme.MD"], ["readme.MD"]),
        (["a/x", "A/y"], ["A/y"]),
        (["a", "a/b"], ["a/b"]),
        (["a/b", "A"], ["A"]),
        (["x", "x"], ["x"]),
        (["straße", "STRASSE"], ["STRASSE"]),
        (["a/x", "a/y", "b/x", "a/b/x"], []),
    ],
)
def test_collisions(paths: list[str], refused: list[str]) -> None:
    found = suspicious_names(paths)
    assert [one.path for one in found] == refused
    assert all(one.problem is NameProblem.COLLISION for one in found)


@given(st.text(max_size=60) | st.from_regex(r"[A-Za-z.:/\\ ~]{1,12}", fullmatch=True))
def test_what_is_let_through_stays_inside(path: str) -> None:
    if name_problem(path) is not None:
        return
    for kind in (PurePosixPath, PureWindowsPath):
        below = kind(path)
        assert not below.is_absolute()
        assert not below.anchor
        assert ".." not in below.parts
        assert kind("root", path).is_relative_to(kind("root"))
    assert PureWindowsPath(path).as_posix() == path
