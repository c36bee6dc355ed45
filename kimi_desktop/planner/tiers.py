"""What kind of machine this is and how far it reaches in the Kimi family, in one sentence. Pure.

The one source of that sentence and of the tier, for the wizard and ``doctor``. How far it reaches
is what the planner says of a few files of the catalogue, on the machine at rest: what
other programs use now is the business of plans.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import GB, GIB, format_gib, format_tokens_per_s
from kimi_desktop.machine.checks import USEFUL_VRAM_BYTES, check_rows, count_results
from kimi_desktop.machine.types import Machine, Tier, Verdict
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner.by_size import SizedForecast, forecast_by_size
from kimi_desktop.planner.hardware import shares_memory
from kimi_desktop.planner.plan_types import Fit
from kimi_desktop.planner.speed_factors import Factors

# K2.6's native checkpoint: weights only.
K26_NATIVE_BYTES = 594_200_000_000
# vLLM's recipe for the native checkpoint asks for this much VRAM (8 x 80 GB is too little).
K26_VRAM_BYTES = 714 * GB
BIG_CARD_BYTES = 75 * GIB
"""A card that is sold as 80 GB."""
CPU_TIER_BYTES = 700 * GIB
"""A machine that is sold with 768 GB."""
RESTING_BYTES = 4 * GIB
"""What a system takes of main memory when nothing runs, at most."""
TIERS = tuple(Tier)


class Build(StrEnum):
    """How the memory is made up; text key ``forecast.build.<value>``."""

    SERVER = "server"
    """GPUs hold K2.6 as a whole with room for its cache."""
    TIGHT_SERVER = "tight_server"
    """Classic: 8 x 80 GB. The weights fit, their cache hardly."""
    UNIFIED = "unified"
    """One memory for processors and graphics."""
    BIG_CARD = "big_card"
    """Classic: a card of 80 GB or more, and RAM."""
    CARD = "card"
    """Classic: a card of 16 to 48 GB, and RAM."""
    SMALL_CARD = "small_card"
    """A card that does not hold the always-on part of K2.6."""
    CPU = "cpu"
    """Classic: processors and a large RAM."""
    PLAIN = "plain"
    """Neither a GPU nor a large RAM."""


class Reach(StrEnum):
    """The largest Kimi model that fits; text key ``forecast.reach.<value>``."""

    K3_LOSSLESS = "k3_lossless"
    K3_2BIT = "k3_2bit"
    K3_2BIT_SLOW = "k3_2bit_slow"
    """It fits, but no GPU holds its always-on part."""
    K3_1BIT = "k3_1bit"
    K3_1BIT_SLOW = "k3_1bit_slow"
    K26_IN_VRAM = "k26_in_vram"
    K26_4BIT = "k26_4bit"
    K26_4BIT_TIGHT = "k26_4bit_tight"
    """Classic: 80 GB and 512 GB. It fits, with less kept free than the Safe profile wants."""
    K26_2BIT = "k26_2bit"
    LINEAR = "linear"
    KIMI_16B = "kimi_16b"
    SMALL = "small"


# What a reach is told by: a model of the catalogue and its quantization, the largest first.
YARDSTICKS: tuple[tuple[Reach, str, str], ...] = (
    (Reach.K3_LOSSLESS, "kimi-k3", "UD-Q8_K_XL"),
    (Reach.K3_2BIT, "kimi-k3", "UD-Q2_K_XL"),
    (Reach.K3_1BIT, "kimi-k3", "UD-IQ1_S"),
    (Reach.K26_4BIT, "kimi-k2.6", "UD-Q4_K_XL"),
    (Reach.K26_2BIT, "kimi-k2.6", "UD-Q2_K_XL"),
    (Reach.LINEAR, "kimi-linear-48b", "Q4_K_M"),
    (Reach.KIMI_16B, "moonlight-16b-a3b", "Q4_K_M"),
)
_SLOW = {Reach.K3_2BIT: Reach.K3_2BIT_SLOW, Reach.K3_1BIT: Reach.K3_1BIT_SLOW}
_TIER_OF = {
    Reach.K26_2BIT: Tier.LARGE,
    Reach.LINEAR: Tier.WORKSTATION,
    Reach.KIMI_16B: Tier.SMALL,
    Reach.SMALL: Tier.SMALL,
}


@dataclass(frozen=True, slots=True)
class MachineTier:
    """A machine in the words of the guides."""

    tier: Tier
    """By the largest model that fits."""
    build: Build
    reach: Reach
    model: str = ""
    """What the reach is told by: a model of the catalogue and its quantization."""
    sized: SizedForecast | None = None
    """None: no model of the family fits."""


def machine_tier(machine: Machine, factors: Factors | None = None) -> MachineTier:
    """Kind and reach of a machine; ``factors`` of speed as learned on it."""
    is_server = machine.vram_total_bytes >= K26_VRAM_BYTES
    yardsticks = tuple(_sized_yardsticks(at_rest(machine), factors))
    for reach, name, sized in yardsticks:
        found = reach
        if not sized.verdict.fits:
            if reach is not Reach.K26_4BIT or not sized.memory.fits:
                continue
            found = Reach.K26_4BIT_TIGHT
        if is_server and reach is not Reach.K3_LOSSLESS:
            if not reach.value.startswith("k26"):
                continue  # K2.6 for several users says more about it than K3 in one or two bits
            found = Reach.K26_IN_VRAM
        elif reach in _SLOW and sized.verdict.fit is Fit.IN_RAM:
            found = reach if shares_memory(machine) else _SLOW[reach]
        tier = Tier.SERVER if is_server else _TIER_OF.get(found, Tier.FULL)
        told = (reach, name, sized)
        if reach in _SLOW:  # what people run there is K2.6
            told = next(one for one in yardsticks if one[0] is Reach.K26_4BIT)
        return MachineTier(tier, _build(machine, tier), found, *told[1:])
    return MachineTier(Tier.SMALL, _build(machine, Tier.SMALL), Reach.SMALL)


def tier_sentence(machine: Machine, language: Language) -> str:
    """One sentence about this machine."""
    return _sentence(machine, machine_tier(machine), language)


def machine_verdict(
    machine: Machine, language: Language, factors: Factors | None = None
) -> Verdict:
    """What the machine is good for: tier, one sentence, its speed and how the rows came out."""
    found = machine_tier(machine, factors)
    detail = count_results(check_rows(machine, language), language)
    if found.sized is not None:
        band = found.sized.speed.decode_tps
        low, _, _ = format_tokens_per_s(band.low, language).partition(" ")
        speed = message(
            "forecast.tier.speed",
            language,
            model=found.model,
            low=low,
            high=format_tokens_per_s(band.high, language),
            waits=message(f"forecast.bottleneck.{band.bottleneck.value}", language),
        )
        detail = message("forecast.tier.detail", language, speed=speed, rows=detail)
    return Verdict(
        tier=found.tier,
        tier_number=TIERS.index(found.tier) + 1,
        tier_count=len(TIERS),
        headline=_sentence(machine, found, language),
        detail=detail,
    )


def at_rest(machine: Machine) -> Machine:
    """The machine with nothing running but its system."""
    memory = machine.memory
    total = memory.usable_total_bytes
    available = min(max(memory.available_bytes, total - RESTING_BYTES), total)
    return dataclasses.replace(
        machine,
        memory=dataclasses.replace(memory, available_bytes=available),
        gpus=tuple(
            dataclasses.replace(gpu, vram_free_bytes=gpu.vram_total_bytes) for gpu in machine.gpus
        ),
    )


def _sized_yardsticks(
    machine: Machine, factors: Factors | None
) -> Iterator[tuple[Reach, str, SizedForecast]]:
    for reach, model_id, quantization in YARDSTICKS:
        model = shipped_catalogue().find(model_id)
        item = model.quantization(quantization) if model else None
        if model is not None and item is not None and item.size_bytes:
            sized = forecast_by_size(model.id, item.name, item.size_bytes, machine, factors=factors)
            if sized is not None:
                yield reach, f"{model.name} {item.name}", sized


def _sentence(machine: Machine, found: MachineTier, language: Language) -> str:
    count = sum(1 for gpu in machine.gpus if gpu.vram_total_bytes)
    vram = message(
        f"forecast.vram.{'many' if count > 1 else 'one'}",
        language,
        count=count,
        vram=format_gib(machine.vram_total_bytes),
    )
    head = message(
        f"forecast.build.{found.build.value}",
        language,
        vram=vram,
        ram=format_gib(machine.memory.usable_total_bytes),
    )
    reach = message(f"forecast.reach.{found.reach.value}", language)
    return message("forecast.tier", language, head=head, reach=reach)


def _build(machine: Machine, tier: Tier) -> Build:
    vram = machine.vram_total_bytes
    largest = max((gpu.vram_total_bytes for gpu in machine.gpus), default=0)
    found = (
        (Build.SERVER, tier is Tier.SERVER),
        (Build.TIGHT_SERVER, vram >= K26_NATIVE_BYTES),
        (Build.UNIFIED, shares_memory(machine)),
        (Build.BIG_CARD, largest >= BIG_CARD_BYTES),
        (Build.CARD, largest >= USEFUL_VRAM_BYTES),
        (Build.SMALL_CARD, largest > 0),
        (Build.CPU, machine.memory.usable_total_bytes >= CPU_TIER_BYTES),
        (Build.PLAIN, True),
    )
    return next(build for build, holds in found if holds)
