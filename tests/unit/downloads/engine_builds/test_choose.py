"""Which build of a release a computer gets, by the rules that ship and a release's real names."""

from __future__ import annotations

import dataclasses
import json

import pytest

from kimi_desktop.base.assets import asset
from kimi_desktop.downloads.engine_builds.choose import BuildRules, offers_of
from kimi_desktop.downloads.engine_builds.types import Accelerator, Archive, BuildOffers, Release
from kimi_desktop.machine.accelerators import Accelerators

TAG = "b10356"
NAMES = [
    "cudart-llama-bin-win-cuda-12.4-x64.zip",
    "cudart-llama-bin-win-cuda-13.3-x64.zip",
    "llama-b10356-bin-310p-openEuler-x86.tar.gz",
    "llama-b10356-bin-android-arm64.tar.gz",
    "llama-b10356-bin-macos-arm64.tar.gz",
    "llama-b10356-bin-macos-x64.tar.gz",
    "llama-b10356-bin-ubuntu-arm64.tar.gz",
    "llama-b10356-bin-ubuntu-openvino-2026.2.1-x64.tar.gz",
    "llama-b10356-bin-ubuntu-rocm-7.14-x64.tar.gz",
    "llama-b10356-bin-ubuntu-s390x.tar.gz",
    "llama-b10356-bin-ubuntu-sycl-fp16-x64.tar.gz",
    "llama-b10356-bin-ubuntu-vulkan-arm64.tar.gz",
    "llama-b10356-bin-ubuntu-vulkan-x64.tar.gz",
    "llama-b10356-bin-ubuntu-x64.tar.gz",
    "llama-b10356-bin-win-cpu-arm64.zip",
    "llama-b10356-bin-win-cpu-x64.zip",
    "llama-b10356-bin-win-cuda-12.4-x64.zip",
    "llama-b10356-bin-win-cuda-13.3-x64.zip",
    "llama-b10356-bin-win-hip-radeon-x64.zip",
    "llama-b10356-bin-win-opencl-adreno-arm64.zip",
    "llama-b10356-bin-win-sycl-x64.zip",
    "llama-b10356-bin-win-vulkan-x64.zip",
]
LINUX = Accelerators("linux", "x64", has_vulkan=True)
WINDOWS = Accelerators("windows", "x64", has_vulkan=True)
RULES = BuildRules.from_json(
    json.loads((asset("engines") / "llama-cpp-builds.json").read_text(encoding="utf-8"))
)


def release(*names: str) -> Release:
    return Release(TAG, tuple(Archive(name, 1000, "0" * 64) for name in names))


def offers(here: Accelerators, *names: str) -> BuildOffers:
    found = offers_of(release(*(names or NAMES)), RULES, here, "releases.example")
    assert found is not None
    return found


def nvidia(base: Accelerators, cuda: tuple[int, int], capability: tuple[int, int]) -> Accelerators:
    return dataclasses.replace(base, makers=frozenset({"nvidia"}), cuda=cuda, capability=capability)


def of_maker(base: Accelerators, maker: str) -> Accelerators:
    return dataclasses.replace(base, makers=frozenset({maker}))


@pytest.mark.parametrize(
    ("here", "first"),
    [
        (LINUX, "b10356-cpu"),
        (of_maker(LINUX, "amd"), "b10356-vulkan"),
        (of_maker(LINUX, "intel"), "b10356-vulkan"),
        (nvidia(LINUX, (13, 0), (9, 0)), "b10356-vulkan"),
        (dataclasses.replace(LINUX, arch="arm64"), "b10356-cpu"),
        (WINDOWS, "b10356-cpu"),
        (nvidia(WINDOWS, (13, 0), (8, 9)), "b10356-cuda-13.3"),
        (nvidia(WINDOWS, (12, 2), (8, 9)), "b10356-cuda-12.4"),
        (nvidia(WINDOWS, (13, 1), (6, 1)), "b10356-cuda-12.4"),
        (nvidia(WINDOWS, (11, 8), (8, 6)), "b10356-vulkan"),
        (of_maker(WINDOWS, "amd"), "b10356-hip"),
        (of_maker(WINDOWS, "intel"), "b10356-vulkan"),
        (dataclasses.replace(WINDOWS, arch="arm64"), "b10356-cpu"),
        (Accelerators("macos", "arm64", frozenset({"apple"})), "b10356-metal"),
        (Accelerators("macos", "x64"), "b10356-cpu"),
    ],
)
def test_the_best_build_comes_first(here: Accelerators, first: str) -> None:
    assert offers(here).offers[0].id == first


def test_the_cuda_runtime_comes_along_with_its_licence() -> None:
    offer = offers(nvidia(WINDOWS, (13, 0), (8, 9))).offers[0]
    assert [archive.name for archive in offer.archives] == [
        "llama-b10356-bin-win-cuda-13.3-x64.zip",
        "cudart-llama-bin-win-cuda-13.3-x64.zip",
    ]
    assert offer.licences == ("MIT", "NVIDIA CUDA EULA")
    assert offer.size_bytes == 2000


def test_without_its_runtime_a_cuda_build_is_not_offered() -> None:
    names = [name for name in NAMES if not name.startswith("cudart")]
    found = offers(nvidia(WINDOWS, (13, 0), (8, 9)), *names)
    assert found.offers[0].accelerator is Accelerator.VULKAN
    assert found.lacks_cuda


def test_a_missing_cuda_build_is_told() -> None:
    assert offers(nvidia(LINUX, (13, 0), (9, 0))).lacks_cuda
    assert not offers(nvidia(WINDOWS, (13, 0), (9, 0))).lacks_cuda
    assert not offers(of_maker(LINUX, "amd")).lacks_cuda


def test_a_cuda_build_for_linux_is_taken_once_there_is_one() -> None:
    names = (
        *NAMES,
        "llama-b10356-bin-ubuntu-cuda-13.3-x64.tar.gz",
        "cudart-llama-bin-ubuntu-cuda-13.3-x64.tar.gz",
    )
    found = offers(nvidia(LINUX, (13, 0), (9, 0)), *names)
    assert found.offers[0].id == "b10356-cuda-13.3"
    assert not found.lacks_cuda


def test_a_missing_vulkan_loader_is_told() -> None:
    bare = dataclasses.replace(of_maker(LINUX, "amd"), has_vulkan=False)
    assert offers(bare).lacks_vulkan
    assert not offers(of_maker(LINUX, "amd")).lacks_vulkan


def test_builds_for_other_gpus_can_still_be_had() -> None:
    assert [offer.id for offer in offers(LINUX).offers] == [
        "b10356-cpu",
        "b10356-vulkan",
        "b10356-hip-7.14",
    ]


def test_nothing_for_an_unknown_system() -> None:
    assert offers_of(release(*NAMES), RULES, Accelerators("freebsd14", "x64"), "h") is None
    assert offers_of(release(), RULES, LINUX, "h") is None
