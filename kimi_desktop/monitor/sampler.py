"""Takes one sample: RAM, GPUs, the engine's tree and its counters. IO thread; reads in the pool."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.memory import MemoryReader, memory_reader
from kimi_desktop.machine.types import GpuReading, Memory
from kimi_desktop.monitor.activity import Doing
from kimi_desktop.monitor.engine_meter import EngineMeter
from kimi_desktop.monitor.processes import ProcessReader, TreeMeter, TreeUsage, process_reader
from kimi_desktop.monitor.types import GpuSample, Sample

log = logging.getLogger(__name__)

# A driver in trouble can hang in a query; the other readings go on meanwhile.
GPU_TIMEOUT_S = 2.0


class Sampler:
    """Keeps what two samples need to know of each other."""

    def __init__(
        self,
        io: IoLoop,
        gpus: GpuReader,
        *,
        memory: MemoryReader | None = None,
        processes: ProcessReader | None = None,
        clock: Callable[[], float] = time.monotonic,
        engine: EngineMeter | None = None,
    ) -> None:
        self._io = io
        self._gpus = gpus
        self._engine = engine or EngineMeter(io)
        self._memory = memory or memory_reader()
        self._processes = processes or process_reader()
        self._clock = clock
        self._meter = TreeMeter()
        self._gpu_task: asyncio.Task[tuple[GpuReading, ...]] | None = None
        self._gpu_is_late = False

    async def take(self, engine_pid: int | None, doing: Doing, at: float) -> Sample:
        """One sample, stamped ``at``. On the IO thread.

        Raises:
            HardwareError: the system does not tell its memory.
        """
        if self._gpu_task is None:
            self._gpu_task = self._io.spawn(self._io.in_pool(self._gpus.sample), name="gpu sample")
        memory, tree = await self._io.in_pool(self._read_host, engine_pid)
        readings = await self._gpu_readings()
        load = self._engine.take()
        return Sample(
            at=at,
            phase=doing.phase,
            tokens_per_s=doing.tokens_per_s,
            prefill_tokens_per_s=doing.prefill_tokens_per_s,
            ram_total_bytes=memory.usable_total_bytes,
            ram_used_bytes=ram_used_bytes(memory, tree),
            engine_rss_bytes=tree.rss_bytes if tree else None,
            engine_anonymous_bytes=tree.anonymous_bytes if tree else None,
            engine_read_bytes_per_s=tree.read_bytes_per_s if tree else None,
            engine_cpu_percent=tree.cpu_percent if tree else None,
            gpus=tuple(self._gpu_sample(reading, tree) for reading in readings),
            swap_used_bytes=memory.swap_used_bytes,
            page_cache_bytes=memory.page_cache_bytes,
            requests_running=load.requests_running,
            requests_waiting=load.requests_waiting,
            kv_cache_percent=load.kv_cache_percent,
            engine_prompt_tokens_per_s=load.engine_prompt_tokens_per_s,
            engine_generated_tokens_per_s=load.engine_generated_tokens_per_s,
            prefix_hit_percent=load.prefix_hit_percent,
        )

    def _read_host(self, engine_pid: int | None) -> tuple[Memory, TreeUsage | None]:
        readings = () if engine_pid is None else self._processes.read(engine_pid)
        usage = self._meter.measure(readings, self._clock())
        return self._memory.read(), usage

    async def _gpu_readings(self) -> tuple[GpuReading, ...]:
        task = self._gpu_task
        if task is None:
            return ()
        done, _ = await asyncio.wait({task}, timeout=0 if self._gpu_is_late else GPU_TIMEOUT_S)
        if not done:
            if not self._gpu_is_late:
                log.warning("the GPU driver has not answered for %s s", GPU_TIMEOUT_S)
            self._gpu_is_late = True
            return ()
        self._gpu_task, self._gpu_is_late = None, False
        # What went wrong is in the log already (IoLoop.spawn).
        return () if task.cancelled() or task.exception() else task.result()

    def _gpu_sample(self, reading: GpuReading, tree: TreeUsage | None) -> GpuSample:
        gpu = reading.gpu
        return GpuSample(
            index=gpu.index,
            name=gpu.name,
            vram_total_bytes=gpu.vram_total_bytes,
            vram_used_bytes=gpu.vram_total_bytes - gpu.vram_free_bytes,
            load_percent=gpu.load_percent,
            power_w=gpu.power_w,
            power_limit_w=gpu.power_limit_w,
            temperature_c=gpu.temperature_c,
            engine_vram_bytes=self._engine_vram(reading, tree),
            pcie_received_bytes_per_s=reading.pcie_received_bytes_per_s,
            pcie_sent_bytes_per_s=reading.pcie_sent_bytes_per_s,
            throttled=reading.throttled,
        )

    def _engine_vram(self, reading: GpuReading, tree: TreeUsage | None) -> int | None:
        if tree is None or reading.process_bytes is None:
            return None
        ours = [size for pid, size in reading.process_bytes.items() if pid in tree.pids]
        if None in ours:
            return None
        # In a container the driver may count by the host's numbers: then ours is not among them.
        if not ours and not all(map(self._processes.exists, reading.process_bytes)):
            return None
        return sum(size or 0 for size in ours)


def ram_used_bytes(memory: Memory, tree: TreeUsage | None) -> int:
    """Used by everybody, the engine's mapped weights included.

    Systems call pages of files available, since they could drop them; but weights that were
    dropped have to be read again for the next token.
    """
    total = memory.usable_total_bytes
    used = max(total - memory.available_bytes, 0)
    if tree is None:
        return used
    if tree.anonymous_bytes is None:
        return min(max(used, tree.rss_bytes), total)
    return min(used + tree.droppable_bytes, total)
