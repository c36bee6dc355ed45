"""``kimi-desktop plan`` as a user types it: a hub, no hub, every kind of bad input."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.learned import LearnedSpeeds
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import HubSettings, Settings, SettingsStore
from kimi_desktop.downloads.hubs.tokens import TokenStore
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.probe import look
from kimi_desktop.planner.speed_types import FinishedRun
from tests.support.gguf_files import llama_metadata, write_model
from tests.support.hf_shapes import hub_checkpoint, kimi_k25, write_checkpoint
from tests.support.hub.content import HubFile
from tests.support.hub.large_models import split_model
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub
from tests.support.speeds import hybrid
from tests.support.tiny_kimi import make_tiny_kimi

K26 = "unsloth/Kimi-K2.6-GGUF"
PATIENCE_S = 90


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    return AppPaths.under(tmp_path / "profile")


@pytest.fixture(scope="module")
def hub() -> Iterator[LocalHub]:
    parts = split_model("kimi-k2.6.q4_x", 3)
    files = [
        dataclasses.replace(file, path=f"UD-Q4_K_XL/Kimi-UD-Q4_K_XL-{number:05}-of-00003.gguf")
        for number, file in enumerate(parts, start=1)
    ]
    with LocalHub(K26, files) as running:
        yield running


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address of this computer where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def run(paths: AppPaths, endpoint: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "KIMI_DESKTOP_HOME": str(paths.data.parent),
        "HF_ENDPOINT": endpoint,
        # The other hubs of the real world are out of reach in a test.
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        [sys.executable, "-m", "kimi_desktop", "plan", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def machine_file(tmp_path: Path, **changes: object) -> Path:
    """A workstation, as ``doctor --json`` describes one."""
    found = {
        "schema": 1,
        "name": "workstation",
        "cpu": {"model": "EPYC 9355", "physical_cores": 32, "isa": ["avx2"]},
        "memory": {"total_gib": 755, "available_gib": 740, "limit_gib": None},
        "gpus": [{"name": "RTX 5090", "vram_total_gib": 31.8, "vram_free_gib": 31.2}],
        "disks": [],
    }
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(found | changes), encoding="utf-8")
    return path


def test_a_plan_before_the_download(paths: AppPaths, hub: LocalHub, tmp_path: Path) -> None:
    file = str(machine_file(tmp_path))
    done = run(paths, hub.endpoint, "kimi-k2.6:UD-Q4_K_XL", "--machine", file, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["exact"] is True
    assert found["verdict"] == "in_vram_and_ram"
    assert found["model"]["place"] == f"{K26}:UD-Q4_K_XL"
    bytes_of_model = sum(one.length for one in hub.files)
    fetched = sum(int(r.range.rpartition("-")[2]) for r in hub.requests("cdn") if r.range)
    assert fetched < bytes_of_model / 1000


def test_a_plan_that_cannot_start_has_no_speed_and_fails(
    paths: AppPaths, hub: LocalHub, tmp_path: Path
) -> None:
    wanted = ["kimi-k2.6:UD-Q4_K_XL", "--machine", str(machine_file(tmp_path))]
    wanted += ["--ngl", "62", "--n-cpu-moe", "0"]
    done = run(paths, hub.endpoint, *wanted)
    assert done.returncode == 1
    assert done.stdout.startswith("Does not fit: ")
    assert "tok/s" not in done.stdout.partition("What helps")[0]
    assert "Loading" not in done.stdout
    assert done.stderr == "Kimi K2.6 does not fit as planned: no engine would start it here.\n"
    asked = run(paths, hub.endpoint, *wanted, "--json", "--lang", "zh_CN")
    found = json.loads(asked.stdout)
    assert (asked.returncode, found["speed"], found["verdict"]) == (1, None, "does_not_fit")
    assert found["missing"]


def test_an_estimate_without_a_network(paths: AppPaths, nobody: str, tmp_path: Path) -> None:
    done = run(
        paths, nobody, "kimi-k2.6:UD-Q2_K_XL", "--machine", str(machine_file(tmp_path)),
        "--lang", "zh_CN",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "估算" in done.stdout
    assert "可放入显存 + 内存" in done.stdout


def test_what_this_machine_taught_is_for_this_machine(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    here = look([tmp_path], GpuReader())
    run_here = FinishedRun(hybrid(), decode_tps=3.0)
    assert LearnedSpeeds(paths.learned_file, lambda: here).learn(run_here) is not None
    told = "measured on this machine: 1."
    arguments = ("kimi-k2.6:UD-Q2_K_XL", "--lang", "en")
    done = run(paths, nobody, *arguments)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
    other = run(paths, nobody, *arguments, "--machine", str(machine_file(tmp_path)))
    assert other.returncode == 0, other.stderr
    assert told not in other.stdout


def test_the_hub_of_the_settings_is_asked(paths: AppPaths, hub: LocalHub, tmp_path: Path) -> None:
    def use(settings: Settings) -> Settings:
        return dataclasses.replace(settings, hubs=HubSettings(endpoint=hub.endpoint))

    SettingsStore(paths.settings_file).update(use)
    file = str(machine_file(tmp_path))
    done = run(paths, "", f"{K26}:UD-Q4_K_XL", "--machine", file, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exact"] is True


def test_a_private_repository_is_planned_with_the_users_token(
    paths: AppPaths, tmp_path: Path
) -> None:
    file = dataclasses.replace(split_model("kimi-linear-48b.q4_k_m", 1)[0], path="Mine-Q4_K_M.gguf")
    arguments = ("team/mine", "--machine", str(machine_file(tmp_path)), "--json")
    with LocalHub("team/mine", [file]) as hub:
        hub.repos[0].private = True
        hub.accounts["hf_secret"] = Account("somebody", frozenset({"team/mine"}))
        stranger = run(paths, hub.endpoint, *arguments)
        assert stranger.returncode == 1
        assert "team/mine" in stranger.stderr
        TokenStore(paths.config, find_keyring=lambda: None).save(
            hub.endpoint, "hf_secret", in_file=True
        )
        done = run(paths, hub.endpoint, *arguments)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["exact"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["kimi-k26"], 1, "kimi-k2.6"),
        (["kimi-k2.6:UD-Q9"], 1, "UD-Q2_K_XL"),
        (["kimi-k2.6", "--ctx", "0"], 1, "--ctx 0"),
        (["kimi-k2.6", "--ctx", "-5"], 1, "--ctx -5"),
        (["kimi-k2.6:UD-Q4_K_XL", "--ngl", "500"], 1, "62"),
        (["kimi-k2.6:UD-Q4_K_XL", "--n-cpu-moe", "62"], 1, "61"),
        (["./none.gguf"], 1, "./none.gguf"),
        (["https://example.com/x"], 1, "example.com"),
        (["org/none"], 1, "org/none"),
        ([f"{K26}:UD-Q9"], 1, "UD-Q4_K_XL"),
        (["kimi-k2.6", "--profile", "reckless"], 2, "reckless"),
        (["kimi-k2.6", "--ctx", "many"], 2, "many"),
        ([], 2, "MODEL"),
    ],
)
def test_bad_input_gets_one_sentence(
    paths: AppPaths, hub: LocalHub, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    done = run(paths, hub.endpoint, *arguments, "--machine", str(machine_file(tmp_path)))
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_failure_is_an_object_for_other_programs(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    machine = str(machine_file(tmp_path))
    done = run(paths, nobody, "kimi-k2.6:UD-Q9", "--machine", machine, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["error"] == "models.no_quantization"
    assert found["what"] in done.stderr
    assert found["next"] in done.stderr


def test_a_name_that_is_too_long_for_any_file(paths: AppPaths, nobody: str, tmp_path: Path) -> None:
    done = run(paths, nobody, "a" * 5000, "--machine", str(machine_file(tmp_path)))
    assert done.returncode == 1
    assert "anything like it" in done.stderr
    assert len(done.stderr) < 1000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": "red"}, "colour"),
        ({"memory": {"total_gib": -1, "available_gib": 0}}, "memory.total_gib"),
        ({"gpus": [{"name": "x", "vram_total_gib": 1, "vram_free_gib": 2}]}, "vram_free_gib"),
    ],
)
def test_a_machine_file_with_a_slip(
    paths: AppPaths, nobody: str, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    done = run(paths, nobody, "kimi-k2.6", "--machine", str(machine_file(tmp_path, **changes)))
    assert done.returncode == 1
    assert words in done.stderr
    missing = run(paths, nobody, "kimi-k2.6", "--machine", str(tmp_path / "none.json"))
    assert missing.returncode == 1
    assert "none.json" in missing.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"GGUF\x03\x00", "ends too early"), (b"<html>" * 9, "not a GGUF"), (b"", "")],
)
def test_files_that_cannot_be_planned(
    paths: AppPaths, nobody: str, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    done = run(paths, nobody, str(path))
    assert done.returncode == 1
    assert words in done.stderr
    assert "model.gguf" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_hugging_face_folder_is_planned_for_vllm(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "Kimi-K2.6", kimi_k25(2))
    machine = str(machine_file(tmp_path))
    done = run(paths, nobody, str(folder), "--machine", machine, "--lang", "zh_CN")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("vLLM 可在 1 张 GPU 上运行 Kimi K2.6")
    assert "--enable-auto-tool-choice" in done.stdout
    asked = run(paths, nobody, str(folder), "--machine", machine, "--json", "--tp", "2")
    found = json.loads(asked.stdout)
    assert asked.returncode == 1
    assert "Kimi K2.6 does not fit" in asked.stderr
    assert (found["fits"], found["problem"]) == (False, "too_few_gpus")
    for arguments, words in (
        (("--users", "0"), "--users 0 is not possible"),
        (("--tp", "0"), "--tp 0 is not possible"),
        (("--ctx", "0"), "--ctx 0 is not possible"),
    ):
        refused = run(paths, nobody, str(folder), *arguments)
        assert refused.returncode == 1
        assert words in refused.stderr


def h200s(tmp_path: Path, count: int) -> Path:
    card = {"name": "NVIDIA H200", "vram_total_gib": 140.4, "vram_free_gib": 139.9}
    return machine_file(tmp_path, gpus=[card] * count)


def test_more_users_than_fit_is_a_failure_that_says_what_would_do(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "Kimi-K2.6", kimi_k25(10))
    machine = str(h200s(tmp_path, 1))
    done = run(paths, nobody, str(folder), "--machine", machine, "--users", "40")
    assert done.returncode == 1
    assert "does not fit for 40 users at once: " in done.stderr
    assert "each fit at once, the others wait in the queue" in done.stdout
    assert "40 users at once with 262,144 tokens each need " in done.stdout
    assert "you have 1 x 141 GB" in done.stdout
    few = run(paths, nobody, str(folder), "--machine", machine, "--users", "2", "--json")
    assert (few.returncode, few.stderr) == (0, "")
    assert json.loads(few.stdout)["holds_users"] is True


def test_a_split_that_the_model_does_not_allow_shows_no_table_of_zeros(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "Kimi-K2.6", kimi_k25(2))
    machine = str(h200s(tmp_path, 8))
    done = run(paths, nobody, str(folder), "--machine", machine, "--tp", "3")
    assert done.returncode == 1
    assert "cannot be divided over GPUs in the way that was asked for" in done.stderr
    assert "size of 3 does not divide the model’s 64 attention heads" in done.stdout
    assert "allows here: 1, 2, 4, 8." in done.stdout
    assert "0.00" not in done.stdout


def test_slots_cache_type_and_batches_are_named_as_llama_cpp_names_them(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    model = str(make_tiny_kimi(tmp_path / "Tiny-Q8_0.gguf"))
    machine = str(machine_file(tmp_path))
    flags = ["-np", "2", "--cache-type-k", "q8_0", "-ctv", "q8_0", "-b", "1024", "-ub", "256"]
    done = run(paths, nobody, model, "--machine", machine, "--ctx", "4096", *flags)
    assert done.returncode == 0
    for words in ("-np 2", "-ctk q8_0", "-ctv q8_0", "-b 1024", "-ub 256"):
        assert words in done.stdout
    mixed = run(paths, nobody, model, "--machine", machine, "-ctk", "q8_0", "-ctv", "f16")
    assert mixed.returncode == 2
    assert "K and V have one type" in mixed.stderr
    none = run(paths, nobody, model, "--machine", machine, "-np", "0")
    assert none.returncode == 1
    assert "-np 0 is not possible" in none.stderr


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("folder", ["-np", "5"], "--parallel means nothing to vLLM"),
        ("folder", ["-ub", "5"], "--ubatch-size means nothing to vLLM"),
        ("folder", ["--ngl", "5"], "--ngl means nothing to vLLM"),
        ("folder", ["--check", "--engine", "sglang"], "--check means nothing to SGLang"),
        ("folder", ["--profile", "safe"], "--profile means nothing"),
        ("file", ["--users", "5"], "--users means nothing to llama.cpp"),
        ("file", ["--tp", "2"], "--tp means nothing to llama.cpp"),
        ("file", ["--engine", "vllm"], "is no Hugging Face folder"),
    ],
)
def test_what_the_engine_does_not_know_is_refused(
    paths: AppPaths, nobody: str, tmp_path: Path, kind: str, arguments: list[str], words: str
) -> None:
    model = write_checkpoint(tmp_path / "Kimi-K2.6", kimi_k25(2))
    if kind == "file":
        model = make_tiny_kimi(tmp_path / "Tiny-Q8_0.gguf")
    done = run(paths, nobody, str(model), "--machine", str(machine_file(tmp_path)), *arguments)
    assert done.returncode == 1
    assert words in done.stderr


def test_a_folder_of_any_name_gets_the_parsers_of_its_kind(
    paths: AppPaths, nobody: str, tmp_path: Path
) -> None:
    folder = write_checkpoint(tmp_path / "mine", kimi_k25(2))
    machine = str(machine_file(tmp_path))
    done = run(paths, nobody, str(folder), "--machine", machine)
    assert "--tool-call-parser kimi_k2 --enable-auto-tool-choice" in done.stdout
    done = run(paths, nobody, str(folder), "--machine", machine, "--engine", "sglang")
    assert "--tool-call-parser kimi_k2" in done.stdout
    assert "--enable-auto-tool-choice" not in done.stdout


def test_a_repository_is_planned_for_sglang_when_asked(paths: AppPaths) -> None:
    repo = "moonshotai/Kimi-K2.6"
    with LocalHub(repo, hub_checkpoint(kimi_k25(2))) as running:
        done = run(paths, running.endpoint, repo, "--engine", "sglang", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["fits"] else 1)  # this computer may have no GPU
    assert found["engine"] == "sglang"
    assert found["model"]["place"] == repo


def test_the_installed_engine_is_asked_before_the_first_byte(
    paths: AppPaths, tmp_path: Path
) -> None:
    content = make_tiny_kimi(tmp_path / "tiny.gguf").read_bytes()
    with LocalHub("some/Kimi-GGUF", [HubFile("K-Q8_0.gguf", content=content)]) as running:
        done = run(paths, running.endpoint, "some/Kimi-GGUF")
        assert (done.returncode, done.stderr) == (0, "")
        assert "would load it: it knows the architecture" in done.stdout
    strange = content.replace(b"deepseek2", b"deepseek9")
    with LocalHub("some/Kimi-GGUF", [HubFile("K-Q8_0.gguf", content=strange)]) as running:
        done = run(paths, running.endpoint, "some/Kimi-GGUF", "--json", "--lang", "zh_CN")
    assert done.returncode == 1
    assert "无法加载它" in done.stderr
    found = json.loads(done.stdout)["loads"]
    assert (found["will_load"], found["found"]) == (False, ["architecture"])
    assert "不支持“deepseek9”架构" in found["sentences"][0]


def test_a_block_count_that_no_engine_accepts(paths: AppPaths, nobody: str, tmp_path: Path) -> None:
    path = write_model(tmp_path / "odd.gguf", llama_metadata() | {"llama.block_count": 40})
    done = run(paths, nobody, str(path))
    assert done.returncode == 1
    assert "llama.block_count says 40, but its tensors make 2 blocks" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the dry run is for Linux alone")
def test_the_engine_checks_a_plan_here_and_on_a_hub(paths: AppPaths, tmp_path: Path) -> None:
    path = make_tiny_kimi(tmp_path / "Tiny-Q8_0.gguf")
    file = str(machine_file(tmp_path))
    with LocalHub("some/Kimi-GGUF", [HubFile("K-Q8_0.gguf", content=path.read_bytes())]) as hub:
        here = run(paths, hub.endpoint, str(path), "--machine", file, "--check", "--json")
        there = run(paths, hub.endpoint, "some/Kimi-GGUF", "--machine", file, "--check", "--json")
        told = run(paths, hub.endpoint, str(path), "--machine", file, "--check")
    found = json.loads(here.stdout)["exact_check"]
    assert found["build"].startswith("llama.cpp b")
    assert [row["device"] for row in found["devices"]] == ["gpu:0", "host"]
    assert found["devices"][0]["weights"] > 0
    assert json.loads(there.stdout)["exact_check"]["devices"] == found["devices"]
    assert "Checked by the engine: llama.cpp b" in told.stdout
