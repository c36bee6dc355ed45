from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import ChatRequest, LoadSettings, Sampling
from kimi_desktop.base.errors import ChatError, ErrorCode
from kimi_desktop.base.settings import ChatSettings
from kimi_desktop.chat.presets import SAMPLING, AnswerSettings, Preset, answer_settings
from kimi_desktop.chat.prompt import build_request, surely_fits, title_from, within
from kimi_desktop.chat.types import Finish, Message, Role

PLAIN = AnswerSettings(Sampling())


def turn(number: int, role: Role, text: str, reasoning: str = "") -> Message:
    return Message(number, role, text, reasoning)


def test_a_request_holds_the_system_prompt_and_the_turns_without_reasoning() -> None:
    path = [
        turn(1, Role.USER, "q1"),
        turn(2, Role.ASSISTANT, "a1", reasoning="secret thoughts"),
        turn(3, Role.USER, "q2"),
    ]
    request = build_request(path, AnswerSettings(Sampling(0.5), "Be brief.", thinking=False))
    assert request.messages == (
        ("system", "Be brief."),
        ("user", "q1"),
        ("assistant", "a1"),
        ("user", "q2"),
    )
    assert request.sampling.temperature == 0.5
    assert request.thinking is False


def test_an_answer_without_text_is_left_out_and_the_questions_are_joined() -> None:
    path = [
        turn(1, Role.USER, "q1"),
        Message(2, Role.ASSISTANT, "", "only thoughts", Finish.FAILED),
        turn(3, Role.USER, "q2"),
    ]
    request = build_request(path, AnswerSettings(Sampling(), "  "))
    assert request.messages == (("user", "q1\n\nq2"),)


@given(st.lists(st.tuples(st.sampled_from(Role), st.text(max_size=5)), max_size=12))
def test_roles_take_turns_whatever_is_in_the_chat(turns: list[tuple[Role, str]]) -> None:
    path = [turn(number, role, text) for number, (role, text) in enumerate(turns)]
    roles = [role for role, _ in build_request(path, PLAIN).messages]
    assert all(a != b for a, b in pairwise(roles))
    assert all(text.strip() for _, text in build_request(path, PLAIN).messages)


def test_only_a_request_that_may_be_too_long_needs_counting() -> None:
    short = ChatRequest((("user", "hi"),), Sampling(max_tokens=46))
    assert surely_fits(short, 64)
    assert not surely_fits(short, 63)
    assert not surely_fits(ChatRequest((("user", "显" * 400),), Sampling(max_tokens=1)), 1200)
    assert not surely_fits(ChatRequest((("user", "hi"),), Sampling(max_tokens=4096)), 2048)


def test_an_answer_gets_the_room_that_is_left() -> None:
    request = ChatRequest((("user", "hi"),), Sampling(max_tokens=100))
    assert within(request, 50, 4096) == request
    assert within(request, 4090, 4096).sampling.max_tokens == 6
    with pytest.raises(ChatError) as caught:
        within(request, 4096, 4096)
    assert caught.value.code is ErrorCode.CHAT_TOO_LONG
    assert caught.value.params == {"needed": 4096, "context": 4096}


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("Explain MLA. Then compare it with GQA.", "Explain MLA."),
        ("\n\n  # **Plan** a `trip`\nto Rome", "Plan a trip"),
        ("- buy milk", "buy milk"),
        ("3.5 or 4?", "3.5 or 4?"),
        ("为什么天空是蓝色的？请简单解释。", "为什么天空是蓝色的？"),
        (
            "Write a Python function that reads a GGUF header and prints it",
            "Write a Python function that reads a…",
        ),
        ("显存" * 30, "显存" * 10 + "…"),
        ("x" * 100, "x" * 40 + "…"),
        ("```\n***\n", ""),
        ("", ""),
    ],
)
def test_titles(question: str, title: str) -> None:
    assert title_from(question) == title


@given(st.text(max_size=300))
def test_a_title_is_one_short_line(question: str) -> None:
    title = title_from(question)
    assert len(title) <= 41
    assert len(title.splitlines()) <= 1
    assert title == title.strip()


def test_the_settings_ask_for_what_the_user_chose() -> None:
    chosen = ChatSettings(0.3, 0.8, 99, thinking=False, system_prompt="Sys")
    load = LoadSettings(Path("m.gguf"))
    assert answer_settings(chosen, load) == AnswerSettings(Sampling(0.3, 0.8, 99), "Sys", False)
    assert answer_settings(chosen, None).sampling.max_tokens == 99


def test_a_base_model_gets_the_demo_with_its_stops() -> None:
    load = LoadSettings(Path("m.gguf"), chat_template="Question: ...", stop=("\nQuestion:",))
    settings = answer_settings(ChatSettings(system_prompt="Sys"), load)
    assert settings.sampling == replace(SAMPLING[Preset.BASE_DEMO], stop=("\nQuestion:",))
    assert (settings.system_prompt, settings.thinking) == ("", None)
