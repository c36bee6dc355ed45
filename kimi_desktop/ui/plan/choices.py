"""What the controls of the Plan page may be set to: steps, ranges, families. Pure, Qt thread."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kimi_desktop.backends.types import LoadSettings, PricedLoad
from kimi_desktop.models.geometry import TensorTable
from kimi_desktop.models.types import LocalModel, ModelFacts
from kimi_desktop.planner.plan_types import Profile, Wishes

CACHE_TYPES = ("f16", "q8_0", "q4_0")
"""Offered for K and V: the kinds that GPUs attend over at full speed when both are alike."""
PARALLEL_CHATS = (1, 2, 3, 4, 6, 8, 12, 16)
BATCHES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
LEAST_CONTEXT = 512

_EXPERT_BLOCK = re.compile(r"blk\.(\d+)\.ffn_(?:up|down|gate|gate_up)_(?:ch|)exps")


@dataclass(frozen=True, slots=True)
class Family:
    """One model in the quantizations that are here, the largest first; a checkpoint is alone."""

    name: str
    models: tuple[LocalModel, ...]

    @property
    def key(self) -> str:
        """Tells it from another family of the same name in the other format."""
        return family_key(self.models[0])


def family_key(model: LocalModel) -> str:
    """The family that a model is in."""
    return model.id if model.is_served else model.family


def families(models: Sequence[LocalModel]) -> tuple[Family, ...]:
    """What can be planned: complete models whose header was read, in the library's order."""
    found: dict[str, list[LocalModel]] = {}
    for model in models:
        if (model.is_startable or model.is_served) and model.facts is not None:
            found.setdefault(family_key(model), []).append(model)
    return tuple(
        Family(members[0].family, tuple(sorted(members, key=lambda model: -model.size_bytes)))
        for members in found.values()
    )


def context_steps(context_train: int, current: int) -> tuple[int, ...]:
    """Contexts that the slider stops at: four to an octave, up to what the model was trained for.

    ``current`` is one of them, whatever it is.
    """
    top = context_train or max(current, 131_072)
    steps = {top, current}
    octave = LEAST_CONTEXT
    while octave < top:
        quarters = (4, 5, 6, 7) if octave >= 4096 else (4,)
        steps |= {octave * quarter // 4 for quarter in quarters}
        octave *= 2
    least = min(top, current, 4096 if top > 8192 else LEAST_CONTEXT)
    return tuple(sorted(step for step in steps if least <= step <= max(top, current)))


def context_ticks(steps: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(position, tokens) of the steps that get a label: powers of two and both ends, seven at most.

    The ends always stay; between them labels are left out evenly.
    """
    marked = [place for place, step in enumerate(steps) if step & (step - 1) == 0]
    inner = [place for place in marked if 0 < place < len(steps) - 1]
    every = max(1, -(-len(inner) // 5))
    kept = {0, len(steps) - 1, *inner[::-1][every - 1 :: every][::-1]}
    if every == 1:
        kept |= set(inner)
    return tuple((place, steps[place]) for place in sorted(kept))


@lru_cache(maxsize=64)
def _expert_blocks(tensors: TensorTable) -> tuple[int, ...]:
    found = (_EXPERT_BLOCK.match(tensor.name) for tensor in tensors)
    return tuple(sorted({int(match[1]) for match in found if match}))


def expert_blocks(facts: ModelFacts) -> tuple[int, ...]:
    """Numbers of the blocks that have experts; the first ones are often dense (block 0 of K2)."""
    if not facts.n_expert:
        return ()
    if facts.tensors is None:
        return tuple(range(facts.n_layer))
    return _expert_blocks(facts.tensors)


def n_cpu_moe_for(blocks: Sequence[int], layers: int) -> int:
    """The count of blocks from block 0 that keeps the first ``layers`` expert layers in RAM."""
    return blocks[min(layers, len(blocks)) - 1] + 1 if layers > 0 and blocks else 0


def shares_of(settings: LoadSettings, n_gpus: int) -> tuple[float, ...]:
    """The layers or shares of every GPU of the machine, in its order; 0 = not used."""
    used = range(n_gpus) if settings.gpus is None else settings.gpus
    shares = [0.0] * n_gpus
    for number, share in zip(used, settings.tensor_split or (1.0,), strict=False):
        if number < n_gpus:
            shares[number] = share
    return tuple(shares) if settings.tensor_split or len(used) == 1 else ()


def gpu_layers(settings: LoadSettings, facts: ModelFacts) -> int:
    """Layers on the GPU, the output counted as one; a negative count means all."""
    most = facts.n_layer + 1
    return most if settings.n_gpu_layers < 0 else min(settings.n_gpu_layers, most)


def wishes_of(priced: PricedLoad, profile: Profile, facts: ModelFacts) -> Wishes:
    """A user's own settings as wishes, the layers included: the search keeps all of it."""
    settings = priced.settings
    blocks = expert_blocks(facts)
    return Wishes(
        profile=profile,
        context=settings.context,
        cache_type=settings.cache_type,
        n_parallel=settings.n_parallel,
        n_gpu_layers=gpu_layers(settings, facts),
        n_cpu_moe=n_cpu_moe_for(blocks, len(priced.plan.experts_in_ram)),
        n_batch=settings.n_batch,
        n_ubatch=settings.n_ubatch,
        n_threads=settings.n_threads,
        load_mode=settings.load_mode,
    )
