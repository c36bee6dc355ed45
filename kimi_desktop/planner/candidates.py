"""One way to place a model on a machine, and what it costs. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from kimi_desktop.planner.plan_types import TokenReads
from kimi_desktop.planner.profiles import ANSWER_TOKENS
from kimi_desktop.planner.types import HOST, Placement

EXPERTS_OF = r"blk\.({blocks})\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""Tensor names of some blocks' experts; no comma in it, which would end an ``-ot`` rule."""


class Way(Enum):
    """How the GPUs are used."""

    ALL_ON_GPUS = auto()
    EXPERTS_IN_RAM = auto()
    """All layers on GPUs, experts of some in main memory."""
    LAYERS_IN_RAM = auto()
    """The first layers in main memory."""
    NO_GPU = auto()
    AS_WISHED = auto()
    """The user named the layers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One placement and what it costs."""

    way: Way
    placement: Placement
    gpus: tuple[int, ...]
    """Numbers of the machine's GPUs, in the engine's order."""
    experts_in_ram: frozenset[int]
    reads: TokenReads
    seconds: float
    """Per token, by the rule."""
    prompt_seconds: float
    """Of a prompt of ``speed_setup.PROMPT_TOKENS``."""
    host_short_bytes: int
    """By how much the main memory is over its budget, 0 when it is not."""
    over_share: float = 0.0
    """Of the fullest GPU, by how much it is over its budget; the reserve is outside of that."""

    def short_of(self, reserve_share: float) -> tuple[bool, bool, bool]:
        """VRAM lacks something, main memory does, the reserve is not kept."""
        return self.over_share > reserve_share, self.host_short_bytes > 0, self.over_share > 0

    @property
    def exchange_seconds(self) -> float:
        """A prompt and an answer: what candidates are compared by."""
        return self.prompt_seconds + ANSWER_TOKENS * self.seconds


def experts_rule(blocks: frozenset[int]) -> tuple[str, int]:
    """An override that keeps the experts of ``blocks`` in main memory."""
    return EXPERTS_OF.format(blocks="|".join(map(str, sorted(blocks)))), HOST
