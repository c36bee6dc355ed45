"""The speed forecast: how long a token, a prompt and a load take, and what they wait for. Pure.

A token takes the time to read its weights and its cache from where they are, plus a fixed time per
layer; a micro-batch of a prompt takes its arithmetic, or reading the weights once, or bringing them
over PCIe. The efficiencies are ``speed_factors``; how they were found is in docs/decisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kimi_desktop.base.units import GB
from kimi_desktop.planner.hardware import hardware_table
from kimi_desktop.planner.speed_factors import Factors, Spread, shipped_speed_data
from kimi_desktop.planner.speed_types import (
    Band,
    EngineKind,
    HostSpeed,
    Known,
    LinkSpeed,
    Resource,
    SpeedForecast,
    SpeedInput,
    Split,
)

ROUND_TRIPS = 2
TILE_TOKENS, UNIFIED_TILE_TOKENS = 128, 32
MOST_PADDING = 7.0
"""Smaller tiles are taken for the fewest tokens."""
_SOFT_MIN = 4  # how sharply cores and memory limit each other; higher = the lesser of both


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a time."""

    resource: Resource
    seconds: float
    factors: tuple[tuple[str, float], ...]
    """(name of a factor, exponent): seconds are in proportion to factor ** exponent."""


def forecast_speed(
    setup: SpeedInput,
    prompt_tokens: int = 2048,
    *,
    factors: Factors | None = None,
    spread: Spread | None = None,
) -> SpeedForecast:
    """All four figures of one placed model.

    Args:
        setup: what each device reads per token, and how fast it is.
        prompt_tokens: of the prompt that ``first_token_s`` and ``prefill_tps`` are about.
        factors: as learned on this machine; None = as shipped.
        spread: widths of the bands; None = as shipped.
    """
    data = shipped_speed_data()
    factors, spread = factors or data.factors, spread or data.spread
    decode = decode_parts(setup, factors)
    prompt = prompt_parts(setup, factors, max(prompt_tokens, 1))
    load = load_parts(setup, factors)
    token_s, prompt_s = _total(decode), _total(prompt)
    is_disk = Resource.DISK in (_largest(decode), _largest(prompt))
    decode_sigma = _sigma(setup, factors, spread, spread.decode, is_disk=is_disk)
    prompt_sigma = _sigma(setup, factors, spread, spread.prefill, is_disk=is_disk)
    first = (*prompt, *decode)
    return SpeedForecast(
        decode_tps=_rate(1, token_s, decode_sigma, spread, _largest(decode)),
        prefill_tps=_rate(prompt_tokens, prompt_s, prompt_sigma, spread, _largest(prompt)),
        first_token_s=_time(_total(first), prompt_sigma, spread, _largest(first)),
        prompt_tokens=prompt_tokens,
        load_s=_time(_total(load), spread.load, spread, _largest(load)),
    )


def decode_parts(setup: SpeedInput, factors: Factors) -> tuple[Part, ...]:
    """What one new token waits for."""
    work = setup.work
    parts: list[Part] = [*_disk_parts(setup, factors)]
    if setup.is_unified:
        if rate := max((gpu.memory_bytes_per_s for gpu in setup.gpus), default=0.0):
            size = work.host_bytes + sum(work.gpu_bytes)
            parts.append(_read(Resource.GPU_MEMORY, size, rate * factors.unified, "unified"))
    else:
        if work.host_bytes:
            parts.append(_host_part(setup, factors, work.host_bytes))
        parts.extend(_gpu_parts(setup, factors, work.gpu_bytes))
    parts.extend(_fixed_parts(setup, factors))
    parts.extend(link_parts(setup, factors))
    return tuple(parts)


