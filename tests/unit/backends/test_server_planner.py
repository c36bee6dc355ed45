"""What a start of a checkpoint settles: plan, parsers of the catalogue, consent, cache in RAM."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.model_code import ModelCode, code_of
from kimi_desktop.backends.server_planner import ServerPlanner
from kimi_desktop.backends.types import EngineKind, LoadSettings, VllmSettings
from kimi_desktop.base.errors import BackendError, ErrorCode, ModelError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.types import LocalModel, ModelFormat, ModelState
from kimi_desktop.planner.vllm_types import CacheFormat, ServerProblem, ServerWishes, Split
from tests.support.planned_machines import machine
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

GPU = EngineBuild(EngineKind.VLLM, ("vllm",), {}, devices=("CUDA",))
CPU = EngineBuild(EngineKind.VLLM, ("vllm",), {})


@pytest.fixture(scope="module")
def kimi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Under a name that the catalogue knows."""
    return make_tiny_hf_kimi(tmp_path_factory.mktemp("hf") / "Kimi-K2.6")


@pytest.fixture(scope="module")
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


def planner(io: IoLoop, on: Machine | None) -> ServerPlanner:
    return ServerPlanner(io, machine=lambda: on, catalogue=shipped_catalogue)


def settle(
    io: IoLoop, on: Machine | None, settings: LoadSettings, build: EngineBuild = GPU
) -> LoadSettings:
    return io.submit(lambda: planner(io, on).settled(settings, build)).result()


def load(path: Path, **special: object) -> LoadSettings:
    server = dataclasses.replace(VllmSettings(), **special)  # type: ignore[arg-type]
    return LoadSettings(path, kind=EngineKind.VLLM, context=0, server=server)


def test_splits_budget_and_gpus_are_planned(io: IoLoop, kimi: Path) -> None:
    box = machine(24, 24)
    settled = settle(io, box, load(kimi))
    assert settled.server is not None
    assert settled.server.server is not None
    assert settled.server.server.split == Split(tensor=2)
    assert settled.context == settled.server.server.context == 2048
    assert sorted(settled.gpus or ()) == [0, 1]
    wished = settle(io, box, load(kimi, wishes=ServerWishes(split=Split(), context=1024)))
    assert wished.server is not None
    assert wished.server.server is not None
    assert wished.server.server.split == Split()
    assert wished.context == 1024


def test_the_catalogue_names_the_parsers_once(io: IoLoop, kimi: Path) -> None:
    settled = settle(io, machine(24), load(kimi, reasoning_parser="mine"))
    assert settled.server is not None
    assert "--tool-call-parser" in settled.server.needs
    assert "--reasoning-parser" not in settled.server.needs
    assert "--trust-remote-code" not in settled.server.needs


def test_what_does_not_fit_is_not_started(io: IoLoop, kimi: Path) -> None:
    with pytest.raises(BackendError) as failed:
        settle(io, machine(), load(kimi))
    assert failed.value.code is ErrorCode.ENGINE_NO_PLAN


def test_before_the_first_look_the_engine_decides(io: IoLoop, kimi: Path) -> None:
    settled = settle(io, None, load(kimi))
    assert settled.server is not None
    assert settled.server.server is None


def test_a_build_without_gpus_gets_a_part_of_the_free_memory(io: IoLoop, kimi: Path) -> None:
    box = machine(ram_gib=64)
    settled = settle(io, box, load(kimi), CPU)
    assert settled.server is not None
    assert settled.server.cpu_cache_gib == 4
    assert settled.context == 2048
    assert settle(io, None, load(kimi), CPU).server.cpu_cache_gib == 1  # type: ignore[union-attr]


def row_of(kimi: Path) -> LocalModel:
    return LocalModel(
        str(kimi), kimi, "Kimi", 1, 3, 3, ModelState.READY, None, None,
        format=ModelFormat.SAFETENSORS,
    )  # fmt: skip


def test_an_offer_has_every_legal_value_and_the_catalogues_floor(io: IoLoop, kimi: Path) -> None:
    row = row_of(kimi)
    four = planner(io, machine(24, 24, 24, 24)).find(row, ServerWishes()).result()
    assert four.choices is not None
    problems = {choice.value: choice.problem for choice in four.choices.tensor}
    assert [size for size, problem in problems.items() if problem is None] == [1, 2, 4]
    assert problems[3] is not None
    assert problems[3].kind is ServerProblem.HEADS
    assert four.min_version == "0.19.1"
    assert four.broken_versions == ("0.22.0",)
    assert four.code == ModelCode()
    assert four.plan is not None
    assert four.plan.fits
    nowhere = planner(io, None).find(row, ServerWishes()).result()
    assert (nowhere.plan, nowhere.choices, nowhere.presets) == (None, None, ())
    without = planner(io, machine()).find(row, ServerWishes()).result()
    assert (without.choices, without.presets) == (None, ())


def test_presets_of_the_catalogues_models_say_why_not(io: IoLoop, kimi: Path) -> None:
    offer = planner(io, machine(24, 24)).find(row_of(kimi), ServerWishes(users=3)).result()
    by_id = {each.preset.id: each for each in offer.presets}
    assert by_id["makers"].problem is not None
    assert by_id["makers"].problem.kind is ServerProblem.TOO_FEW_GPUS
    assert by_id["long"].problem is None
    assert by_id["long"].wishes.users == 3


