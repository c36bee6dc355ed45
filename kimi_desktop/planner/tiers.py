"""What kind of machine this is and how far it reaches in the Kimi family, in one sentence. Pure.

``machine.checks`` has the tier by memory for K2.6; here is how the memory is made up (the four
classic ways, what lies between them, memory shared with a GPU) and what lies beyond (K3) and below
(the small Kimi models).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import GB, GIB, format_gib
from kimi_desktop.machine.checks import USEFUL_VRAM_BYTES, find_tier
from kimi_desktop.machine.types import Machine, Tier
from kimi_desktop.planner.hardware import hardware_table

# K2.6's native checkpoint: weights only.
K26_NATIVE_BYTES = 594_200_000_000
# The always-on part of K3 in 8 bit is 57 GB; with cache and buffers it takes a card of 64 GiB.
K3_TRUNK_BYTES = 60 * GIB
# K3 UD-IQ1_S is 594.0 GB and UD-Q8_K_XL, the lossless one, 1,561.2 GB; 40 GiB for the rest (two
# staged expert tensors of 10.2 GB together, the cache, the system).
K3_1BIT_BYTES = 594 * GB + 40 * GIB
K3_LOSSLESS_BYTES = 1561 * GB + 40 * GIB
# Kimi-VL and Moonlight, 16 B parameters, in 4 bit.
KIMI_16B_BYTES = 12 * GIB
BIG_CARD_BYTES = 75 * GIB
"""A card that is sold as 80 GB."""
CPU_TIER_BYTES = 700 * GIB
"""A machine that is sold with 768 GB."""


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
    K3_1BIT = "k3_1bit"
    K3_1BIT_SLOW = "k3_1bit_slow"
    """It fits, but no GPU holds its always-on part."""
    K26_IN_VRAM = "k26_in_vram"
    K26_4BIT = "k26_4bit"
    K26_2BIT = "k26_2bit"
    LINEAR = "linear"
    KIMI_16B = "kimi_16b"
    SMALL = "small"


@dataclass(frozen=True, slots=True)
class MachineTier:
    """A machine in the words of the guides."""

    tier: Tier
    """By memory, as ``machine.checks`` has it."""
    build: Build
    reach: Reach


def machine_tier(machine: Machine) -> MachineTier:
    """Kind and reach of a machine."""
    return MachineTier(find_tier(machine), _build(machine), _reach(machine))


def tier_sentence(machine: Machine, language: Language) -> str:
    """One sentence about this machine."""
    found = machine_tier(machine)
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


def shares_memory(machine: Machine) -> bool:
    """Apple, or a chip whose graphics is known to share main memory."""
    if machine.gpu_note == "apple":
        return True
    if machine.vram_total_bytes:
        return False
    rows = [hardware_table().gpu(gpu.name) for gpu in machine.gpus]
    rows.append(hardware_table().gpu(machine.cpu.model))
    return any(row is not None and not row.vram_bytes for row in rows)


def _build(machine: Machine) -> Build:
    vram = machine.vram_total_bytes
    largest = _largest_card(machine)
    found = (
        (Build.SERVER, find_tier(machine) is Tier.SERVER),
        (Build.TIGHT_SERVER, vram >= K26_NATIVE_BYTES),
        (Build.UNIFIED, shares_memory(machine)),
        (Build.BIG_CARD, largest >= BIG_CARD_BYTES),
        (Build.CARD, largest >= USEFUL_VRAM_BYTES),
        (Build.SMALL_CARD, largest > 0),
        (Build.CPU, machine.memory.usable_total_bytes >= CPU_TIER_BYTES),
        (Build.PLAIN, True),
    )
    return next(build for build, holds in found if holds)


def _reach(machine: Machine) -> Reach:
    tier, memory = find_tier(machine), machine.memory_bytes
    if memory >= K3_LOSSLESS_BYTES:
        return Reach.K3_LOSSLESS
    if memory >= K3_1BIT_BYTES and tier is not Tier.SERVER:
        has_trunk = machine.vram_total_bytes >= K3_TRUNK_BYTES or shares_memory(machine)
        return Reach.K3_1BIT if has_trunk else Reach.K3_1BIT_SLOW
    by_tier = {
        Tier.SERVER: Reach.K26_IN_VRAM,
        Tier.FULL: Reach.K26_4BIT,
        Tier.LARGE: Reach.K26_2BIT,
        Tier.WORKSTATION: Reach.LINEAR,
    }
    if tier in by_tier:
        return by_tier[tier]
    return Reach.KIMI_16B if memory >= KIMI_16B_BYTES else Reach.SMALL


def _largest_card(machine: Machine) -> int:
    return max((gpu.vram_total_bytes for gpu in machine.gpus), default=0)
