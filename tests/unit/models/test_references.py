"""Repository ids and hub addresses, as people paste them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.models.catalogue_types import Hub
from kimi_desktop.models.references import (
    RepoReference,
    parse_reference,
    split_quantization,
)

HF, MS = Hub.HUGGINGFACE, Hub.MODELSCOPE
K26 = "unsloth/Kimi-K2.6-GGUF"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (K26, RepoReference(HF, K26)),
        (f"  {K26}/ ", RepoReference(HF, K26)),
        (f"{K26}:UD-Q2_K_XL", RepoReference(HF, K26, quantization="UD-Q2_K_XL")),
        (f"hf.co/{K26}:UD-Q2_K_XL", RepoReference(HF, K26, quantization="UD-Q2_K_XL")),
        (f"hf://{K26}", RepoReference(HF, K26)),
        (f"ms://{K26}", RepoReference(MS, K26)),
        (f"https://huggingface.co/{K26}", RepoReference(HF, K26)),
        (f"HTTPS://HuggingFace.co/{K26}?library=llama-cpp", RepoReference(HF, K26)),
        (f"huggingface.co/{K26}/", RepoReference(HF, K26)),
        (f"https://hf-mirror.com/{K26}", RepoReference(HF, K26)),
        (f"https://huggingface.co/{K26}/tree/main", RepoReference(HF, K26, "main")),
        (
            f"https://huggingface.co/{K26}/tree/main/UD-Q2_K_XL",
            RepoReference(HF, K26, "main", "UD-Q2_K_XL"),
        ),
        (
            f"https://huggingface.co/{K26}/blob/v1/UD-Q2_K_XL/a%20b.gguf?show_file_info=x#top",
            RepoReference(HF, K26, "v1", "UD-Q2_K_XL/a b.gguf"),
        ),
        (
            f"https://huggingface.co/{K26}/resolve/main/a.gguf?download=true",
            RepoReference(HF, K26, "main", "a.gguf"),
        ),
        (f"https://modelscope.cn/models/{K26}", RepoReference(MS, K26)),
        (f"https://www.modelscope.cn/models/{K26}/files", RepoReference(MS, K26)),
        (
            f"https://modelscope.cn/models/{K26}/file/view/master/a.gguf?status=2",
            RepoReference(MS, K26, "master", "a.gguf"),
        ),
        (f"https://huggingface.co/{K26}/blob/main/../../etc", RepoReference(HF, K26, "main")),
    ],
)
def test_what_is_understood(text: str, wanted: RepoReference) -> None:
    assert parse_reference(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kimi-k2.6",
        "kimi-k2.6:UD-Q2_K_XL",
        "/models/kimi.gguf",
        "./kimi.gguf",
        "../a/b",
        "models/kimi.gguf",
        "models/kimi",
        "a/b/c",
        "https://example.com/a/b",
        "https://huggingface.co",
        "https://huggingface.co/datasets/a/b",
        "https://huggingface.co/unsloth",
        "https://huggingface.co.example.com/a/b",
        "ftp://huggingface.co/a/b",
        "C:\\models\\kimi.gguf",
        "https://[half/a/b",
        "a/b:",
        "a b/c",
        "-a/b",
        f"{'a' * 200}/b",
    ],
)
def test_what_is_no_repository(text: str) -> None:
    assert parse_reference(text) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kimi-k2.6", ("kimi-k2.6", None)),
        ("kimi-k2.6:UD-Q2_K_XL", ("kimi-k2.6", "UD-Q2_K_XL")),
        ("kimi-k2.6:", ("kimi-k2.6", None)),
        ("C:\\models\\kimi.gguf", ("C:\\models\\kimi.gguf", None)),
        ("C:kimi.gguf", ("C:kimi.gguf", None)),
        ("/a:b/kimi.gguf", ("/a:b/kimi.gguf", None)),
    ],
)
def test_a_quantization_stands_after_a_colon(text: str, wanted: tuple[str, str | None]) -> None:
    assert split_quantization(text) == wanted


@given(st.text(max_size=80) | st.from_regex(r"(https://)?(hf\.co|modelscope\.cn)/\S{0,40}"))
def test_nothing_that_is_pasted_breaks_it(text: str) -> None:
    found = parse_reference(text)
    if found is not None:
        owner, _, name = found.repo.partition("/")
        assert owner
        assert name
        assert "/" not in name
        assert ".." not in (found.path or "").split("/")
    split_quantization(text)
