"""What each profile wants, and which wishes no engine can fulfil. Pure data and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kimi_desktop.base.errors import ErrorCode, Param, PlanError
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.types import ALL_LAYERS, ModelShape

CACHE_TYPES = ("f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
"""What llama.cpp takes for K and V."""
MOST_CONTEXT = 2**31 - 1
"""llama.cpp counts tokens in 32 bits."""
MOST_SLOTS = 256
"""LLAMA_MAX_SEQ of llama.cpp."""
MOST_BATCH = 2**20
MOST_THREADS = 512
"""GGML_MAX_N_THREADS."""
LEAST_CONTEXT = 4_096
"""What a planner's own choice never goes below, unless the model itself is shorter."""
DEFAULT_CONTEXT = 8_192
"""For a model that does not say what it was trained for."""
ESTIMATE_SHARE = 0.04
"""More of every device is left free when the forecast is an estimate."""
ANSWER_TOKENS = 512
"""Placements are compared by an exchange: a prompt (``speed_setup.PROMPT_TOKENS``) and an answer
of so many tokens. Four tokens are read for each that is written, as in chats with a history."""
UNIFIED_SHARE = 0.25
"""Of the main memory that a GPU shares, what macOS keeps from it."""


@dataclass(frozen=True, slots=True)
class ProfileRules:
    """How one profile weighs things."""

    reserve_share: float
    """Of every device, left free."""
    context: int | None
    """Aimed at when the user names none; None = what the model was trained for."""
    context_price: float
    """How much slower a longer context may make answers, as a factor of a short one's time."""
    prompt_price: float
    """The same for a prompt and its answer together: half the context is seldom given for a larger
    micro-batch."""
    n_ubatch_staged: int
    """Micro-batch with experts in RAM: they cross PCIe once for each."""
    cache_price: float
    """How much slower a plan must be before the cache is quantized."""


RULES: Mapping[Profile, ProfileRules] = {
    Profile.SAFE: ProfileRules(0.10, 32_768, 1.15, 1.4, 2048, 0.20),
    Profile.BALANCED: ProfileRules(0.06, 65_536, 1.15, 1.4, 2048, 0.08),
    Profile.LONG_CONTEXT: ProfileRules(0.05, None, 2.0, 2.0, 1024, 0.05),
    Profile.FASTEST: ProfileRules(0.03, 16_384, 1.02, 1.05, 4096, 0.05),
}


def context_aim(shape: ModelShape, wishes: Wishes) -> int:
    """The context of one slot that the profile aims at, at most what the model knows."""
    train = shape.geometry.context_train or DEFAULT_CONTEXT
    return min(RULES[wishes.profile].context or train, train)


def check_wishes(shape: ModelShape, wishes: Wishes) -> None:
    """Refuse what no engine can do.

    Raises:
        PlanError: PLAN_BAD_WISH names the wish, its value and its range; PLAN_TOO_MANY_LAYERS
            says how many there are; PLAN_BAD_CACHE_TYPE which types there are, or that the
            model's rows cannot be divided into the type's blocks.
    """
    geometry = shape.geometry
    check_context(wishes.context)
    check_range("-np", wishes.n_parallel, 1, MOST_SLOTS)
    check_range("-b", wishes.n_batch, 1, MOST_BATCH)
    check_range("-ub", wishes.n_ubatch, 1, MOST_BATCH)
    check_range("-t", wishes.n_threads, 1, MOST_THREADS)
    if wishes.n_gpu_layers != ALL_LAYERS:
        _layers("--ngl", wishes.n_gpu_layers, geometry.n_layer + 1)
    _layers("--n-cpu-moe", wishes.n_cpu_moe, geometry.n_layer)
    if wishes.cache_type is not None:
        if wishes.cache_type not in CACHE_TYPES:
            params: dict[str, Param] = {"type": wishes.cache_type, "types": ", ".join(CACHE_TYPES)}
            raise PlanError(ErrorCode.PLAN_BAD_CACHE_TYPE, params)
        if not cache_type_fits(shape, wishes.cache_type):
            types = ", ".join(kind for kind in CACHE_TYPES if cache_type_fits(shape, kind))
            params = {"type": wishes.cache_type, "types": types}
            raise PlanError(ErrorCode.PLAN_BAD_CACHE_TYPE, params)


def check_split(machine: Machine, wishes: Wishes) -> None:
    """Refuse shares that name no GPU of the machine, or more than there are.

    Raises:
        PlanError: PLAN_BAD_WISH.
    """
    shares = wishes.tensor_split
    if shares is None or not machine.gpus:
        return
    if len(shares) > len(machine.gpus) or min(shares, default=0) < 0 or not any(shares):
        told = ",".join(f"{share:g}" for share in shares) or "–"
        limits: dict[str, Param] = {"least": "0", "most": "1"}
        raise PlanError(ErrorCode.PLAN_BAD_WISH, {"name": "-ts", "value": told, **limits})


def check_context(context: int | None) -> None:
    """Refuse a context that no engine can have.

    Raises:
        PlanError: PLAN_BAD_WISH.
    """
    check_range("--ctx", context, 1, MOST_CONTEXT)


def cache_type_fits(shape: ModelShape, cache_type: str) -> bool:
    """A head's row is a whole number of the type's blocks, which llama.cpp asks for."""
    geometry = shape.geometry
    block = TYPES_BY_NAME[cache_type.upper()].block
    widths = [geometry.key_length, geometry.value_length]
    if geometry.is_mla:
        widths = [geometry.kv_lora_rank + geometry.n_rot]
    return all(width % block == 0 for width in widths)


def check_range(name: str, value: int | None, least: int, most: int) -> None:
    """Refuse a wish out of its range; None is no wish.

    Raises:
        PlanError: PLAN_BAD_WISH.
    """
    if value is not None and not least <= value <= most:
        params: dict[str, Param] = {
            "name": name,
            "value": value,
            "least": f"{least:,}",
            "most": f"{most:,}",
        }
        raise PlanError(ErrorCode.PLAN_BAD_WISH, params)


def _layers(name: str, value: int | None, most: int) -> None:
    if value is not None and value > most:
        params: dict[str, Param] = {"name": name, "value": f"{value:,}", "most": most}
        raise PlanError(ErrorCode.PLAN_TOO_MANY_LAYERS, params)
    check_range(name, value, 0, most)
