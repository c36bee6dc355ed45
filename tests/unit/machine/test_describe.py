from __future__ import annotations

import json

from kimi_desktop.machine.describe import describe
from kimi_desktop.machine.types import DiskKind
from tests.support.machines import GIB, cpu, disk, gpu, machine, memory


def test_the_object_of_a_workstation() -> None:
    found = machine(
        cpu=cpu(sockets=2, numa_nodes=4),
        memory=memory(755.4, 740.0, limit_bytes=512 * GIB, limit_source="cgroup"),
        disks=(disk(1900.04, path="/models", kind=DiskKind.SSD),),
    )
    assert describe(found) == {
        "schema": 1,
        "name": "this-machine",
        "cpu": {
            "model": "AMD Ryzen Threadripper PRO 7975WX",
            "physical_cores": 32,
            "sockets": 2,
            "numa_nodes": 4,
            "isa": ["avx2", "avx512f", "avx512_bf16"],
        },
        "memory": {
            "total_gib": 755.4,
            "available_gib": 740.0,
            "limit_gib": 512.0,
            "read_gb_s_measured": None,
            "read_gb_s_theoretical": None,
        },
        "gpus": [
            {
                "name": "NVIDIA GeForce RTX 5090",
                "vram_total_gib": 31.84,
                "vram_free_gib": 31.22,
                "memory_gb_s": 1792,
                "pcie_gen": 5,
                "pcie_width": 16,
                "pcie_gb_s_measured": None,
                "compute_capability": "12.0",
                "driver": "580.95",
            }
        ],
        "disks": [
            {"path": "/models", "kind": "ssd", "free_gb": 1900.0, "read_gb_s_measured": None}
        ],
    }


def test_what_is_not_known_is_null() -> None:
    bare = gpu(pcie_gen=None, pcie_width=None, compute_capability=None, memory_bytes_per_s=None)
    written = json.loads(json.dumps(describe(machine(gpus=(bare,), disks=()))))
    assert written["memory"]["limit_gib"] is None
    assert written["gpus"][0]["memory_gb_s"] is None
    assert written["gpus"][0]["pcie_gen"] is None
    assert written["disks"] == []
