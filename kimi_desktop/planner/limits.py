"""Why a speed is what it is: what is read from where, at which rate. Pure.

Texts are in ``base.messages.forecast``: ``forecast.limit.<figure>.<resource>``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import GB, format_count, format_file_size, format_rate
from kimi_desktop.planner.hardware import hardware_table
from kimi_desktop.planner.plan_types import Decision
from kimi_desktop.planner.speed_types import Known, Resource, SpeedForecast, SpeedInput

LINKED = ("known",)
"""Parameters whose value is a text key of its own."""


@dataclass(frozen=True, slots=True)
class SpeedLimits:
    """One sentence for each figure."""

    decode: Decision
    prefill: Decision
    load: Decision


def speed_limits(setup: SpeedInput, speed: SpeedForecast) -> SpeedLimits:
    """What the three figures of a forecast wait for.

    Args:
        setup: what the forecast was made of.
        speed: the forecast.
    """
    return SpeedLimits(_decode(setup, speed), _prefill(setup, speed), _load(setup, speed))


def limit_sentence(limit: Decision, language: Language) -> str:
    """One of them in words."""
    params: dict[str, Param] = dict(limit.params)
    for name in LINKED:
        if name in params:
            params[name] = message(f"forecast.known.{params[name]}", language)
    return message(f"forecast.limit.{limit.key}", language, **params)


def _decode(setup: SpeedInput, speed: SpeedForecast) -> Decision:
    work, resource = setup.work, speed.decode_tps.bottleneck
    if resource is Resource.RAM:
        return Decision("decode.ram", {"size": format_file_size(work.host_bytes), **_ram(setup)})
    if resource is Resource.GPU_MEMORY:
        size = sum(work.gpu_bytes) + (work.host_bytes if setup.is_unified else 0)
        return Decision("decode.gpu_memory", {"size": format_file_size(size), **_gpu_memory(setup)})
    if resource is Resource.NETWORK:
        return Decision("decode.network")
    if resource is Resource.DISK:
        missing = format_file_size(setup.file.missing_bytes)
        return Decision("decode.disk", {"size": missing, **_disk(setup)})
    if work.host_bytes and not setup.is_unified and not any(work.gpu_bytes):
        return Decision("decode.cores", {"cores": setup.host.cores or 0})
    return Decision("decode.compute", {"layers": work.n_layer})


def _prefill(setup: SpeedInput, speed: SpeedForecast) -> Decision:
    prompt, resource = setup.prompt, speed.prefill_tps.bottleneck
    if resource is Resource.PCIE:
        size = format_file_size(prompt.staged_bytes)
        tokens = format_count(prompt.n_ubatch)
        rate = format_rate(_pcie(setup))
        return Decision("prefill.pcie", {"size": size, "tokens": tokens, "rate": rate})
    if resource is Resource.DISK:
        missing = format_file_size(setup.file.missing_bytes)
        return Decision("prefill.disk", {"size": missing, **_disk(setup)})
    if resource is Resource.NETWORK:
        return Decision("prefill.network")
    if resource is Resource.RAM:
        return Decision("prefill.ram", _ram(setup))
    if resource is Resource.GPU_MEMORY:
        return Decision("prefill.gpu_memory", _gpu_memory(setup))
    has_gpu = bool(setup.gpus) and (any(setup.work.gpu_bytes) or setup.is_unified)
    cores = Decision("prefill.cores", {"cores": setup.host.cores or 0})
    return Decision("prefill.gpu") if has_gpu else cores


def _load(setup: SpeedInput, speed: SpeedForecast) -> Decision:
    if speed.load_s.bottleneck is Resource.NETWORK:
        size = format_file_size(sum(setup.file.worker_bytes))
        return Decision("load.network", {"size": size})
    return Decision("load", {"size": format_file_size(setup.file.file_bytes), **_disk(setup)})


# rates, and how well they are known


def _ram(setup: SpeedInput) -> dict[str, Param]:
    host = setup.host
    if host.measured_bytes_per_s:
        return _rate(host.measured_bytes_per_s, Known.MEASURED)
    if host.specified_bytes_per_s:
        known = Known.ASSUMED if host.is_guess else Known.SPECIFIED
        return _rate(host.specified_bytes_per_s, known)
    return _rate(hardware_table().guesses["ram_gb_s"] * GB, Known.ASSUMED)


def _gpu_memory(setup: SpeedInput) -> dict[str, Param]:
    """The slowest GPU that is read: the others wait for it least."""
    sizes = setup.work.gpu_bytes
    used = [gpu for gpu, size in zip(setup.gpus, sizes, strict=False) if size]
    slowest = min(used or setup.gpus, key=lambda gpu: gpu.memory_bytes_per_s)
    return _rate(slowest.memory_bytes_per_s, slowest.known)


def _pcie(setup: SpeedInput) -> float:
    known = setup.gpus[0].pcie_bytes_per_s if setup.gpus else None
    return known or hardware_table().guesses["pcie_gb_s"] * GB


def _disk(setup: SpeedInput) -> dict[str, Param]:
    measured = setup.file.disk_bytes_per_s
    if measured:
        return _rate(measured, Known.MEASURED)
    return _rate(hardware_table().guesses["disk_gb_s"] * GB, Known.ASSUMED)


def _rate(bytes_per_s: float, known: Known) -> dict[str, Param]:
    return {"rate": format_rate(bytes_per_s), "known": known.value}
