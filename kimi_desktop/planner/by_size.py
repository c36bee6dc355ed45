"""What a model would do here, before its header was read: from name, quantization and size. Pure.

For lists (the wizard's "what runs here"). Only the bytes are estimated, always marked as an
estimate and with a wider band; verdict and speed come from the same rules as everywhere. As soon as
a header is at hand, ``memory`` and ``placement`` say it exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.choose import SMALL_UBATCH
from kimi_desktop.planner.hardware import gpu_speed, host_speed, shared_gpu_speed, shares_memory
from kimi_desktop.planner.plan_types import Profile
from kimi_desktop.planner.profiles import RULES
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_shapes import (
    SpeedShape,
    Traffic,
    find_shape,
    traffic,
    unknown_shape,
)
from kimi_desktop.planner.speed_types import (
    FileWork,
    PromptWork,
    SpeedForecast,
    SpeedInput,
    TokenWork,
)
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from kimi_desktop.planner.verdict import FitVerdict, judge

# Of every GPU: context and workspaces of CUDA (0.75 GiB measured), and the graph of one
# micro-batch of 512 tokens (0.4 GiB for K2.6 at 32K), or of 2,048 (1.1 to 1.5 GiB), which the
# planner takes when experts in RAM cross PCIe once for each.
GPU_OVERHEAD_BYTES = int(0.75 * GIB)
GRAPH_BYTES = int(0.5 * GIB)
STAGED_GRAPH_BYTES = int(1.25 * GIB)
STAGED_UBATCH = RULES[Profile.SAFE].n_ubatch_staged
HOST_OVERHEAD_BYTES = 1 * GIB
RESERVE_SHARE = RULES[Profile.SAFE].reserve_share
"""Left free on every device: a list and the plan that it leads to say the same."""
SLACK_BYTES = MIB
"""For the rounding of shares."""
TENSORS_PER_EXPERT_LAYER = 3  # gate, up and down, alike in size
KEPT_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class SizedForecast:
    """An estimate for a list."""

    memory: LoadForecast
    verdict: FitVerdict
    """With the reserve of the Safe profile kept free."""
    speed: SpeedForecast


@dataclass(frozen=True, slots=True)
class _Split:
    """Where the parts go."""

    gpus: tuple[int, ...]
    """Numbers of the machine's GPUs that hold something."""
    experts: float
    """Share on GPUs."""
    rest: float
    """The same of everything else, and of the cache."""
    n_ubatch: int = SMALL_UBATCH
    is_staged: bool = False
    """Experts in RAM are brought to the first GPU for long prompts."""

    @property
    def graph_bytes(self) -> int:
        """On every GPU."""
        return STAGED_GRAPH_BYTES if self.n_ubatch > SMALL_UBATCH else GRAPH_BYTES


def forecast_by_size(
    name: str,
    quantization: str,
    file_bytes: int,
    machine: Machine,
    *,
    context: int = 32_768,
    prompt_tokens: int = 2048,
    uses_gpus: bool = True,
    factors: Factors | None = None,
) -> SizedForecast:
    """Memory, verdict and speed of a file that nobody has opened.

    Args:
        name: of the model or its repository.
        quantization: "UD-Q4_K_XL".
        file_bytes: all parts together.
        machine: where it would run.
        context: tokens of the cache.
        prompt_tokens: of the prompt that the first token is forecast for.
        uses_gpus: False for an engine that was built without GPU support.
        factors: as learned on this machine; None = as shipped.
    """
    shape = find_shape(name) or unknown_shape(file_bytes)
    read = traffic(shape, quantization, file_bytes)
    estimate = _Estimate(
        shape, read, file_bytes, shape.kv_bytes_per_token * context, machine, uses_gpus
    )
    split = estimate.split()
    memory = estimate.memory(split)
    verdict = judge(memory, embedding_bytes=estimate.embedding_bytes, reserve_share=RESERVE_SHARE)
    setup = estimate.speed_input(split, memory)
    return SizedForecast(memory, verdict, forecast_speed(setup, prompt_tokens, factors=factors))


