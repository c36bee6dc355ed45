"""Which model ``plan`` means, and what it says: files, names, the catalogue, a hub, no network."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError, ModelError, PlanError
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.downloads.hubs import control
from kimi_desktop.downloads.hubs.hub import Hub
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.types import HubKind
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.speed_factors import Factors, shipped_speed_data
from kimi_desktop.planning import Finder, Target, write_plan
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.large_models import split_model
from tests.support.hub.repos import Repo
from tests.support.hub.server import LocalHub
from tests.support.machines import gpu, machine, memory
from tests.support.measured import model_facts, model_header_bytes

K26 = "unsloth/Kimi-K2.6-GGUF"
LINEAR = "ymcki/Kimi-Linear-48B-A3B-Instruct-GGUF"
OTHER = "org/Some-Model-GGUF"
LANGUAGES = list(Language)


def renamed(files: list[HubFile], folder: str, name: str) -> list[HubFile]:
    parts = len(files)
    return [
        dataclasses.replace(file, path=f"{folder}/{name}-{number:05}-of-{parts:05}.gguf")
        for number, file in enumerate(files, start=1)
    ]


@pytest.fixture(scope="module")
def hub() -> Iterator[LocalHub]:
    """Kimi K2.6 in two quantizations, and a model that the catalogue does not know."""
    files = [
        *renamed(split_model("kimi-k2.6.q4_x", 4), "UD-Q4_K_XL", "Kimi-K2.6-UD-Q4_K_XL"),
        *renamed(split_model("kimi-k2.6.q2_k", 2), "UD-Q2_K_XL", "Kimi-K2.6-UD-Q2_K_XL"),
        HubFile("mmproj-F16.gguf", size_bytes=10**9),
    ]
    linear = split_model("kimi-linear-48b.q4_k_m", 1)[0]
    small = dataclasses.replace(linear, path="Some-Model-Q4_K_M.gguf")
    with LocalHub(K26, files) as running:
        running.repos.append(Repo.of(OTHER, [small]))
        running.repos[-1].tags = ("gguf",)
        running.repos.append(Repo.of("org/native", [HubFile("model.safetensors", 10**6)]))
        yield running


@pytest.fixture(autouse=True)
def clean(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(control, "MAX_WAIT_S", 0.01, raising=False)
    yield
    hub.faults.clear()
    hub.log.clear()


@pytest.fixture
def finder(hub: LocalHub) -> Finder:
    return finder_for(hub, machine())


def finder_for(
    hub: LocalHub,
    found: Machine,
    local: tuple[LocalModel, ...] = (),
    library: Library | None = None,
) -> Finder:
    hubs = (
        Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint),
        Hub("modelscope", "ModelScope", HubKind.MODELSCOPE, hub.modelscope),
    )
    remote = RemoteModels(kv_bytes_per_token, hubs=lambda: hubs)
    return Finder(library or Library(kv_bytes_per_token), local, shipped_catalogue(), remote, found)


def said(
    target: Target,
    found: Machine,
    language: Language = Language.EN,
    factors: Factors | None = None,
) -> str:
    out = io.StringIO()
    write_plan(target, found, Wishes(), language, out, json_output=False, factors=factors)
    return out.getvalue()


def speed_of(text: str) -> str:
    return next(line for line in text.splitlines() if "tok/s" in line)


def as_json(target: Target, found: Machine, wishes: Wishes | None = None) -> dict[str, object]:
    out = io.StringIO()
    write_plan(target, found, wishes or Wishes(), Language.EN, out, json_output=True)
    data: dict[str, object] = json.loads(out.getvalue())
    return data


def refused(finder: Finder, text: str) -> KimiError:
    with pytest.raises(KimiError) as caught:
        finder.find(text)
    for language in LANGUAGES:
        assert all(describe_error(caught.value, language))
    return caught.value


# the catalogue


def test_a_catalogue_name_is_planned_by_the_header_on_the_hub(finder: Finder) -> None:
    target = finder.find("kimi-k2.6:ud-q4_k_xl")
    assert target.facts is not None
    assert target.facts.weights_bytes == model_facts("kimi-k2.6.q4_x").weights_bytes
    assert target.place == f"{K26}:UD-Q4_K_XL"
    assert not target.was_chosen
    text = said(target, machine())
    assert text.startswith("Fits in VRAM + RAM")
    assert "-m Kimi-K2.6-UD-Q4_K_XL-00001-of-00004.gguf" in text


def test_what_was_learned_changes_the_speed_and_is_told(hub: LocalHub, finder: Finder) -> None:
    shipped = shipped_speed_data().factors
    learned = dataclasses.replace(shipped, ram=shipped.ram * 0.5, runs=1_200)
    exact = finder.find("kimi-k2.6:UD-Q4_K_XL")
    with hub.offline():
        estimate = finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL")
    for target in (exact, estimate):
        before, after = said(target, machine()), said(target, machine(), factors=learned)
        assert speed_of(before) != speed_of(after)
        assert "measured on this machine: 1,200." in after
        assert "measured on this machine" not in before


def test_without_a_quantization_the_best_one_for_the_machine(hub: LocalHub) -> None:
    tight = machine(gpus=(gpu(0, 47.5),), memory=memory(377))
    target = finder_for(hub, tight).find("Kimi K2.6")
    assert (target.quantization, target.was_chosen) == ("UD-Q2_K_XL", True)
    assert said(target, tight).startswith("Kimi K2.6: UD-Q2_K_XL (")
    assert as_json(target, tight)["model"]["chosen"] is True  # type: ignore[index]


def test_what_helps_is_memory_or_another_quantization(finder: Finder) -> None:
    target = finder.find("kimi-k2.6:UD-Q4_K_XL")
    small = machine(memory=memory(400), gpus=(gpu(0, 31.84),))
    found = as_json(target, small)
    assert found["fits"] is False
    words = [one["words"] for one in found["alternatives"]]  # type: ignore[attr-defined]
    assert any(word.startswith("UD-Q2_K_XL") for word in words)
    assert any(word.endswith("more RAM") for word in words)


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_network_the_estimate_says_that_it_is_one(
    hub: LocalHub, language: Language
) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL")
    assert target.facts is None
    assert target.why is not None
    text = said(target, machine(), language)
    assert describe_error(target.why, language)[0] in text
    assert "llama-server -m Kimi-K2.6-UD-Q4_K_XL.gguf" in text
    found = as_json(target, machine())
    assert found["exact"] is False
    exact = as_json(finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL"), machine())
    assert set(found) == set(exact)
    assert found["verdict"] == exact["verdict"]
    assert found["flags"] == exact["flags"]  # one planner: the same layers, the same experts


def test_wishes_count_without_a_header_too(hub: LocalHub) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL")
    found = as_json(target, machine(), Wishes(n_gpu_layers=40, n_cpu_moe=61, context=4096))
    assert found["n_gpu_layers"] == 40
    assert found["context"] == 4096
    with pytest.raises(PlanError) as caught:
        as_json(target, machine(), Wishes(n_gpu_layers=500))
    assert caught.value.code is ErrorCode.PLAN_TOO_MANY_LAYERS


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_engine_is_not_asked_without_a_header_and_that_is_said(
    hub: LocalHub, language: Language
) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL")
    out = io.StringIO()
    write_plan(target, machine(), Wishes(), language, out, json_output=False, wants_check=True)
    why = message("plan.check.no_header", language)
    assert why in out.getvalue().splitlines()
    out = io.StringIO()
    write_plan(target, machine(), Wishes(), language, out, json_output=True, wants_check=True)
    found = json.loads(out.getvalue())
    assert found["exact_check"] is None
    assert found["exact_check_refused"] == why


def test_a_geometry_that_nobody_knows_is_said(hub: LocalHub) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL")
    with pytest.raises(PlanError) as caught:
        said(dataclasses.replace(target, name="Mystery"), machine())
    assert caught.value.code is ErrorCode.PLAN_NO_GEOMETRY


def test_an_estimate_that_does_not_fit_says_what_helps(hub: LocalHub) -> None:
    small = machine(memory=memory(400))
    with hub.offline():
        target = finder_for(hub, small).find("kimi-k2.6:UD-Q4_K_XL")
    found = as_json(target, small)
    assert [one["remedy"] for one in found["alternatives"]] == [  # type: ignore[attr-defined]
        "quantization",
        "more_ram",
    ]
    more = found["alternatives"][1]["size"]  # type: ignore[index]
    grown = machine(memory=memory(400 + int(str(more).split()[0]), 390 + int(str(more).split()[0])))
    assert as_json(target, grown)["fits"] is True
    assert "What helps: UD-Q2_K_XL" in said(target, small)


def test_a_context_that_no_engine_has_is_refused_for_an_estimate_too(hub: LocalHub) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find("kimi-k2.6:UD-Q4_K_XL")
    with pytest.raises(PlanError) as caught:
        as_json(target, machine(), Wishes(context=0))
    assert caught.value.code is ErrorCode.PLAN_BAD_WISH


def test_neither_header_nor_size(hub: LocalHub) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find("kimi-k2.5:UD-Q4_K_XL")
    with pytest.raises(PlanError) as caught:
        said(target, machine())
    assert caught.value.code is ErrorCode.PLAN_NO_SIZE


def test_more_layers_than_there_are(finder: Finder) -> None:
    target = finder.find("kimi-k2.6:UD-Q4_K_XL")
    with pytest.raises(PlanError) as caught:
        as_json(target, machine(), Wishes(n_gpu_layers=63))
    assert caught.value.code is ErrorCode.PLAN_TOO_MANY_LAYERS
    assert "62" in describe_error(caught.value, Language.EN)[0]


# repositories


@pytest.mark.parametrize(
    "text", [f"{K26}:UD-Q2_K_XL", f"https://huggingface.co/{K26}/tree/main/UD-Q2_K_XL"]
)
def test_a_repository_by_its_name_or_address(finder: Finder, text: str) -> None:
    target = finder.find(text)
    assert target.quantization == "UD-Q2_K_XL"
    assert target.facts is not None
    assert [one.name for one in target.siblings] == ["UD-Q4_K_XL"]


def test_a_repository_without_a_choice_gets_the_best(hub: LocalHub) -> None:
    tight = machine(gpus=(gpu(0, 47.5),), memory=memory(377))
    target = finder_for(hub, tight).find(K26)
    assert (target.quantization, target.was_chosen) == ("UD-Q2_K_XL", True)


def test_any_other_model_of_the_hub(finder: Finder) -> None:
    target = finder.find(OTHER)
    assert (target.name, target.quantization) == ("Some-Model-GGUF", "Q4_K_M")
    assert not target.was_chosen
    assert said(target, machine()).startswith("Fits in VRAM")


def test_the_makers_own_repository_leads_to_its_gguf_files(finder: Finder) -> None:
    target = finder.find("moonshotai/kimi-k2.6:UD-Q2_K_XL")
    assert target.place == f"{K26}:UD-Q2_K_XL"
    assert target.facts is not None


def test_a_known_repository_without_a_network_is_estimated(hub: LocalHub) -> None:
    with hub.offline():
        target = finder_for(hub, machine()).find(f"{K26}:UD-Q2_K_XL")
    assert target.facts is None
    assert target.size_bytes == 340 * 10**9


def test_an_unknown_repository_without_a_network(hub: LocalHub) -> None:
    with hub.offline():
        error = refused(finder_for(hub, machine()), OTHER)
    assert error.code is ErrorCode.DOWNLOAD_OFFLINE


def test_a_repository_that_nobody_has(finder: Finder) -> None:
    assert refused(finder, "org/none").code is ErrorCode.HUB_NO_REPO


def test_a_repository_without_gguf(finder: Finder) -> None:
    error = refused(finder, "org/native")
    assert error.code is ErrorCode.MODEL_NO_GGUF


def test_a_quantization_that_the_repository_lacks(finder: Finder) -> None:
    error = refused(finder, f"{K26}:UD-Q9")
    assert error.code is ErrorCode.MODEL_NO_QUANTIZATION
    assert "UD-Q2_K_XL" in describe_error(error, Language.EN)[1]


def test_only_the_header_is_gone(hub: LocalHub, finder: Finder) -> None:
    hub.faults.add("resolve/.*00002-of-00002", Fault(status=404))
    error = refused(finder, f"{K26}:UD-Q2_K_XL")
    assert error.code is ErrorCode.DOWNLOAD_NOT_FOUND
    assert "00002-of-00002" in describe_error(error, Language.EN)[0]


def test_another_hub_may_have_it(hub: LocalHub, finder: Finder) -> None:
    with hub.offline("hub"):
        target = finder.find(OTHER)
    assert target.facts is not None
    assert hub.requests("modelscope")


def test_what_was_read_is_not_asked_for_again(hub: LocalHub, finder: Finder) -> None:
    finder.find(OTHER)
    asked = len(hub.log)
    finder.find(OTHER)
    assert len(hub.log) == asked


@pytest.mark.parametrize("text", ["https://example.com/a/b", "ftp://huggingface.co/a/b"])
def test_an_address_of_no_hub(finder: Finder, text: str) -> None:
    assert refused(finder, text).code is ErrorCode.MODEL_BAD_ADDRESS


# names


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("kimi-k26", "kimi-k2.6"),
        ("kimi-k2.6:UD-Q2_XL", "UD-Q2_K_XL"),
        ("kimmi linear 48b", "kimi-linear-48b"),
        ("nothing like it at all", "“owner/name”"),
    ],
)
def test_a_slip_of_the_pen_gets_the_nearest_names(finder: Finder, text: str, near: str) -> None:
    error = refused(finder, text)
    assert near in describe_error(error, Language.EN)[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one whole model and one without its end."""
    header = model_header_bytes("kimi-linear-48b.q4_k_m")
    with (tmp_path / "Kimi-Linear-48B-Q4_K_M.gguf").open("wb") as file:
        file.write(header)
        file.truncate(model_facts("kimi-linear-48b.q4_k_m").weights_bytes + len(header) + 4096)
    (tmp_path / "cut.gguf").write_bytes(header[:2000])
    return tmp_path


