from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ServeError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.serve.snippets import curl_line, openai_lines, python_lines
from kimi_desktop.serve.target import model_name

URL = "http://127.0.0.1:8080/v1"
NAMES = ["tiny-kimi.q8_0", 'It\'s "quoted" $HOME `x` \\', "显存 模型"]


@pytest.mark.parametrize("model", NAMES)
def test_a_shell_reads_the_curl_line_as_meant(model: str) -> None:
    words = shlex.split(curl_line(URL, "kd-key", model))
    assert words[0] == "curl"
    assert f"{URL}/chat/completions" in words
    assert "Authorization: Bearer kd-key" in words
    assert json.loads(words[words.index("-d") + 1])["model"] == model


@pytest.mark.parametrize("model", NAMES)
def test_the_python_lines_are_python(model: str) -> None:
    for lines in (python_lines(URL, "kd-key", model), openai_lines(URL, "kd-key", model)):
        compile(lines, "snippet", "exec")
        assert repr(model) in lines
        assert len(lines.splitlines()) <= 16


def test_a_model_is_called_by_its_file_without_part_number() -> None:
    assert model_name(Path("/m/Kimi-K2.6-UD-Q4_K_XL-00001-of-00014.gguf")) == "Kimi-K2.6-UD-Q4_K_XL"
    assert model_name(Path("tiny-kimi.q8_0.gguf")) == "tiny-kimi.q8_0"


@pytest.mark.parametrize("language", Language)
def test_failures_have_words(language: Language) -> None:
    taken = ServeError(ErrorCode.SERVE_PORT_TAKEN, {"port": 8080, "free_port": 8081})
    what, next_step = describe_error(taken, language)
    assert "8080" in what
    assert "8081" in next_step
    assert all(describe_error(ServeError(ErrorCode.SERVE_FAILED, {"detail": "x"}), language))
