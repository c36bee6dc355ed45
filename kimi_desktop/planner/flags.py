"""A plan as llama-server's flags, in the names of llama.cpp b11549. Pure.

Engines of other builds get the same things by the names that their own help has.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.planner.plan_types import LoadMode, Plan
from kimi_desktop.planner.types import HOST

DEVICE = "CUDA{number}"
"""How llama.cpp names GPUs; in the order of the bus when CUDA_DEVICE_ORDER=PCI_BUS_ID is set."""


def plan_flags(plan: Plan, n_machine_gpus: int) -> tuple[str, ...]:
    """Everything that the plan decided, said explicitly, and the engine's own fitting off.

    Args:
        plan: the plan.
        n_machine_gpus: all GPUs of the machine; fewer in the plan are named one by one.
    """
    placement = plan.placement
    words = ["-ngl", str(placement.n_gpu_layers)]
    if n_machine_gpus and plan.gpus != tuple(range(n_machine_gpus)):
        words += ["-dev", device_list(plan.gpus)]
    if len(plan.gpus) > 1 and placement.tensor_split:
        words += ["-ts", ",".join(f"{share:g}" for share in placement.tensor_split)]
    if placement.overrides:
        words += ["-ot", ",".join(f"{pattern}={buffer_name(device, plan.gpus)}"
                                  for pattern, device in placement.overrides)]  # fmt: skip
    elif placement.n_cpu_moe:
        words += ["--n-cpu-moe", str(placement.n_cpu_moe)]
    words += ["-c", str(placement.context), "-np", str(placement.n_parallel)]
    words += ["-ctk", placement.cache_type_k.lower(), "-ctv", placement.cache_type_v.lower()]
    words += ["-fa", "on"] if placement.cache_type_v not in ("F16", "BF16") else []
    words += ["-b", str(placement.n_batch), "-ub", str(placement.n_ubatch)]
    words += ["-t", str(plan.n_threads)]
    words += [] if placement.offload_ops else ["--no-op-offload"]
    words += [] if placement.repack else ["--no-repack"]
    words += ["--load-mode", plan.load_mode.value]
    words += ["--numa", plan.numa.value] if plan.numa.value else []
    return (*words, "--fit", "off")


def device_list(gpus: Sequence[int]) -> str:
    """What ``-dev`` takes: names in the engine's order, "none" for no GPU."""
    return ",".join(DEVICE.format(number=number) for number in gpus) or "none"


def buffer_name(device: int, gpus: Sequence[int]) -> str:
    """What an override names: main memory, or a GPU by its own number."""
    return "CPU" if device == HOST else DEVICE.format(number=gpus[device])


def older_load_mode(mode: LoadMode) -> tuple[str, ...]:
    """The flags of builds before ``--load-mode``."""
    if mode is LoadMode.NONE:
        return ("--no-mmap",)
    return ("--mlock",) if mode is LoadMode.LOCKED else ()
