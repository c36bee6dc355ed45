"""Every text in both languages. Words are checked by people, completeness here."""

from __future__ import annotations

import string

import pytest

from kimi_desktop.base import messages
from kimi_desktop.base.errors import ErrorCode, HardwareError, KimiError
from kimi_desktop.base.messages import (
    TOPICS,
    Language,
    describe_error,
    message,
    system_language,
)
from kimi_desktop.base.messages.text import Text

ALL = [(topic, key, text) for topic, texts in TOPICS.items() for key, text in texts.items()]
BETWEEN = {"machine.comma"}  # what joins words may end in a blank


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


@pytest.mark.parametrize(("topic", "key", "text"), ALL, ids=[key for _, key, _ in ALL])
def test_both_languages_say_the_same(topic: str, key: str, text: Text) -> None:
    assert key.startswith(f"{topic}.")
    for words in filter(None, text):
        assert words.strip() == words or key in BETWEEN
    assert text.en.strip()
    assert text.zh.strip()
    assert fields(text.en) == fields(text.zh)
    assert fields(text.one) <= fields(text.en)
    assert "" not in fields(text.en)  # {} has no name to fill


def test_rates_are_told_in_chinese() -> None:
    assert [key for _, key, text in ALL if "tok/s" in text.zh] == []


def test_texts_are_filled_in_both_languages() -> None:
    assert message("machine.core.many", Language.EN, count=16) == "16 cores"
    assert message("machine.core.many", Language.ZH_CN, count=16) == "16 核"


def test_one_of_a_kind_is_no_plural() -> None:
    for count in (1, "1"):
        text = message("plan.why.threads.wished", Language.EN, count=count)
        assert text == "One thread, as you chose."
    assert "2 threads" in message("plan.why.threads.wished", Language.EN, count=2)
    assert "1 个" in message("plan.why.threads.wished", Language.ZH_CN, count=1)


@pytest.mark.parametrize("wait", [250, "250", 250.4])
def test_a_time_to_wait_is_in_words(wait: object) -> None:
    english = message("hubs.busy", Language.EN, host="h", wait_s=wait)
    assert "4 min 10 s" in english
    assert "4 分 10 秒" in message("hubs.busy", Language.ZH_CN, host="h", wait_s=wait)


def test_a_key_or_field_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError):
        message("machine.unheard_of", Language.EN)
    with pytest.raises(KeyError):
        message("unheard_of.topic", Language.EN)
    with pytest.raises(KeyError):
        message("machine.core.many", Language.EN)


@pytest.mark.parametrize("language", list(Language))
def test_an_error_is_described_in_two_sentences(language: Language) -> None:
    error = HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "RAM"})
    what, then = describe_error(error, language)
    assert "RAM" in what
    assert then == message("machine.probe_failed.next", language)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize(
    ("error", "word"), [(ValueError("bad luck"), "ValueError: bad luck"), (KeyError(), "KeyError")]
)
def test_any_exception_is_described(language: Language, error: BaseException, word: str) -> None:
    what, then = describe_error(error, language)
    assert word in what
    assert then


def test_an_error_whose_fields_are_missing_is_described_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = KimiError(ErrorCode.MACHINE_PROBE_FAILED)
    what, then = describe_error(error, Language.EN)
    assert "machine.probe_failed" in what
    assert then
    assert "no text for" in caplog.text


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, Language.ZH_CN),
        ({"LANG": "zh_TW.UTF-8"}, Language.ZH_CN),
        ({"LANG": "en_US.UTF-8"}, Language.EN),
        ({"LANG": "C.UTF-8"}, Language.EN),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, Language.ZH_CN),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "de_DE.UTF-8"}, Language.EN),
        ({"LANG": "", "LC_ALL": ""}, Language.EN),
    ],
)
def test_the_environment_chooses_the_language(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], language: Language
) -> None:
    monkeypatch.setattr(messages.locale, "getlocale", lambda: (None, None))
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert system_language() is language


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("Chinese (Simplified)_China", Language.ZH_CN),
        ("zh_CN", Language.ZH_CN),
        ("English_United States", Language.EN),
        (None, Language.EN),
    ],
)
def test_without_an_environment_the_system_does(
    monkeypatch: pytest.MonkeyPatch, name: str | None, language: Language
) -> None:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(messages.locale, "getlocale", lambda: (name, None))
    assert system_language() is language


def test_codes_name_their_topic() -> None:
    assert {code.value.partition(".")[0] for code in ErrorCode} <= set(TOPICS)


def test_an_error_prints_its_code_and_facts() -> None:
    cause = OSError("disk")
    error = HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "RAM"}, cause=cause)
    assert str(error) == "machine.probe_failed(part='RAM')"
    assert error.__cause__ is cause
