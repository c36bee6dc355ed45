"""The real huggingface_hub client against the local hub: it is not only our own idea of a hub."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.downloads.imports.importer import Importer
from kimi_desktop.downloads.imports.layouts import find_models
from kimi_desktop.downloads.imports.types import Origin, Witness
from tests.support.hub.content import HubFile
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub

REPO = "org/small-chat"
HEAD = (2).to_bytes(8, "little") + b"{}"
"""As safetensors files begin."""
TOKEN = "hf_thisIsOnlyOfTheTests"

# In a process of its own: the client reads its settings when it is imported.
PROGRAM = """
import json, sys
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError
asked = json.load(sys.stdin)
try:
    path = snapshot_download(asked["repo"], revision=asked["revision"], etag_timeout=60)
    print(json.dumps({"path": path, "models": [m.id for m in HfApi().list_models(search="chat")]}))
except HfHubHTTPError as error:
    print(json.dumps({"error": type(error).__name__}))
"""


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile("README.md", content=b"# Small chat\n" * 50, lfs=False),
        HubFile("config.json", content=b'{"model_type": "kimi"}', lfs=False),
        # Not offered over Xet, whose chunk protocol the local hub does not speak.
        HubFile("weights/model-00001-of-00002.safetensors", 12 * 2**20 + 5, xet=False, head=HEAD),
        HubFile("weights/model-00002-of-00002.safetensors", 3 * 2**20, xet=False, head=HEAD),
    ]
    with LocalHub(REPO, files, page_entries=2) as running:
        running.accounts[TOKEN] = Account("ada", frozenset({REPO}))
        yield running


def ask(hub: LocalHub, home: Path, *, repo: str = REPO, revision: str = "main") -> dict[str, Any]:
    environment = {
        **os.environ,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_TOKEN": TOKEN,
        "NO_PROXY": "*",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({"repo": repo, "revision": revision}),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def test_it_downloads_everything(hub: LocalHub, tmp_path: Path) -> None:
    answer = ask(hub, tmp_path)
    folder = Path(answer["path"])
    assert folder.name == hub.commit
    for file in hub.files:
        content = (folder / file.path).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file.sha256, file.path
    assert answer["models"] == [REPO]
    assert len(hub.requests("hub", "/tree/")) == 3
    assert {r.token for r in hub.requests("cdn")} == {None}
    assert {r.token for r in hub.requests("hub", "/resolve/")} == {f"Bearer {TOKEN}"}


def test_its_cache_is_imported(hub: LocalHub, tmp_path: Path) -> None:
    ask(hub, tmp_path)
    (model,) = find_models(tmp_path)
    assert (model.origin, model.name) == (Origin.HUGGINGFACE, REPO)
    assert {file.target for file in model.files} == {file.path for file in hub.files}
    assert {file.witness for file in model.files} == {Witness.LISTING}
    (result,) = Importer(tmp_path / "ours").run([model])
    assert result.is_whole
    for file in result.files:
        assert file.is_proven
        assert (tmp_path / "ours" / REPO / file.file.target).stat().st_size == file.file.size_bytes


def test_it_reads_our_refusals(hub: LocalHub, tmp_path: Path) -> None:
    assert ask(hub, tmp_path, repo="org/none") == {"error": "RepositoryNotFoundError"}
    assert ask(hub, tmp_path, revision="none") == {"error": "RevisionNotFoundError"}
    hub.repos[0].gated = "manual"
    hub.repos[0].hides_listing = True
    hub.accounts[TOKEN] = Account("ada")
    assert ask(hub, tmp_path) == {"error": "GatedRepoError"}
