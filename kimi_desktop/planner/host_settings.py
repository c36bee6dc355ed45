"""Threads, memory nodes and how weights are held in main memory. Pure rules."""

from __future__ import annotations

import dataclasses

from kimi_desktop.base.errors import Param
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.plan_types import Decision, LoadMode, Numa, Profile, Wishes
from kimi_desktop.planner.profiles import MOST_THREADS
from kimi_desktop.planner.speed_types import HostSpeed

NODE_SHARE = 0.9
"""Of one node's memory, what weights may take when threads stay on that node."""


def threads_for(machine: Machine, wishes: Wishes, numa: Numa = Numa.OFF) -> tuple[int, Decision]:
    """As many threads as one socket has physical cores: more of them wait for the same memory.

    Hyper-threads and threads across sockets make decoding slower, at worst by ten times.

    Args:
        machine: whose cores.
        wishes: may name a count.
        numa: where the engine puts its threads.
    """
    if wishes.n_threads is not None:
        return wishes.n_threads, Decision("why.threads.wished", {"count": wishes.n_threads})
    cpu = machine.cpu
    per_socket = max(cpu.physical_cores // max(cpu.sockets, 1), 1)
    count = max(min(per_socket, cpu.usable_physical_cores, MOST_THREADS), 1)
    key = "why.threads.cores"
    if cpu.sockets > 1:
        key = "why.threads.spread" if numa is Numa.DISTRIBUTE else "why.threads.socket"
    if count < per_socket:
        key = "why.threads.allowed"
    return count, Decision(key, {"count": count, "sockets": cpu.sockets})


def numa_for(
    machine: Machine, wishes: Wishes, host_weights_bytes: int
) -> tuple[Numa, Decision | None]:
    """One socket if its memory holds what the processors read, else all nodes.

    A node that is only a part of a socket has neither its cores nor its bandwidth.

    Args:
        machine: its nodes.
        wishes: more threads than a node has cores go over all of them.
        host_weights_bytes: what the processors read.
    """
    cpu = machine.cpu
    nodes = cpu.numa_nodes
    if nodes <= 1 or not host_weights_bytes:
        return Numa.OFF, None
    params: dict[str, Param] = {"nodes": nodes}
    if host_weights_bytes > machine.memory.usable_total_bytes / nodes * NODE_SHARE:
        return Numa.DISTRIBUTE, Decision("why.numa.distribute", params)
    if nodes > cpu.sockets:
        return Numa.DISTRIBUTE, Decision("why.numa.whole", params)
    if (wishes.n_threads or 0) > cpu.physical_cores // nodes:
        return Numa.DISTRIBUTE, Decision("why.numa.threads", params)
    return Numa.ISOLATE, Decision("why.numa.isolate", params)


def host_in_use(host: HostSpeed, threads: int, numa: Numa, nodes: int) -> HostSpeed:
    """The part of all processors and memory that these settings leave to one model.

    Args:
        host: the whole machine.
        threads: of the engine.
        numa: where it puts them.
        nodes: memory nodes of the machine.
    """
    cores = min(host.cores, threads) if host.cores else None
    if numa is not Numa.ISOLATE:
        return dataclasses.replace(host, cores=cores)
    measured, specified = host.measured_bytes_per_s, host.specified_bytes_per_s
    return dataclasses.replace(
        host,
        measured_bytes_per_s=measured / nodes if measured else None,
        specified_bytes_per_s=specified / nodes if specified else None,
        sockets=max(host.sockets // nodes, 1),
        cores=cores,
    )


def load_mode_for(
    wishes: Wishes,
    *,
    host_weights_bytes: int,
    on_gpus: bool,
    fits_in_ram: bool,
    repacked_bytes: int = 0,
) -> tuple[LoadMode, Decision]:
    """How weights are held.

    Args:
        wishes: may name a mode.
        host_weights_bytes: read by the processors; the embedding table alone counts 0.
        on_gpus: GPUs are used.
        fits_in_ram: main memory keeps its reserve.
        repacked_bytes: of the weights, what is rearranged for the processors as it is read.
    """
    if wishes.load_mode is not None:
        return wishes.load_mode, Decision("why.load.wished", {"mode": wishes.load_mode.value})
    if not fits_in_ram:
        return LoadMode.MMAP, Decision("why.load.disk")
    if on_gpus and host_weights_bytes:
        return LoadMode.NONE, Decision("why.load.pinned")
    if not on_gpus and wishes.profile is Profile.FASTEST:
        return LoadMode.LOCKED, Decision("why.load.locked")
    if repacked_bytes:
        return LoadMode.MMAP, Decision("why.load.mmap_rest")
    return LoadMode.MMAP, Decision("why.load.gpu" if on_gpus else "why.load.mmap")
