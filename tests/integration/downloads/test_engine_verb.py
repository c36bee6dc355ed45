"""The verb ``engine`` from its first word to its exit, against a local release server."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.downloads.engine_builds.terminal import EngineVerb
from kimi_desktop.machine.accelerators import Accelerators
from tests.support.releases import LocalReleases, program_text, tar_gz

pytestmark = pytest.mark.skipif(os.name != "posix", reason="its programs are shell scripts")

HERE = Accelerators("linux", "x64", frozenset({"nvidia"}), cuda=(13, 0), has_vulkan=True)


@pytest.fixture
def server() -> Iterator[LocalReleases]:
    release = {
        "llama-b200-bin-ubuntu-x64.tar.gz": tar_gz({"l/llama-server": program_text("b200")}),
        "llama-b200-bin-ubuntu-vulkan-x64.tar.gz": tar_gz(
            {"l/llama-server": program_text("b200", "Vulkan0")}
        ),
    }
    with LocalReleases({"b200": release}) as running:
        yield running


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    paths = AppPaths.under(tmp_path / "home")
    paths.make()
    return paths


def run(
    server: LocalReleases,
    paths: AppPaths,
    *words: str,
    kind: str | None = None,
    json_output: bool = False,
    language: Language = Language.EN,
) -> str:
    out = io.StringIO()
    action, name = (*words, "")[:2]
    with EngineVerb(
        paths,
        language,
        json_output=json_output,
        out=out,
        progress_out=io.StringIO(),
        options={"source": server.source, "look_at": lambda: HERE},
    ) as verb:
        verb.run(action, name, kind)
    return out.getvalue()


def test_from_looking_to_removing(server: LocalReleases, paths: AppPaths) -> None:
    assert "No official build is here" in run(server, paths, "list")
    looked = run(server, paths, "look")
    assert looked.startswith("b200-vulkan: Vulkan (any GPU), ")
    assert "licence MIT, from 127.0.0.1" in looked
    assert "-DGGML_CUDA=ON" in looked  # NVIDIA, and no CUDA build for this system
    assert "is ready and in use" in run(server, paths, "get")
    assert "(in use)" in run(server, paths, "list")
    run(server, paths, "use", "embedded")
    assert SettingsStore(paths.settings_file).settings.engine.llama_server == ""
    assert "b200-vulkan" in run(server, paths, "use", "b200-vulkan")
    assert "is removed" in run(server, paths, "remove", "b200-vulkan")
    assert SettingsStore(paths.settings_file).settings.engine.llama_server == ""


def test_as_json(server: LocalReleases, paths: AppPaths) -> None:
    lines = [json.loads(line) for line in run(server, paths, "get", json_output=True).splitlines()]
    assert lines[0]["event"] == "offer"
    assert lines[0]["archives"][0]["sha256"]
    assert "progress" in {line["event"] for line in lines}
    assert lines[-1]["event"] == "installed"
    assert lines[-1]["in_use"]
    (listed,) = run(server, paths, "list", json_output=True).splitlines()
    assert json.loads(listed)["devices"] == ["Vulkan0: Card"]


def test_another_kind_than_the_best(server: LocalReleases, paths: AppPaths) -> None:
    assert "b200-cpu" in run(server, paths, "get", kind="cpu")
    with pytest.raises(DownloadError) as caught:
        run(server, paths, "get", kind="cuda")
    assert caught.value.code is ErrorCode.BUILD_NO_SUCH_KIND
    assert caught.value.params["known"] == "vulkan, cpu"


def test_in_chinese(server: LocalReleases, paths: AppPaths) -> None:
    looked = run(server, paths, "look", language=Language.ZH_CN)
    assert "Vulkan（各种 GPU）" in looked
    assert "请在本机编译" in looked
