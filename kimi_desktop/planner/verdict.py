"""Whether a forecast load fits, and how much is left: one rule for every page and verb. Pure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.plan_types import Fit, Plan
from kimi_desktop.planner.types import LoadForecast


@dataclass(frozen=True, slots=True)
class FitVerdict:
    """Where the weights are and what is left, in bytes."""

    fit: Fit
    spare_vram_bytes: int | None
    """Of all GPUs that hold a part of the model, the sum; None = no GPU does."""
    tightest_vram_bytes: int | None
    """Of the GPU with the least left."""
    spare_ram_bytes: int
    """Negative when main memory is too small."""
    short_vram_bytes: int
    """What the GPUs lack together, each for itself."""

    @property
    def can_start(self) -> bool:
        """An engine would load it; else no speed is told."""
        return self.fit is not Fit.DOES_NOT_FIT

    @property
    def fits(self) -> bool:
        """All of it is in memory."""
        return self.fit not in (Fit.DISK_BOUND, Fit.DOES_NOT_FIT)


def judge(
    forecast: LoadForecast,
    *,
    embedding_bytes: int = 0,
    file_backed_bytes: int | None = None,
    reserve_share: float = 0.0,
) -> FitVerdict:
    """The verdict of a forecast, the GPUs first and the host last.

    Args:
        forecast: what every device will hold.
        embedding_bytes: the table of token embeddings, which stays in main memory whatever is
            offloaded; with more than this there, a model is not in VRAM as a whole.
        file_backed_bytes: of the host's weights, pages of the file that the system may drop and
            read again; None = all of them, 0 = the engine holds copies.
        reserve_share: of every device, what must stay free.
    """
    *gpus, host = forecast.devices
    used = [gpu for gpu in gpus if gpu.weights_bytes or gpu.kv_bytes]
    shorts = [int(reserve_share * gpu.total_bytes) - gpu.spare_bytes for gpu in used]
    short_vram = sum(short for short in shorts if short > 0)
    ram_fits = host.spare_bytes >= reserve_share * host.total_bytes
    pages = host.weights_bytes if file_backed_bytes is None else file_backed_bytes
    if short_vram or (not ram_fits and not -pages <= host.spare_bytes < 0):
        fit = Fit.DOES_NOT_FIT
    elif not ram_fits:
        fit = Fit.DISK_BOUND
    elif not used:
        fit = Fit.IN_RAM
    else:
        on_host = host.weights_bytes > embedding_bytes or host.kv_bytes > 0
        fit = Fit.IN_VRAM_AND_RAM if on_host else Fit.IN_VRAM
    return FitVerdict(
        fit=fit,
        spare_vram_bytes=sum(gpu.spare_bytes for gpu in used) if used else None,
        tightest_vram_bytes=min((gpu.spare_bytes for gpu in used), default=None),
        spare_ram_bytes=host.spare_bytes,
        short_vram_bytes=short_vram,
    )


def plan_verdict(plan: Plan) -> FitVerdict:
    """The verdict of a plan: its own word where weights are, and what is left or lacking."""
    found = judge(plan.forecast, reserve_share=0.0 if plan.fits else plan.reserve_share)
    return dataclasses.replace(found, fit=plan.fit)


def verdict_sentence(verdict: FitVerdict, language: Language) -> str:
    """The verdict with what is left or lacking, in GiB."""
    vram = verdict.spare_vram_bytes or 0
    params = {
        "vram": format_gib(max(vram, 0)),
        "ram": format_gib(abs(verdict.spare_ram_bytes)),
        "short": format_gib(verdict.short_vram_bytes),
    }
    key = verdict.fit.value
    if verdict.fit is Fit.DOES_NOT_FIT:
        lacks_ram = verdict.spare_ram_bytes < 0
        if verdict.short_vram_bytes:
            key += "_both" if lacks_ram else "_vram"
        else:
            key += "_ram" if lacks_ram else "_reserve"
    return message(f"forecast.verdict.{key}", language, **params)
