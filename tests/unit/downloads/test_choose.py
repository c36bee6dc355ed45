"""From a repository's listing to the files that a person means."""

from __future__ import annotations

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.choose import Choice, LeftOutReason, Wish, choose_files
from kimi_desktop.downloads.types import HubKind, RepoFile, RepoListing
from tests.support.hub.large_models import native_model

REPO = "unsloth/Kimi-K2.6-GGUF"


def listing(*paths: str) -> RepoListing:
    files = tuple(RepoFile(path, 100 + len(path), "a" * 64, None) for path in paths)
    return RepoListing(HubKind.HUGGINGFACE, "https://h.co", REPO, "c" * 40, files, "", False, False)


def parts(name: str, total: int) -> list[str]:
    return [f"{name}/Kimi-K2.6-{name}-{n:05}-of-{total:05}.gguf" for n in range(1, total + 1)]


KIMI = listing(
    "README.md",
    "config.json",
    "mmproj-BF16.gguf",
    "mmproj-F16.gguf",
    "mmproj-F32.gguf",
    "imatrix_unsloth.dat",
    *parts("UD-Q2_K_XL", 8),
    *parts("UD-Q4_K_XL", 14),
    *parts("UD-Q8_K_XL", 14),
)


def names(choice: Choice) -> list[str]:
    return [file.path for file in choice.files]


def failed(wish: Wish, of: RepoListing = KIMI) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        choose_files(of, wish)
    for language in Language:
        for text in describe_error(caught.value, language):
            assert text
            assert "{" not in text
    return caught.value


@pytest.mark.parametrize("word", ["UD-Q2_K_XL", "ud-q2_k_xl", "UD_Q2-K-XL"])
def test_a_quantization_is_its_set_and_its_projector(word: str) -> None:
    choice = choose_files(KIMI, Wish(word))
    assert names(choice) == ["mmproj-F16.gguf", *parts("UD-Q2_K_XL", 8)]
    assert choice.quantization == "UD-Q2_K_XL"
    assert choice.size_bytes == sum(file.size_bytes for file in choice.files)
    assert "README.md" in [one.file.path for one in choice.left_out]
    assert names(choose_files(KIMI, Wish(word, projector=False))) == parts("UD-Q2_K_XL", 8)


@pytest.mark.parametrize(
    ("typo", "near"),
    [("UD-Q2_K_LX", "UD-Q2_K_XL"), ("Q4_K_XL", "UD-Q4_K_XL"), ("UD-Q8KXL_", None), ("xyz", "UD-")],
)
def test_a_typo_suggests_the_nearest(typo: str, near: str | None) -> None:
    if near is None:  # only punctuation differs
        assert choose_files(KIMI, Wish(typo)).quantization == "UD-Q8_K_XL"
        return
    error = failed(Wish(typo))
    assert error.code is ErrorCode.HUB_NO_QUANTIZATION
    assert str(error.params["near"]).startswith(near)


def test_nothing_named() -> None:
    error = failed(Wish())
    assert error.code is ErrorCode.HUB_NOTHING_CHOSEN
    assert error.params["count"] == 3
    one = listing("a.Q8_0.gguf", "README.md")
    assert names(choose_files(one, Wish())) == ["a.Q8_0.gguf"]


def test_two_models_with_one_label() -> None:
    two = listing("a-Q8_0.gguf", "b-Q8_0.gguf")
    error = failed(Wish("Q8_0"), two)
    assert error.code is ErrorCode.HUB_NOTHING_CHOSEN
    assert error.params["names"] == "a-Q8_0.gguf, b-Q8_0.gguf"
    assert names(choose_files(two, Wish(path="b-Q8_0.gguf"))) == ["b-Q8_0.gguf"]


def test_a_part_brings_its_set() -> None:
    third = parts("UD-Q2_K_XL", 8)[2]
    for wish in (Wish(path=third), Wish(include=(third,)), Wish(include=("*Q2*-00003-*",))):
        assert names(choose_files(KIMI, wish)) == ["mmproj-F16.gguf", *parts("UD-Q2_K_XL", 8)]


def test_patterns() -> None:
    assert names(choose_files(KIMI, Wish(include=("*.json", "README.md")))) == [
        "README.md",
        "config.json",
    ]
    assert len(choose_files(KIMI, Wish(include=("*UD-Q4_K_XL*", "mmproj-F32*"))).files) == 16
    assert len(choose_files(KIMI, Wish(include=("UD-Q4_K_XL/",))).files) == 15
    assert len(choose_files(KIMI, Wish(path="UD-Q4_K_XL")).files) == 15
    assert choose_files(KIMI, Wish(include=("UD-Q4_K_XL",))).quantization == "UD-Q4_K_XL"
    both = choose_files(KIMI, Wish(include=("*.gguf",)))
    assert both.quantization == ""
    assert len(both.files) == 39


