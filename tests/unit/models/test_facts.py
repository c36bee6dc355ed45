"""From headers to facts: names, quantization, thinking, companions, geometry of many families."""

from __future__ import annotations

import pytest

from kimi_desktop.models.facts import clean_text, companion_kind, facts_of
from kimi_desktop.models.geometry import Geometry, LayerKind
from kimi_desktop.models.gguf import GgufHeader, read_header
from kimi_desktop.models.types import CompanionKind, ModelFacts
from kimi_desktop.planner.cache import kv_bytes_per_token, kv_widths
from tests.support.gguf_files import (
    LLAMA_TENSORS,
    BytesSource,
    Tensor,
    Typed,
    header_bytes,
    llama_metadata,
)
from tests.support.measured import model_facts


def header(metadata: dict[str, object], tensors: list[Tensor] | None = None) -> GgufHeader:
    content = header_bytes(metadata, LLAMA_TENSORS if tensors is None else tensors)
    return read_header(BytesSource(content, 10**12), label="m")


def facts(metadata: dict[str, object], name: str = "model.gguf") -> ModelFacts:
    return facts_of([header(metadata)], name, kv_bytes_per_token)


def geometry(arch: str, **keys: object) -> Geometry:
    metadata: dict[str, object] = {
        "general.architecture": arch,
        f"{arch}.block_count": 8,
        f"{arch}.embedding_length": 512,
        f"{arch}.attention.head_count": 8,
        f"{arch}.attention.head_count_kv": 2,
    }
    metadata |= {f"{arch}.{key.replace('__', '.')}": value for key, value in keys.items()}
    many: list[Tensor] = [(f"blk.{block}.w", (32,), "F32") for block in range(40)]
    found = facts_of([header(metadata, many)], "m.gguf", kv_bytes_per_token).geometry
    assert found is not None
    return found


def kinds(found: Geometry) -> str:
    return "".join(kind.value[0] for kind in found.layers)


def test_kimi_k2() -> None:
    kimi = model_facts("kimi-k2.6.q4_x")
    assert kimi.architecture == "deepseek2"
    assert kimi.parameter_count == 1_026_408_232_448
    assert kimi.weights_bytes == 583_703_889_920 - 0
    assert (kimi.n_layer, kimi.n_expert, kimi.n_expert_used) == (61, 384, 8)
    assert kimi.context_train == 262_144
    assert kimi.kv_bytes_per_token == 70_272
    assert kimi.chat_template is None
    shape = kimi.geometry
    assert shape is not None
    assert shape.is_mla
    assert kv_widths(shape, 5) == (576, 0)
    assert shape.n_ff_shared == 2048
    assert shape.n_layer_dense_lead == 1
    assert shape.n_vocab == 163_840
    assert not shape.tied_output


def test_old_deepseek_files_keep_full_keys_and_values() -> None:
    old = geometry(
        "deepseek2",
        attention__kv_lora_rank=512,
        attention__head_count_kv=8,
        attention__key_length=192,
        attention__value_length=128,
    )
    assert not old.is_mla
    assert kv_widths(old, 0) == (8 * 192, 8 * 128)


def test_a_small_llama() -> None:
    found = facts(llama_metadata())
    assert found.name == "Tiny Llama"
    assert found.quantization == "Q4_K_M"  # by its file type
    assert found.has_thinking
    assert found.chat_template is not None
    assert found.kv_bytes_per_token == 2 * 2 * (64 + 64) * 2
    assert found.geometry is not None
    assert found.geometry.exact
    assert found.weights_bytes == sum(t.size_bytes for t in header(llama_metadata()).tensors)


@pytest.mark.parametrize(
    ("file_name", "label"),
    [
        ("Kimi-K2.6-UD-Q4_K_XL-00001-of-00014.gguf", "UD-Q4_K_XL"),
        ("kimi-k2.6.q4_x.gguf", "Q4_X"),
        ("Kimi-K3-UD-IQ1_S.gguf", "UD-IQ1_S"),
        ("gpt-oss-20b-mxfp4.gguf", "MXFP4"),
        ("Kimi-Linear-MXFP4_MOE.gguf", "MXFP4_MOE"),
        ("Qwen3-0.6B-Q8_0.gguf", "Q8_0"),
        ("model-bf16.gguf", "BF16"),
        ("Kimi-K3-UD-TQ1_0.gguf", "UD-TQ1_0"),
        ("gemma-3-270m-q4_k_m.gguf", "Q4_K_M"),
        ("smol-IQ3_KS.gguf", "IQ3_KS"),
        ("Llama-3.1-8B.gguf", "Q4_K_M"),
    ],
)
def test_quantization_labels(file_name: str, label: str) -> None:
    assert facts(llama_metadata(), file_name).quantization.removeprefix("smol-") == label


