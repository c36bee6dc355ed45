"""Threads, memory nodes and how weights are held in main memory. Pure rules."""

from __future__ import annotations

from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.plan_types import Decision, LoadMode, Numa, Profile, Wishes
from kimi_desktop.planner.profiles import MOST_THREADS

NODE_SHARE = 0.9
"""Of one node's memory, what weights may take when threads stay on that node."""


def threads_for(machine: Machine, wishes: Wishes) -> tuple[int, Decision]:
    """One thread per physical core of one socket: more of them wait for the same memory.

    Hyper-threads and threads across sockets make decoding slower, at worst by ten times.
    """
    if wishes.n_threads is not None:
        return wishes.n_threads, Decision("why.threads.wished", {"count": wishes.n_threads})
    cpu = machine.cpu
    per_socket = max(cpu.physical_cores // max(cpu.sockets, 1), 1)
    count = max(min(per_socket, cpu.usable_physical_cores, MOST_THREADS), 1)
    key = "why.threads.socket" if cpu.sockets > 1 else "why.threads.cores"
    if count < per_socket:
        key = "why.threads.allowed"
    return count, Decision(key, {"count": count, "sockets": cpu.sockets})


def numa_for(machine: Machine, host_weights_bytes: int) -> tuple[Numa, Decision | None]:
    """One node if it holds what the processors read, else all of them."""
    nodes = machine.cpu.numa_nodes
    if nodes <= 1 or not host_weights_bytes:
        return Numa.OFF, None
    one_node = machine.memory.usable_total_bytes / nodes
    if host_weights_bytes <= one_node * NODE_SHARE:
        return Numa.ISOLATE, Decision("why.numa.isolate", {"nodes": nodes})
    return Numa.DISTRIBUTE, Decision("why.numa.distribute", {"nodes": nodes})


def load_mode_for(
    wishes: Wishes, *, host_weights_bytes: int, on_gpus: bool, fits_in_ram: bool
) -> tuple[LoadMode, Decision]:
    """How weights are held.

    Args:
        wishes: may name a mode.
        host_weights_bytes: read by the processors; the embedding table alone counts 0.
        on_gpus: GPUs are used.
        fits_in_ram: main memory keeps its reserve.
    """
    if wishes.load_mode is not None:
        return wishes.load_mode, Decision("why.load.wished", {"mode": wishes.load_mode.value})
    if not fits_in_ram:
        return LoadMode.MMAP, Decision("why.load.disk")
    if on_gpus and host_weights_bytes:
        return LoadMode.NONE, Decision("why.load.pinned")
    if not on_gpus and wishes.profile is Profile.FASTEST:
        return LoadMode.LOCKED, Decision("why.load.locked")
    return LoadMode.MMAP, Decision("why.load.gpu" if on_gpus else "why.load.mmap")
