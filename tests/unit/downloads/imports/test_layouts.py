"""Whose folder it is, and what is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.imports.layouts import find_in_places, find_models, find_of_ollama
from kimi_desktop.downloads.imports.places import Place, usual_places
from kimi_desktop.downloads.imports.types import FoundModel, Origin, Witness
from tests.unit.downloads.imports.conftest import (
    content,
    git_sha1,
    hf_repo,
    ollama_store,
    put,
    sha256,
)

CONFIG = b'{"model_type": "kimi_k25"}'


def targets(model: FoundModel) -> list[str]:
    return [file.target for file in model.files]


def only(path: Path) -> FoundModel:
    (model,) = find_models(path)
    return model


# Hugging Face


def test_the_hugging_face_cache(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    model = content("m")
    repo = hf_repo(
        hub,
        "unsloth/Kimi--K2-GGUF",
        {"Q8_0/m.gguf": model, "config.json": CONFIG, "pytorch_model.bin": b"x", "a.png": b"y"},
    )
    hf_repo(hub, "org/tokenizer-only", {"tokenizer.json": b"{}"})
    put(hub / "models--no-snapshots--x" / "refs" / "main", "c" * 40)
    put(hub / "datasets--a--b" / "snapshots" / "c" / "x.gguf", model)
    put(hub / "version.txt", "1")
    snapshot = repo / "snapshots" / ("c" * 40)
    for path in (tmp_path, hub, repo, snapshot, snapshot / "Q8_0"):
        found = only(path)
        assert (found.origin, found.name) == (Origin.HUGGINGFACE, "unsloth/Kimi--K2-GGUF")
        assert targets(found) == ["Q8_0/m.gguf", "config.json"]
        weights, config = found.files
        assert (weights.sha256, weights.git_sha1) == (sha256(model), None)
        assert (config.sha256, config.git_sha1) == (None, git_sha1(CONFIG))
        assert {file.witness for file in found.files} == {Witness.STORE}
        assert found.missing == ()
        assert found.size_bytes == len(model) + len(CONFIG)


def test_the_snapshot_that_main_names(tmp_path: Path) -> None:
    repo = hf_repo(tmp_path, "a/b", {"old.gguf": content("o")}, "a" * 40)
    hf_repo(tmp_path, "a/b", {"new.gguf": content("n")}, "b" * 40)
    assert targets(only(repo)) == ["new.gguf"]
    put(repo / "refs" / "main", "a" * 40)
    assert targets(only(repo)) == ["old.gguf"]
    (repo / "refs" / "main").unlink()
    assert len(targets(only(repo))) == 1


def test_the_hubs_listing_beside_the_files(tmp_path: Path) -> None:
    data = content("m")
    repo = hf_repo(tmp_path, "a/b", {"m.gguf": data, "config.json": CONFIG, "x.json": b"{}"})
    listed = {
        "m.gguf": {"size": 1, "blob_id": "d" * 40, "lfs_sha256": sha256(data)},
        "config.json": {"size": 1, "blob_id": git_sha1(CONFIG)},
        "x.json": 5,
        "odd.json": {"blob_id": "?"},
    }
    put(repo / "trees" / f"{'c' * 40}.json", json.dumps({"format_version": 1, "files": listed}))
    config, weights, other = sorted(only(repo).files, key=lambda file: file.target)
    assert (weights.sha256, weights.witness) == (sha256(data), Witness.LISTING)
    assert (config.git_sha1, config.witness) == (git_sha1(CONFIG), Witness.LISTING)
    assert other.witness is Witness.STORE
    put(repo / "trees" / f"{'c' * 40}.json", "[]")
    assert {file.witness for file in only(repo).files} == {Witness.STORE}


def test_blobs_that_several_repositories_share(tmp_path: Path) -> None:
    data = content("m")
    repo = hf_repo(tmp_path, "a/b", {"m.gguf": data})
    blob = repo / "blobs" / sha256(data)
    shared = tmp_path / "blobs" / "ab" / ("ab" * 32)  # named by Xet, not by a hash of its bytes
    shared.parent.mkdir(parents=True)
    blob.rename(shared)
    blob.symlink_to(shared)
    (file,) = only(repo).files
    assert file.sha256 == sha256(data)


def test_a_download_that_was_cut_off(tmp_path: Path) -> None:
    repo = hf_repo(tmp_path, "a/b", {"m-1.gguf": content("1"), "m-2.gguf": content("2")})
    (repo / "blobs" / sha256(content("2"))).unlink()
    put(repo / "blobs" / f"{sha256(content('2'))}.12345678.incomplete", b"half")
    found = only(repo)
    assert (targets(found), found.missing) == (["m-1.gguf"], ("m-2.gguf",))


def test_real_files_instead_of_links(tmp_path: Path) -> None:
    put(tmp_path / "models--a--b" / "snapshots" / "c1" / "m.gguf", content("m"))
    (file,) = only(tmp_path).files
    assert (file.sha256, file.witness) == (None, Witness.NOBODY)
    odd = put(tmp_path / "models--a--b" / "blobs" / "readable-name", content("x"))
    (tmp_path / "models--a--b" / "snapshots" / "c1" / "x.gguf").symlink_to(odd)
    assert only(tmp_path).files[1].witness is Witness.NOBODY


# ModelScope


def test_the_modelscope_cache(tmp_path: Path) -> None:
    cache = tmp_path / "modelscope"
    put(cache / "models" / "moonshotai--Kimi-K2" / "snapshots" / "master" / "m.gguf", content("m"))
    put(cache / "models" / "moonshotai--Kimi-K2" / "snapshots" / "master" / ".msc", "x")
    for path in (cache, cache / "models", cache / "models" / "moonshotai--Kimi-K2"):
        found = only(path)
        assert (found.origin, found.name) == (Origin.MODELSCOPE, "moonshotai/Kimi-K2")
        assert targets(found) == ["m.gguf"]
    old = tmp_path / "hub" / "models"
    put(old / "Qwen" / "Qwen2___5-7B" / "q.gguf", content("q"))
    put(old / "Qwen" / "only-text" / "README.md", "x")
    put(old / "._____temp" / "Qwen" / "half.gguf", content("h"))
    (found,) = find_in_places([Place(Origin.MODELSCOPE, old)])
    assert (found.name, targets(found)) == ("Qwen/Qwen2.5-7B", ["q.gguf"])


# Ollama


def test_ollamas_store(tmp_path: Path) -> None:
    model, projector = content("llama"), content("clip")
    ollama_store(
        tmp_path / "models",
        {
            "llama3/8b": {"model": model, "projector": projector, "license": b"MIT"},
            "hosted/cloud": {"license": b"MIT"},
            "mlx/latest": {"model": b"not a gguf"},
        },
    )
    put(tmp_path / "models/manifests/registry.ollama.ai/ada/mine/v1", b"{}")
    put(tmp_path / "models/manifests/short", b"{}")
    for path in (tmp_path, tmp_path / "models"):
        found = only(path)
        assert (found.origin, found.name) == (Origin.OLLAMA, "ollama/llama3-8b")
        assert targets(found) == ["llama3-8b.gguf", "mmproj-llama3-8b.gguf"]
        assert found.files[0].sha256 == sha256(model)
        assert found.files[0].witness is Witness.STORE


def test_ollama_with_gaps_and_parts(tmp_path: Path) -> None:
    digests = [sha256(content(name)) for name in ("a", "b")]
    layers: list[object] = [
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
        for digest in digests
    ]
    layers += [7, {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../x"}]
    put(tmp_path / "blobs" / f"sha256-{digests[0]}", content("a"))
    put(tmp_path / "manifests/hf.co/ada/kimi/Q4", json.dumps({"layers": layers}))
    found = only(tmp_path)
    assert found.name == "ada/kimi-Q4"
    assert targets(found) == ["kimi-Q4-00001-of-00002.gguf"]
    assert found.missing == ("kimi-Q4-00002-of-00002.gguf",)
    (tmp_path / "blobs" / f"sha256-{digests[0]}").unlink()
    with pytest.raises(DownloadError):
        find_models(tmp_path)


# LM Studio and Jan


def test_lm_studio(tmp_path: Path) -> None:
    home = tmp_path / ".lmstudio"
    put(home / "settings.json", json.dumps({"downloadsFolder": str(home / "models")}))
    put(home / "models" / "unsloth" / "Kimi-GGUF" / "m-Q8_0.gguf", content("m"))
    put(home / "models" / "unsloth" / "Kimi-GGUF" / "mmproj-F16.gguf", content("p"))
    put(home / "models" / "stray.gguf", content("s"))
    for path in (home, home / "models"):
        stray, found = sorted(find_models(path), key=lambda model: model.name)
        assert (found.origin, found.name) == (Origin.LM_STUDIO, "unsloth/Kimi-GGUF")
        assert targets(found) == ["m-Q8_0.gguf", "mmproj-F16.gguf"]
        assert stray.name == "imported/models"


def test_jan(tmp_path: Path) -> None:
    models = tmp_path / "llamacpp" / "models"
    data = content("m")
    put(models / "qwen3-4b" / "model.gguf", data)
    put(models / "qwen3-4b" / "mmproj.gguf", content("p"))
    put(
        models / "qwen3-4b" / "model.yml",
        f"model_path: llamacpp/models/qwen3-4b/model.gguf\nname: Qwen3 4B\n"
        f"size_bytes: {len(data)}\nmodel_sha256: {sha256(data)}\n",
    )
    put(models / "unsloth" / "Kimi" / "model.gguf", content("k"))
    put(models / "unsloth" / "Kimi" / "model.yml", "name: 'Kimi'\n")
    (found, other) = find_in_places([Place(Origin.JAN, models)])
    assert (found.origin, found.name) == (Origin.JAN, "jan/qwen3-4b")
    assert targets(found) == ["mmproj-qwen3-4b.gguf", "qwen3-4b.gguf"]
    assert (found.files[1].sha256, found.files[1].witness) == (sha256(data), Witness.LISTING)
    assert found.files[0].sha256 is None
    assert (other.name, targets(other)) == ("unsloth/Kimi", ["Kimi.gguf"])
    assert {model.name for model in find_models(models)} == {"jan/qwen3-4b", "unsloth/Kimi"}


# any folder


def test_any_folder(tmp_path: Path) -> None:
    put(tmp_path / "mine" / "a.gguf", content("a"))
    put(tmp_path / "mine" / "notes.txt", "x")
    put(tmp_path / "mine" / ".hidden" / "h.gguf", content("h"))
    put(tmp_path / "unsloth" / "Kimi" / "UD-Q2_K_XL" / "k-00001-of-00002.gguf", content("1"))
    put(tmp_path / "unsloth" / "Kimi" / "UD-Q2_K_XL" / "k-00002-of-00002.gguf", content("2"))
    put(tmp_path / "unsloth" / "Kimi" / "mmproj-F16.gguf", content("p"))
    mine, kimi = find_models(tmp_path)
    assert (mine.origin, mine.name, targets(mine)) == (Origin.FOLDER, "imported/mine", ["a.gguf"])
    assert kimi.name == "unsloth/Kimi"
    assert targets(kimi) == [
        "UD-Q2_K_XL/k-00001-of-00002.gguf",
        "UD-Q2_K_XL/k-00002-of-00002.gguf",
        "mmproj-F16.gguf",
    ]


def test_a_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "Kimi-K2"
    for name in ("config.json", "model.safetensors", "tokenizer.model", "LICENSE", "modeling.py"):
        put(folder / name, b"{}")
    put(folder / "pytorch_model.bin", b"x")
    put(folder / "picture.png", b"x")
    found = only(folder)
    assert (found.name, len(found.files)) == ("imported/Kimi-K2", 5)
    assert "pytorch_model.bin" not in targets(found)
    (folder / "config.json").unlink()
    with pytest.raises(DownloadError):
        find_models(folder)


def test_one_file_and_its_set(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        put(tmp_path / f"k-0000{number}-of-00003.gguf", content(str(number)))
    put(tmp_path / "other.gguf", content("o"))
    assert len(only(tmp_path / "k-00002-of-00003.gguf").files) == 3
    assert targets(only(tmp_path / "other.gguf")) == ["other.gguf"]
    put(tmp_path / "st" / "config.json", b"{}")
    put(tmp_path / "st" / "model.safetensors", b"x")
    assert len(only(tmp_path / "st" / "model.safetensors").files) == 2
    put(tmp_path / "text.txt", "x")
    with pytest.raises(DownloadError):
        find_models(tmp_path / "text.txt")


def test_what_hf_download_left(tmp_path: Path) -> None:
    data = content("m")
    put(tmp_path / "m.gguf", data)
    put(tmp_path / "n.gguf", content("n"))
    put(
        tmp_path / ".cache/huggingface/download/m.gguf.metadata",
        f"{'c' * 40}\n{sha256(data)}\n1790000000.0\n",
    )
    put(tmp_path / ".cache/huggingface/download/n.gguf.metadata", "one line")
    first, second = only(tmp_path).files
    assert (first.sha256, first.witness) == (sha256(data), Witness.LISTING)
    assert second.witness is Witness.NOBODY
    put(tmp_path / ".cache/huggingface/download/n.gguf.metadata", f"c\n{'d' * 40}\n1\n")
    assert only(tmp_path).files[1].git_sha1 == "d" * 40


def test_checksums_beside_the_weights(tmp_path: Path) -> None:
    put(tmp_path / "m.gguf", content("m"))
    put(tmp_path / "SHA256SUMS", f"{'a' * 64}  m.gguf\n")
    (file,) = only(tmp_path).files
    assert (file.sha256, file.witness) == ("a" * 64, Witness.SUMS)


def test_names_that_meet(tmp_path: Path) -> None:
    put(tmp_path / "x" / "deep" / "a" / "m" / "m.gguf", content("1"))
    put(tmp_path / "y" / "deep" / "a" / "m" / "m.gguf", content("2"))
    assert {model.name for model in find_models(tmp_path)} == {"a/m", "a/m-2"}


def test_names_of_folders_are_made_safe(tmp_path: Path) -> None:
    put(tmp_path / "a|b" / "c?d.gguf", content("1"))
    put(tmp_path / "a|b" / "fine.gguf", content("2"))
    (found,) = find_models(tmp_path)
    assert found.name == "imported/a-b"
    assert targets(found) == ["fine.gguf"]  # a name that cannot be written here is left out


@pytest.mark.parametrize("what", ["nothing", "empty"])
def test_nothing_there(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "empty":
        path.mkdir()
    with pytest.raises(DownloadError) as caught:
        find_models(path)
    expected = ErrorCode.IMPORT_NOTHING if what == "empty" else ErrorCode.IMPORT_NOT_THERE
    assert caught.value.code is expected
    for language in Language:
        assert all(describe_error(caught.value, language))


# the usual places


def test_usual_places(tmp_path: Path) -> None:
    put(
        tmp_path / ".lmstudio" / "settings.json",
        json.dumps({"downloadsFolder": str(tmp_path / "big" / "lm")}),
    )
    by_origin: dict[Origin, list[str]] = {}
    for place in usual_places(tmp_path, {}, "Linux"):
        by_origin.setdefault(place.origin, []).append(str(place.path).replace(str(tmp_path), "~"))
    assert by_origin == {
        Origin.HUGGINGFACE: ["~/.cache/huggingface/hub"],
        Origin.FOLDER: ["~/.cache/llama.cpp"],
        Origin.MODELSCOPE: [
            "~/.cache/modelscope/models",
            "~/.cache/modelscope/hub/models",
            "~/.cache/modelscope/hub",
        ],
        Origin.LM_STUDIO: ["~/big/lm", "~/.lmstudio/models", "~/.cache/lm-studio/models"],
        Origin.JAN: [
            "~/.local/share/Jan/data/llamacpp/models",
            "~/.config/Jan/data/llamacpp/models",
        ],
        Origin.OLLAMA: ["~/.ollama/models", "/usr/share/ollama/.ollama/models"],
    }


@pytest.mark.parametrize(
    ("variables", "system", "expected"),
    [
        ({"HF_HOME": "/hf"}, "Linux", (Origin.HUGGINGFACE, "/hf/hub")),
        ({"HF_HUB_CACHE": "/hub", "HF_HOME": "/hf"}, "Linux", (Origin.HUGGINGFACE, "/hub")),
        ({"LLAMA_CACHE": "/llama"}, "Linux", (Origin.HUGGINGFACE, "/llama")),
        ({"XDG_CACHE_HOME": "/c"}, "Linux", (Origin.HUGGINGFACE, "/c/huggingface/hub")),
        ({"OLLAMA_MODELS": "~/o"}, "Linux", (Origin.OLLAMA, "HOME/o")),
        ({"MODELSCOPE_CACHE": "/ms"}, "Linux", (Origin.MODELSCOPE, "/ms/models")),
        (
            {}, "Darwin",
            (Origin.JAN, "HOME/Library/Application Support/Jan/data/llamacpp/models"),
        ),
        ({}, "Darwin", (Origin.FOLDER, "HOME/Library/Caches/llama.cpp")),
        ({"APPDATA": "/r"}, "Windows", (Origin.JAN, "/r/Jan/data/llamacpp/models")),
        ({"LOCALAPPDATA": "/l"}, "Windows", (Origin.FOLDER, "/l/llama.cpp")),
    ],
)  # fmt: skip
def test_variables_and_systems(
    tmp_path: Path, variables: dict[str, str], system: str, expected: tuple[Origin, str]
) -> None:
    found = [
        (place.origin, str(place.path).replace(str(tmp_path), "HOME"))
        for place in usual_places(tmp_path, variables, system)
    ]
    assert expected in found


@pytest.mark.parametrize("text", ["", "[]", '{"downloadsFolder": 5}', '{"downloadsFolder": " "}'])
def test_settings_of_lm_studio_that_say_nothing(tmp_path: Path, text: str) -> None:
    put(tmp_path / ".lmstudio" / "settings.json", text)
    places = [p for p in usual_places(tmp_path, {}, "Linux") if p.origin is Origin.LM_STUDIO]
    assert len(places) == 2


def test_places_that_are_one_folder(tmp_path: Path) -> None:
    put(tmp_path / "a" / "o" / "m" / "m.gguf", content("m"))
    (tmp_path / "b").symlink_to(tmp_path / "a")
    places = [
        Place(Origin.LM_STUDIO, tmp_path / "a"),
        Place(Origin.LM_STUDIO, tmp_path / "b"),
        Place(Origin.OLLAMA, tmp_path / "none"),
    ]
    assert [model.name for model in find_in_places(places)] == ["o/m"]


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        ("registry.ollama.ai/library/gemma3/270m", "gemma3:270m"),
        ("registry.ollama.ai/library/gemma3/latest", "gemma3:latest"),
        ("registry.ollama.ai/library/gemma3/latest", "gemma3"),
        ("registry.ollama.ai/ada/mine/v1", "ada/mine:v1"),
        ("hf.co/unsloth/Kimi-K2.6-GGUF/UD-Q2_K_XL", "hf.co/unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL"),
        ("hf.co/unsloth/Kimi-K2.6-GGUF/ud-q2_k_xl", "hf.co/unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL"),
        ("localhost/a/b/c", "localhost/a/b:c"),
    ],
)
def test_the_file_behind_a_name_of_ollamas_list(tmp_path: Path, manifest: str, name: str) -> None:
    digest = sha256(content("m"))
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}]
    put(tmp_path / "blobs" / f"sha256-{digest}", content("m"))
    put(tmp_path / "manifests" / manifest, json.dumps({"layers": layers}))
    put(tmp_path / "manifests/registry.ollama.ai/library/zzz/270m", json.dumps({"layers": layers}))
    places = [Place(Origin.HUGGINGFACE, tmp_path), Place(Origin.OLLAMA, tmp_path)]
    found = find_of_ollama(name, places)
    assert found.place == tmp_path / "manifests" / manifest
    for other in ("270m", "other:270m", "x/gemma3:270m", "gemma3:1b"):
        with pytest.raises(DownloadError) as caught:
            find_of_ollama(other, places)
        assert caught.value.code is ErrorCode.SERVER_NOT_IN_STORE
