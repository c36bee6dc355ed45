"""The tables of hardware and shapes: names are found, gaps are guessed and said to be."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from kimi_desktop.base.assets import asset
from kimi_desktop.planner.hardware import (
    cores_in,
    count_in,
    gpu_speed,
    guessed_memory_bytes_per_s,
    hardware_table,
    host_speed,
)
from kimi_desktop.planner.speed_shapes import (
    find_shape,
    traffic,
    unknown_shape,
    usual_file_bytes,
)
from kimi_desktop.planner.speed_types import Known
from tests.support.machines import cpu, gpu, machine, memory
from tests.support.measured import model_facts

GB = 10**9


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA GeForce RTX 5090", "RTX 5090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 Laptop"),
        ("NVIDIA GeForce RTX 4080 Laptop GPU", None),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX 4070 Ti SUPER"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000"),
        ("8x H200", "H200"),
        ("NVIDIA H200", "H200"),
        ("GH200 HBM", "GH200"),
        ("AMD Radeon 8060S Graphics", "8060S"),
        ("NVIDIA GeForce GTX 960", None),
        ("", None),
    ],
)
def test_cards_are_found_by_their_names(text: str, name: str | None) -> None:
    row = hardware_table().gpu(text)
    assert (row and row.name) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("AMD EPYC 9355 32-Core Processor", "EPYC 9355"),
        ("Intel(R) Xeon(R) Platinum 8480+", "Xeon 8480"),
        ("AMD Ryzen Threadripper PRO 7975WX 32-Cores", "PRO 7975WX"),
        ("2x Xeon 6454S", "Xeon 6454S"),
        ("Pentium III", None),
    ],
)
def test_processors_are_found_by_their_names(text: str, name: str | None) -> None:
    row = hardware_table().processor(text)
    assert (row and row.name) == name


@pytest.mark.parametrize(
    ("text", "rate", "amx"),
    [
        ("AMD EPYC 9554 64-Core Processor", 460.8, False),
        ("AMD EPYC 9B45", 576.0, False),
        ("AMD EPYC 7R13 Processor", 204.8, False),
        ("AMD Ryzen Threadripper PRO 5975WX 32-Cores", 204.8, False),
        ("Intel(R) Xeon(R) Platinum 8592+", 358.4, True),
        ("Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", 204.8, False),
        ("Intel(R) Xeon(R) 6980P", 614.4, True),
        ("Intel(R) Xeon(R) 6530P", 409.6, True),
        ("Intel(R) Xeon(R) Gold 6530", 358.4, True),
        ("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", 76.8, False),
        ("AMD Ryzen 7 5800X 8-Core Processor", 51.2, False),
    ],
)
def test_a_processor_without_a_row_is_one_of_its_family(text: str, rate: float, amx: bool) -> None:
    row = hardware_table().processor(text)
    assert row is not None
    assert row.memory_bytes_per_s == pytest.approx(rate * GB)
    assert row.has_amx is amx
    assert row.cores == 0
    assert row.name == ""


def test_every_source_is_named_and_used() -> None:
    data = json.loads(asset("speed/hardware.json").read_text(encoding="utf-8"))
    rows = [*data["gpus"], *data["processors"], *data["families"]]
    assert {row["source"] for row in rows if "source" in row} == set(data["sources"])
    names = [row["name"] for row in (*data["gpus"], *data["processors"])]
    assert len(names) == len(set(names))
    for name in names:
        found = hardware_table().gpu(name) or hardware_table().processor(name)
        assert found is not None
        assert found.name == name


@pytest.mark.parametrize(
    ("text", "gib", "rate"),
    [
        ("12ch DDR5-6400 768GB", None, 614.4),
        ("8ch DDR4-3200", None, 204.8),
        ("384GB DDR5", 384, 307.2),  # eight channels of 4,800, as such machines usually have
        ("2 channels LPDDR5X", None, 128.0),
        ("unified", 512, None),
    ],
)
def test_memory_in_words(text: str, gib: float | None, rate: float | None) -> None:
    found = hardware_table().memory_bytes_per_s(text, gib)
    assert found == (None if rate is None else pytest.approx(rate * GB))


def test_counts_and_cores_in_words() -> None:
    assert (count_in("2x EPYC 9355"), count_in("2-3x RTX 3090"), count_in("EPYC")) == (2, 2, 1)
    assert cores_in("EPYC 7773X 64c") == 64
    assert cores_in("2x Xeon 8480") == 112
    assert cores_in("AM5 board") is None
    assert cores_in("EPYC 9554") is None


def test_a_machine_of_the_table() -> None:
    found = host_speed(machine())
    assert found.specified_bytes_per_s == pytest.approx(332.8 * GB)
    assert (found.is_guess, found.cores, found.has_amx) == (False, 32, False)
    two = host_speed(
        machine(cpu=cpu(model="Intel Xeon Platinum 8480+", sockets=2, isa=("amx_int8",)))
    )
    assert two.specified_bytes_per_s == pytest.approx(2 * 307.2 * GB)
    assert two.has_amx


def test_an_unknown_machine_is_a_guess_until_it_is_measured() -> None:
    unknown = machine(cpu=cpu(model="New CPU"), memory=memory(31))
    assert host_speed(unknown).is_guess
    assert host_speed(unknown).specified_bytes_per_s == pytest.approx(76.8 * GB)
    measured = host_speed(unknown, 60.0 * GB)
    assert not measured.is_guess
    assert measured.specified_bytes_per_s is None
    assert guessed_memory_bytes_per_s(1500, "x") > guessed_memory_bytes_per_s(500, "x")
    assert guessed_memory_bytes_per_s(500, "Apple M3 Ultra") == 819 * GB


def test_a_card_says_its_bandwidth_or_the_table_does() -> None:
    told = gpu_speed(gpu(name="NVIDIA H200", memory_bytes_per_s=4.0e12))
    assert (told.memory_bytes_per_s, told.known) == (4.0e12, Known.SPECIFIED)
    assert told.flops == 989e12
    assert told.pcie_bytes_per_s == pytest.approx(63.0 * GB, rel=0.01)
    by_name = gpu_speed(gpu(name="NVIDIA H200", memory_bytes_per_s=None), 55.0 * GB)
    assert (by_name.memory_bytes_per_s, by_name.pcie_bytes_per_s) == (4800 * GB, 55.0 * GB)
    unknown = gpu_speed(
        dataclasses.replace(gpu(name="New GPU", memory_bytes_per_s=None), pcie_gen=None)
    )
    assert unknown.known is Known.ASSUMED
    assert unknown.pcie_bytes_per_s is None
    assert unknown.flops is None


# shapes


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("Kimi-K2.6", "kimi-k2.6.q4_x"),
        ("unsloth/Kimi-K2-Thinking-GGUF", "kimi-k2.6.q4_x"),
        ("Kimi-K3", "kimi-k3.mxfp4"),
        ("Kimi-Linear-48B-A3B", "kimi-linear-48b.q4_k_m"),
        ("DeepSeek-R1/V3", "deepseek-v3.q4_k_m"),
        ("Qwen3-235B-A22B", "qwen3-235b-a22b.q4_k_m"),
        ("GLM-4.6", "glm-4.6.q4_k_m"),
        ("GLM-4.5-Air", "glm-4.5-air.q4_k_m"),
        ("gpt-oss-120b", "gpt-oss-120b.mxfp4"),
    ],
)
def test_shapes_are_those_of_the_real_headers(name: str, header: str) -> None:
    shape, facts = find_shape(name), model_facts(header)
    assert shape
    geometry, tensors = facts.geometry, facts.tensors
    assert geometry
    assert tensors
    main = [t for t in tensors if not t.name.startswith("blk.")
            or int(t.name.split(".")[1]) < geometry.n_layer_main]  # fmt: skip
    experts = sum(math.prod(t.shape) for t in main if "_exps" in t.name)
    assert shape.expert_params == experts
    assert shape.total_params == pytest.approx(sum(math.prod(t.shape) for t in main))
    assert shape.routed_share == geometry.n_expert_used / geometry.n_expert
    assert shape.n_layer == geometry.n_layer_main
    assert shape.kv_bytes_per_token == facts.kv_bytes_per_token
    assert not shape.is_estimate


def test_a_name_with_sizes_gives_an_estimate() -> None:
    shape = find_shape("Some 80B A3B model")
    assert shape
    assert shape.is_estimate
    assert shape.active_params == pytest.approx(3e9)
    assert shape.total_params == pytest.approx(80e9)
    dense = find_shape("Some-72B")
    assert dense
    assert dense.active_params == dense.total_params == 72e9
    assert find_shape("Mystery") is None
    assert unknown_shape(1e11).total_params == pytest.approx(1e11 * 8 / 4.8)


def test_fewer_experts_are_read_when_the_engine_is_told_so() -> None:
    shape, fewer = find_shape("DeepSeek-V3"), find_shape("DeepSeek-V3", 5)
    assert shape
    assert fewer
    assert fewer.routed_share == pytest.approx(shape.routed_share * 5 / 8)


@pytest.mark.parametrize(
    ("quantization", "header", "tolerance"),
    [
        ("Q4_X", "kimi-k2.6.q4_x", 0.05),
        ("Q4_K_M", "kimi-k2.6.q4_k_m", 0.05),
        ("Q2_K", "kimi-k2.6.q2_k", 0.05),
        ("IQ2_XXS", "kimi-k2.iq2_xxs", 0.1),
        ("Q8_0", "kimi-k2.q8_0", 0.05),
    ],
)
def test_a_file_is_split_by_the_name_of_its_quantization(
    quantization: str, header: str, tolerance: float
) -> None:
    tensors = model_facts(header).tensors
    assert tensors
    size = sum(tensor.size_bytes for tensor in tensors)
    experts = sum(tensor.size_bytes for tensor in tensors if "_exps" in tensor.name)
    shape = find_shape("Kimi-K2")
    assert shape
    found = traffic(shape, quantization, size)
    assert found.expert_bytes == pytest.approx(experts, rel=0.01)
    rest = size - experts - next(t.size_bytes for t in tensors if t.name == "token_embd.weight")
    assert found.other_bytes == pytest.approx(rest, rel=tolerance)
    assert found.routed_bytes == pytest.approx(experts * 8 / 384, rel=0.01)
    assert found.is_i_quant == quantization.startswith("IQ")


def test_a_dense_file_is_read_as_a_whole() -> None:
    dense = find_shape("Some-72B")
    assert dense
    found = traffic(dense, "Q4_K_M", usual_file_bytes(dense))
    assert (found.expert_bytes, found.routed_bytes) == (0, 0)
    assert found.other_bytes == usual_file_bytes(dense)