def prompt_parts(setup: SpeedInput, factors: Factors, n_tokens: int) -> tuple[Part, ...]:
    """What a prompt waits for: whole micro-batches, then what is left."""
    size = max(setup.prompt.n_ubatch, 1)
    count, rest = divmod(n_tokens, size)
    parts: list[Part] = []
    for repeats, tokens in ((count, min(size, n_tokens)), (1, rest)):
        if repeats and tokens:
            parts.extend(
                Part(part.resource, part.seconds * repeats, part.factors)
                for part in _batch_parts(setup, factors, tokens)
            )
    return tuple(parts)


def load_parts(setup: SpeedInput, factors: Factors) -> tuple[Part, ...]:
    """What loading waits for the longest: the file, the way to the GPUs, or to other machines."""
    file = setup.file
    disk = file.disk_bytes_per_s or hardware_table().guesses["disk_gb_s"] * GB
    read = _read(Resource.DISK, file.file_bytes, disk * factors.disk_load, "disk_load")
    link = _read(Resource.PCIE, file.gpu_bytes, _pcie(setup) * factors.pcie, "pcie")
    away = sum(
        size / _link_rate(gpu.link)
        for gpu, size in zip(setup.gpus, file.worker_bytes, strict=False)
        if gpu.link is not None
    )
    network = Part(Resource.NETWORK, away, ())
    return (max(read, link, network, key=lambda part: part.seconds),)


# parts of a token


def _disk_parts(setup: SpeedInput, factors: Factors, tokens: int = 1) -> Iterable[Part]:
    """Experts that no memory holds come from the disk each time that they are needed.

    The tokens of a micro-batch share them; together they need the whole file at most.
    """
    file = setup.file
    if file.missing_bytes <= 0 or file.file_bytes <= 0:
        return ()
    disk = file.disk_bytes_per_s or hardware_table().guesses["disk_gb_s"] * GB
    share = min(file.missing_bytes / file.file_bytes, 1.0)
    size = share * min(tokens * file.read_bytes_per_token, file.file_bytes)
    return (_read(Resource.DISK, size, disk * factors.disk_random, "disk_random"),)


def host_bytes_per_s(host: HostSpeed, factors: Factors) -> float:
    """Main memory as one model can use it, before the limits of engine and cores.

    A measurement and the data sheet are averaged (in logarithms): a measurement of a moment is
    often short of what an engine later reaches, a data sheet beyond it.
    """
    measured, specified = host.measured_bytes_per_s, host.specified_bytes_per_s
    expected = specified * factors.ram_specified if specified else None
    if measured and expected:
        trust = min(factors.ram_trust, 1.0)
        rate = math.pow(measured, trust) * math.pow(expected, 1 - trust)
    else:
        rate = measured or expected or hardware_table().guesses["ram_gb_s"] * GB
    if host.sockets > 1:
        rate *= factors.sockets_measured if measured else factors.sockets_specified
    return rate * factors.ram


def _host_part(setup: SpeedInput, factors: Factors, size_bytes: float) -> Part:
    """Reading weights by the processors; few cores cannot use all of a wide memory."""
    rate = host_bytes_per_s(setup.host, factors)
    names = [("ram", -1.0)]
    if setup.work.is_i_quant:
        rate *= factors.i_quant
        names.append(("i_quant", -1.0))
    if setup.engine is EngineKind.KTRANSFORMERS:
        rate *= factors.ktransformers
        names.append(("ktransformers", -1.0))
    if not setup.host.cores:
        return Part(Resource.RAM, size_bytes / rate, tuple(names))
    limit = setup.host.cores * factors.core_gb_s * GB
    by_memory, by_cores = math.pow(rate, -_SOFT_MIN), math.pow(limit, -_SOFT_MIN)
    share = by_cores / (by_memory + by_cores)
    both = math.pow(by_memory + by_cores, -1 / _SOFT_MIN)
    weighted = [(name, exponent * (1 - share)) for name, exponent in names]
    resource = Resource.COMPUTE if share > 0.5 else Resource.RAM
    return Part(resource, size_bytes / both, (*weighted, ("core_gb_s", -share)))


