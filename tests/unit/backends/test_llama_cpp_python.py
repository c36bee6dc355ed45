"""What the server of llama-cpp-python is told, and what it is not asked for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.engines.argparse_help import parse_argparse_help
from kimi_desktop.backends.engines.llama_cpp_python import (
    LlamaCppPython,
    backends_of,
    does_without,
)
from kimi_desktop.backends.types import EngineKind, EngineOptions, LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.planner.plan_types import LoadMode, Numa
from tests.support.scripted_llama_python import DATA

HELP = (DATA / "help-0.3.36.txt").read_text(encoding="utf-8")
BUILD = EngineBuild(EngineKind.LLAMA_CPP_PYTHON, ("py",), parse_argparse_help(HELP))
PLAIN = LoadSettings(Path("/m/図 x.gguf"), kind=EngineKind.LLAMA_CPP_PYTHON, n_gpu_layers=12)


def words(settings: LoadSettings) -> list[str]:
    listening = Listening(None, Path("/run/key"), 4321)
    return list(LlamaCppPython().command(BUILD, settings, listening=listening, n_threads=6))


def value(command: list[str], flag: str) -> str:
    return command[command.index(flag) + 1]


def changed(**changes: Any) -> LoadSettings:
    return dataclasses.replace(PLAIN, **changes)


def test_the_settings_under_its_own_names() -> None:
    options = EngineOptions(lora="/m/l.gguf", speculation="ngram-simple", draft_tokens=4)
    settings = changed(
        tensor_split=(3.0, 1.0),
        context=8192,
        cache_type="q8_0",
        load_mode=LoadMode.LOCKED,
        numa=Numa.DISTRIBUTE,
        options=options,
    )
    command = words(settings)
    told = {flag: value(command, flag) for flag in command if flag.startswith("--")}
    assert told == {
        "--model": "/m/図 x.gguf",
        "--model_alias": "図 x",
        "--host": "127.0.0.1",
        "--port": "4321",
        "--n_gpu_layers": "12",
        "--tensor_split": "3",
        "--n_ctx": "8192",
        "--n_batch": str(settings.n_batch),
        "--n_ubatch": str(settings.n_ubatch),
        "--n_threads": "6",
        "--n_threads_batch": "6",
        "--use_mmap": "true",
        "--use_mlock": "true",
        "--numa": "true",
        "--type_k": "8",
        "--type_v": "8",
        "--flash_attn": "true",
        "--lora_path": "/m/l.gguf",
        "--draft_model": "prompt-lookup-decoding",
        "--draft_model_num_pred_tokens": "4",
        "--logits_all": "false",
        "--interrupt_requests": "false",
        "--verbose": "true",
    }
    assert command[command.index("--tensor_split") + 2] == "1"


def test_its_own_defaults_are_not_taken() -> None:
    command = words(changed(load_mode=LoadMode.NONE))
    assert (value(command, "--use_mmap"), value(command, "--use_mlock")) == ("false", "false")
    off = changed(options=EngineOptions(flash_attention="off"))
    assert value(words(off), "--flash_attn") == "false"


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"n_cpu_moe": 3}, "-ot / --n-cpu-moe"),
        ({"overrides": (("exps", "CPU"),)}, "-ot / --n-cpu-moe"),
        ({"load_mode": LoadMode.DIRECT}, "--load-mode dio"),
        ({"chat_template": "x"}, "--chat-template"),
        ({"options": EngineOptions(projector="/p")}, "--mmproj"),
        ({"options": EngineOptions(template_file="/t")}, "--chat-template-file"),
        ({"options": EngineOptions(speculation="draft-mtp")}, "--spec-type draft-mtp"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(changes: dict[str, Any], flag: str) -> None:
    with pytest.raises(BackendError) as caught:
        words(changed(**changes))
    assert caught.value.code is ErrorCode.ENGINE_CANNOT
    assert caught.value.params["flag"] == flag
    shown = LlamaCppPython().command(BUILD, changed(**changes), listening=None, n_threads=1)
    assert "--model" in shown  # the page can show it all the same


def test_what_it_does_without_is_told() -> None:
    (told,) = does_without(changed(n_parallel=4, numa=Numa.ISOLATE))
    assert (told.code, told.params["flag"]) == (
        ErrorCode.ENGINE_DOES_WITHOUT,
        "-np, --numa isolate",
    )
    assert does_without(PLAIN) == ()
    assert does_without(LoadSettings(Path("m"), n_parallel=4)) == ()


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("--api_key x", ErrorCode.ENGINE_BAD_ARGUMENT),
        ("--host 0.0.0.0", ErrorCode.ENGINE_FLAG_CONFLICT),
        ("--config_file x", ErrorCode.ENGINE_BAD_ARGUMENT),
        ("--no-such 1", ErrorCode.ENGINE_BAD_ARGUMENT),
        ("--n_ctx 9", ErrorCode.ENGINE_FLAG_CONFLICT),
        ("--seed '1", ErrorCode.ENGINE_FLAG_QUOTES),
    ],
)
def test_arguments_typed_by_hand_are_checked(extra: str, code: ErrorCode) -> None:
    with pytest.raises(BackendError) as caught:
        words(changed(options=EngineOptions(extra=extra)))
    assert caught.value.code is code
    assert words(changed(options=EngineOptions(extra="--seed 7")))[-2:] == ["--seed", "7"]


def test_flash_attention_off_needs_a_plain_cache() -> None:
    with pytest.raises(BackendError) as caught:
        words(changed(cache_type="q8_0", options=EngineOptions(flash_attention="off")))
    assert caught.value.code is ErrorCode.ENGINE_FLAG_CONFLICT


def test_what_it_was_built_for(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libggml-cpu.so").touch()
    assert backends_of(tmp_path) == ()
    (tmp_path / "lib" / "libggml-cuda.so").touch()
    assert backends_of(tmp_path) == ("CUDA",)
