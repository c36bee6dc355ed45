"""Machine descriptions read back: the round trip, and every slip named."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.errors import ErrorCode, HardwareError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.machine.describe import describe
from kimi_desktop.machine.machine_file import MAX_BYTES, machine_of, read_machine_file
from kimi_desktop.machine.types import DiskKind
from tests.support.machines import GB, GIB, cpu, disk, gpu, machine, memory

SERVER = machine(
    memory=memory(
        755, 700, limit_bytes=512 * GIB,
        read_bytes_per_s_measured=410.5e9, read_bytes_per_s_theoretical=614.4e9,
    ),
    gpus=(gpu(0), gpu(1, 24.0, memory_bytes_per_s=None)),
    disks=(disk(read_bytes_per_s_measured=6.4e9),),
)  # fmt: skip


def test_what_doctor_writes_is_read_back() -> None:
    description = describe(SERVER)
    found = machine_of(json.loads(json.dumps(description)), "server.json")
    again = describe(found)
    assert again == description
    assert found.gpus[0].memory_bytes_per_s == 1792 * GB
    assert found.gpus[1].memory_bytes_per_s is None
    assert found.memory.usable_total_bytes == 512 * GIB
    assert found.disks[0].kind is DiskKind.NVME
    assert found.cpu.usable_physical_cores == 32


def test_a_machine_without_gpus() -> None:
    found = machine_of(describe(machine(gpus=())), "cpu.json")
    assert found.gpus == ()
    assert found.gpu_note == "no_gpu"


APPLE = {"name": "Apple M3 Ultra", "vram_total_gib": 464, "vram_free_gib": 460}


@pytest.mark.parametrize("gpus", [[], [APPLE]])
def test_the_memory_of_an_apple_chip_counts_once(gpus: list[dict[str, Any]]) -> None:
    """Whether the graphics part is listed, as people write it, or not, as doctor does."""
    mac = machine(cpu=cpu(model="Apple M3 Ultra", isa=("neon",)), gpus=(), gpu_note="apple")
    description = describe(mac) | {"gpus": gpus}
    found = machine_of(json.loads(json.dumps(description)), "mac.json")
    assert found.gpu_note == "apple"
    assert found.gpus == ()
    assert describe(found)["gpus"] == []


def test_unknown_keys_are_named_all_at_once() -> None:
    data = describe(SERVER)
    data["gpu"] = []
    data["memory"]["totl_gib"] = 1
    data["gpus"][1]["vram"] = 24
    with pytest.raises(HardwareError) as caught:
        machine_of(data, "server.json")
    assert caught.value.code is ErrorCode.MACHINE_FILE_UNKNOWN_KEYS
    assert caught.value.params["keys"] == "gpu, memory.totl_gib, gpus[1].vram"
    assert "gpus[1].vram" in describe_error(caught.value, Language.ZH_CN)[0]


@pytest.mark.parametrize(
    ("where", "value", "key"),
    [
        (("cpu", "physical_cores"), 0, "cpu.physical_cores"),
        (("cpu", "physical_cores"), True, "cpu.physical_cores"),
        (("cpu", "sockets"), -1, "cpu.sockets"),
        (("cpu", "sockets"), 64, "cpu.sockets"),
        (("cpu", "isa"), "avx2", "cpu.isa"),
        (("cpu", "model"), 7, "cpu.model"),
        (("cpu",), None, "cpu"),
        (("memory", "total_gib"), "lots", "memory.total_gib"),
        (("memory", "total_gib"), -1, "memory.total_gib"),
        (("memory", "total_gib"), float("inf"), "memory.total_gib"),
        (("memory", "total_gib"), None, "memory.total_gib"),
        (("memory", "total_gib"), 1e30, "memory.total_gib"),
        (("memory", "available_gib"), 900, "memory.available_gib"),
        (("gpus", 0, "vram_free_gib"), 99, "gpus[0].vram_free_gib"),
        (("gpus", 0, "pcie_gen"), 5.5, "gpus[0].pcie_gen"),
        (("gpus", 0, "pcie_gen"), 99, "gpus[0].pcie_gen"),
        (("gpus", 0, "pcie_width"), 64, "gpus[0].pcie_width"),
        (("name",), None, "name"),
        (("gpus",), {}, "gpus"),
        (("gpus",), [{}] * 300, "gpus"),
        (("gpus", 0), "RTX", "gpus[0]"),
        (("disks", 0, "kind"), "floppy", "disks[0].kind"),
        (("schema",), "one", "schema"),
    ],
)
def test_a_value_that_no_machine_has_is_named(
    where: tuple[Any, ...], value: object, key: str
) -> None:
    data: Any = copy.deepcopy(describe(SERVER))
    place = data
    for step in where[:-1]:
        place = place[step]
    place[where[-1]] = value
    with pytest.raises(HardwareError) as caught:
        machine_of(data, "server.json")
    assert caught.value.code is ErrorCode.MACHINE_FILE_BAD_VALUE
    assert caught.value.params["field"] == key
    assert all(describe_error(caught.value, Language.EN))


def test_a_newer_schema_is_refused() -> None:
    with pytest.raises(HardwareError) as caught:
        machine_of(describe(SERVER) | {"schema": 2}, "server.json")
    assert caught.value.code is ErrorCode.MACHINE_FILE_TOO_NEW


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(describe(SERVER)), encoding="utf-8")
    assert read_machine_file(path).gpus[1].name == "NVIDIA GeForce RTX 5090"
    with pytest.raises(HardwareError) as caught:
        read_machine_file(tmp_path / "absent.json")
    assert caught.value.code is ErrorCode.MACHINE_FILE_UNREADABLE
    for content in (b"{", b"\xff\xfe", b"[" * 100_000, b" " * (MAX_BYTES + 1)):
        path.write_bytes(content)
        with pytest.raises(HardwareError) as caught:
            read_machine_file(path)
        assert caught.value.code is ErrorCode.MACHINE_FILE_NOT_JSON


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(key=st.sampled_from(["schema", "name", "cpu", "memory", "gpus", "disks"]), value=json_values)
def test_any_json_is_a_machine_or_a_typed_error(key: str, value: object) -> None:
    with contextlib.suppress(HardwareError):
        machine_of(describe(SERVER) | {key: value}, "x")
