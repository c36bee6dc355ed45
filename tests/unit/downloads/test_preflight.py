"""What is known before the first byte: one row per thing, in both languages."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.choose import Choice, LeftOut, LeftOutReason
from kimi_desktop.downloads.hubs.gather import Gathered
from kimi_desktop.downloads.names import NameProblem, SuspiciousName
from kimi_desktop.downloads.preflight import Question, check
from kimi_desktop.downloads.preflight_types import Level, Preflight, Row, row
from kimi_desktop.downloads.publishers import is_known, looks_like
from kimi_desktop.downloads.size_verdict import size_verdict
from kimi_desktop.downloads.surroundings import Surroundings
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, RepoFile, RepoListing
from kimi_desktop.downloads.volume import VolumeFacts
from tests.support.planned_machines import machine

GB, GIB = 10**9, 2**30
A = "a" * 64
PART = RepoFile("UD-Q2_K_XL/Kimi-K2.6-UD-Q2_K_XL-00001-of-00001.gguf", 340 * GB, A, None)
LISTING = RepoListing(
    HubKind.HUGGINGFACE, "https://huggingface.co", "unsloth/Kimi-K2.6-GGUF", "c0ffee" * 6 + "abcd",
    (PART,), "modified-mit", False, False,
)  # fmt: skip
VOLUME = VolumeFacts(Path("/models"), "ext4", 1000 * GB, None, True, None, 255, 4095)


def question(
    *files: RepoFile,
    listing: RepoListing = LISTING,
    volume: VolumeFacts = VOLUME,
    folder: str = "/models/unsloth/Kimi-K2.6-GGUF",
    others: tuple[RepoListing, ...] = (),
    **more: object,
) -> Question:
    files = files or (PART,)
    choice = Choice(files, "UD-Q2_K_XL", (), ())
    jobs = tuple(FileJob(f.path, f.size_bytes, f.sha256, f.git_sha1, ()) for f in files)
    spec = DownloadSpec("t", folder, jobs, listing.licence, listing.commit)
    asked = Question(Gathered(listing, others), choice, spec, volume)
    return dataclasses.replace(asked, **more)


def with_choice(asked: Question, **changes: object) -> Question:
    return dataclasses.replace(asked, choice=dataclasses.replace(asked.choice, **changes))


def the(found: Preflight, topic: str) -> Row:
    (one,) = (row for row in found.rows if row.topic == topic)
    for language in Language:
        assert "{" not in one.sentence(language)
        assert one.sentence(language)
        assert bool(one.next_step(language)) is (one.level is not Level.OK)
    return one


def test_all_is_well() -> None:
    found = check(question())
    assert found.may_start
    assert {row.topic for row in found.rows} == {"space", "proof", "sources", "licence"}
    assert found.level is Level.OK
    assert found.total_bytes == found.missing_bytes == 340 * GB
    assert found.needed_bytes == 340 * GB + 340 * GB // 50 + GIB
    licence = the(found, "licence").sentence(Language.EN)
    assert licence == (
        "Licence: modified-mit. Commit c0ffeec0ffee of unsloth/Kimi-K2.6-GGUF on huggingface.co."
    )


# space


def test_space_is_credited() -> None:
    short = dataclasses.replace(VOLUME, free_bytes=100 * GB)
    found = check(question(volume=short))
    assert not found.may_start
    assert found.rows[0].topic == "space"
    assert found.stops == (found.rows[0],)
    assert "too little" in the(found, "space").sentence(Language.EN)
    assert check(question(volume=short, around=Surroundings(200 * GB, 60 * GB))).may_start
    assert not check(question(volume=short, around=Surroundings(200 * GB, 30 * GB))).may_start
    done = check(
        question(volume=dataclasses.replace(VOLUME, free_bytes=0), around=Surroundings(340 * GB))
    )
    assert done.may_start
    assert (done.missing_bytes, done.needed_bytes) == (0, 0)


def test_a_quota_is_called_one() -> None:
    limited = dataclasses.replace(VOLUME, free_bytes=10 * GB, quota_bytes=10 * GB)
    assert "quota" in the(check(question(volume=limited)), "space").sentence(Language.EN)
    wide = dataclasses.replace(VOLUME, free_bytes=10 * GB, quota_bytes=20 * GB)
    assert "quota" not in the(check(question(volume=wide)), "space").sentence(Language.EN)


@given(st.integers(0, 2**50), st.integers(0, 2**50), st.integers(0, 2**50), st.integers(0, 2**51))
def test_space_arithmetic(size: int, there: int, partial: int, free: int) -> None:
    file = dataclasses.replace(PART, size_bytes=size)
    volume = dataclasses.replace(VOLUME, free_bytes=free)
    found = check(question(file, volume=volume, around=Surroundings(there, partial)))
    assert 0 <= found.missing_bytes <= size
    assert found.needed_bytes >= found.missing_bytes
    assert found.may_start is (found.needed_bytes <= free)


# the drive


def test_fat() -> None:
    fat = dataclasses.replace(VOLUME, file_system="vfat", max_file_bytes=2**32 - 1)
    stop = the(check(question(volume=fat)), "file_size")
    assert stop.level is Level.STOP
    assert "340 GB" in stop.sentence(Language.EN)
    small = dataclasses.replace(PART, size_bytes=2**32 - 1)
    assert check(question(small, volume=fat)).may_start


def test_read_only() -> None:
    stop = the(check(question(volume=dataclasses.replace(VOLUME, writable=False))), "writable")
    assert stop.level is Level.STOP


def test_long_paths() -> None:
    windows = dataclasses.replace(VOLUME, max_path=259, counts_characters=True)
    deep = "C:/" + "x" * 210
    stop = the(check(question(volume=windows, folder=deep)), "paths")
    assert stop.level is Level.STOP
    assert "259" in stop.sentence(Language.EN)
    assert check(question(volume=windows, folder="C:/models")).may_start
    named = check(question(volume=VOLUME, folder="/models/" + "n" * 300))
    assert "255" in the(named, "paths").sentence(Language.EN)
    # Chinese counts one on Windows and three elsewhere.
    chinese = dataclasses.replace(PART, path="模" * 60 + ".gguf")
    narrow = dataclasses.replace(VOLUME, max_name=143)
    assert "143" in the(check(question(chinese, volume=narrow)), "paths").sentence(Language.EN)
    characters = dataclasses.replace(narrow, counts_characters=True)
    assert check(question(chinese, volume=characters)).may_start
    partial = dataclasses.replace(VOLUME, max_path=50)
    short = dataclasses.replace(PART, path="a.gguf")
    assert not check(question(short, volume=partial)).may_start  # its partial file is longer


# proof and sources


def test_proof() -> None:
    small = RepoFile("README.md", 10, None, None)
    assert the(check(question(PART, small)), "proof").level is Level.WARN
    bare = dataclasses.replace(PART, sha256=None)
    assert the(check(question(bare)), "proof").level is Level.STOP
    git = RepoFile("config.json", 10, None, "b" * 40)
    assert the(check(question(PART, git)), "proof").level is Level.OK


def test_sources() -> None:
    mirror = dataclasses.replace(LISTING, endpoint="https://hf-mirror.com")
    assert the(check(question()), "sources").sentence(Language.EN) == "One source: huggingface.co."
    two = the(check(question(others=(mirror,))), "sources").sentence(Language.EN)
    assert two.endswith(": huggingface.co, hf-mirror.com.")
    other = dataclasses.replace(PART, sha256="b" * 64)
    wrong = dataclasses.replace(mirror, files=(other,))
    warning = the(check(question(others=(wrong,))), "sources")
    assert warning.level is Level.WARN
    assert "huggingface.co is believed" in warning.sentence(Language.EN)


def test_a_mirror_is_believed_with_a_witness() -> None:
    mirror = dataclasses.replace(LISTING, endpoint="https://hf-mirror.com")
    scope = dataclasses.replace(
        LISTING, kind=HubKind.MODELSCOPE, endpoint="https://modelscope.cn", commit="master"
    )
    mirrors = [mirror.endpoint]
    alone = the(check(question(listing=mirror, mirrors=mirrors)), "sources")
    assert alone.level is Level.WARN
    assert "hf-mirror.com alone" in alone.sentence(Language.EN)
    seen = the(check(question(listing=mirror, others=(scope,), mirrors=mirrors)), "sources")
    assert seen.level is Level.OK
    other = dataclasses.replace(PART, sha256="b" * 64)
    wrong = dataclasses.replace(scope, files=(other,))
    found = check(question(listing=mirror, others=(wrong,), mirrors=mirrors))
    assert the(found, "sources").level is Level.STOP
    # Led by the publisher's own hub, a mirror that disagrees is only told.
    assert check(question(others=(wrong,), mirrors=mirrors)).may_start


# what comes along, and who publishes it


def test_code_pickles_and_names() -> None:
    code = RepoFile("modeling_x.py", 10, A, None)
    pickle = LeftOut(RepoFile("pytorch_model.bin", 10, A, None), LeftOutReason.PICKLE)
    name = SuspiciousName("../\u202ex", NameProblem.LEADS_OUT)
    asked = with_choice(question(PART, code), left_out=(pickle,), suspicious=(name,))
    found = check(asked)
    assert found.may_start
    assert found.level is Level.WARN
    assert "modeling_x.py" in the(found, "code").sentence(Language.ZH_CN)
    assert "pytorch_model.bin" in the(found, "pickles").sentence(Language.EN)
    assert "../\ufffdx" in the(found, "names").sentence(Language.EN)


@pytest.mark.parametrize(
    ("owner", "level"),
    [("Unsloth", None), ("uns1oth", Level.WARN), ("moonshot-ai", Level.WARN), ("ada", Level.OK)],
)
def test_publishers(owner: str, level: Level | None) -> None:
    found = check(question(listing=dataclasses.replace(LISTING, repo=f"{owner}/K2")))
    rows = [row for row in found.rows if row.topic == "publisher"]
    assert [row.level for row in rows] == ([] if level is None else [level])


@pytest.mark.parametrize(
    ("owner", "known"),
    [
        ("moonshotaí", "moonshotai"), ("moonshotia", "moonshotai"), ("bart0wski", "bartowski"),
        ("un-sloth", "unsloth"), ("nvidla", "nvidia"), ("deepseekai", "deepseek-ai"),
        ("somebody", None), ("ada", None), ("", None), ("thebloke", None), ("amdahl", None),
    ],
)  # fmt: skip
def test_look_alikes(owner: str, known: str | None) -> None:
    assert not is_known(owner)
    assert looks_like(owner) == known


def test_licences() -> None:
    none = dataclasses.replace(LISTING, licence="")
    assert the(check(question(listing=none)), "licence").level is Level.WARN
    scope = dataclasses.replace(LISTING, kind=HubKind.MODELSCOPE, commit="master")
    assert "Branch master" in the(check(question(listing=scope)), "licence").sentence(Language.EN)


def test_rows_of_others_are_sorted_in() -> None:
    stop = row("loads", Level.STOP, "read_only", path="x")
    found = check(question(more=(stop,)))
    assert found.rows[0] is stop
    assert not found.may_start


# the planner's word


@pytest.mark.parametrize(
    ("ram_gib", "level"), [(768, Level.OK), (192, Level.WARN), (16, Level.WARN)]
)
def test_the_verdict_from_the_size(ram_gib: float, level: Level) -> None:
    asked = question()
    found = size_verdict(LISTING, asked.choice, machine(24, ram_gib=ram_gib))
    assert found is not None
    assert found.level is level
    for language in Language:
        assert "{" not in found.sentence(language)
        assert bool(found.next_step(language)) is (level is Level.WARN)
    assert "tok/s" in found.sentence(Language.EN)
    assert check(dataclasses.replace(asked, more=(found,))).may_start


def test_no_word_on_what_is_no_gguf_set() -> None:
    asked = with_choice(question(), quantization="")
    assert size_verdict(LISTING, asked.choice, machine()) is None
