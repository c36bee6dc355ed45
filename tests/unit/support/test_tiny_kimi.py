"""The tiny model is what the tests believe it is."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from tests.support.tiny_kimi import Shape, make_tiny_kimi
from tests.support.tiny_kimi_scripts import said


def test_the_header_has_kimis_shape(tiny_kimi: Path) -> None:
    reader = gguf.GGUFReader(tiny_kimi)
    fields = {name: field.contents() for name, field in reader.fields.items()}

    assert fields["general.architecture"] == "deepseek2"
    assert fields["tokenizer.ggml.pre"] == "kimi-k2"
    assert fields["deepseek2.attention.kv_lora_rank"] == 32
    assert fields["deepseek2.expert_count"] == 8
    assert "<think>" in fields["tokenizer.chat_template"]
    assert {tensor.name for tensor in reader.tensors} >= {
        "blk.0.ffn_gate.weight",
        "blk.1.ffn_gate_exps.weight",
        "blk.1.exp_probs_b.bias",
        "blk.2.attn_k_b.weight",
    }


def test_parts_carry_all_tensors_and_llama_cpps_names(tmp_path: Path, tiny_kimi: Path) -> None:
    first = make_tiny_kimi(tmp_path / "tiny.gguf", split=3)

    parts = sorted(tmp_path.glob("*.gguf"))
    assert first == parts[0]
    assert [part.name for part in parts] == [f"tiny-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    whole = [tensor.name for tensor in gguf.GGUFReader(tiny_kimi).tensors]
    split = [tensor.name for part in parts for tensor in gguf.GGUFReader(part).tensors]
    assert split == whole


def test_the_same_bytes_on_every_run(tmp_path: Path, tiny_kimi: Path) -> None:
    assert make_tiny_kimi(tmp_path / "again.gguf").read_bytes() == tiny_kimi.read_bytes()


def test_more_experts_make_a_larger_file(tmp_path: Path, tiny_kimi: Path) -> None:
    large = make_tiny_kimi(tmp_path / "large.gguf", shape=Shape(n_expert=32))
    assert large.stat().st_size > 2 * tiny_kimi.stat().st_size


def test_too_many_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="split"):
        make_tiny_kimi(tmp_path / "tiny.gguf", split=1000)


def test_visible_text_of_a_script() -> None:
    assert said("hello") == "Somebody greets me, so I shall greet them back."
    assert said("hello_fast") == "Hello from the tiny model 🌙\nAll is well."
    assert said("count").startswith(" 1, 2, 3,")
    assert said("chinese").startswith("好的")
