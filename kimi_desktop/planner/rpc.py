"""Devices of other machines that llama.cpp reaches by RPC, among the GPUs of a machine. Pure.

A worker's devices stand behind the machine's own GPUs, in the order of ``--rpc``: layers go to the
machine's own first, and the search takes a worker only where they are not enough.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from kimi_desktop.machine.types import Gpu, Machine
from kimi_desktop.planner.plan_types import RpcDevice

RPC = "RPC"
"""How llama.cpp names such devices: RPC0, RPC1 ... over all workers of its command line."""


def rpc_devices(machine: Machine) -> tuple[RpcDevice, ...]:
    """The devices of workers, with their numbers among the machine's GPUs."""
    return tuple(
        RpcDevice(number, gpu.link.address, gpu.link.device)
        for number, gpu in enumerate(machine.gpus)
        if gpu.link is not None
    )


def own_gpus(machine: Machine) -> int:
    """How many GPUs are the machine's own; they come first."""
    return sum(gpu.link is None for gpu in machine.gpus)


def without_workers(machine: Machine) -> Machine:
    """The machine alone, for engines that know no workers."""
    return dataclasses.replace(machine, gpus=tuple(gpu for gpu in machine.gpus if gpu.link is None))


def of_used_workers(devices: Iterable[RpcDevice], gpus: Sequence[int]) -> tuple[RpcDevice, ...]:
    """All devices of those workers of which one is used: the engine counts the idle ones, too."""
    found = tuple(devices)
    used = {device.address for device in found if device.number in gpus}
    return tuple(device for device in found if device.address in used)


def device_id(number: int, gpu: Gpu, own: int) -> str:
    """``gpu:0`` for the machine's own, ``rpc:0`` for a worker's.

    Args:
        number: among the machine's GPUs.
        gpu: the device.
        own: how many GPUs are the machine's own.
    """
    return f"gpu:{number}" if gpu.link is None else f"rpc:{number - own}"


def device_name(gpu: Gpu) -> str:
    """What it is, and where, when another machine lends it: "RTX 4090 (10.0.0.2:50052)"."""
    if gpu.link is None or gpu.name == gpu.link.address:
        return gpu.name
    return f"{gpu.name} ({gpu.link.address})"


def device_label(device: str) -> str:
    """What a device is called in both languages: "RAM", "GPU 0", "RPC 0"."""
    kind, _, number = device.partition(":")
    return "RAM" if kind == "host" else f"{kind.upper()} {number}"
