"""A plan as llama-server's flags: the one place that spells them. Pure.

What a plan decides is said in every spelling that builds of llama.cpp have had, today's (b11549)
first: ``plan_flags`` takes the first ones, ``backends.command`` those that the installed build
knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.planner.plan_types import Launch, LoadMode, Plan, RpcDevice
from kimi_desktop.planner.rpc import RPC, of_used_workers
from kimi_desktop.planner.types import HOST

DEVICE = "CUDA"
"""How llama.cpp names GPUs; in the order of the bus when CUDA_DEVICE_ORDER=PCI_BUS_ID is set."""
RPC_FLAG = "--rpc"
EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""llama.cpp's own pattern of expert tensors, which --n-cpu-moe stands for."""
LOAD_MODES: dict[LoadMode, tuple[tuple[str, ...], ...]] = {
    LoadMode.MMAP: (("--load-mode", "mmap"),),
    LoadMode.NONE: (("--load-mode", "none"), ("--no-mmap",)),
    LoadMode.LOCKED: (("--load-mode", "mmap+mlock"), ("--mlock",)),
    LoadMode.DIRECT: (("--load-mode", "dio"), ("--direct-io",), ("-dio",)),
}
"""Builds before ``--load-mode`` (b10434) map the file unless they are told not to."""


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that is decided."""

    spellings: tuple[tuple[str, ...], ...]
    """A name and its values; today's spelling first."""
    needed: bool = True
    """A build that knows none of the spellings would load something else than the plan."""


def plan_flags(
    plan: Plan, n_machine_gpus: int, workers: Sequence[RpcDevice] = ()
) -> tuple[str, ...]:
    """Everything that the plan decided, said explicitly, and the engine's own fitting off.

    Args:
        plan: the plan.
        n_machine_gpus: all GPUs of the machine; fewer in the plan are named one by one.
        workers: devices of workers, behind them.
    """
    said = launch_flags(launch_of(plan, n_machine_gpus, workers))
    return tuple(word for one in said for word in one.spellings[0])


def launch_of(plan: Plan, n_machine_gpus: int, workers: Sequence[RpcDevice] = ()) -> Launch:
    """What an engine has to be told to carry a plan out; the arguments of ``plan_flags``."""
    every = plan.gpus == tuple(range(n_machine_gpus))
    if not plan.gpus and plan.placement.n_gpu_layers:
        every = True  # the graphics that shares main memory: no GPU of the plan, but the engine's
    return Launch(
        placement=plan.placement,
        gpus=None if every else plan.gpus,
        n_threads=plan.n_threads,
        load_mode=plan.load_mode,
        numa=plan.numa,
        workers=of_used_workers(workers, plan.gpus),
    )


def launch_flags(launch: Launch, device: str = DEVICE) -> tuple[Said, ...]:
    """What is said to the engine, in order.

    Args:
        launch: how to load.
        device: how the build names its GPUs, without the number.
    """
    placement = launch.placement
    found = [_said("-ngl", "--n-gpu-layers", "--gpu-layers", value=str(placement.n_gpu_layers))]
    if launch.workers:  # before the names of their devices, which it brings about
        addresses = dict.fromkeys(worker.address for worker in launch.workers)
        found.append(_said(RPC_FLAG, value=",".join(addresses)))
    if launch.gpus is not None:
        devices = device_list(launch.gpus, device, launch.workers)
        found.append(_said("-dev", "--device", value=devices))
    if len(placement.tensor_split) > 1 and (launch.gpus is None or len(launch.gpus) > 1):
        shares = ",".join(f"{share:g}" for share in placement.tensor_split)
        found.append(_said("-ts", "--tensor-split", value=shares))
    found += _overrides(launch, device)
    found.append(_said("-c", "--ctx-size", value=str(placement.context)))
    found.append(_said("-np", "--parallel", value=str(placement.n_parallel), needed=False))
    for kind, names in (
        (placement.cache_type_k, ("-ctk", "--cache-type-k")),
        (placement.cache_type_v, ("-ctv", "--cache-type-v")),
    ):
        found.append(_said(*names, value=kind.lower(), needed=kind != "F16"))
    if placement.cache_type_v not in ("F16", "BF16"):
        # A quantized cache needs flash attention; until autumn 2025 the flag was a switch.
        spellings = (("-fa", "on"), ("--flash-attn", "on"), ("-fa",), ("--flash-attn",))
        found.append(Said(spellings, needed=False))
    found.append(_said("-b", "--batch-size", value=str(placement.n_batch), needed=False))
    found.append(_said("-ub", "--ubatch-size", value=str(placement.n_ubatch), needed=False))
    found.append(_said("-t", "--threads", value=str(launch.n_threads), needed=False))
    if not placement.offload_ops:
        found.append(Said((("--no-op-offload",),)))
    if not placement.repack:
        found.append(Said((("--no-repack",), ("-nr",)), needed=False))
    if launch.load_mode is not None:
        found.append(Said(LOAD_MODES[launch.load_mode], needed=False))
    if launch.numa.value:
        found.append(_said("--numa", value=launch.numa.value, needed=False))
    found.append(_said("--fit", "-fit", value="off", needed=False))
    return tuple(found)


def device_list(
    gpus: Sequence[int], device: str = DEVICE, workers: Sequence[RpcDevice] = ()
) -> str:
    """What ``-dev`` takes: names in the engine's order, "none" for no GPU."""
    far = {worker.number: f"{RPC}{place}" for place, worker in enumerate(workers)}
    return ",".join(far.get(number, f"{device}{number}") for number in gpus) or "none"


def _overrides(launch: Launch, device: str) -> list[Said]:
    """Rules for single tensors, tried in order; ``--n-cpu-moe`` stands for some of them."""
    placement = launch.placement
    rules = [
        f"{pattern}={_buffer_name(number, launch, device)}"
        for pattern, number in placement.overrides
    ]
    blocks = [rf"blk\.{block}{EXPERTS}=CPU" for block in range(placement.n_cpu_moe)]
    names = ("-ot", "--override-tensor")
    found = [_said(*names, value=",".join(rules))] if rules else []
    if blocks:
        count = str(placement.n_cpu_moe)
        spelled = _said("--n-cpu-moe", "-ncmoe", value=count).spellings
        older = _said(*names, value=",".join(blocks)).spellings
        found.append(Said((*spelled, *older)))
    return found


def _buffer_name(place: int, launch: Launch, device: str) -> str:
    """What an override names: main memory, a GPU by its own number, or a worker's device."""
    if place == HOST:
        return "CPU"
    number = place if launch.gpus is None else launch.gpus[place]
    far = next((worker for worker in launch.workers if worker.number == number), None)
    return f"{device}{number}" if far is None else f"{RPC}{far.device}[{far.address}]"


def _said(*names: str, value: str, needed: bool = True) -> Said:
    return Said(tuple((name, value) for name in names), needed=needed)