@dataclass(frozen=True, slots=True)
class _Estimate:
    """One file on one machine."""

    shape: SpeedShape
    read: Traffic
    file_bytes: int
    cache: int
    machine: Machine
    uses_gpus: bool

    @property
    def embedding_bytes(self) -> int:
        """The embedding of the tokens, which stays in main memory."""
        return max(self.file_bytes - self.read.expert_bytes - self.read.other_bytes, 0)

    @property
    def _staged_bytes(self) -> int:
        """One expert tensor of one layer: brought to the GPU for long prompts."""
        return self.read.expert_bytes // (self.shape.n_layer * TENSORS_PER_EXPERT_LAYER)

    def split(self) -> _Split:
        """Everything on the fewest GPUs, else all but experts, else what fits.

        The steps of ``placement``: with experts in RAM there must be room to bring one tensor of
        them, for large micro-batches or for small ones; where there is none, they stay.
        """
        rooms = self._rooms(GRAPH_BYTES)
        experts, rest = self.read.expert_bytes, self.read.other_bytes + self.cache
        budget = 0
        for count, room in enumerate(rooms.values(), 1):
            budget += room
            if rest + experts <= budget:
                return _Split(tuple(rooms)[:count], 1.0 if experts else 0.0, 1.0)
        batches = ((STAGED_UBATCH, STAGED_GRAPH_BYTES), (SMALL_UBATCH, GRAPH_BYTES))
        for n_ubatch, graph in batches if experts else ():
            large, staged = self._rooms(graph), self._staged_bytes
            left = sum(large.values()) - rest - staged
            # The engine's first GPU holds what is staged, so it has to be one with room for that.
            first = next((number for number, room in large.items() if room >= staged), None)
            if left >= 0 and first is not None:
                gpus = (first, *(number for number in large if number != first))
                return _Split(gpus, left / experts, 1.0, n_ubatch, is_staged=True)
        if budget < self.embedding_bytes:  # the output matrix goes first, and is as large
            return _Split((), 0.0, 0.0)
        if budget < rest:
            return _Split(tuple(rooms), 0.0, budget / rest)
        return _Split(tuple(rooms), (budget - rest) / experts, 1.0)

    def _rooms(self, graph: int) -> dict[int, int]:
        """For weights and cache, by GPU, the fastest first."""
        rooms = {number: self._room(number, graph) for number in self._order()}
        return {number: room for number, room in rooms.items() if room > 0}

    def _order(self) -> list[int]:
        """The GPUs, the fastest first."""
        gpus = self.machine.gpus if self.uses_gpus else ()
        rates = [gpu_speed(gpu).memory_bytes_per_s for gpu in gpus]
        return sorted(range(len(rates)), key=lambda number: -rates[number])

    def _room(self, number: int, graph: int) -> int:
        gpu = self.machine.gpus[number]
        kept = int(RESERVE_SHARE * gpu.vram_total_bytes) + SLACK_BYTES
        return gpu.vram_free_bytes - kept - GPU_OVERHEAD_BYTES - graph

    def memory(self, split: _Split) -> LoadForecast:
        """What every device would hold, the GPUs by their room."""
        read = self.read
        weights = int(read.expert_bytes * split.experts + read.other_bytes * split.rest)
        kept = int(self.cache * split.rest)
        staged = {split.gpus[0]: self._staged_bytes} if split.is_staged else {}
        rooms = {
            number: max(self._room(number, split.graph_bytes) - staged.get(number, 0), 0)
            for number in split.gpus
        }
        total = sum(rooms.values()) or 1
        rows = []
        for number, gpu in enumerate(self.machine.gpus):
            share = rooms.get(number, 0) / total
            used = number in split.gpus
            rows.append(
                DeviceMemory(
                    device=f"gpu:{number}",
                    name=gpu.name,
                    total_bytes=gpu.vram_total_bytes,
                    weights_bytes=int(weights * share),
                    kv_bytes=int(kept * share),
                    compute_bytes=split.graph_bytes + staged.get(number, 0) if used else 0,
                    overhead_bytes=GPU_OVERHEAD_BYTES if used else 0,
                    others_bytes=gpu.vram_total_bytes - gpu.vram_free_bytes,
                )
            )
        usable = self.machine.memory.usable_total_bytes
        rows.append(
            DeviceMemory(
                device="host",
                name="RAM",
                total_bytes=usable,
                weights_bytes=self.file_bytes - weights,
                kv_bytes=self.cache - kept,
                compute_bytes=GRAPH_BYTES,
                overhead_bytes=HOST_OVERHEAD_BYTES,
                others_bytes=max(usable - self.machine.memory.available_bytes, 0),
            )
        )
        return LoadForecast(tuple(rows), exact=False)

    def speed_input(self, split: _Split, memory: LoadForecast) -> SpeedInput:
        """What a token would read."""
        shape, read, machine = self.shape, self.read, self.machine
        rest = read.other_bytes + shape.kv_bytes_per_token * KEPT_TOKENS
        routed_flops = 2 * shape.expert_params * shape.routed_share
        rest_flops = 2 * shape.other_params
        experts_in_ram, rest_in_ram = 1 - split.experts, 1 - split.rest
        on_gpus = read.routed_bytes * split.experts + rest * split.rest
        *rows, host = memory.devices
        held = [rows[number].weights_bytes for number in split.gpus]
        total = sum(held) or 1
        gpus = tuple(gpu_speed(machine.gpus[number]) for number in split.gpus)
        is_unified = self.uses_gpus and shares_memory(machine)
        disk = (disk.read_bytes_per_s_measured for disk in machine.disks)
        return SpeedInput(
            host=host_speed(machine),
            gpus=(shared_gpu_speed(machine),) if is_unified else gpus,
            work=TokenWork(
                host_bytes=int(read.routed_bytes * experts_in_ram + rest * rest_in_ram),
                gpu_bytes=tuple(int(on_gpus * size / total) for size in held),
                host_flops=routed_flops * experts_in_ram + rest_flops * rest_in_ram,
                gpu_flops=routed_flops * split.experts + rest_flops * split.rest,
                n_layer=shape.n_layer,
                n_layer_recurrent=shape.n_layer_recurrent,
                is_i_quant=read.is_i_quant,
            ),
            prompt=PromptWork(
                n_ubatch=split.n_ubatch,
                staged_bytes=int(read.expert_bytes * experts_in_ram) if split.is_staged else 0,
            ),
            file=FileWork(
                file_bytes=self.file_bytes,
                missing_bytes=min(max(-host.spare_bytes, 0), host.weights_bytes),
                gpu_bytes=sum(held),
                read_bytes_per_token=read.routed_bytes or read.other_bytes,
                disk_bytes_per_s=next((rate for rate in disk if rate), None),
            ),
            is_unified=is_unified,
            is_estimate=True,
        )
