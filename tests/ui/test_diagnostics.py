"""What leaves the machine by the clipboard has no keys, names or home folders in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QDate

from kimi_desktop.backends.types import EngineState, EngineStatus, LoadSettings
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.redaction import redact
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.diagnostics import diagnostics_text
from kimi_desktop.ui.language import LanguageSwitch
from tests.support.scripted_data import NOW, two_gpu_box


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("loading /home/ada/models/k.gguf", "ada"),
        ("loading /Users/ada/models/k.gguf", "ada"),
        (r"loading C:\Users\ada\models\k.gguf", "ada"),
        ("user ada said", "ada"),
        ("Authorization: Bearer abc.DEF-123", "abc"),
        ("--api-key s3cret", "s3cret"),
        ("api_key=s3cret", "s3cret"),
        ("HF token: hf_abcdefghij", "hf_abc"),
        ("sk-abcdefghijk in use", "sk-abc"),
        ("key 0123456789abcdef0123456789ABCDEF end", "0123456789"),
    ],
)
def test_private_things_are_removed(text, gone):
    assert gone not in redact(text, home="/home/ada", user="ada")


@pytest.mark.parametrize("text", ["n_ctx = 131072", "llama.cpp b11549", "token count 512 ok"])
def test_facts_stay(text):
    assert redact(text, home="/root", user="root").split()[0] == text.split()[0]
    assert redact("n_ctx = 131072", home="/root", user="root") == "n_ctx = 131072"


def test_a_report_has_what_a_maintainer_asks_for():
    error = ModelError(
        ErrorCode.MODEL_BAD_HEADER,
        {"path": "/home/ada/k.gguf", "field": "general.type", "offset": 24, "value": "7"},
    )
    status = EngineStatus(
        EngineState.FAILED,
        settings=LoadSettings(Path("/home/ada/k.gguf"), n_gpu_layers=62),
        engine_name="llama.cpp b11549",
        error=error,
        log_tail=("line one", "line two"),
    )
    text = diagnostics_text(status, two_gpu_box(), "ignored")
    for wanted in ("EPYC", "755.4 GiB", "GPU 1:", "b11549", "n_gpu_layers=62", "line two"):
        assert wanted in text
    assert "general.type" in text
    assert "ada" not in text


def test_a_report_without_a_look_at_the_machine_takes_the_log():
    text = diagnostics_text(EngineStatus(EngineState.STOPPED), None, "a\nb")
    assert text.endswith("a\nb")


def test_days_are_written_as_the_language_does(qapp):
    switch = LanguageSwitch(qapp)
    assert day_text(NOW, today=QDate(2026, 12, 1)) == "30 Nov"
    assert day_text(NOW, today=QDate(2027, 1, 1)) == "30 Nov 2026"
    assert len(time_text(NOW)) == 5
    switch.choose(LanguageChoice.ZH_CN)
    assert day_text(NOW, today=QDate(2026, 12, 1)) == "11月30日"
    assert day_text(NOW, today=QDate(2027, 1, 1)) == "2026年11月30日"
    switch.choose(LanguageChoice.EN)