def test_files_and_local_names(hub: LocalHub, folder: Path) -> None:
    library = Library(kv_bytes_per_token)
    finder = finder_for(hub, machine(), library.scan((folder,)), library)
    file = folder / "Kimi-Linear-48B-Q4_K_M.gguf"
    for text in (str(file), "linear-48b", file.name):
        target = finder.find(text)
        assert target.place == str(file)
        assert target.facts is not None
    assert not hub.log


def test_a_folder_is_its_only_model(hub: LocalHub, folder: Path, tmp_path: Path) -> None:
    finder = finder_for(hub, machine())
    assert finder.find(str(folder)).quantization == "Q4_K_M"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refused(finder, str(empty)).code is ErrorCode.MODEL_NONE_IN_FOLDER
    (folder / "Kimi-Linear-48B-Q4_K_M.gguf").unlink()
    assert refused(finder, str(folder)).code is ErrorCode.MODEL_CUT


def test_a_file_of_the_catalogue_that_is_here_needs_no_hub(hub: LocalHub, folder: Path) -> None:
    library = Library(kv_bytes_per_token)
    (row,) = [one for one in library.scan((folder,)) if one.problem is None]
    assert row.facts is not None
    named = dataclasses.replace(
        row, facts=dataclasses.replace(row.facts, name="Kimi Linear 48B A3B")
    )
    target = finder_for(hub, machine(), (named,), library).find("kimi-linear-48b:Q4_K_M")
    assert target.place == str(row.path)
    assert {one.name for one in target.siblings} >= {"Q5_K_M", "MXFP4_MOE"}
    assert not hub.log


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<html>not a model</html>" * 10, ErrorCode.MODEL_NOT_GGUF),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 16, ErrorCode.MODEL_BAD_HEADER),
        (b"GGUF\x03", ErrorCode.MODEL_CUT),
    ],
)
def test_files_that_are_no_models(
    finder: Finder, tmp_path: Path, content: bytes, code: ErrorCode
) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    error = refused(finder, str(path))
    assert isinstance(error, ModelError)
    assert error.code is code


def test_a_part_that_is_missing_is_named(finder: Finder, tmp_path: Path) -> None:
    for number in (1, 3):
        (tmp_path / f"m-{number:05}-of-00003.gguf").write_bytes(
            model_header_bytes("kimi-linear-48b.q4_k_m")
        )
    error = refused(finder, str(tmp_path / "m-00001-of-00003.gguf"))
    assert error.code in (ErrorCode.MODEL_PART_MISSING, ErrorCode.MODEL_PART_FOREIGN)


def test_a_file_that_is_not_there(finder: Finder) -> None:
    for text in ("./none.gguf", "/none/there", "none.gguf"):
        assert refused(finder, text).code is ErrorCode.MODEL_NOT_FOUND


def test_no_hub_answers_a_search(hub: LocalHub) -> None:
    hubs = (Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint),)
    remote = RemoteModels(kv_bytes_per_token, hubs=lambda: hubs)
    found = remote.search("some-model")
    assert [one.repo for one in found] == [OTHER]
    with hub.offline(), pytest.raises(DownloadError) as caught:
        remote.search("kimi")
    assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE
