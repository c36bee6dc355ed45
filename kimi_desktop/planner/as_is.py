"""A placement that the user made, priced as it is: nothing is searched or changed. Pure.

One forecast and a speed rule: about 1 ms, so that a slider may ask on every move.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.cache import cache_by_device
from kimi_desktop.planner.explain import remarks
from kimi_desktop.planner.placement import forecast_on
from kimi_desktop.planner.plan_types import Launch, LoadMode, Plan, SpeedRule, TokenReads
from kimi_desktop.planner.reads import token_reads
from kimi_desktop.planner.types import HOST, ModelShape
from kimi_desktop.planner.verdict import judge
from kimi_desktop.planner.weights import embedding_bytes, experts_in_ram, layer_devices


def plan_as_is(
    shape: ModelShape,
    machine: Machine,
    launch: Launch,
    gpus: Sequence[int],
    *,
    rule: SpeedRule,
    reserve_share: float = 0.0,
) -> Plan:
    """A plan that does what ``launch`` says.

    Args:
        shape: the model.
        machine: totals, and what others use now.
        launch: how to load.
        gpus: numbers of the machine's GPUs that are used, in the engine's order.
        rule: seconds per token of what is read.
        reserve_share: of every device, what the user would like to stay free; less is remarked
            upon, but fits.
    """
    placement = launch.placement
    memory = forecast_on(shape, placement, machine, gpus)
    host = memory.devices[-1]
    mode = launch.load_mode or LoadMode.MMAP
    pages = host.weights_bytes if mode.keeps_pages else 0
    verdict = judge(memory, embedding_bytes=embedding_bytes(shape), file_backed_bytes=pages)
    plan = Plan(
        placement=placement,
        gpus=tuple(gpus),
        n_threads=launch.n_threads,
        load_mode=mode,
        numa=launch.numa,
        fit=verdict.fit,
        forecast=memory,
        reserve_share=0.0,
        seconds_per_token=rule(_reads(shape, machine, launch, gpus)),
        decisions=(),
        experts_in_ram=experts_in_ram(shape, placement),
    )
    return remarks(shape, plan, reserve_share)


def _reads(shape: ModelShape, machine: Machine, launch: Launch, gpus: Sequence[int]) -> TokenReads:
    placement = launch.placement
    free = tuple(float(machine.gpus[number].vram_free_bytes) for number in gpus)
    split = (placement.tensor_split or free)[: len(gpus)]
    n_layer = shape.geometry.n_layer
    engine = layer_devices(n_layer, placement.n_gpu_layers, split)
    by_layer = cache_by_device(shape.geometry, placement, range(n_layer))
    return token_reads(
        shape,
        [HOST if device == HOST else gpus[device] for device in engine],
        frozenset(experts_in_ram(shape, placement)),
        [by_layer.get(index, 0) for index in range(n_layer + 1)],
        context=placement.context,
        n_gpu=len(machine.gpus),
    )
