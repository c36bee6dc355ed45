"""Why a speed is what it is, in words."""

from __future__ import annotations

import dataclasses

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.planner.limits import limit_sentence, speed_limits
from kimi_desktop.planner.speed_types import (
    Band,
    FileWork,
    GpuSpeed,
    HostSpeed,
    Known,
    PromptWork,
    Resource,
    SpeedForecast,
    SpeedInput,
    TokenWork,
)

GB = 10**9
GPU = GpuSpeed(1792 * GB, Known.SPECIFIED, 4e14, 55 * GB)
SLOW = GpuSpeed(864 * GB, Known.ASSUMED, 1e14)
SETUP = SpeedInput(
    HostSpeed(262 * GB, 358 * GB, cores=32),
    (GPU, SLOW),
    TokenWork(12 * GB, (3 * GB, GB), n_layer=61),
    PromptWork(4096, 571 * GB),
    FileWork(584 * GB, 0, 13 * GB, 12 * GB, 6.4 * GB),
)


def said(setup: SpeedInput, decode: Resource, prefill: Resource) -> tuple[str, str, str]:
    def band(resource: Resource) -> Band:
        return Band(1, 2, 3, resource)

    speed = SpeedForecast(
        band(decode), band(prefill), band(Resource.DISK), 2048, band(Resource.DISK)
    )
    limits = speed_limits(setup, speed)
    for language in Language:
        for limit in (limits.decode, limits.prefill, limits.load):
            assert limit_sentence(limit, language)
    return (
        limit_sentence(limits.decode, Language.EN),
        limit_sentence(limits.prefill, Language.EN),
        limit_sentence(limits.load, Language.EN),
    )


def test_memory_and_pcie() -> None:
    decode, prefill, load = said(SETUP, Resource.RAM, Resource.PCIE)
    assert decode == ("Limited by RAM bandwidth: 12.0 GB are read per token; 262.0 GB/s measured.")
    assert prefill == (
        "Limited by PCIe: 571 GB of weights cross it once per 4,096 tokens, at 55.0 GB/s."
    )
    assert load == "584 GB from disk; 6.4 GB/s measured"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (HostSpeed(None, 358 * GB), "358.0 GB/s by its data sheet"),
        (HostSpeed(None, 358 * GB, is_guess=True), "358.0 GB/s assumed"),
        (HostSpeed(), "GB/s assumed"),
    ],
)
def test_rates_say_where_they_are_from(host: HostSpeed, words: str) -> None:
    setup = dataclasses.replace(SETUP, host=host)
    decode, prefill, _ = said(setup, Resource.RAM, Resource.RAM)
    assert words in decode
    assert words in prefill


def test_the_slowest_gpu_that_is_read_counts() -> None:
    decode, prefill, _ = said(SETUP, Resource.GPU_MEMORY, Resource.GPU_MEMORY)
    assert decode.endswith("4.0 GB are read per token; 864.0 GB/s assumed.")
    assert "864.0 GB/s" in prefill
    alone = dataclasses.replace(SETUP, work=TokenWork(0, (3 * GB, 0)))
    assert "1,792.0 GB/s by its data sheet" in said(alone, Resource.GPU_MEMORY, Resource.PCIE)[0]


def test_shared_memory_is_read_as_a_whole() -> None:
    setup = dataclasses.replace(
        SETUP, gpus=(GPU,), work=TokenWork(2 * GB, (3 * GB,)), is_unified=True
    )
    assert "5.0 GB are read" in said(setup, Resource.GPU_MEMORY, Resource.COMPUTE)[0]


def test_what_is_read_from_disk() -> None:
    short = dataclasses.replace(SETUP.file, missing_bytes=300 * GB, disk_bytes_per_s=None)
    decode, prefill, load = said(
        dataclasses.replace(SETUP, file=short), Resource.DISK, Resource.DISK
    )
    assert "300 GB have no room in memory" in decode
    assert "300 GB have no room in memory" in prefill
    assert load.endswith("assumed")


def test_arithmetic_and_fixed_work() -> None:
    decode, prefill, _ = said(SETUP, Resource.COMPUTE, Resource.COMPUTE)
    assert decode == "Limited by the fixed work of 61 layers, not by memory."
    assert prefill == "Limited by the arithmetic of the GPU."
    alone = dataclasses.replace(SETUP, gpus=(), work=TokenWork(12 * GB))
    decode, prefill, _ = said(alone, Resource.COMPUTE, Resource.COMPUTE)
    assert decode == "Limited by 32 processor cores: they cannot read memory any faster."
    assert prefill == "Limited by the arithmetic of 32 processor cores."


def test_a_link_that_nobody_knows_is_guessed() -> None:
    setup = dataclasses.replace(SETUP, gpus=(SLOW,))
    assert "GB/s" in said(setup, Resource.RAM, Resource.PCIE)[1]
