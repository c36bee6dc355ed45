"""The data file of hubs, and jobs that cross to the worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kimi_desktop.downloads.sources import first_chat_job
from kimi_desktop.downloads.types import HubKind, Job


def test_the_first_chat_model_is_offered_by_three_hubs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    job = first_chat_job(tmp_path)
    assert job.folder == str(tmp_path)
    assert job.target == "Qwen/Qwen3-0.6B-GGUF/Qwen3-0.6B-Q8_0.gguf"
    assert [source.kind for source in job.sources] == [
        HubKind.HUGGINGFACE,
        HubKind.HUGGINGFACE,
        HubKind.MODELSCOPE,
    ]
    assert all(source.endpoint.startswith("https://") for source in job.sources)
    assert all(not source.endpoint.endswith("/") for source in job.sources)


def test_the_users_mirror_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    assert first_chat_job(tmp_path).sources[0].endpoint == "https://mirror.example"
    monkeypatch.setenv("HF_ENDPOINT", "https://hf-mirror.com")
    assert len(first_chat_job(tmp_path).sources) == 3


def test_a_hub_without_the_model_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    data = {
        "hubs": [
            {"id": "a", "name": "A", "kind": "huggingface", "endpoint": "https://a.example"},
            {"id": "b", "name": "B", "kind": "modelscope", "endpoint": "https://b.example"},
        ],
        "first_chat": {
            "name": "M",
            "file": "m.gguf",
            "folder": "o/m",
            "repos": {"b": {"repo": "o/m", "revision": "master"}},
        },
    }
    file = tmp_path / "hubs.json"
    file.write_text(json.dumps(data))
    (source,) = first_chat_job(tmp_path, file).sources
    assert source.endpoint == "https://b.example"


def test_jobs_cross_as_json(tmp_path: Path) -> None:
    job = first_chat_job(tmp_path)
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job
