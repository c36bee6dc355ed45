"""The answer in words: does it fit by what is known, how much is left or short, what helps. Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.units import format_context, format_gib
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from kimi_desktop.ui.plan.choices import expert_blocks, expert_layers_in_ram, gpu_layers
from kimi_desktop.ui.widgets.chip import Verdict

HOST = "host"
TIGHT_SHARE = 0.1
"""Less than this spare, while compute buffers are not forecast, is said to be tight."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page says about a plan."""

    verdict: Verdict
    word: str
    """For the chip."""
    sentence: str
    advice: str
    """What helps; "" when nothing has to."""


def device_word(device: DeviceMemory) -> str:
    """RAM, or the GPU's number."""
    translate = QCoreApplication.translate
    if device.device == HOST:
        return translate("PlanVerdict", "RAM")
    return translate("PlanVerdict", "GPU {number}").format(number=device.device.partition(":")[2])


def is_complete(device: DeviceMemory) -> bool:
    """Nothing of its forecast is missing."""
    return device.compute_bytes is not None and device.overhead_bytes is not None


def is_used(device: DeviceMemory) -> bool:
    """The plan puts something there; and its size is known."""
    parts = (device.weights_bytes, device.kv_bytes, device.compute_bytes)
    return device.total_bytes > 0 and any(parts)


def tightest(forecast: LoadForecast) -> DeviceMemory | None:
    """Of the devices in use the one that is most short, else the one with the least share spare."""
    return _tightest([device for device in forecast.devices if is_used(device)])


def _tightest(devices: Sequence[DeviceMemory]) -> DeviceMemory | None:
    short = [device for device in devices if device.spare_bytes < 0]
    if short:
        return min(short, key=lambda device: device.spare_bytes)
    return min(devices, key=lambda device: device.spare_bytes / device.total_bytes, default=None)


def _unfinished(forecast: LoadForecast) -> list[DeviceMemory]:
    """The devices in use whose compute buffers or overhead have no forecast."""
    return [d for d in forecast.devices if is_used(d) and not is_complete(d)]


def verdict_of(forecast: LoadForecast) -> tuple[Verdict, str]:
    """The verdict in a few words, for chips."""
    translate = QCoreApplication.translate
    if not forecast.devices:
        return Verdict.UNKNOWN, translate("PlanVerdict", "No forecast")
    worst = tightest(forecast)
    if worst is not None and worst.spare_bytes < 0:
        word = translate("PlanVerdict", "{size} short")
        return Verdict.BAD, word.format(size=format_gib(-worst.spare_bytes))
    open_ = _tightest(_unfinished(forecast))
    if open_ is None:
        return Verdict.OK, translate("PlanVerdict", "Fits")
    if open_.spare_bytes < TIGHT_SHARE * open_.total_bytes:
        return Verdict.WARN, translate("PlanVerdict", "Tight")
    return Verdict.OK, translate("PlanVerdict", "Weights and KV fit")


def judge(
    forecast: LoadForecast, settings: LoadSettings, facts: ModelFacts, machine_memory_bytes: int
) -> Answer:
    """The verdict of a plan.

    Args:
        forecast: of the plan.
        settings: the plan.
        facts: the model.
        machine_memory_bytes: RAM and VRAM together.
    """
    verdict, word = verdict_of(forecast)
    worst = tightest(forecast)
    advice: list[str] = []
    if verdict is Verdict.UNKNOWN:
        sentence = QCoreApplication.translate(
            "PlanVerdict", "The header of this file does not say enough for a forecast."
        )
    elif verdict is Verdict.BAD and worst is not None:
        sentence = _short(worst)
        advice += _way_out(forecast, worst, settings, facts, machine_memory_bytes)
    else:
        sentence = _fits(forecast, settings)
        open_ = _tightest(_unfinished(forecast))
        if verdict is Verdict.WARN and open_ is not None:
            advice.append(_tight(open_))
    if not forecast.exact:
        advice.append(_estimate(facts))
    return Answer(verdict, word, sentence, _sentences(advice))


def _sentences(sentences: Sequence[str]) -> str:
    """One after the other; Chinese puts no space between."""
    both = QCoreApplication.translate("PlanVerdict", "{first} {second}")
    text = ""
    for sentence in sentences:
        text = both.format(first=text, second=sentence) if text else sentence
    return text


def _listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    comma = QCoreApplication.translate("PlanVerdict", ", ", "between the items of a list")
    last = QCoreApplication.translate("PlanVerdict", "{items} and {last}")
    return last.format(items=comma.join(items[:-1]), last=items[-1])


