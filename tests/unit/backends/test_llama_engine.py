"""llama.cpp behind the engine interface: what its log and its counters say."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimi_desktop.backends.engines.interface import Engine, Heard, RunPlace
from kimi_desktop.backends.engines.llama_cpp import LlamaCpp
from kimi_desktop.backends.engines.prometheus import highest, samples_of, total
from kimi_desktop.backends.types import EngineMetrics

METRICS = """\
# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.
# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 1204
llamacpp:prompt_tokens_cached_total 300
llamacpp:prompt_seconds_total 2.5
llamacpp:tokens_predicted_total 512
llamacpp:tokens_predicted_seconds_total 20.5
llamacpp:requests_processing 1
llamacpp:requests_deferred 2
"""
LABELLED = """\
a:requests{engine="0",model_name="x y"} 3.0
a:requests{engine="1",model_name="x y"} 1.5
a:wait_bucket{le="0.1"} 7.0
a:requests_created{engine="0"} 1.7e+09
a:odd{engine="0"} nothing
"""


@pytest.mark.parametrize(
    ("line", "heard"),
    [
        ("srv  listening on http://127.0.0.1:41235", Heard(41235)),
        ("HTTP server listening, hostname: 127.0.0.1, port: 8080, threads: 3", Heard(8080)),
        ("server is listening on e.sock - starting the main loop", Heard()),
        ("llama_model_loader: loaded meta data", None),
    ],
)
def test_it_says_where_it_listens(line: str, heard: Heard | None) -> None:
    assert LlamaCpp().heard(line) == heard


def test_its_counters() -> None:
    assert LlamaCpp().read_metrics(METRICS) == EngineMetrics(
        running=1,
        waiting=2,
        prompt_tokens=1204,
        prompt_seconds=2.5,
        generated_tokens=512,
        generated_seconds=20.5,
        looked_up_tokens=1504,
        found_tokens=300,
    )
    assert LlamaCpp().read_metrics("<html>") == EngineMetrics()


def test_samples_with_labels_are_summed_or_compared() -> None:
    samples = samples_of(LABELLED)
    assert samples == {"a:requests": (3.0, 1.5)}
    assert total(samples, "b", "a:requests") == 4.5
    assert highest(samples, "a:requests") == 3.0
    assert total(samples, "b") is None
    assert highest(samples, "b") is None


def test_it_is_an_engine_and_its_key_file_is_private(tmp_path: Path) -> None:
    engine: Engine = LlamaCpp()
    engine.write_files(RunPlace(tmp_path, "secret"))
    (file,) = tmp_path.iterdir()
    assert file.read_text() == "secret\n"
    assert file.stat().st_mode & 0o777 == 0o600