def _gpu_parts(setup: SpeedInput, factors: Factors, sizes: Sequence[int]) -> Iterable[Part]:
    if setup.split is Split.TENSORS:
        rate = sum(gpu.memory_bytes_per_s for gpu in setup.gpus) * factors.gpu_tensor
        if rate and sum(sizes):
            yield _read(Resource.GPU_MEMORY, sum(sizes), rate, "gpu_tensor")
        return
    for gpu, size in zip(setup.gpus, sizes, strict=False):
        if size:
            rate = gpu.memory_bytes_per_s * factors.gpu
            yield _read(Resource.GPU_MEMORY, size, rate, "gpu")


def _fixed_parts(setup: SpeedInput, factors: Factors) -> Iterable[Part]:
    """The fixed time of every layer, and of every step from device to device."""
    work = setup.work
    on_gpus = sum(1 for size in work.gpu_bytes if size)
    if setup.is_unified:
        name = "unified_layer_ms"
    elif setup.split is Split.TENSORS:
        name = "tensor_layer_ms"
    elif work.host_bytes:
        name = "host_layer_ms"
    else:
        name = "gpu_layer_ms"
    counts = [(name, work.n_layer)]
    if setup.engine is not EngineKind.SERVER:
        counts.append(("recurrent_layer_ms", work.n_layer_recurrent))
    if setup.split is Split.NODES:
        counts.append(("node_ms", max(len(setup.gpus) - 1, 0)))
    elif setup.split is Split.LAYERS and not setup.is_unified:
        counts.append(("hop_ms", max(on_gpus - 1, 0)))
    for factor, count in counts:
        if count:
            ms = count * float(getattr(factors, factor))
            yield Part(Resource.COMPUTE, ms / 1e3, ((factor, 1.0),))


def link_parts(setup: SpeedInput, factors: Factors, tokens: int = 1) -> Iterable[Part]:
    """What goes over the network for one pass: every worker gets and gives the activations.

    Two round trips per worker and pass: llama.cpp sends inputs and graph without waiting, then
    waits for what it reads (measured with b11434 and delayed packets: 1.6 to 2.4). The last device
    gives logits instead. A link that was not measured costs what other people's networks do.
    """
    work = setup.work
    used = [number for number, size in enumerate(work.gpu_bytes) if size]
    for number in used:
        link = setup.gpus[number].link if number < len(setup.gpus) else None
        if link is None:
            continue
        back = work.logits_bytes if number == used[-1] else tokens * work.activation_bytes
        seconds = (tokens * work.activation_bytes + back) / _link_rate(link)
        if link.latency_s is None:
            yield Part(Resource.NETWORK, factors.node_ms / 1e3, (("node_ms", 1.0),))
        else:
            seconds += ROUND_TRIPS * link.latency_s
        yield Part(Resource.NETWORK, seconds, ())


def _link_rate(link: LinkSpeed) -> float:
    return link.bytes_per_s or hardware_table().guesses["network_gb_s"] * GB


# parts of a prompt


def _batch_parts(setup: SpeedInput, factors: Factors, tokens: int) -> Iterable[Part]:
    """One micro-batch. Weights are read once for all its tokens, at most the whole file.

    GPUs work on tiles of tokens, which experts with few tokens do not fill. Measured on an H200 (7
    layers of Kimi K2.6): 11,100 tok/s with 43 tokens per expert, 12,900 with 85.
    """
    work, prompt, file = setup.work, setup.prompt, setup.file
    has_gpu = bool(setup.gpus)
    staged = has_gpu and prompt.staged_bytes > 0 and tokens >= prompt.staged_from_tokens
    tile = UNIFIED_TILE_TOKENS if setup.is_unified else TILE_TOKENS
    padding = min(tile / max(tokens * work.expert_share, 1e-9), MOST_PADDING)
    gpu_flops = tokens * (work.gpu_flops + padding * work.gpu_expert_flops)
    yield from _disk_parts(setup, factors, tokens)
    yield from _fixed_parts(setup, factors)
    yield from link_parts(setup, factors, tokens)
    if staged or setup.is_unified:
        gpu_flops += tokens * (work.host_flops + padding * work.host_expert_flops)
    elif work.host_bytes:
        on_host = max(file.file_bytes - file.gpu_bytes, 0) or tokens * work.host_bytes
        read = _host_part(setup, factors, min(tokens * work.host_bytes, on_host))
        compute = _host_compute(setup, factors, tokens * work.host_flops)
        yield max(read, compute, key=lambda part: part.seconds)
    if staged:
        yield _read(Resource.PCIE, prompt.staged_bytes, _pcie(setup) * factors.pcie, "pcie")
    if gpu_flops and has_gpu:
        yield _gpu_compute(setup, factors, gpu_flops)