def test_quantization_without_label_is_that_of_most_weights() -> None:
    metadata = llama_metadata()
    del metadata["general.file_type"]
    assert facts(metadata).quantization == "Q6_K"
    assert facts(metadata | {"general.file_type": 999}).quantization == "Q6_K"


@pytest.mark.parametrize(
    ("name", "file_name", "shown"),
    [
        ("Kimi K2.6", "x.gguf", "Kimi K2.6"),
        ("kimi-k2.6 q4_k_m", "x.gguf", "kimi-k2.6"),
        ("Qwen3 0.6B (Q8_0)", "x.gguf", "Qwen3 0.6B"),
        ("", "My-Model-Q4_K_M-00001-of-00002.gguf", "My-Model"),
        ("bad\x1b[31m\u202ename", "x.gguf", "bad[31mname"),
        ("Q8_0", "q8_0.gguf", "q8_0"),
    ],
)
def test_names_leave_the_quantization_out(name: str, file_name: str, shown: str) -> None:
    assert facts(llama_metadata(name), file_name).name == shown


def test_quantizations_of_a_model_share_its_name() -> None:
    one = facts(llama_metadata("Kimi K2.6 Q4_K_M"), "kimi-k2.6.q4_k_m.gguf")
    other = facts(llama_metadata("Kimi K2.6 Q2_K"), "kimi-k2.6.q2_k.gguf")
    assert one.name == other.name == "Kimi K2.6"


def test_long_texts_are_cut() -> None:
    assert len(clean_text("x" * 10_000)) == 4_096
    assert clean_text("  a\n\tb  ") == "a b"


@pytest.mark.parametrize(
    ("template", "thinks"),
    [
        ("<think>", True),
        ("{{ reasoning_content }}", True),
        ("{% if enable_thinking %}", True),
        ("<|im_start|>{{ content }}", False),
        (None, False),
    ],
)
def test_thinking_is_in_the_template(template: str | None, thinks: bool) -> None:
    metadata = llama_metadata()
    del metadata["tokenizer.chat_template"]
    if template is not None:
        metadata["tokenizer.chat_template"] = template
    assert facts(metadata).has_thinking is thinks


@pytest.mark.parametrize(
    ("metadata", "tensors", "file_name", "kind"),
    [
        ({"general.type": "mmproj"}, 1, "a.gguf", CompanionKind.PROJECTOR),
        ({"general.architecture": "clip"}, 1, "a.gguf", CompanionKind.PROJECTOR),
        ({"general.type": "adapter"}, 1, "a.gguf", CompanionKind.ADAPTER),
        ({"general.architecture": "controlvector"}, 1, "a.gguf", CompanionKind.ADAPTER),
        ({"general.type": "imatrix"}, 1, "a.gguf", CompanionKind.IMPORTANCE_MATRIX),
        ({"imatrix.chunk_count": 5}, 1, "a.gguf", CompanionKind.IMPORTANCE_MATRIX),
        ({}, 1, "Kimi.imatrix.gguf", CompanionKind.IMPORTANCE_MATRIX),
        ({"general.architecture": "llama"}, 0, "vocab.gguf", CompanionKind.VOCABULARY),
        ({"general.architecture": "llama"}, 1, "a-imatrix.gguf", None),
        ({"split.count": Typed("H", 3)}, 1, "a-00002-of-00003.gguf", None),
    ],
)
def test_companions(
    metadata: dict[str, object], tensors: int, file_name: str, kind: CompanionKind | None
) -> None:
    table: list[Tensor] = [("t", (32,), "F32")] * tensors
    assert companion_kind(header(metadata, table), file_name) is kind


# which layer keeps what


