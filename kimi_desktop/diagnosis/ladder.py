"""The steps that cure a cause, each with what it gives up: memory first of all. Pure.

Which step comes first depends on what did not fit. A step is a change of load settings; the caller
prices it. The context is the user's: it goes down last, and only when he says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import Param

SMALLEST_UBATCH = 128
SMALLEST_CONTEXT = 2048
EXPERTS_AT_ONCE = 2
LAYERS_AT_ONCE = 4
SMALL_CACHE = "q8_0"


@dataclass(frozen=True, slots=True)
class Step:
    """One way down."""

    key: str
    """As in ``WayOut.key``."""
    params: Mapping[str, Param]
    """Before and after, for its words."""
    settings: LoadSettings
    needs_consent: bool = False
    """It gives up something that the user asked for."""


@dataclass(frozen=True, slots=True)
class ModelBounds:
    """What of a model the steps must know."""

    n_layer: int
    has_experts: bool
    experts_in_ram: int = 0
    """Blocks whose experts are there now, by whatever flags."""
    can_quantize_cache: bool = True


Maker = Callable[[LoadSettings, ModelBounds], Step | None]


def ladder(cause: str, settings: LoadSettings, model: ModelBounds) -> Iterator[Step]:
    """The steps for one cause, the gentlest first; nothing for causes that no setting cures."""
    for make in _LADDERS.get(cause, ()):
        if (step := make(settings, model)) is not None:
            yield step


def _smaller_ubatch(settings: LoadSettings, model: ModelBounds) -> Step | None:
    del model
    after = max(settings.n_ubatch // 4, SMALLEST_UBATCH)
    if after >= settings.n_ubatch:
        return None
    changed = dataclasses.replace(settings, n_ubatch=after, n_batch=max(after, settings.n_batch))
    return Step("ubatch", {"before": settings.n_ubatch, "after": after}, changed)


def _smaller_cache(settings: LoadSettings, model: ModelBounds) -> Step | None:
    if settings.cache_type not in ("f16", "bf16", "f32") or not model.can_quantize_cache:
        return None
    changed = dataclasses.replace(settings, cache_type=SMALL_CACHE)
    return Step("cache", {"before": settings.cache_type, "after": SMALL_CACHE}, changed)


def _plain_cache(settings: LoadSettings, model: ModelBounds) -> Step | None:
    del model
    if settings.cache_type == "f16":
        return None
    changed = dataclasses.replace(settings, cache_type="f16")
    return Step("cache", {"before": settings.cache_type, "after": "f16"}, changed)


def _more_experts_in_ram(settings: LoadSettings, model: ModelBounds) -> Step | None:
    before = max(settings.n_cpu_moe, model.experts_in_ram)
    after = min(before + EXPERTS_AT_ONCE, model.n_layer)
    if not model.has_experts or not settings.n_gpu_layers or after <= before:
        return None
    changed = dataclasses.replace(settings, n_cpu_moe=after, overrides=())
    return Step("experts", {"count": after - before, "after": after}, changed)


def _fewer_layers(settings: LoadSettings, model: ModelBounds) -> Step | None:
    before = min(settings.n_gpu_layers, model.n_layer + 1)
    after = max(before - LAYERS_AT_ONCE, 0)
    if after >= before:
        return None
    changed = dataclasses.replace(settings, n_gpu_layers=after)
    return Step("layers", {"before": before, "after": after}, changed)


def _shorter_context(settings: LoadSettings, model: ModelBounds) -> Step | None:
    del model
    after = max(settings.context // 2, SMALLEST_CONTEXT)
    if after >= settings.context:
        return None
    changed = dataclasses.replace(settings, context=after)
    params = {"before": settings.context, "after": after}
    return Step("context", params, changed, needs_consent=True)


def _longer_context(settings: LoadSettings, model: ModelBounds) -> Step | None:
    del model
    after = settings.context * 2
    changed = dataclasses.replace(settings, context=after)
    return Step("context", {"before": settings.context, "after": after}, changed)


def _planned_threads(settings: LoadSettings, model: ModelBounds) -> Step | None:
    del model
    if settings.n_threads is None:
        return None
    changed = dataclasses.replace(settings, n_threads=None)
    return Step("threads", {"before": settings.n_threads}, changed)


def _more_slots(settings: LoadSettings, model: ModelBounds) -> Step | None:
    """Each slot keeps its share of the context."""
    del model
    after = settings.n_parallel * 2
    changed = dataclasses.replace(settings, n_parallel=after, context=settings.context * 2)
    return Step("parallel", {"before": settings.n_parallel, "after": after}, changed)


def _no_extra(settings: LoadSettings, model: ModelBounds) -> Step | None:
    del model
    if not settings.extra:
        return None
    changed = dataclasses.replace(settings, extra=())
    return Step("extra", {"flags": " ".join(settings.extra)}, changed)


_LADDERS: Mapping[str, tuple[Maker, ...]] = {
    "vram_oom_weights": (_more_experts_in_ram, _fewer_layers, _smaller_cache, _shorter_context),
    "kv_cache_oom": (_smaller_cache, _more_experts_in_ram, _shorter_context, _fewer_layers),
    "compute_buffer_oom": (_smaller_ubatch, _more_experts_in_ram, _fewer_layers, _shorter_context),
    "vram_oom_at_runtime": (_smaller_ubatch, _more_experts_in_ram, _fewer_layers, _smaller_cache),
    "vram_taken_by_other": (_more_experts_in_ram, _fewer_layers, _smaller_cache),
    "ram_oom_killed": (_smaller_ubatch, _smaller_cache, _shorter_context),
    "ram_oom_weights": (_smaller_ubatch, _smaller_cache, _shorter_context),
    "memory_cap_container_or_wsl": (_smaller_ubatch, _smaller_cache, _shorter_context),
    "context_exceeds_model_limit": (_shorter_context,),
    "kv_quant_needs_flash_attn": (_plain_cache,),
    "kv_cache_quant_garbles": (_plain_cache,),
    "prompt_exceeds_context": (_longer_context,),
    "bad_argument": (_no_extra,),
    "threads_misconfigured": (_planned_threads,),
    "attention_slow_path": (_plain_cache,),
    "request_queueing": (_more_slots,),
    "gpu_not_found": (),
}
