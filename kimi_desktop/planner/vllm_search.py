"""Finds a way to serve a model with vLLM or SGLang on a machine, or says what it would take. Pure.

Every way to divide the model that the engine accepts is forecast. Plain tensor parallelism over as
many GPUs as possible is preferred: every GPU works on every token. What does not fit with it is
tried with pipelines, and what wants more users with decode-context parallelism.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.base.errors import ErrorCode, Param, PlanError
from kimi_desktop.base.units import GIB
from kimi_desktop.machine.types import Cpu, Gpu, Machine, Memory
from kimi_desktop.planner.profiles import check_range
from kimi_desktop.planner.vllm_memory import forecast_server, free_share
from kimi_desktop.planner.vllm_rules import splits
from kimi_desktop.planner.vllm_types import (
    CacheFormat,
    Needed,
    ServerEngine,
    ServerForecast,
    ServerPlan,
    ServerProblem,
    ServerSettings,
    ServerWishes,
    Split,
)
from kimi_desktop.planner.vllm_weights import VllmModel

CARD_GB = (24, 32, 48, 80, 96, 141, 180)
"""Memory of common cards, as people name it."""
CARD_COUNTS = (1, 2, 4, 8, 16, 32)
CARDS_OF_MACHINE = 8
LEAST_CONTEXT = 4_096
CONTEXT_STEP = 1_024
MOST_CONTEXT = 2**31 - 1
MOST_USERS = 65_536
MOST_GPUS = 4_096
ENOUGH_RAM_BYTES = 4096 * GIB
MOST_ALTERNATIVES = 4


@dataclass(frozen=True, slots=True)
class _Case:
    """What is asked, and the GPUs to use in their order."""

    model: VllmModel
    machine: Machine
    wishes: ServerWishes
    order: Sequence[int]

    def forecast(self, split: Split, context: int | None = None) -> ServerForecast:
        wishes = self.wishes
        settings = ServerSettings(
            engine=wishes.engine,
            split=split,
            context=context or wishes.context or 0,
            cache=wishes.cache or CacheFormat.AUTO,
            memory_share=wishes.memory_share,
            n_sequences=wishes.n_sequences,
            n_batched_tokens=wishes.n_batched_tokens,
            eager=wishes.eager,
            text_only=wishes.text_only,
            offload_bytes=wishes.offload_bytes,
        )
        gpus = self.order[: split.n_gpu]
        if wishes.memory_share is None and wishes.engine is ServerEngine.VLLM:
            share = free_share(self.model, settings, self.machine, gpus)
            settings = dataclasses.replace(settings, memory_share=share)
        return forecast_server(self.model, settings, self.machine, gpus)

    def ways(self) -> list[Split]:
        if self.wishes.split is not None:
            return [self.wishes.split]
        ways = splits(self.model.config, len(self.order))
        dcp = self.wishes.engine is ServerEngine.VLLM
        return [way for way in ways if dcp or way.decode_context == 1] or [Split()]


def plan_server(model: VllmModel, machine: Machine, wishes: ServerWishes) -> ServerPlan:
    """The best way to serve ``model`` on ``machine``.

    Raises:
        PlanError: PLAN_BAD_WISH for what no engine can do, PLAN_NO_HEADER for a model without
            layers or tensors.
    """
    if not model.config.layers or model.weights.total <= model.weights.beside:
        raise PlanError(ErrorCode.PLAN_NO_HEADER, {"name": model.name})
    check_wishes(wishes)
    case = _Case(model, machine, wishes, _order(machine))
    found = [case.forecast(split) for split in case.ways()]
    best = max(found, key=lambda forecast: _rank(forecast, wishes, machine))
    if not best.fits and wishes.context is None:
        best = _shorter(case, found) or best
    enough = best.fits and best.concurrency >= wishes.users
    needed = None if enough else find_needed(model, _as_served(wishes, best))
    fewer = _fewer(best, found, wishes)
    return ServerPlan(model.name, wishes, best, _others(best, found), needed, fewer)


def forecast_split(
    model: VllmModel, machine: Machine, wishes: ServerWishes, split: Split
) -> ServerForecast:
    """One way to divide it, on the roomiest GPUs, with all else as wished."""
    return _Case(model, machine, wishes, _order(machine)).forecast(split)


def find_needed(model: VllmModel, wishes: ServerWishes) -> Needed | None:
    """The smallest equal cards, the fewest of them, that would serve the model as wished.

    One machine of up to eight cards goes before several machines of smaller ones.
    """
    for counts in (CARD_COUNTS[:4], CARD_COUNTS[4:]):
        for size in CARD_GB:
            for count in counts:
                machine = _machine_of(count, size * GIB)
                case = _Case(model, machine, wishes, range(count))
                for split in _plain_ways(case, count):
                    forecast = case.forecast(split)
                    if forecast.fits and forecast.concurrency >= wishes.users:
                        return Needed(count, size * GIB)
    return None


def _as_served(wishes: ServerWishes, best: ServerForecast) -> ServerWishes:
    """For users that do not fit: with the context that each of them has here."""
    if not best.fits:
        return wishes
    return dataclasses.replace(wishes, context=best.settings.context)


def _plain_ways(case: _Case, count: int) -> list[Split]:
    """Tensor parallelism within a machine of up to eight cards, a pipeline over machines."""
    if case.wishes.split is not None:
        return case.ways()
    return [
        way
        for way in case.ways()
        if way.n_gpu == count
        and way.pipeline == max(count // CARDS_OF_MACHINE, 1)
        and not way.experts
        and way.decode_context == 1
    ]


def _others(best: ServerForecast, found: Sequence[ServerForecast]) -> tuple[ServerForecast, ...]:
    """Other ways that work, the roomiest first; of ways that come to the same the plainest."""
    seen = {(best.settings.split.n_gpu, best.tokens)}
    others = []
    for forecast in sorted(found, key=lambda forecast: -forecast.tokens):
        key = (forecast.settings.split.n_gpu, forecast.tokens)
        if forecast.fits and key not in seen and forecast.settings.split != best.settings.split:
            seen.add(key)
            others.append(forecast)
    return tuple(others[:MOST_ALTERNATIVES])


def _fewer(
    best: ServerForecast, found: Sequence[ServerForecast], wishes: ServerWishes
) -> int | None:
    """The least GPUs that would serve the users with the same context, if fewer than chosen."""
    counts = [
        forecast.settings.split.n_gpu
        for forecast in found
        if forecast.fits
        and forecast.concurrency >= wishes.users
        and forecast.settings.context >= best.settings.context
    ]
    least = min(counts, default=best.settings.split.n_gpu)
    return least if least < best.settings.split.n_gpu else None


def _rank(forecast: ServerForecast, wishes: ServerWishes, machine: Machine) -> tuple[float, ...]:
    """Greater is better: it starts, holds the users, on equal GPUs, is plain, uses many of them.

    A group of unequal GPUs works at the pace of the slowest, with the memory of the smallest.
    """
    split = forecast.settings.split
    enough = forecast.concurrency >= wishes.users
    kinds = {machine.gpus[number].name for number in forecast.gpus}
    return (
        forecast.fits,
        enough,
        0.0 if enough else forecast.concurrency,
        -len(kinds),
        -split.pipeline,
        not split.experts,
        -split.decode_context,
        split.tensor,
        forecast.concurrency,
    )


def _shorter(case: _Case, found: Sequence[ServerForecast]) -> ServerForecast | None:
    """The longest context that fits, where the model's own is too long and nobody asked for it."""
    fitting = []
    for forecast in found:
        if forecast.problem is None or forecast.problem.kind is not ServerProblem.CONTEXT:
            continue
        context = forecast.tokens // case.wishes.users // CONTEXT_STEP * CONTEXT_STEP
        if context >= LEAST_CONTEXT:
            fitting.append(case.forecast(forecast.settings.split, context))
    fitting = [forecast for forecast in fitting if forecast.fits]
    plain = [forecast for forecast in fitting if forecast.settings.split.decode_context == 1]
    return max(plain or fitting, key=lambda forecast: forecast.settings.context, default=None)


