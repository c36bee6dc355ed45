"""How a server engine's split is chosen, and the words about it."""

from __future__ import annotations

import dataclasses
import json
import shlex
from functools import cache

import pytest

from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.vllm_flags import command_line, server_flags, split_flags
from kimi_desktop.planner.vllm_report import (
    have_words,
    needed_sentence,
    problem_sentence,
    server_decisions,
    server_headline,
    server_lines,
    server_object,
)
from kimi_desktop.planner.vllm_search import plan_server
from kimi_desktop.planner.vllm_types import (
    CacheFormat,
    Needed,
    ServerEngine,
    ServerProblem,
    ServerSettings,
    ServerWishes,
    Split,
)
from kimi_desktop.planner.vllm_weights import VllmModel
from tests.support import hf_shapes
from tests.support.planned_machines import machine

LANGUAGES = tuple(Language)
H200 = 143_771 * MIB / GIB


@cache
def kimi() -> VllmModel:
    return hf_shapes.model_of(hf_shapes.kimi_k25(), "Kimi K2.6")


@cache
def qwen() -> VllmModel:
    return hf_shapes.model_of(hf_shapes.qwen3_8b(), "Qwen3-8B")


def eight_h200() -> Machine:
    return machine(*[H200] * 8)


# the choice


def test_plain_tensor_parallelism_over_all_gpus_goes_first() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes())
    assert plan.fits
    assert plan.forecast.settings.split == Split(8)
    assert plan.needed is None
    assert plan.alternatives[0].settings.split == Split(8, decode_context=8)
    tokens = [other.tokens for other in plan.alternatives]
    assert tokens == sorted(tokens, reverse=True)


def test_many_users_want_the_cache_spread() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes(users=20))
    assert plan.forecast.settings.split == Split(8, decode_context=8)
    assert plan.forecast.concurrency >= 20


def test_where_users_are_too_many_the_most_are_held() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes(users=1000))
    assert plan.fits
    assert plan.forecast.settings.split.decode_context == 8


def test_a_wish_for_users_that_is_missed_is_told() -> None:
    for language in LANGUAGES:
        plan = plan_server(kimi(), eight_h200(), ServerWishes(users=5000))
        told = " ".join(server_lines(plan, kimi(), eight_h200(), language, place="x"))
        assert "5,000" in told
        assert f"{plan.forecast.tokens // 5000:,}" in told
    assert "why.users" in keys(kimi(), eight_h200(), ServerWishes(users=5000))
    assert "why.users" not in keys(kimi(), eight_h200(), ServerWishes(users=20))


def named(where: Machine, *names: str) -> Machine:
    gpus = (
        dataclasses.replace(gpu, name=name) for gpu, name in zip(where.gpus, names, strict=True)
    )
    return dataclasses.replace(where, gpus=tuple(gpus))


def keys(model: VllmModel, where: Machine, wishes: ServerWishes | None = None) -> set[str]:
    plan = plan_server(model, where, wishes or ServerWishes())
    return {one.key for one in server_decisions(plan, model, where)}


def test_a_group_is_made_of_equal_gpus_where_these_are_enough() -> None:
    where = named(machine(80, 48, 80, 48), "H100", "Ada", "H100", "Ada")
    plan = plan_server(qwen(), where, ServerWishes())
    assert plan.forecast.gpus == (0, 2)
    assert "why.idle.others" in keys(qwen(), where)
    # Kinds of one size keep together, whatever their order is.
    same = named(machine(80, 80, 80, 80), "H100", "A100", "H100", "A100")
    gpus = plan_server(qwen(), same, ServerWishes()).forecast.gpus
    assert {same.gpus[number].name for number in gpus} in ({"H100"}, {"A100"})
    # Where one kind is not enough, all of them are taken.
    few = named(machine(*[H200] * 8), *["H200"] * 6, "H100", "H100")
    assert len(plan_server(kimi(), few, ServerWishes()).forecast.gpus) == 8