def test_parsers_come_from_the_catalogue_else_from_the_kind_of_model(
    io: IoLoop, kimi: Path, tmp_path: Path
) -> None:
    known = planner(io, None).find(row_of(kimi), ServerWishes()).result()
    assert (known.tool_parser, known.reasoning_parser) == ("kimi_k2", "kimi_k2")
    own = make_tiny_hf_kimi(tmp_path / "My-Own-Finetune")
    unknown = planner(io, None).find(row_of(own), ServerWishes()).result()
    assert (unknown.tool_parser, unknown.reasoning_parser) == ("kimi_k2", "kimi_k2")
    (own / "chat_template.jinja").write_text("{{ messages }}")
    plain = planner(io, None).find(row_of(own), ServerWishes()).result()
    assert (plain.tool_parser, plain.reasoning_parser) == ("kimi_k2", "")
    (own / "chat_template.jinja").unlink()
    (own / "tokenizer_config.json").write_text('{"chat_template": "<think>"}')
    inside = planner(io, None).find(row_of(own), ServerWishes()).result()
    assert inside.reasoning_parser == "kimi_k2"
    (own / "tokenizer_config.json").write_text("[]")
    assert planner(io, None).find(row_of(own), ServerWishes()).result().reasoning_parser == ""
    config = json.loads((own / "config.json").read_text()) | {"model_type": "qwen3"}
    (own / "config.json").write_text(json.dumps(config))
    other = planner(io, None).find(row_of(own), ServerWishes()).result()
    assert (other.tool_parser, other.reasoning_parser, other.flags) == ("", "", ())


def test_what_is_shown_is_what_a_start_settles(io: IoLoop, kimi: Path) -> None:
    box = machine(24, 24)
    wishes = ServerWishes(n_sequences=4)
    settings = load(kimi, wishes=wishes, reasoning_parser="none")
    plans = planner(io, box)
    shown = plans.planned(settings, plans.find(row_of(kimi), wishes).result())
    settled = settle(io, box, settings)
    assert shown.server == settled.server
    assert plans.planned(settings, planner(io, None).find(row_of(kimi), wishes).result()).server


def test_what_a_build_lacks_is_named(io: IoLoop, kimi: Path) -> None:
    flags = {"--tool-call-parser": "{hermes,mistral}", "--kv-cache-dtype": "{auto,fp8}"}
    build = EngineBuild(EngineKind.VLLM, ("vllm",), flags, name="vLLM 0.18.0")

    async def probe(_: LoadSettings) -> EngineBuild:
        return build

    asking = ServerPlanner(io, machine=lambda: None, catalogue=shipped_catalogue, probe=probe)
    facts = asking.ask(load(kimi)).result()
    assert facts is not None
    assert "--tool-call-parser kimi_k2" in facts.lacks
    assert "--mm-encoder-tp-mode data" in facts.lacks
    assert facts.tool_parsers == ("hermes", "mistral")
    assert facts.takes_fp8_cache
    assert "pipeline" in facts.unknown
    assert "cache" not in facts.unknown
    settled = settle(io, None, load(kimi), build)
    assert "--tool-call-parser kimi_k2" in asking.lacking(settled, build)
    assert planner(io, None).ask(load(kimi)).result() is None


def test_wishes_hold_for_a_build_without_gpus_too(io: IoLoop, kimi: Path) -> None:
    wishes = ServerWishes(context=512, n_sequences=3, eager=True, cache=CacheFormat.FP8)
    settled = settle(io, machine(), load(kimi, wishes=wishes, cpu_cache_gib=2), CPU)
    assert settled.server is not None
    assert settled.server.cpu_cache_gib == 2
    server = settled.server.server
    assert server is not None
    assert (server.context, server.n_sequences, server.eager) == (512, 3, True)
    assert server.cache is CacheFormat.FP8


def test_code_is_hashed_and_any_change_shows(tmp_path: Path) -> None:
    assert code_of(tmp_path).digest == ""
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "inner" / "b.py").write_text("2")
    first = code_of(tmp_path)
    assert [file.name for file in first.files] == ["a.py", "inner/b.py"]
    (tmp_path / "a.py").write_text("3")
    second = code_of(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "c.py")
    assert len({first.digest, second.digest, code_of(tmp_path).digest}) == 3


def test_code_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to(tmp_path / "gone")
    with pytest.raises(ModelError) as failed:
        code_of(tmp_path)
    assert failed.value.code is ErrorCode.MODEL_UNREADABLE
    (tmp_path / "a.py").unlink()
    for number in range(501):
        (tmp_path / f"{number}.py").touch()
    with pytest.raises(ModelError):
        code_of(tmp_path)


def test_needing_code_is_read_from_the_config(io: IoLoop, tmp_path: Path) -> None:
    model = make_tiny_hf_kimi(tmp_path / "m")
    config = json.loads((model / "config.json").read_text()) | {"auto_map": {"AutoConfig": "c.C"}}
    (model / "config.json").write_text(json.dumps(config))
    (model / "c.py").write_text("x")
    with pytest.raises(BackendError) as failed:
        settle(io, None, load(model))
    assert failed.value.code is ErrorCode.ENGINE_NEEDS_CONSENT
    digest = code_of(model).digest
    trusted = settle(io, None, load(model, trusted_code=digest))
    assert trusted.server is not None
    assert trusted.server.trusted_code == digest
