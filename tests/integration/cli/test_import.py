"""The verb ``import`` as a user types it."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kimi_desktop.base.paths import AppPaths
from tests.integration.cli.test_verbs import environment, run


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths.under(tmp_path / "a profile 月")


def ollama(folder: Path, data: bytes) -> Path:
    digest = hashlib.sha256(data).hexdigest()
    blob = folder / "blobs" / f"sha256-{digest}"
    manifest = folder / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "latest"
    for path in (blob, manifest):
        path.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    manifest.write_text(json.dumps({"layers": [layer]}), encoding="utf-8")
    return blob


def test_a_model_of_ollama_becomes_one_of_the_library(
    paths: AppPaths, tiny_kimi: Path, tmp_path: Path
) -> None:
    blob = ollama(tmp_path / "ollama", tiny_kimi.read_bytes())
    done = run(paths, "import", str(tmp_path / "ollama"), "--lang", "zh_CN")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ollama/tiny-latest" in done.stdout
    (model,) = json.loads(run(paths, "models", "--json").stdout)
    assert model["state"] == "ready"
    assert Path(model["id"]).read_bytes() == blob.read_bytes()
    again = run(paths, "import", str(tmp_path / "ollama"), "--json")
    last = json.loads(again.stdout.splitlines()[-1])
    assert [file["outcome"] for file in last["files"]] == ["already_there"]


def test_a_damaged_one_is_told(paths: AppPaths, tmp_path: Path) -> None:
    blob = ollama(tmp_path / "ollama", b"GGUF" + bytes(1000))
    blob.write_bytes(b"GGUF" + bytes(999) + b"x")
    done = run(paths, "import", str(tmp_path / "ollama"), "--lang", "en")
    assert done.returncode == 1
    assert "damaged" in done.stdout
    assert len(done.stderr.splitlines()) == 2
    assert not (paths.default_models_folder / "ollama").exists()


def test_nothing_there(paths: AppPaths, tmp_path: Path) -> None:
    done = run(paths, "import", str(tmp_path / "none"), "--lang", "en")
    assert done.returncode == 1
    assert done.stderr.startswith("There is nothing at ")
    assert run(paths, "import").returncode == 0  # lists the usual places


def test_ctrl_c(paths: AppPaths, tmp_path: Path) -> None:
    with (tmp_path / "m.gguf").open("wb") as file:
        file.write(b"GGUF")
        file.truncate(40 * 2**30)  # takes longer than anybody waits
    process = subprocess.Popen(
        [sys.executable, "-m", "kimi_desktop", "import", str(tmp_path / "m.gguf"), "--json"],
        env=environment(paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while '"progress"' not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (paths.default_models_folder / "imported").exists()


def test_a_model_by_the_name_that_ollama_lists(
    paths: AppPaths, tiny_kimi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ollama(tmp_path / "ollama", tiny_kimi.read_bytes())
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "ollama"))
    done = run(paths, "import", "--ollama", "tiny")
    assert (done.returncode, done.stderr) == (0, "")
    assert (paths.default_models_folder / "ollama/tiny-latest/tiny-latest.gguf").is_file()
    missing = run(paths, "import", "--ollama", "other:7b")
    assert missing.returncode == 1
    assert "other:7b" in missing.stderr