def _fits(forecast: LoadForecast, settings: LoadSettings) -> str:
    translate = QCoreApplication.translate
    unfinished = _unfinished(forecast)
    used = unfinished or [device for device in forecast.devices if is_used(device)]
    gpus = [device for device in used if device.device != HOST]
    on_gpu = translate("PlanVerdict", "{size} on {device}")
    in_ram = translate("PlanVerdict", "{size} in RAM")
    parts: list[str] = []
    if len(gpus) > 2:
        least = min(gpu.spare_bytes for gpu in gpus)
        at_least = translate("PlanVerdict", "at least {size} on every GPU")
        parts.append(at_least.format(size=format_gib(least)))
        used = [device for device in used if device.device == HOST]
    for device in used:
        place = in_ram if device.device == HOST else on_gpu
        parts.append(place.format(size=format_gib(device.spare_bytes), device=device_word(device)))
    if not unfinished:
        text = translate("PlanVerdict", "Fits at {context} context, with {left} to spare.")
    else:
        text = translate(
            "PlanVerdict",
            "Weights and KV cache fit at {context} context. That leaves {left} for compute "
            "buffers and the engine.",
        )
    return text.format(context=format_context(settings.context), left=_listed(parts))


def _tight(worst: DeviceMemory) -> str:
    text = QCoreApplication.translate(
        "PlanVerdict",
        "Compute buffers are not forecast yet, and less than a tenth of {device} is left for "
        "them: the start may run out of memory.",
    )
    return text.format(device=device_word(worst))


def _estimate(facts: ModelFacts) -> str:
    text = QCoreApplication.translate(
        "PlanVerdict",
        "An estimate: how the architecture {name} uses memory is not known exactly here.",
    )
    return text.format(name=facts.architecture)


def _short(worst: DeviceMemory) -> str:
    translate = QCoreApplication.translate
    on_gpu = translate("PlanVerdict", "{size} short on {device}: {needed} needed, {total} there.")
    in_ram = translate("PlanVerdict", "{size} of RAM short: {needed} needed, {total} there.")
    text = in_ram if worst.device == HOST else on_gpu
    return text.format(
        size=format_gib(-worst.spare_bytes),
        device=device_word(worst),
        needed=format_gib(worst.used_bytes),
        total=format_gib(worst.total_bytes),
    )


def _way_out(
    forecast: LoadForecast,
    worst: DeviceMemory,
    settings: LoadSettings,
    facts: ModelFacts,
    machine_memory_bytes: int,
) -> list[str]:
    translate = QCoreApplication.translate
    if facts.weights_bytes > machine_memory_bytes:
        too_large = translate(
            "PlanVerdict",
            "The weights alone are larger than RAM and VRAM together, so most of every token "
            "would be read from the disk, very slowly. Choose a smaller quantization or model.",
        )
        return [too_large]
    said = []
    if worst.others_bytes >= -worst.spare_bytes:
        others = translate("PlanVerdict", "Other programs hold {size} of it.")
        said.append(others.format(size=format_gib(worst.others_bytes)))
    said.append(_first_help(forecast, worst, settings, facts))
    return said


def _first_help(
    forecast: LoadForecast, worst: DeviceMemory, settings: LoadSettings, facts: ModelFacts
) -> str:
    """The first thing to change, by what is short and what is left elsewhere."""
    translate = QCoreApplication.translate
    blocks = expert_blocks(facts)
    in_ram = expert_layers_in_ram(blocks, settings.n_cpu_moe)
    room_on_gpu = any(
        device.device != HOST and device.spare_bytes > 0 for device in forecast.devices
    )
    if worst.device == HOST and room_on_gpu and gpu_layers(settings, facts) <= facts.n_layer:
        return translate("PlanVerdict", "Put more layers on the GPU.")
    if worst.device == HOST and room_on_gpu and in_ram:
        return translate("PlanVerdict", "Move expert layers from RAM to the GPU.")
    if worst.device != HOST and in_ram < len(blocks):
        return translate("PlanVerdict", "Keep more expert layers in RAM.")
    if worst.kv_bytes >= -worst.spare_bytes:
        return translate("PlanVerdict", "Shorten the context, or take a smaller KV type.")
    if worst.device != HOST:
        return translate("PlanVerdict", "Put fewer layers on the GPU.")
    return translate("PlanVerdict", "Choose a smaller quantization or model.")
