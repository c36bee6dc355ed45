"""Flags become llama.cpp's parameters: against a record of what was set, and the real structure."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
import xllamacpp

from kimi_desktop.backends.embedded import fill_params, placement_rules
from kimi_desktop.backends.embedded_flags import CLOSED_ORIGIN, EXPERTS, parse_flags


def filled(*arguments: str) -> Any:
    params = types.SimpleNamespace(
        model=types.SimpleNamespace(),
        cpuparams=types.SimpleNamespace(),
        cpuparams_batch=types.SimpleNamespace(),
    )
    fill_params(params, parse_flags(["-m", "/m/kimi.gguf", *arguments]), xllamacpp)
    return params


def test_it_is_closed_by_default() -> None:
    params = filled()
    assert params.model.path == "/m/kimi.gguf"
    assert params.model_alias == {"kimi.gguf"}
    assert params.cors_origins == CLOSED_ORIGIN
    assert params.cors_credentials is False
    assert params.endpoint_slots is False
    assert params.endpoint_metrics is False
    assert params.ui is False
    assert params.offline is True
    assert params.port == 0
    assert not hasattr(params, "n_ctx")


def test_numbers_and_switches() -> None:
    params = filled(
        "-c", "8192", "-b", "1024", "-ub", "256", "-np", "3", "-ngl", "7", "-mg", "1", "-t", "4",
        "-nkvo", "--swa-full", "-kvu", "-cram", "512", "--no-warmup", "--check-tensors", "-lv", "2",
        "--no-jinja", "--metrics", "--slots", "-a", "kimi", "--cors-origins", "http://a", "--port",
        "8080", "--fit", "off",
    )  # fmt: skip
    assert (params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel) == (
        8192,
        1024,
        256,
        3,
    )
    assert (params.n_gpu_layers, params.main_gpu) == (7, 1)
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 4
    assert params.no_kv_offload is True
    assert params.swa_full is True
    assert params.kv_unified is True
    assert params.cache_ram_mib == 512
    assert params.warmup is False
    assert params.check_tensors is True
    assert params.verbosity == 2
    assert params.use_jinja is False
    assert params.endpoint_metrics is True
    assert params.endpoint_slots is True
    assert params.model_alias == {"kimi"}
    assert params.cors_origins == "http://a"
    assert params.port == 8080
    assert params.fit_params is False


def test_words_become_llama_cpps_enums() -> None:
    params = filled(
        "-ctk", "q8_0", "-ctv", "iq4_nl", "-fa", "off", "--load-mode", "dio", "-sm", "row",
        "--numa", "distribute", "--reasoning-format", "deepseek-legacy", "-tb", "8",
    )  # fmt: skip
    assert params.cache_type_k is xllamacpp.ggml_type.GGML_TYPE_Q8_0
    assert params.cache_type_v is xllamacpp.ggml_type.GGML_TYPE_IQ4_NL
    assert params.flash_attn_type.name == "LLAMA_FLASH_ATTN_TYPE_DISABLED"
    assert params.load_mode.name == "LLAMA_LOAD_MODE_DIRECT_IO"
    assert params.split_mode.name == "LLAMA_SPLIT_MODE_ROW"
    assert params.numa.name == "GGML_NUMA_STRATEGY_DISTRIBUTE"
    assert params.reasoning_format.name == "COMMON_REASONING_FORMAT_DEEPSEEK_LEGACY"
    assert params.cpuparams_batch.n_threads == 8


@pytest.mark.parametrize("flag", ["-ctk", "-fa", "--load-mode", "-sm", "--numa"])
def test_every_choice_exists_in_the_installed_llama_cpp(flag: str) -> None:
    from kimi_desktop.backends.embedded_flags import FLAGS  # noqa: PLC0415

    [choices] = [entry.choices for entry in FLAGS if flag in entry.names]
    for choice in choices:
        filled(flag, choice)


def test_what_a_plan_may_switch_off() -> None:
    usual = filled()
    for name in ("no_op_offload", "no_extra_bufts", "no_kv_offload"):
        assert not hasattr(usual, name)
    params = filled("--no-op-offload", "--no-repack", "-nkvo", "--load-mode", "mmap+mlock")
    assert params.no_op_offload
    assert params.no_extra_bufts
    assert params.no_kv_offload
    assert params.load_mode.name == "LLAMA_LOAD_MODE_MMAP_MLOCK"


def test_placement_rules_in_order() -> None:
    flags = parse_flags(["-m", "x", "-ot", "a=CPU,b=CUDA0", "-ot", "c=CPU", "-ncmoe", "2", "-cmoe"])
    assert placement_rules(flags) == [
        "a=CPU",
        "b=CUDA0",
        "c=CPU",
        f"{EXPERTS}=CPU",
        rf"blk\.0{EXPERTS}=CPU",
        rf"blk\.1{EXPERTS}=CPU",
    ]


def test_the_real_structure_takes_all_of_it(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages }}", encoding="utf-8")
    params = xllamacpp.CommonParams()
    flags = parse_flags(
        [
            *("-m", "x", "-ts", "3,1", "-ncmoe", "1", "-r", "stop", "-c", "77", "-ngl", "all"),
            *("--chat-template-file", str(template)),
        ]
    )
    fill_params(params, flags, xllamacpp)
    assert params.tensor_split[:3] == [3.0, 1.0, 0.0]
    assert params.tensor_buft_overrides == rf"blk\.0{EXPERTS}=CPU"
    assert params.antiprompt == ["stop"]
    assert params.n_ctx == 77
    assert params.n_gpu_layers == -2
    assert params.chat_template == "{{ messages }}"


def test_a_buffer_type_that_this_build_lacks() -> None:
    flags = parse_flags(["-m", "x", "-ot", "a=NoSuchBuffer"])
    with pytest.raises(ValueError, match="unknown buffer type"):
        fill_params(xllamacpp.CommonParams(), flags, xllamacpp)
