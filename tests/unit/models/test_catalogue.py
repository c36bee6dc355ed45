"""The catalogue that ships says what is known, and any slip in a file is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.models.catalogue import read_catalogue, shipped_catalogue
from kimi_desktop.models.catalogue_types import Engine, Holds, Hub, Quality, Thinking
from kimi_desktop.planner.speed_shapes import find_shape
from tests.support.measured import model_facts

GB = 10**9
GIB = 2**30


def test_the_family_is_there_the_newest_first() -> None:
    assert [model.id for model in shipped_catalogue()] == [
        "kimi-k3",
        "kimi-k2.7-code",
        "kimi-k2.6",
        "kimi-k2.5",
        "kimi-k2-thinking",
        "kimi-linear-48b",
        "kimi-k2-0905",
        "kimi-k2",
        "kimi-dev-72b",
        "kimi-vl-a3b-thinking",
        "kimi-vl-a3b",
        "moonlight-16b-a3b",
    ]


def test_kimi_k26_as_people_need_it() -> None:
    model = shipped_catalogue().find("Kimi K2.6")
    assert model
    assert (model.total_parameters, model.active_parameters) == (1_026 * GB, 32 * GB)
    assert model.context_tokens == 262_144
    assert model.thinking is Thinking.OPTIONAL
    assert model.native.size_bytes == 594_200_000_000
    best = model.quantization("ud-q4_k_xl")
    assert best
    assert (best.size_bytes, best.shards, best.quality) == (584 * GB, 14, Quality.NEAR_LOSSLESS)
    assert best.note
    assert "Q8_0" in best.note.text(Language.EN)
    assert "专家" in best.note.text(Language.ZH_CN)
    exact = model.quantization("Q4_X", "ubergarm/Kimi-K2.6-GGUF")
    assert exact
    assert exact.size_bytes == round(543.6 * GIB)
    assert model.quantization("Q4_X", "unsloth/Kimi-K2.6-GGUF") is None
    assert model.quantization("Q9") is None
    assert model.projector
    assert model.projector.size_bytes == 908_000_000
    thinking, instant = model.preset("thinking"), model.preset("instant")
    assert thinking
    assert instant
    assert (thinking.temperature, thinking.top_p) == (1.0, 0.95)
    assert (instant.temperature, instant.top_p) == (0.6, 0.95)
    assert model.preset("default") is None
    vllm = model.floor(Engine.VLLM)
    assert vllm
    assert vllm.min_version == "0.19.1"
    assert {"--trust-remote-code", "--enable-auto-tool-choice"} <= set(vllm.flags)
    assert not any("quantization" in flag for flag in vllm.flags)
    assert model.floor(Engine.MLX) is None
    template = model.chat_template
    assert template
    assert template.stop_token_id == 163_586
    assert template.thinking_switch == "thinking"
    assert template.thinking_tags == ("<think>", "</think>")


def test_a_model_with_one_mode_has_its_sampling_under_any_name() -> None:
    model = shipped_catalogue().find("kimi-k2-thinking")
    assert model
    preset = model.preset("default")
    assert preset
    assert (preset.temperature, preset.top_p) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("kimi-k2.6", "kimi-k2.6"),
        (" KIMI K2.6 ", "kimi-k2.6"),
        ("moonshotai/kimi-k2.6", "kimi-k2.6"),
        ("unsloth/Kimi-K3-GGUF", "kimi-k3"),
        ("kimi_k2", "kimi-k2"),
        ("moonshotai/Kimi-K2-Base", "kimi-k2"),
        ("kimi", None),
        ("", None),
    ],
)
def test_names_and_repositories_are_found(name: str, found: str | None) -> None:
    model = shipped_catalogue().find(name)
    assert (model and model.id) == found


def test_the_same_size_does_not_make_the_same_model() -> None:
    """594 GB: the native K2.6, and one bit of K3."""
    k3, k26 = shipped_catalogue().find("kimi-k3"), shipped_catalogue().find("kimi-k2.6")
    assert k3
    assert k26
    one_bit = k3.quantization("UD-IQ1_S")
    assert one_bit
    assert one_bit.size_bytes == 594 * GB
    assert k26.native.size_bytes == pytest.approx(594 * GB, rel=0.001)
    assert one_bit.note


@pytest.mark.parametrize("model", shipped_catalogue().models, ids=lambda model: model.id)
def test_every_model_can_be_fetched_somewhere(model: Any) -> None:
    natives = {repo.hub for repo in model.repos if repo.holds is Holds.NATIVE}
    assert natives == {Hub.HUGGINGFACE, Hub.MODELSCOPE}
    assert model.sources
    # Bits per parameter of what has a size: between one bit and BF16.
    for size in (model.native.size_bytes, *(item.size_bytes for item in model.quantizations)):
        if size is not None:
            assert 1.2 < size * 8 / model.total_parameters < 16.6
    gguf = {repo.id for repo in model.repos if repo.holds is Holds.GGUF}
    for item in model.quantizations:
        reads_gguf = {Engine.LLAMA_CPP, Engine.IK_LLAMA_CPP} & set(item.engines)
        assert bool(reads_gguf) == (item.repo in gguf)
        assert item.engines
    if model.modalities != ("text",) and model.gguf_architecture == "deepseek2":
        assert model.projector_architecture in ("kimik25", "kimivl")


def test_what_is_unknown_is_null_not_invented() -> None:
    model = shipped_catalogue().find("kimi-vl-a3b")
    assert model
    assert model.thinking is None
    assert model.chat_template is None
    assert model.quantizations == ()
    assert model.preset("default") is None
    k3 = shipped_catalogue().find("kimi-k3")
    assert k3
    assert k3.sampling[0].confirmed is False
    assert k3.license.confirmed is False


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("kimi-k2.6", "kimi-k2.6.q4_x"),
        ("kimi-k3", "kimi-k3.mxfp4"),
        ("kimi-linear-48b", "kimi-linear-48b.q4_k_m"),
    ],
)
def test_parameters_and_architectures_are_those_of_the_headers(name: str, header: str) -> None:
    model, facts = shipped_catalogue().find(name), model_facts(header)
    assert model
    assert model.gguf_architecture == facts.architecture
    assert model.total_parameters == pytest.approx(facts.parameter_count, rel=0.005)
    assert model.context_tokens == facts.context_train
    shape = find_shape(model.id)
    assert shape
    assert shape.active_params == pytest.approx(model.active_parameters, rel=0.1)


# slips


def changed(folder: Path, change: dict[str, Any]) -> Path:
    shutil.copytree(asset("catalogue"), folder, dirs_exist_ok=True)
    path = folder / "kimi-k2.6.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | change), encoding="utf-8")
    return folder


REPO = {"hub": "huggingface", "id": "a/b", "holds": "gguf", "confirmed": True}
FILE = {"name": "Q4", "repo": "a/b", "size_gb": 1, "shards": 1, "engines": ["llama.cpp"]}
PRESET = {
    "mode": "x",
    "temperature": 1,
    "top_p": 1,
    "min_p": None,
    "confirmed": True,
    "source": "x",
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"schema": 2}, "schema"),
        ({"schema": "1"}, "schema"),
        ({"id": "kimi-k2.7-code"}, "id"),
        ({"id": "Kimi K2"}, "id"),
        ({"name": ""}, "name"),
        ({"released": "April"}, "released"),
        ({"released": "2026-13"}, "released"),
        ({"colour": "blue"}, "colour"),
        ({"parameters": {"total": 5, "active": 6}}, "parameters.active"),
        ({"parameters": {"total": -5, "active": 1}}, "parameters.total"),
        ({"parameters": {"total": 5, "active": 1, "spare": 1}}, "parameters.spare"),
        ({"parameters": None}, "parameters"),
        ({"context_tokens": 0}, "context_tokens"),
        ({"context_tokens": True}, "context_tokens"),
        ({"modalities": ["text", "smell"]}, "modalities"),
        ({"thinking": "sometimes"}, "thinking"),
        ({"chat_template": "unheard-of"}, "chat_template"),
        ({"license": {"name": "MIT", "confirmed": "yes"}}, "license.confirmed"),
        ({"license": {"name": "MIT", "confirmed": True, "note": {"en": "x"}}}, "license.note.zh"),
        ({"native": {"format": "x", "size_gb": 1, "size_gib": 1}}, "native.size_gib"),
        ({"native": {"format": "x", "size_gb": -1}}, "native.size_gb"),
        ({"native": {"format": "x", "size_gb": float("nan")}}, "native.size_gb"),
        ({"repos": {}}, "repos"),
        ({"repos": [REPO | {"id": "https://x/y"}]}, "repos[0].id"),
        ({"repos": [REPO | {"id": "../x"}]}, "repos[0].id"),
        ({"repos": [REPO | {"hub": "elsewhere"}]}, "repos[0].hub"),
        ({"repos": [REPO, 5]}, "repos[1]"),
        ({"quantizations": [FILE]}, "quantizations[0].repo"),
        ({"repos": [REPO], "projector": None, "quantizations": [FILE | {"shards": 0}]},
         "quantizations[0].shards"),
        ({"repos": [REPO], "projector": None, "quantizations": [FILE | {"engines": ["x"]}]},
         "quantizations[0].engines"),
        ({"repos": [REPO], "projector": None, "quantizations": [FILE | {"quality": "nice"}]},
         "quantizations[0].quality"),
        ({"projector": {"repo": "a/b", "format": "F16", "size_gb": 1}}, "projector.repo"),
        ({"sampling": [PRESET | {"temperature": 3}]}, "sampling[0].temperature"),
        ({"sampling": [PRESET | {"top_p": "1"}]}, "sampling[0].top_p"),
        ({"sources": "me"}, "sources"),
    ],
)  # fmt: skip
def test_a_slip_is_named(tmp_path: Path, change: dict[str, Any], field: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_catalogue(changed(tmp_path, change))
    assert caught.value.code is ErrorCode.CATALOGUE_DAMAGED
    assert caught.value.params["field"] == field
    assert str(caught.value.params["path"]).endswith("kimi-k2.6.json")
    for language in Language:
        assert field in describe_error(caught.value, language)[0]


@pytest.mark.parametrize("text", ["", "{", "[]", "\xff"])
def test_a_file_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelError) as caught:
        read_catalogue(tmp_path)
    assert caught.value.code is ErrorCode.CATALOGUE_DAMAGED


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    with pytest.raises(ModelError) as caught:
        read_catalogue(tmp_path)
    assert caught.value.code is ErrorCode.MODEL_UNREADABLE


def test_a_template_with_half_a_pair_of_tags_is_refused(tmp_path: Path) -> None:
    folder = changed(tmp_path, {})
    path = folder / "templates" / "kimi-k2.5.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(data | {"thinking_tags": ["<think>"]}), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        read_catalogue(folder)
    assert caught.value.params["field"] == "thinking_tags"


def test_a_new_file_is_a_new_model(tmp_path: Path) -> None:
    folder = changed(tmp_path, {})
    data = json.loads((folder / "kimi-k2.6.json").read_text(encoding="utf-8"))
    data |= {"id": "kimi-next", "name": "Kimi Next", "released": "2027-01-02"}
    (folder / "kimi-next.json").write_text(json.dumps(data), encoding="utf-8")
    assert next(iter(read_catalogue(folder))).name == "Kimi Next"
    assert len(read_catalogue(folder).models) == len(shipped_catalogue().models) + 1