def test_why_all_gpus_work_for_a_small_model() -> None:
    plan = plan_server(qwen(), eight_h200(), ServerWishes())
    assert (plan.forecast.settings.split.n_gpu, plan.fewer) == (8, 1)
    assert "why.fewer" in keys(qwen(), eight_h200())
    assert plan_server(kimi(), eight_h200(), ServerWishes()).fewer is None
    assert "why.fewer" not in keys(kimi(), eight_h200())
    assert "why.fewer" not in keys(qwen(), eight_h200(), ServerWishes(split=Split(8)))
    assert "why.idle.sizes" in keys(qwen(), machine(80, 80, 80))


def test_a_split_that_the_model_does_not_allow_is_no_matter_of_cards() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes(split=Split(3)))
    assert not plan.fits
    for language in LANGUAGES:
        assert needed_sentence(plan, kimi(), eight_h200(), language) is None
        text = " ".join(server_lines(plan, kimi(), eight_h200(), language, place="x"))
        assert "180 GB" not in text
        assert problem_sentence(plan.forecast, language) is not None


def test_sglang_has_no_decode_context() -> None:
    wishes = ServerWishes(engine=ServerEngine.SGLANG, users=1000)
    plan = plan_server(kimi(), eight_h200(), wishes)
    ways = [plan.forecast, *plan.alternatives]
    assert all(way.settings.split.decode_context == 1 for way in ways)


def test_a_chosen_split_is_kept() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes(split=Split(4, 2)))
    assert plan.forecast.settings.split == Split(4, 2)
    assert not plan.alternatives


def test_the_context_is_cut_where_nobody_asked_for_it() -> None:
    plan = plan_server(qwen(), machine(24), ServerWishes())
    assert plan.fits
    assert 4096 <= plan.forecast.settings.context < 40_960
    assert plan.forecast.concurrency >= 1
    asked = plan_server(qwen(), machine(24), ServerWishes(context=40_960))
    assert not asked.fits
    assert asked.forecast.settings.context == 40_960
    assert asked.forecast.problem is not None
    assert asked.forecast.problem.kind is ServerProblem.CONTEXT


def test_the_share_follows_what_is_free() -> None:
    plan = plan_server(qwen(), machine(24), ServerWishes())
    share = plan.forecast.settings.memory_share
    assert share is not None
    assert 0.8 < share < 0.92
    fixed = plan_server(qwen(), machine(24), ServerWishes(memory_share=0.92))
    assert fixed.forecast.problem is not None
    assert fixed.forecast.problem.kind is ServerProblem.NOT_FREE


def test_the_roomiest_gpus_are_used() -> None:
    plan = plan_server(qwen(), machine(12, 80, 80), ServerWishes(split=Split(2)))
    assert plan.forecast.gpus == (1, 2)
    assert plan.forecast.devices[0].weights_bytes == 0


def test_what_it_would_take() -> None:
    poor = machine(48, 48)
    assert plan_server(kimi(), poor, ServerWishes()).needed == Needed(8, 141 * GIB)
    short = plan_server(kimi(), poor, ServerWishes(context=32_768))
    assert short.needed == Needed(8, 96 * GIB)
    assert plan_server(qwen(), machine(8), ServerWishes()).needed == Needed(1, 24 * GIB)


def test_more_than_any_cards_hold() -> None:
    giant = dataclasses.replace(
        kimi(),
        weights=dataclasses.replace(kimi().weights, embedding=2**60),
    )
    plan = plan_server(giant, machine(48), ServerWishes())
    assert plan.needed is None
    sentence = needed_sentence(plan, giant, machine(48), Language.EN)
    assert sentence is not None
    assert "32 cards" in sentence