def _host_compute(setup: SpeedInput, factors: Factors, flops: float) -> Part:
    host = setup.host
    cores = host.cores or hardware_table().guesses["cores"]
    rate = cores * factors.core_gflops * 1e9
    if not host.has_amx:
        return Part(Resource.COMPUTE, flops / rate, (("core_gflops", -1.0),))
    return Part(Resource.COMPUTE, flops / (rate * factors.amx), (("amx", -1.0),))


def _gpu_compute(setup: SpeedInput, factors: Factors, flops: float) -> Part:
    """By one GPU after the other, or by all at once."""
    guess = hardware_table().guesses["gpu_tflops"] * 1e12
    rates = [gpu.flops or guess for gpu in setup.gpus]
    rate = sum(rates) if setup.split is Split.TENSORS else sum(rates) / len(rates)
    name = "unified_compute" if setup.is_unified else "gpu_compute"
    rate *= float(getattr(factors, name))
    return Part(Resource.COMPUTE, flops / rate, ((name, -1.0),))


# sums and bands


def _read(resource: Resource, size_bytes: float, rate: float, factor: str) -> Part:
    return Part(resource, size_bytes / rate, ((factor, -1.0),))


def _pcie(setup: SpeedInput) -> float:
    """The first GPU's link: staged weights go there."""
    known = setup.gpus[0].pcie_bytes_per_s if setup.gpus else None
    return known or hardware_table().guesses["pcie_gb_s"] * GB


def _total(parts: Iterable[Part]) -> float:
    return sum(part.seconds for part in parts)


def _largest(parts: Iterable[Part]) -> Resource:
    sums: dict[Resource, float] = {}
    for part in parts:
        sums[part.resource] = sums.get(part.resource, 0.0) + part.seconds
    return max(sums, key=lambda resource: sums[resource], default=Resource.COMPUTE)


def _sigma(
    setup: SpeedInput, factors: Factors, spread: Spread, base: float, *, is_disk: bool
) -> float:
    """How far off: less after runs on this machine, more for what is only assumed."""
    learned = min(spread.learned, base)
    sigma = learned + (base - learned) / (1 + factors.runs)
    host = setup.host
    reads_host = setup.work.host_bytes > 0 and not setup.is_unified
    is_known = host.measured_bytes_per_s or (host.specified_bytes_per_s and not host.is_guess)
    if (reads_host and not is_known) or any(gpu.known is Known.ASSUMED for gpu in setup.gpus):
        sigma = math.hypot(sigma, spread.assumed)
    if setup.is_estimate:
        sigma = math.hypot(sigma, spread.estimate)
    return math.hypot(sigma, spread.disk) if is_disk else sigma


def _rate(count: float, seconds: float, sigma: float, spread: Spread, bottleneck: Resource) -> Band:
    likely = count / seconds if seconds > 0 else 0.0
    return Band(
        likely * math.exp(-spread.low_width * sigma),
        likely,
        likely * math.exp(spread.high_width * sigma),
        bottleneck,
    )


def _time(seconds: float, sigma: float, spread: Spread, bottleneck: Resource) -> Band:
    return Band(
        seconds * math.exp(-spread.high_width * sigma),
        seconds,
        seconds * math.exp(spread.low_width * sigma),
        bottleneck,
    )
