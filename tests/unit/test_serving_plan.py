"""Which checkpoint a text means: folders, repositories, names of the catalogue; from headers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, ModelError
from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.hubs.hub import Hub
from kimi_desktop.downloads.remote_folder import is_checkpoint
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.types import HubKind
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.references import RepoReference, parse_reference
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.vllm_types import ServerEngine, ServerWishes
from kimi_desktop.serving_plan import find_served, is_checkpoint_folder, write_server_plan
from tests.support import hf_shapes
from tests.support.hub.server import LocalHub
from tests.support.planned_machines import machine

K26 = "moonshotai/Kimi-K2.6"


def remote(*endpoints: str) -> RemoteModels:
    hubs = [Hub("local", "Local", HubKind.HUGGINGFACE, endpoint) for endpoint in endpoints]
    return RemoteModels(kv_bytes_per_token, hubs=lambda: hubs)


def reference(text: str) -> RepoReference:
    found = parse_reference(text)
    assert found is not None
    return found


def test_a_folder(tmp_path: Path) -> None:
    folder = hf_shapes.write_checkpoint(tmp_path / "Kimi-K2.6", hf_shapes.kimi_k25(2))
    assert is_checkpoint_folder(str(folder))
    target = find_served(str(folder), shipped_catalogue(), remote())
    assert target.model.name == "Kimi K2.6"
    assert target.model.is_complete
    assert target.place == str(folder)
    (folder / "model.gguf").touch()
    assert not is_checkpoint_folder(str(folder))
    assert not is_checkpoint_folder(str(tmp_path / "nowhere"))


def test_a_folder_with_a_missing_part(tmp_path: Path) -> None:
    folder = hf_shapes.write_checkpoint(tmp_path / "mine", hf_shapes.kimi_k2(2), parts=3)
    (folder / "model-00002-of-00003.safetensors").unlink()
    target = find_served(str(folder), shipped_catalogue(), remote())
    assert target.entry is None
    assert target.model.name == "mine"
    assert not target.model.is_complete
    out = io.StringIO()
    write_server_plan(
        target, machine(*[140] * 2), ServerWishes(), Language.EN, out, json_output=False
    )
    assert "Parts of the model are missing" in out.getvalue()


def test_headers_of_a_repository_give_the_same_as_the_files(tmp_path: Path) -> None:
    config = hf_shapes.kimi_k25(2)
    folder = hf_shapes.write_checkpoint(tmp_path / "Kimi-K2.6", config, parts=4)
    with LocalHub(K26, hf_shapes.hub_checkpoint(config, parts=4)) as hub:
        models = remote(hub.endpoint)
        assert is_checkpoint(models.listing(reference(K26)))
        far = find_served(K26, shipped_catalogue(), models)
        by_name = find_served("Kimi K2.6", shipped_catalogue(), models)
    near = find_served(str(folder), shipped_catalogue(), remote())
    assert far.model == near.model
    assert by_name.model == far.model
    assert far.place == K26


def test_json_with_the_flags_of_the_catalogue(tmp_path: Path) -> None:
    folder = hf_shapes.write_checkpoint(tmp_path / "Kimi-K2.6", hf_shapes.kimi_k25(2))
    target = find_served(str(folder), shipped_catalogue(), remote())
    for engine, flag in (
        (ServerEngine.VLLM, "--enable-auto-tool-choice"),
        (ServerEngine.SGLANG, "--reasoning-parser"),
    ):
        out = io.StringIO()
        write_server_plan(
            target,
            machine(140),
            ServerWishes(engine=engine),
            Language.EN,
            out,
            json_output=True,
        )
        found = json.loads(out.getvalue())
        assert flag in found["flags"]
        assert found["model"]["name"] == "Kimi K2.6"
        assert found["flags"].count("--trust-remote-code") == 1


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        find_served("nothing like it", shipped_catalogue(), remote())
    assert caught.value.code is ErrorCode.MODEL_NOT_FOUND
    with pytest.raises(ModelError) as no_config:
        find_served(str(tmp_path), shipped_catalogue(), remote())
    assert no_config.value.code is ErrorCode.MODEL_NOT_FOUND
    files = hf_shapes.hub_checkpoint(hf_shapes.kimi_k2(1))
    with LocalHub("some/one", files) as hub, pytest.raises(DownloadError) as gone:
        find_served("other/one", shipped_catalogue(), remote(hub.endpoint))
    assert gone.value.code is ErrorCode.HUB_NO_REPO


def test_a_repository_without_a_config_names_it(tmp_path: Path) -> None:
    files = [file for file in hf_shapes.hub_checkpoint(hf_shapes.kimi_k2(1))
             if file.path != "config.json"]  # fmt: skip
    with LocalHub("some/one", files) as hub:
        models = remote(hub.endpoint)
        assert not is_checkpoint(models.listing(reference("some/one")))
        with pytest.raises(ModelError) as caught:
            find_served("some/one", shipped_catalogue(), models)
    assert caught.value.params["path"] == "some/one/config.json"


def test_a_part_that_the_repository_lacks() -> None:
    files = hf_shapes.hub_checkpoint(hf_shapes.kimi_k2(2), parts=3)
    kept = [file for file in files if "00002" not in file.path]
    with LocalHub("some/one", kept) as hub:
        target = find_served("some/one", shipped_catalogue(), remote(hub.endpoint))
    assert not target.model.is_complete