@pytest.mark.parametrize(
    ("wish", "near"),
    [
        (Wish(include=("UD-Q4_X_KL",)), "UD-Q4_K_XL"),
        (Wish(include=("*UD-Q4_K_LX*",)), "UD-Q4_K_XL"),
        (Wish(include=("READNE.md",)), "README.md"),
        (Wish(include=("*.json", "mmproj-F17.gguf")), "mmproj-F16.gguf"),
        (Wish(path="mmproj-BF61.gguf"), "mmproj-BF16.gguf"),
        (Wish(path="nothing/at/all.gguf"), "README.md, config.json, mmproj-BF16.gguf"),
    ],
)
def test_patterns_that_fit_nothing(wish: Wish, near: str) -> None:
    error = failed(wish)
    assert error.code is ErrorCode.HUB_NO_MATCH
    assert str(error.params["near"]).startswith(near)


def test_a_set_that_is_still_being_uploaded() -> None:
    cut = listing(*parts("UD-Q2_K_XL", 8)[:5])
    for wish in (Wish(), Wish("UD-Q2_K_XL"), Wish(include=("*00002*",))):
        error = failed(wish, cut)
        assert error.code is ErrorCode.HUB_SET_INCOMPLETE
        assert (error.params["missing"], error.params["which"]) == (3, "6, 7, 8")


def test_the_native_checkpoint() -> None:
    files = tuple(
        RepoFile(f.path, f.length, f.sha256 if f.lfs else None, None if f.lfs else f.git_sha1)
        for f in native_model(4)
    )
    extra = ("figures/banner.png", "tech_report.pdf", "pytorch_model.bin", "optimizer.pt")
    whole = RepoListing(
        HubKind.HUGGINGFACE, "https://h.co", "moonshotai/Kimi-K2.6", "c" * 40,
        (*files, *listing(*extra).files), "", False, False,
    )  # fmt: skip
    choice = choose_files(whole, Wish())
    assert set(names(choice)) == {file.path for file in files}
    assert choice.code == ("modeling_deepseek.py", "configuration_deepseek.py")
    assert choice.pickles == ("pytorch_model.bin", "optimizer.pt")
    assert choice.quantization == ""
    assert choice.unproven == ()
    reasons = {one.file.path: one.reason for one in choice.left_out}
    assert reasons["figures/banner.png"] is LeftOutReason.NOT_WANTED


def test_pickles_are_left_out_unless_named_whole() -> None:
    old = listing("pytorch_model.bin", "config.json", "sub/x.pt")
    assert failed(Wish(), old).code is ErrorCode.HUB_NO_WEIGHTS
    assert failed(Wish("Q8_0"), old).code is ErrorCode.HUB_NO_WEIGHTS
    assert failed(Wish(include=("*.bin",)), old).code is ErrorCode.HUB_NO_WEIGHTS
    assert names(choose_files(old, Wish(include=("*",)))) == ["config.json"]
    for wish in (Wish(include=("pytorch_model.bin",)), Wish(path="pytorch_model.bin")):
        assert names(choose_files(old, wish)) == ["pytorch_model.bin"]
    assert failed(Wish(path="sub"), old).code is ErrorCode.HUB_NO_WEIGHTS


def test_suspicious_names() -> None:
    bad = listing("a-Q8_0.gguf", "../../.bashrc", "A-q8_0.GGUF", "sub/con.json")
    choice = choose_files(bad, Wish(path="a-Q8_0.gguf"))
    assert names(choice) == ["a-Q8_0.gguf"]
    assert [one.path for one in choice.suspicious] == [
        "../../.bashrc",
        "A-q8_0.GGUF",
        "sub/con.json",
    ]
    error = failed(Wish(include=("*",)), bad)
    assert error.code is ErrorCode.HUB_HOSTILE_NAME


def test_projectors_stay_with_their_model() -> None:
    two = listing("x/x-Q8_0.gguf", "x/mmproj-x-f16.gguf", "y/y-Q4_0.gguf", "y/mmproj-y-Q8_0.gguf")
    assert names(choose_files(two, Wish("Q4_0"))) == ["y/y-Q4_0.gguf", "y/mmproj-y-Q8_0.gguf"]
    none = listing("x/x-Q8_0.gguf", "z/mmproj-F16.gguf", "xmmprojector.txt")
    assert names(choose_files(none, Wish("Q8_0"))) == ["x/x-Q8_0.gguf"]
    assert names(choose_files(two, Wish(include=("x/mmproj*",)))) == ["x/mmproj-x-f16.gguf"]


def test_files_without_a_hash_are_named() -> None:
    bare = RepoListing(
        HubKind.MODELSCOPE, "https://m.cn", "a/b", "master",
        (RepoFile("a-Q8_0.gguf", 5, None, None),), "", False, False,
    )  # fmt: skip
    assert choose_files(bare, Wish()).unproven == ("a-Q8_0.gguf",)