@pytest.mark.parametrize(
    "wishes",
    [
        ServerWishes(context=0),
        ServerWishes(users=0),
        ServerWishes(memory_share=1.5),
        ServerWishes(memory_share=0.0),
        ServerWishes(n_sequences=-1),
        ServerWishes(n_batched_tokens=0),
    ],
)
def test_wishes_that_no_engine_can_fulfil(wishes: ServerWishes) -> None:
    with pytest.raises(PlanError) as caught:
        plan_server(qwen(), machine(24), wishes)
    assert caught.value.code is ErrorCode.PLAN_BAD_WISH


def test_a_model_without_tensors_cannot_be_planned() -> None:
    empty = hf_shapes.model_of(hf_shapes.qwen3_8b() | {"num_hidden_layers": 0})
    with pytest.raises(PlanError) as caught:
        plan_server(empty, machine(24), ServerWishes())
    assert caught.value.code is ErrorCode.PLAN_NO_HEADER


# the words


def test_the_sentence_about_kimi() -> None:
    plan = plan_server(kimi(), machine(48, 48), ServerWishes())
    assert needed_sentence(plan, kimi(), machine(48, 48), Language.EN) == (
        "Kimi K2.6 needs 8 x 141 GB here; you have 2 x 48 GB: use llama.cpp with experts in RAM."
    )
    assert needed_sentence(plan, kimi(), machine(48, 48), Language.ZH_CN) == (
        "Kimi K2.6 在此需要 8 × 141 GB；本机有 2 × 48 GB：请改用 llama.cpp，把专家放在内存。"
    )
    assert needed_sentence(
        plan_server(kimi(), eight_h200(), ServerWishes()), kimi(), eight_h200(), Language.EN
    ) is None  # fmt: skip


@pytest.mark.parametrize(
    ("model", "where", "words"),
    [
        (kimi, machine(), "you have no GPU: use llama.cpp with experts in RAM."),
        (kimi, machine(24, ram_gib=64), "use llama.cpp with a smaller quantization."),
        (qwen, machine(8), "use llama.cpp with some layers in RAM."),
    ],
)
def test_what_to_do_instead(model: object, where: Machine, words: str) -> None:
    assert callable(model)
    found = model()
    plan = plan_server(found, where, ServerWishes())
    sentence = needed_sentence(plan, found, where, Language.EN)
    assert sentence is not None
    assert sentence.endswith(words)


def test_a_shorter_context_is_offered_where_one_was_asked_for() -> None:
    plan = plan_server(qwen(), machine(24), ServerWishes(context=131_072))
    sentence = needed_sentence(plan, qwen(), machine(24), Language.EN)
    assert sentence is not None
    assert "or ask for a context of 3" in sentence


def test_cards_that_are_here_but_busy() -> None:
    where = machine(24)
    gpu = dataclasses.replace(where.gpus[0], vram_free_bytes=4 * GIB)
    busy = dataclasses.replace(where, gpus=(gpu,))
    plan = plan_server(qwen(), busy, ServerWishes(context=4096))
    sentence = needed_sentence(plan, qwen(), busy, Language.EN)
    assert sentence == (
        "Qwen3-8B would fit on 1 x 24 GB, which is here but not free: close what holds 20.0 GiB."
    )


