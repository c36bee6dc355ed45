"""vLLM over several machines: the split, and the line for each of them."""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.planner.vllm_nodes import (
    Launcher,
    NodeCommand,
    ServedModel,
    machine_of_nodes,
    node_commands,
    plan_nodes,
)
from kimi_desktop.planner.vllm_types import ServerSettings, ServerWishes, Split
from tests.support import hf_shapes
from tests.support.planned_machines import machine

H100 = 81_559 * MIB / GIB
KIMI = hf_shapes.model_of(hf_shapes.kimi_k25(), "Kimi K2.6")
TWO = ("10.0.0.1", "10.0.0.2")
SERVED = ServedModel(
    "/models/Kimi K2.6",
    ServerSettings(split=Split(8, 2), context=32_768),
    ("--tool-call-parser", "kimi_k2"),
)


def value(command: NodeCommand, flag: str) -> str:
    return command.words[command.words.index(flag) + 1]


def test_tensor_parallelism_stays_within_a_machine_and_a_pipeline_goes_over_them() -> None:
    node = machine(*[H100] * 8)
    wishes = ServerWishes(context=32_768)
    plan = plan_nodes(KIMI, node, 2, wishes)
    assert plan is not None
    assert plan.forecast.settings.split == Split(8, 2)
    assert plan.fits
    alone = plan_nodes(KIMI, node, 1, wishes)
    assert alone is not None
    assert not alone.fits  # which is why there are two


def test_memory_is_that_of_as_many_gpus_in_one_machine() -> None:
    node = machine(*[H100] * 8)
    together = machine_of_nodes(node, 2)
    assert [gpu.index for gpu in together.gpus] == list(range(16))
    plan = plan_nodes(KIMI, node, 2, ServerWishes(context=32_768))
    assert plan is not None
    assert len(plan.forecast.ranks) == 16


def test_a_wished_split_holds_and_an_impossible_one_is_refused() -> None:
    node = machine(*[H100] * 8)
    plan = plan_nodes(KIMI, node, 2, ServerWishes(context=8192, split=Split(16)))
    assert plan is not None
    assert plan.forecast.settings.split == Split(16)
    with pytest.raises(PlanError) as caught:
        plan_nodes(KIMI, node, 3, ServerWishes(split=Split(8, 2)))
    assert caught.value.code is ErrorCode.PLAN_NODES
    with pytest.raises(PlanError):
        node_commands(SERVED, ("10.0.0.1", "10.0.0.2", "10.0.0.3"))


def test_without_gpus_nothing_is_planned() -> None:
    assert plan_nodes(KIMI, machine(), 2, ServerWishes()) is None


def test_every_machine_gets_the_same_command_with_its_own_rank() -> None:
    head, other = node_commands(SERVED, TWO)
    assert [value(each, "--node-rank") for each in (head, other)] == ["0", "1"]
    for each in (head, other):
        assert value(each, "--nnodes") == "2"
        assert value(each, "--master-addr") == "10.0.0.1"
        assert value(each, "--tensor-parallel-size") == "8"
        assert value(each, "--pipeline-parallel-size") == "2"
        assert value(each, "--tool-call-parser") == "kimi_k2"
        assert each.environment["VLLM_HOST_IP"] == each.address
        assert each.environment["HF_HUB_OFFLINE"] == "1"
    assert value(head, "--host") == "127.0.0.1"
    assert "--headless" not in head.words
    assert other.words[-1] == "--headless"
    assert "--port" not in other.words


def test_a_line_is_for_a_shell_as_it_stands() -> None:
    _, other = node_commands(dataclasses.replace(SERVED, program="/opt/v/bin/vllm"), TWO)
    words = shlex.split(other.line)
    assert "VLLM_HOST_IP=10.0.0.2" in words
    assert "/models/Kimi K2.6" in words
    assert "/opt/v/bin/vllm" in words
    assert "ip -o -4 addr show to 10.0.0.2" in other.line


@pytest.mark.skipif("sys.platform == 'win32'", reason="lines for a POSIX shell")
@pytest.mark.parametrize("launcher", Launcher)
def test_what_answers_has_a_key_of_a_file_and_fetches_no_pictures(
    tmp_path: Path, launcher: Launcher
) -> None:
    program = tmp_path / "vllm"
    program.write_text('#!/bin/sh\necho "key=$VLLM_API_KEY"\necho "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    commands = node_commands(dataclasses.replace(SERVED, program=str(program)), TWO, launcher)
    (answering,) = [each for each in commands if "--port" in each.words and "serve" in each.words]
    assert value(answering, "--allowed-media-domains") == "nowhere.invalid"
    assert not any("VLLM_API_KEY" in each.line for each in commands if each is not answering)

    def run() -> list[str]:
        done = subprocess.run(
            ["/bin/sh", "-c", answering.line],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.splitlines()

    key, words = run()
    kept = tmp_path / ".vllm-api-key"
    assert key == f"key={kept.read_text(encoding='utf-8').strip()}"
    assert len(key) > 40
    assert key.removeprefix("key=") not in words
    assert kept.stat().st_mode & 0o777 == 0o600
    assert run()[0] == key  # the same again
    kept.write_text("\n", encoding="utf-8")
    assert run() == []  # never without one


def test_a_repository_of_a_hub_is_fetched_there() -> None:
    (head, _) = node_commands(dataclasses.replace(SERVED, place="moonshotai/Kimi-K2.6"), TWO)
    assert "HF_HUB_OFFLINE" not in head.environment


def test_ray_starts_the_others_itself() -> None:
    begin, join, serve = node_commands(SERVED, TWO, Launcher.RAY)
    assert begin.words[:3] == ("ray", "start", "--head")
    assert value(join, "--address") == "10.0.0.1:6379"
    assert (begin.node, join.node, serve.node) == (0, 1, 0)
    assert value(serve, "--distributed-executor-backend") == "ray"
    assert "--nnodes" not in serve.words
