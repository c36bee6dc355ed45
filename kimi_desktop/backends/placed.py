"""Load settings and plans, one from the other: a plan is started exactly as it was found. Pure.

Both say the same things; settings add what belongs to one start (the file, the engine, the chat
template), plans what was forecast.
"""

from __future__ import annotations

import dataclasses

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.flags import launch_of
from kimi_desktop.planner.plan_types import Launch, Plan
from kimi_desktop.planner.rpc import own_gpus, rpc_devices
from kimi_desktop.planner.types import Placement


def placement_of(settings: LoadSettings) -> Placement:
    """Where these settings put a model, as the forecast asks for it."""
    return Placement(
        context=settings.context,
        n_gpu_layers=settings.n_gpu_layers,
        n_cpu_moe=settings.n_cpu_moe,
        overrides=settings.overrides,
        tensor_split=settings.tensor_split,
        cache_type_k=settings.cache_type.upper(),
        cache_type_v=settings.cache_type.upper(),
        n_batch=settings.n_batch,
        n_ubatch=settings.n_ubatch,
        n_parallel=settings.n_parallel,
        offload_ops=settings.offload_ops,
        repack=settings.repack,
    )


def settings_of(plan: Plan, begin: LoadSettings, machine: Machine) -> LoadSettings:
    """The settings that carry a plan out.

    Args:
        plan: what to do.
        begin: the file, the engine, the template: what no plan changes.
        machine: what the plan is for.
    """
    launch = launch_of(plan, own_gpus(machine), rpc_devices(machine))
    placement = launch.placement
    return dataclasses.replace(
        begin,
        n_gpu_layers=placement.n_gpu_layers,
        n_cpu_moe=placement.n_cpu_moe,
        gpus=launch.gpus,
        workers=launch.workers,
        tensor_split=placement.tensor_split,
        overrides=placement.overrides,
        context=placement.context,
        cache_type=placement.cache_type_k.lower(),
        n_batch=placement.n_batch,
        n_ubatch=placement.n_ubatch,
        n_threads=launch.n_threads,
        n_parallel=placement.n_parallel,
        load_mode=launch.load_mode,
        numa=launch.numa,
        offload_ops=placement.offload_ops,
        repack=placement.repack,
    )


def launch_of_settings(settings: LoadSettings, n_threads: int) -> Launch:
    """What the engine has to be told.

    Args:
        settings: how to load.
        n_threads: used when the settings name none.
    """
    return Launch(
        placement=placement_of(settings),
        gpus=settings.gpus,
        n_threads=settings.n_threads or n_threads,
        load_mode=settings.load_mode,
        numa=settings.numa,
        workers=settings.workers,
    )


def gpus_of(settings: LoadSettings, machine: Machine, *, uses_gpus: bool) -> tuple[int, ...]:
    """Numbers of the machine's GPUs that these settings use, in the engine's order.

    Args:
        settings: how to load.
        machine: a GPU that it has no more is left out.
        uses_gpus: False for an engine that was built without GPU support, and has those of
            workers alone.
    """
    known = rpc_devices(machine)
    far = {worker.number for worker in settings.workers if worker in known}
    own = set(range(own_gpus(machine))) if uses_gpus else set()
    if settings.gpus is None:
        return tuple(sorted(own))
    return tuple(number for number in settings.gpus if number in own | far)