def _order(machine: Machine) -> tuple[int, ...]:
    """Numbers of the GPUs, the roomiest kind first; of one kind the roomiest, then their order."""
    gpus = machine.gpus
    numbers = [number for number, gpu in enumerate(gpus) if gpu.vram_total_bytes]
    kinds: dict[str, int] = {}
    for number in numbers:
        gpu = gpus[number]
        kinds[gpu.name] = max(kinds.get(gpu.name, 0), gpu.vram_free_bytes)

    def key(number: int) -> tuple[int, str, int, int]:
        gpu = gpus[number]
        return -kinds[gpu.name], gpu.name, -gpu.vram_free_bytes, number

    return tuple(sorted(numbers, key=key))


def _machine_of(count: int, vram_bytes: int) -> Machine:
    """A machine of equal, idle GPUs with enough main memory."""
    gpu = Gpu(
        index=0, uuid="", name="", vram_total_bytes=vram_bytes, vram_free_bytes=vram_bytes,
        driver="", compute_capability=None, pcie_gen=None, pcie_width=None, temperature_c=None,
        power_w=None, power_limit_w=None, load_percent=None,
    )  # fmt: skip
    gpus = tuple(dataclasses.replace(gpu, index=number) for number in range(count))
    memory = Memory(ENOUGH_RAM_BYTES, ENOUGH_RAM_BYTES, None, 0, 0)
    return Machine(Cpu("", 1, 1, 1, 1, 1, ()), memory, gpus, (), "", "")


def check_wishes(
    wishes: ServerWishes, *, tensor: int | None = None, pipeline: int | None = None
) -> None:
    """Refuse what no engine can do, before anything is read.

    Raises:
        PlanError: PLAN_BAD_WISH names the wish, its value and its range.
    """
    check_range("--ctx", wishes.context, 1, MOST_CONTEXT)
    check_range("--users", wishes.users, 1, MOST_USERS)
    check_range("--tp", tensor, 1, MOST_GPUS)
    check_range("--pp", pipeline, 1, MOST_GPUS)
    check_range("--max-num-seqs", wishes.n_sequences, 1, MOST_USERS)
    check_range("--max-num-batched-tokens", wishes.n_batched_tokens, 1, MOST_CONTEXT)
    share = wishes.memory_share
    if share is not None and not 0 < share <= 1:
        limits: dict[str, Param] = {"least": "0.01", "most": "1"}
        raise PlanError(ErrorCode.PLAN_BAD_WISH, {"name": "memory share", "value": share, **limits})
