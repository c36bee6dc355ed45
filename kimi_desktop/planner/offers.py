"""What runs on a machine: every file of the catalogue priced, the best of each model found. Pure.

All figures come from the planner, by name and size (``by_size``). A model's best file is the one
with the best quality among those that fit at a usable speed, the faster of equals; models are
sorted by how useful their best file is, then by its quality, then the newest first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue_types import Catalogue, CatalogueModel, Engine, Quality
from kimi_desktop.planner.by_size import SizedForecast, forecast_by_size, forecast_shape
from kimi_desktop.planner.offer_types import OfferedFile, OfferedModel, Use
from kimi_desktop.planner.plan_types import Fit
from kimi_desktop.planner.sized_shapes import resized
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.types import ModelShape

USABLE_TPS = 4.0
"""Tokens per second: about as fast as people read aloud."""
_GGUF_ENGINES = frozenset({Engine.LLAMA_CPP, Engine.IK_LLAMA_CPP})
_USES = tuple(Use)
FITTING = (Use.GOOD, Use.SLOW, Use.TIGHT)
# Without loss and nearly without are alike: nobody sees the difference in an answer.
_RANKS = {
    Quality.LOSSLESS: 0,
    Quality.NEAR_LOSSLESS: 0,
    Quality.GOOD: 1,
    Quality.REDUCED: 3,
    Quality.WORSE_THAN_NATIVE: 2,
}
# Where nobody has judged the quality, the bits per weight order the files.
_RANK_BY_BITS = ((4.2, 2), (2.4, 3), (0.0, 4))


def offers_for(
    catalogue: Catalogue,
    machine: Machine,
    *,
    uses_gpus: bool = True,
    factors: Factors | None = None,
) -> tuple[OfferedModel, ...]:
    """Every model of the catalogue with what its files would do, the most useful first.

    Args:
        catalogue: the models.
        machine: as it is now, other programs included.
        uses_gpus: False for an engine that was built without GPU support.
        factors: as learned on this machine; None = as shipped.
    """
    found = [offer_of(model, machine, uses_gpus=uses_gpus, factors=factors) for model in catalogue]
    found.sort(key=lambda model: model.released, reverse=True)
    found.sort(key=_usefulness)
    return tuple(found)


def offer_of(
    model: CatalogueModel,
    machine: Machine,
    *,
    uses_gpus: bool = True,
    factors: Factors | None = None,
) -> OfferedModel:
    """One model of the catalogue with what its files would do here."""
    files = [
        dataclasses.replace(
            offered_file(
                model.id,
                item.name,
                item.repo,
                item.size_bytes,
                machine,
                engines=item.engines,
                uses_gpus=uses_gpus,
                factors=factors,
            ),
            size_is_rounded=item.size_is_rounded,
            shards=item.shards,
            quality=item.quality,
            note=item.note,
            bits_per_weight=(
                item.size_bytes * 8 / model.total_parameters if item.size_bytes else None
            ),
        )
        for item in model.quantizations
    ]
    files.sort(key=lambda file: -(file.size_bytes or 0))
    return OfferedModel(
        id=model.id,
        name=model.name,
        released=model.released,
        total_parameters=model.total_parameters,
        active_parameters=model.active_parameters,
        context_tokens=model.context_tokens,
        modalities=model.modalities,
        license=model.license,
        files=tuple(files),
        best=best_file(files),
    )


def offered_file(
    name: str,
    quantization: str,
    repo: str,
    size_bytes: int | None,
    machine: Machine,
    *,
    engines: tuple[Engine, ...] = (Engine.LLAMA_CPP,),
    uses_gpus: bool = True,
    factors: Factors | None = None,
    like: ModelShape | None = None,
) -> OfferedFile:
    """One file of any repository, priced when an engine with a forecast reads it.

    Args:
        name: of the model; its geometry is found by it.
        quantization: "UD-Q4_K_XL".
        repo: where it is.
        size_bytes: all parts together; None = not known.
        machine: as it is now.
        engines: those that read it.
        uses_gpus: False for an engine that was built without GPU support.
        factors: as learned on this machine; None = as shipped.
        like: the same model in another quantization, by its header.
    """
    sized = None
    if like is not None and size_bytes:
        shape = resized(like, quantization, size_bytes)
        sized = forecast_shape(shape, machine, uses_gpus=uses_gpus, factors=factors)
    elif size_bytes and _GGUF_ENGINES & set(engines):
        sized = forecast_by_size(
            name, quantization, size_bytes, machine, uses_gpus=uses_gpus, factors=factors
        )
    room = max((disk.free_bytes for disk in machine.disks if disk.writable), default=None)
    return OfferedFile(
        quantization=quantization,
        repo=repo,
        size_bytes=size_bytes,
        size_is_rounded=False,
        shards=None,
        quality=None,
        note=None,
        engines=engines,
        sized=sized,
        lacks_disk=room is not None and (size_bytes or 0) > room,
        use=use_of(sized),
    )


def best_file(files: Sequence[OfferedFile]) -> OfferedFile | None:
    """The file to have on this machine; where none fits, the one that is nearest to fitting.

    Only files that llama.cpp itself reads, and of which something can be said.
    """
    known = [file for file in files if Engine.LLAMA_CPP in file.engines and file.sized is not None]
    return min(known, key=_worth, default=None)


def use_of(sized: SizedForecast | None) -> Use:
    """How useful a forecast makes a file."""
    if sized is None:
        return Use.UNKNOWN
    if sized.verdict.fits:
        return Use.GOOD if sized.speed.decode_tps.likely >= USABLE_TPS else Use.SLOW
    if sized.memory.fits:
        return Use.TIGHT
    return Use.DISK if sized.verdict.fit is Fit.DISK_BOUND else Use.NONE


def _worth(file: OfferedFile) -> tuple[float, ...]:
    """Less is better."""
    use = _USES.index(file.use)
    if file.sized is None or not file.sized.memory.fits:
        return (use, file.size_bytes or 0)
    # Below a usable speed the faster one is the better one, whatever its quality.
    rank = _rank(file) if file.use is Use.GOOD else 0
    # What differs by less than a twentieth is alike, and the order of the list decides.
    speed = math.log(max(file.sized.speed.decode_tps.likely, 1e-6))
    return (use, rank, -round(speed / math.log(1.05)))


def _usefulness(model: OfferedModel) -> tuple[float, ...]:
    best, use = model.best, _USES.index(model.use)
    if best is None:
        return (use,)
    fits = model.use in FITTING
    return (use, _rank(best) if fits else best.size_bytes or 0)


def _rank(file: OfferedFile) -> int:
    if file.quality is not None:
        return _RANKS[file.quality]
    bits = file.bits_per_weight or 0.0
    return next(rank for least, rank in _RANK_BY_BITS if bits >= least)


def fitting(models: Iterable[OfferedModel]) -> tuple[OfferedModel, ...]:
    """Those whose best file is in memory as a whole."""
    return tuple(model for model in models if model.use in FITTING)
