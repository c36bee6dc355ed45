"""The models of a repository without downloading them."""

from __future__ import annotations

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.remote_sets import gguf_sets, read_remote_facts
from kimi_desktop.downloads.types import HubKind, RepoFile, RepoListing
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import LLAMA_TENSORS, data_bytes, header_bytes, llama_metadata
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.large_models import split_model
from tests.support.hub.server import LocalHub
from tests.support.measured import model_facts

REPO = "org/model-GGUF"


def file(path: str, size: int = 10) -> RepoFile:
    return RepoFile(path, size, "0" * 64, None)


def listing_of(hub: LocalHub) -> RepoListing:
    files = tuple(file(one.path, one.length) for one in hub.files)
    return RepoListing(
        HubKind.HUGGINGFACE, hub.endpoint, hub.repo, hub.commit, files, "mit", False, False
    )


def test_files_are_put_together_by_their_names() -> None:
    sets = gguf_sets(
        [
            file("README.md"),
            file("mmproj-F16.gguf"),
            file("model.imatrix.gguf"),
            file("UD-Q2_K_XL/Kimi-UD-Q2_K_XL-00002-of-00003.gguf", 20),
            file("UD-Q2_K_XL/Kimi-UD-Q2_K_XL-00001-of-00003.gguf", 10),
            file("Kimi-Q4_K_M.gguf", 50),
            file("BF16/part.gguf", 5),
            file("odd-00009-of-00003.gguf", 1),
        ]
    )
    assert [(one.quantization, one.size_bytes, one.total) for one in sets] == [
        ("Q4_K_M", 50, 1),
        ("UD-Q2_K_XL", 30, 3),
        ("BF16", 5, 1),
        ("odd-00009-of-00003", 1, 1),
    ]
    assert sets[1].missing == (3,)
    assert sets[1].path.endswith("00001-of-00003.gguf")
    assert gguf_sets([]) == ()


def test_the_facts_are_those_of_the_file() -> None:
    with LocalHub(REPO, split_model("kimi-k2.6.q4_x", 14)) as hub:
        listing = listing_of(hub)
        (one,) = gguf_sets(listing.files)
        facts = read_remote_facts(listing, one, kv_bytes_per_token)
        assert len(hub.requests("cdn")) == 15
    wanted = model_facts("kimi-k2.6.q4_x")
    assert facts.weights_bytes == wanted.weights_bytes
    assert facts.geometry == wanted.geometry
    assert sorted(t.name for t in facts.tensors or ()) == sorted(
        t.name for t in wanted.tensors or ()
    )


def test_a_part_that_the_repository_lacks_is_named() -> None:
    with LocalHub(REPO, split_model("kimi-linear-48b.q4_k_m", 3)[:2]) as hub:
        listing = listing_of(hub)
        (one,) = gguf_sets(listing.files)
        with pytest.raises(ModelError) as caught:
            read_remote_facts(listing, one, kv_bytes_per_token)
    assert caught.value.code is ErrorCode.MODEL_PART_MISSING
    assert caught.value.params["which"] == "3"


def test_a_listed_file_that_is_not_there_is_named() -> None:
    with LocalHub(REPO, split_model("kimi-linear-48b.q4_k_m", 2)) as hub:
        listing = listing_of(hub)
        hub.faults.add("00002-of-00002", Fault(status=404))
        (one,) = gguf_sets(listing.files)
        with pytest.raises(DownloadError) as caught:
            read_remote_facts(listing, one, kv_bytes_per_token)
    assert caught.value.code is ErrorCode.DOWNLOAD_NOT_FOUND
    sentence = describe_error(caught.value, Language.EN)[0]
    assert REPO in sentence
    assert "00002-of-00002.gguf" in sentence


def test_a_projector_under_another_name_is_no_model() -> None:
    tensors = [(f"v.{name}", shape, kind) for name, shape, kind in LLAMA_TENSORS]
    head = header_bytes(llama_metadata() | {"general.type": "mmproj"}, tensors)
    with LocalHub(REPO, [HubFile("eyes.gguf", content=head + bytes(data_bytes(tensors)))]) as hub:
        listing = listing_of(hub)
        (one,) = gguf_sets(listing.files)
        with pytest.raises(ModelError) as caught:
            read_remote_facts(listing, one, kv_bytes_per_token)
    assert caught.value.code is ErrorCode.MODEL_COMPANION
    assert "eyes.gguf" in describe_error(caught.value, Language.ZH_CN)[0]