def test_window_patterns() -> None:
    assert kinds(geometry("gemma3", attention__sliding_window=512)) == "wwwwwfww"
    assert kinds(geometry("gemma2", attention__sliding_window=512)) == "wfwfwfwf"
    assert kinds(geometry("gpt-oss", attention__sliding_window=128)) == "wfwfwfwf"
    assert kinds(geometry("smallthinker", attention__sliding_window=128)) == "fwwwfwww"
    assert kinds(geometry("llama4")) == "wwwfwwwf"
    assert kinds(geometry("gemma3")) == "ffffffff"
    pattern = [True, False, False, True]
    by_list = geometry(
        "gemma4", attention__sliding_window=64, attention__sliding_window_pattern=pattern
    )
    assert kinds(by_list) == "wffwwffw"
    by_number = geometry("new", attention__sliding_window=64, attention__sliding_window_pattern=2)
    assert kinds(by_number) == "wfwfwfwf"
    assert not by_number.exact
    every = geometry("new", attention__sliding_window=64, attention__sliding_window_pattern=0)
    assert kinds(every) == "wwwwwwww"


def test_a_window_in_an_architecture_without_windows_is_ignored() -> None:
    found = geometry("llama", attention__sliding_window=4096)
    assert kinds(found) == "ffffffff"
    assert found.window == 0


def test_an_unknown_architecture_is_an_estimate() -> None:
    found = geometry("brand-new", attention__sliding_window=4096)
    assert kinds(found) == "ffffffff"
    assert not found.exact
    assert facts({"general.architecture": "brand-new"}).kv_bytes_per_token == 0


def test_recurrent_layers() -> None:
    mamba = geometry(
        "mamba2", ssm__conv_kernel=4, ssm__inner_size=1024, ssm__state_size=128, ssm__group_count=1
    )
    assert kinds(mamba) == "rrrrrrrr"
    assert mamba.n_state_conv == 3 * (1024 + 256)
    assert mamba.n_state_ssm == 128 * 1024
    lfm = geometry("lfm2", shortconv__l_cache=3, attention__head_count_kv=[0, 0, 2, 0, 0, 2, 0, 2])
    assert kinds(lfm) == "rrfrrfrf"
    assert (lfm.n_state_conv, lfm.n_state_ssm) == (1024, 0)
    qwen = geometry("qwen3next", full_attention_interval=4, ssm__conv_kernel=4, ssm__state_size=1)
    assert kinds(qwen) == "rrrfrrrf"
    falcon = geometry("falcon-h1", ssm__conv_kernel=4, ssm__inner_size=64)
    assert set(falcon.layers) == {LayerKind.BOTH}
    rwkv = geometry("rwkv6", wkv__head_size=64, token_shift_count=2)
    assert (rwkv.n_state_conv, rwkv.n_state_ssm) == (1024, 512 * 64)
    nemotron = geometry(
        "nemotron_h",
        ssm__inner_size=64,
        ssm__conv_kernel=4,
        attention__head_count_kv=[0, 2, 0, 0, 0, 0, 0, 0],
        feed_forward_length=[0, 0, 512, 0, 0, 0, 0, 0],
    )
    assert kinds(nemotron) == "rfnrrrrr"


def test_layers_without_a_cache_of_their_own() -> None:
    gemma = geometry("gemma3n", block_count=22, attention__sliding_window=512)
    assert kinds(gemma)[18:] == "wfnn"
    shared = geometry("gemma4", attention__shared_kv_layers=3)
    assert kinds(shared) == "fffffnnn"
    deci = geometry("llama", attention__head_count_kv=[2, 0, 2, 2, 0, 2, 2, 2])
    assert kinds(deci) == "fnffnfff"


def test_prediction_blocks_keep_no_cache() -> None:
    glm = model_facts("glm-4.5-air.q4_k_m").geometry
    assert glm is not None
    assert (glm.n_layer, glm.n_layer_nextn, glm.n_layer_main) == (47, 1, 46)
    assert len(glm.layers) == 46


def test_hostile_counts_do_not_size_anything() -> None:
    found = geometry("llama", block_count=2**32 - 1)
    assert found.n_layer == 41  # no model has more blocks than tensors
    odd = geometry("llama", attention__head_count_kv=[2] * 3, block_count=Typed("i", -5))
    assert odd.n_layer == 0
    short = geometry("llama", attention__head_count_kv=[2, 2])
    assert short.n_head_kv == (2, 2, 0, 0, 0, 0, 0, 0)
    text = geometry("llama", attention__head_count_kv="eight")
    assert text.n_head_kv == (8,) * 8


def test_vocabulary_size_without_an_output_matrix() -> None:
    metadata = llama_metadata() | {"llama.vocab_size": 77}
    without = header(metadata, [("blk.0.attn_q.weight", (32, 32), "F32")])
    found = facts_of([without], "m.gguf", kv_bytes_per_token).geometry
    assert found is not None
    assert found.n_vocab == 77
    assert found.tied_output