def test_cards_of_several_sizes() -> None:
    assert have_words(machine(24, 48, 24), Language.EN) == "you have 1 x 48 GB and 2 x 24 GB"
    assert have_words(machine(), Language.ZH_CN) == "本机没有 GPU"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("where", "wishes"),
    [
        (eight_h200(), ServerWishes()),
        (eight_h200(), ServerWishes(users=20)),
        (eight_h200(), ServerWishes(engine=ServerEngine.SGLANG)),
        (eight_h200(), ServerWishes(split=Split(4, 2, experts=True))),
        (eight_h200(), ServerWishes(offload_bytes=10 * GIB, cache=CacheFormat.FP8, eager=True)),
        (eight_h200(), ServerWishes(split=Split(5))),
        (machine(80, 80), ServerWishes(split=Split(1, 2), context=1024)),
        (machine(24), ServerWishes()),
        (machine(), ServerWishes()),
    ],
)
@pytest.mark.parametrize("model", [kimi, qwen])
def test_every_plan_has_words(
    language: Language, where: Machine, wishes: ServerWishes, model: object
) -> None:
    assert callable(model)
    found = model()
    plan = plan_server(found, where, wishes)
    lines = server_lines(plan, found, where, language, place="a folder/model")
    assert server_headline(plan, language) == lines[0]
    assert all("{" not in line for line in lines)
    assert any("vllm serve" in line or "sglang serve" in line for line in lines) == plan.fits
    text = json.dumps(server_object(plan, found, where, language))
    assert json.loads(text)["fits"] is plan.fits


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("split", "where"),
    [
        (Split(3), machine(*[80] * 8)),
        (Split(16), machine(80)),
        (Split(1, 7), machine(*[80] * 8)),
        (Split(4, decode_context=3), machine(*[80] * 8)),
    ],
)
def test_every_refusal_has_words(split: Split, where: Machine, language: Language) -> None:
    model = hf_shapes.model_of(hf_shapes.kimi_k2(5))
    plan = plan_server(model, where, ServerWishes(split=split))
    sentence = problem_sentence(plan.forecast, language)
    assert sentence
    assert "{" not in sentence


# the command line


def test_command_line_of_vllm() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes(users=20, text_only=True))
    line = command_line(plan, "a b/Kimi", extra=("--trust-remote-code",))
    words = shlex.split(line)
    assert words[words.index("vllm") :] == [
        "vllm", "serve", "a b/Kimi", "--tensor-parallel-size", "8",
        "--decode-context-parallel-size", "8", "--max-model-len", "262144",
        "--gpu-memory-utilization", "0.92", "--language-model-only", "--trust-remote-code",
        "--host", "127.0.0.1", "--allowed-media-domains", "nowhere.invalid)",
    ]  # fmt: skip
    assert line.index("export VLLM_API_KEY && vllm serve")  # never without a key


def test_command_line_of_sglang() -> None:
    wishes = ServerWishes(engine=ServerEngine.SGLANG, split=Split(8, experts=True))
    plan = plan_server(kimi(), eight_h200(), wishes)
    words = command_line(plan, "Kimi").split()
    assert words[:8] == ["sglang", "serve", "--model-path", "Kimi", "--tp-size", "8",
                         "--ep-size", "8"]  # fmt: skip
    assert "--mem-fraction-static" in words


def test_flags_of_every_setting() -> None:
    settings = ServerSettings(
        split=Split(2, 2, 2, experts=True),
        context=8192,
        cache=CacheFormat.FP8,
        memory_share=0.5,
        eager=True,
        offload_bytes=10 * GIB,
    )
    assert server_flags(settings, extra=("--enforce-eager", "--more")) == (
        "--tensor-parallel-size", "2", "--pipeline-parallel-size", "2",
        "--data-parallel-size", "2", "--enable-expert-parallel", "--max-model-len", "8192",
        "--gpu-memory-utilization", "0.5", "--kv-cache-dtype", "fp8", "--cpu-offload-gb", "10.0",
        "--enforce-eager", "--more",
    )  # fmt: skip
    assert split_flags(settings)[-1] == "--enable-expert-parallel"


def test_code_of_the_repository_is_said_and_flagged() -> None:
    plan = plan_server(kimi(), eight_h200(), ServerWishes())
    found = server_object(plan, kimi(), eight_h200(), Language.EN)
    assert "--trust-remote-code" in found["flags"]
    assert any("makers you trust" in text for text in found["sentences"])
    plain = plan_server(qwen(), eight_h200(), ServerWishes())
    flags = server_object(plain, qwen(), eight_h200(), Language.EN)["flags"]
    assert "--trust-remote-code" not in flags
