"""Machines, models, samples and chats for scripted services: plausible, fixed, never measured."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.backends.model_code import CodeFile, ModelCode
from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import ErrorCode, KimiError, ModelError
from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role
from kimi_desktop.diagnosis.bundle import bundle_text
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.types import (
    Aspect,
    EngineExit,
    Evidence,
    Figure,
    Finding,
    Fix,
    Slowness,
    WayOut,
)
from kimi_desktop.machine.types import Cpu, Disk, DiskKind, Gpu, Machine, Memory
from kimi_desktop.models.types import CompanionKind, LocalModel, ModelFacts, ModelFormat, ModelState
from kimi_desktop.monitor.experiment_types import Experiment, Point, Variable
from kimi_desktop.monitor.run_types import (
    Band,
    Outcome,
    RunFacts,
    RunForecast,
    RunMeasures,
    RunRecord,
)
from kimi_desktop.monitor.types import GpuSample, Phase, Sample
from kimi_desktop.planner.speed_types import Band as SpeedBand
from kimi_desktop.planner.speed_types import Resource
from kimi_desktop.serve.types import ClientKey, DoneRequest, LiveRequest, RefusedRequests

GIB = 2**30
MIB = 2**20
GB = 10**9

NOW = 1_796_049_360.0
"""30 November 2026, afternoon: the clock of every scripted thing."""


@dataclass(frozen=True)
class NamedText:
    """One text in both languages, for scripted rows."""

    en: str
    zh: str


def cpu_only_box() -> Machine:
    """An office machine: no GPU, no driver."""
    return Machine(
        cpu=Cpu(
            model="AMD Ryzen 7 7700 8-Core Processor",
            physical_cores=8,
            logical_cores=16,
            usable_cores=16,
            sockets=1,
            numa_nodes=1,
            isa=("avx2", "avx512f"),
        ),
        memory=Memory(
            total_bytes=31 * GIB + 200 * MIB,
            available_bytes=26 * GIB,
            limit_bytes=None,
            swap_total_bytes=2 * GIB,
            swap_used_bytes=0,
        ),
        gpus=(),
        disks=(
            Disk(
                path="/home/ada/models",
                kind=DiskKind.NVME,
                file_system="ext4",
                total_bytes=1000 * GB,
                free_bytes=640 * GB,
                writable=True,
            ),
        ),
        system="Debian GNU/Linux 12",
        gpu_note="no_driver",
    )


def two_gpu_box() -> Machine:
    """A workstation with two 96 GB GPUs and 768 GB of memory."""
    vram = 97_887 * MIB
    return Machine(
        cpu=Cpu(
            model="AMD EPYC 9354 32-Core Processor",
            physical_cores=32,
            logical_cores=64,
            usable_cores=64,
            sockets=1,
            numa_nodes=1,
            isa=("avx2", "avx512f", "avx512_bf16"),
        ),
        memory=Memory(
            total_bytes=int(755.4 * GIB),
            available_bytes=int(745.6 * GIB),
            limit_bytes=None,
            swap_total_bytes=0,
            swap_used_bytes=0,
        ),
        gpus=tuple(
            Gpu(
                index=index,
                uuid=f"GPU-0000-{index}",
                name="NVIDIA RTX PRO 6000",
                vram_total_bytes=vram,
                vram_free_bytes=vram - 600 * MIB,
                driver="575.51",
                compute_capability="12.0",
                pcie_gen=5,
                pcie_width=16,
                temperature_c=41,
                power_w=38.0,
                power_limit_w=600.0,
                load_percent=0,
            )
            for index in (0, 1)
        ),
        disks=(
            Disk(
                path="/srv/models",
                kind=DiskKind.NVME,
                file_system="xfs",
                total_bytes=4000 * GB,
                free_bytes=2020 * GB,
                writable=True,
            ),
        ),
        system="Debian GNU/Linux 12",
        gpu_note="",
    )


def starter_model(folder: Path) -> LocalModel:
    """The 270 M demo model."""
    path = folder / "gemma-3-270m-Q4_K_M.gguf"
    return LocalModel(
        id=str(path),
        path=path,
        title="Gemma 3 270M",
        size_bytes=253_000_000,
        parts_present=1,
        parts_total=1,
        state=ModelState.READY,
        facts=ModelFacts(
            name="Gemma 3 270M",
            architecture="gemma3",
            quantization="Q4_K_M",
            parameter_count=268_098_176,
            n_layer=18,
            n_expert=0,
            n_expert_used=0,
            context_train=32_768,
            weights_bytes=246_000_000,
            kv_bytes_per_token=18_432,
            chat_template=None,
            has_thinking=False,
        ),
        problem=None,
        is_starter=True,
    )


def kimi_model(folder: Path, quantization: str = "UD-Q4_K_XL", size_gb: float = 584) -> LocalModel:
    """Kimi K2.6, a whole set of 14 files."""
    path = folder / quantization / f"Kimi-K2.6-{quantization}-00001-of-00014.gguf"
    size = int(size_gb * GB)
    return LocalModel(
        id=str(path),
        path=path,
        title="Kimi K2.6",
        size_bytes=size,
        parts_present=14,
        parts_total=14,
        state=ModelState.READY,
        facts=ModelFacts(
            name="Kimi K2.6",
            architecture="deepseek2",
            quantization=quantization,
            parameter_count=1_026_408_232_448,
            n_layer=61,
            n_expert=384,
            n_expert_used=8,
            context_train=262_144,
            weights_bytes=size,
            kv_bytes_per_token=70_272,
            chat_template="{{ messages }}<think>",
            has_thinking=True,
        ),
        problem=None,
    )


def partial_model(folder: Path) -> LocalModel:
    """A set with parts missing."""
    path = folder / "Kimi-K2.6-UD-Q2_K_XL-00001-of-00008.gguf"
    return LocalModel(
        id=str(path),
        path=path,
        title="Kimi K2.6",
        size_bytes=int(212.5 * GB),
        parts_present=5,
        parts_total=8,
        state=ModelState.PARTIAL,
        facts=None,
        problem=ModelError(
            ErrorCode.MODEL_PART_MISSING,
            {"path": str(path), "missing": 3, "total": 8, "which": "6, 7, 8"},
        ),
    )


OWN_CODE = ModelCode(
    tuple(
        CodeFile(name, hashlib.sha256(name.encode()).hexdigest())
        for name in ("configuration_kimi_k25.py", "modeling_kimi_k25.py", "tokenization_kimi.py")
    )
)
"""Python files that a checkpoint of Kimi brings along."""


def checkpoint_model(folder: Path) -> LocalModel:
    """A folder of safetensors."""
    path = folder / "moonshotai" / "Kimi-Linear-48B-A3B-Instruct"
    kimi = kimi_model(folder)
    assert kimi.facts is not None
    return LocalModel(
        id=str(path),
        path=path,
        title=path.name,
        size_bytes=int(98.2 * GB),
        parts_present=20,
        parts_total=20,
        state=ModelState.READY,
        facts=dataclasses.replace(
            kimi.facts,
            name=path.name,
            architecture="KimiLinearForCausalLM",
            quantization="BF16",
            parameter_count=0,
            n_layer=27,
            n_expert=256,
            context_train=1_048_576,
            weights_bytes=int(98.2 * GB),
            kv_bytes_per_token=0,
            chat_template=None,
        ),
        problem=None,
        format=ModelFormat.SAFETENSORS,
    )


def projector_model(folder: Path) -> LocalModel:
    """The part that sees images, beside the folders of the quantizations."""
    path = folder / "mmproj-Kimi-K2.6-F16.gguf"
    return LocalModel(
        id=str(path),
        path=path,
        title=path.stem,
        size_bytes=900_000_000,
        parts_present=1,
        parts_total=1,
        state=ModelState.COMPANION,
        facts=None,
        problem=None,
        companion=CompanionKind.PROJECTOR,
    )


def missing_model(folder: Path) -> LocalModel:
    """One that is on a drive that is not connected."""
    return dataclasses.replace(
        kimi_model(folder, "Q4_K_M", 621),
        parts_present=0,
        state=ModelState.MISSING,
        problem=ModelError(ErrorCode.MODEL_FOLDER_MISSING, {"path": str(folder)}),
    )


def broken_model(folder: Path) -> LocalModel:
    """A file whose header cannot be read."""
    path = folder / "notes.gguf"
    return LocalModel(
        id=str(path),
        path=path,
        title="notes",
        size_bytes=1_234_567,
        parts_present=1,
        parts_total=1,
        state=ModelState.BROKEN,
        facts=None,
        problem=ModelError(
            ErrorCode.MODEL_BAD_HEADER,
            {"path": str(path), "field": "general.architecture", "offset": 24, "value": "nothing"},
        ),
    )


def sample(
    machine: Machine,
    at: float,
    *,
    phase: Phase = Phase.IDLE,
    tokens_per_s: float | None = None,
    prefill_tokens_per_s: float | None = None,
    engine_bytes: int = 0,
    vram_bytes: int = 600 * MIB,
    read_bytes_per_s: float = 0.0,
    gpu_load_percent: int = 0,
) -> Sample:
    """One moment of ``machine``."""
    used = machine.memory.total_bytes - machine.memory.available_bytes
    return Sample(
        at=at,
        phase=phase,
        tokens_per_s=tokens_per_s,
        prefill_tokens_per_s=prefill_tokens_per_s,
        ram_total_bytes=machine.memory.total_bytes,
        ram_used_bytes=used + engine_bytes,
        engine_rss_bytes=engine_bytes or None,
        engine_anonymous_bytes=engine_bytes // 20 or None,
        engine_read_bytes_per_s=read_bytes_per_s if engine_bytes else None,
        engine_cpu_percent=780.0 if tokens_per_s else 0.0,
        requests_running=float(bool(tokens_per_s)) if engine_bytes else None,
        requests_waiting=0.0 if engine_bytes else None,
        kv_cache_percent=12.0 if engine_bytes else None,
        engine_generated_tokens_per_s=tokens_per_s,
        gpus=tuple(
            GpuSample(
                index=gpu.index,
                name=gpu.name,
                vram_total_bytes=gpu.vram_total_bytes,
                vram_used_bytes=vram_bytes,
                load_percent=gpu_load_percent,
                power_w=38.0 + 1.7 * gpu_load_percent,
                power_limit_w=gpu.power_limit_w,
                temperature_c=41 + gpu_load_percent // 5,
                engine_vram_bytes=vram_bytes - 600 * MIB if engine_bytes else None,
            )
            for gpu in machine.gpus
        ),
    )


def session(machine: Machine, *, end: float = NOW, seconds: int = 300) -> tuple[Sample, ...]:
    """A session of ``seconds``: idle, a load, idle, a prefill, an answer, idle, another answer."""
    engine_bytes = int(machine.memory.total_bytes * 0.52)
    vram = int(86.4 * GIB) if machine.gpus else 0
    parts: tuple[tuple[float, float, Phase], ...] = (
        (0.06, 0.37, Phase.LOAD),
        (0.43, 0.47, Phase.PREFILL),
        (0.47, 0.65, Phase.DECODE),
        (0.71, 0.79, Phase.PREFILL),
        (0.79, 1.01, Phase.DECODE),
    )
    samples = []
    for second in range(seconds):
        place = second / seconds
        phase, begun = Phase.IDLE, 0.0
        for start, stop, name in parts:
            if start <= place < stop:
                phase, begun = name, (place - start) / (stop - start)
        loaded = 0.0 if place < 0.06 else 1.0
        if phase is Phase.LOAD:
            loaded = begun
        wobble = ((second * 37) % 11 - 5) / 10
        samples.append(
            sample(
                machine,
                end - seconds + second + 1,
                phase=phase,
                tokens_per_s=18.4 + wobble if phase is Phase.DECODE else None,
                prefill_tokens_per_s=438.0 if phase is Phase.PREFILL else None,
                engine_bytes=int(engine_bytes * loaded),
                vram_bytes=600 * MIB + int(vram * loaded),
                read_bytes_per_s=(5.8 + wobble) * GB if phase is Phase.LOAD else 0.0,
                gpu_load_percent={Phase.PREFILL: 88, Phase.DECODE: 35}.get(phase, 0)
                + (second * 13) % 5,
            )
        )
    return tuple(samples)


QUESTION = NamedText(
    "Why does decode slow down with more expert layers in RAM?",
    "为什么放进内存的专家层越多，解码就越慢？",
)
ANSWER = NamedText(
    """### Where the time goes

Every token reads its experts from wherever they live.

- **RAM side**: slower, and most of the bytes are here.
- **GPU side**: about four times faster.

| Expert layers in RAM | Read from RAM | Time per token |
|---|---:|---:|
| 60 | 11.9 GB | 63 ms |
| 44 | 8.7 GB | 54 ms |

```python
ram, gpu = 8.7, 3.2        # GB read per token
print(f"{ram + gpu:.1f} GB")
```

So every expert layer moved to VRAM saves about half a millisecond per token.
""",
    """### 时间花在哪里

每个词元都要从专家所在的位置读取权重。

- **内存侧**：较慢，而且大部分字节都在这里。
- **显存侧**：大约快四倍。

| 内存中的专家层 | 从内存读取 | 每词元耗时 |
|---|---:|---:|
| 60 | 11.9 GB | 63 ms |
| 44 | 8.7 GB | 54 ms |

```python
ram, gpu = 8.7, 3.2        # 每词元读取的 GB
print(f"{ram + gpu:.1f} GB")
```

可见，每把一个专家层移进显存，每个词元大约节省半毫秒。
""",
)
FOLLOW_UP = NamedText("And what should I change first?", "那我应该先改什么？")
OPEN_ANSWER = NamedText(
    """Move expert layers back to VRAM, **one step at a time**:

1. Lower the number of expert layers in RAM until about 10% of VRAM is free.
2. Keep the context as it is. With latent attention the cache is small.
3. Compare tokens per second""",
    """把专家层移回显存，**每次只改一步**：

1. 减少内存中的专家层数，直到显存剩余约 10%。
2. 上下文保持不变。潜在注意力的缓存很小。
3. 比较每秒词元数""",
)
TITLES = (
    (NamedText("Where decode time goes", "解码时间花在哪里"), 0.4),
    (NamedText("Translate release notes", "翻译发布说明"), 3.5),
    (NamedText("Regex for shard names", "分片文件名的正则"), 5.0),
    (NamedText("Plan a 3-day reading list", "三天阅读计划"), 17.0),
    (NamedText("Explain MLA caching", "解释 MLA 缓存"), 20.0),
    (NamedText("Bash: resume rsync", "Bash：rsync 续传"), 64.0),
)
"""Chats with their age in hours."""


def finished_answer(next_id: Callable[[], int], text: str, *, thinking: str = "") -> Message:
    """A complete answer with its stats line."""
    return Message(
        id=next_id(),
        role=Role.ASSISTANT,
        text=text,
        reasoning=thinking,
        finish=Finish.END,
        stats=AnswerStats(
            tokens=481,
            decode_tokens_per_s=18.4,
            first_token_s=3.1,
            thinking_s=12.0 if thinking else None,
            prompt_tokens=214,
            cached_tokens=0,
        ),
        created_at=NOW - 60,
    )


def served() -> dict[str, Any]:
    """Fields of a gateway's status in the middle of its day."""
    now = time.time()
    chat = "/v1/chat/completions"
    return {
        "running": 1,
        "served": 412,
        "clients": (ClientKey("Open WebUI", "kd-a"), ClientKey("Editor", "kd-b")),
        "live": (
            LiveRequest(1, "Open WebUI", chat, now - 14, waits=False),
            LiveRequest(2, "Editor", "/v1/completions", now - 3, waits=True),
        ),
        "done": (
            DoneRequest("Open WebUI", chat, now - 60, 41.3, 200),
            DoneRequest("default", "/v1/embeddings", now - 92, 0.4, 200),
            DoneRequest("Editor", chat, now - 130, 6.2, 499),
        ),
        "refused": (
            RefusedRequests(now - 240, 401, 12, "192.168.1.31"),
            RefusedRequests(now - 60, 403, 1, "127.0.0.1"),
        ),
    }


def notebook(model: LocalModel) -> tuple[RunRecord, ...]:
    """Four starts of one model, the newest first: slower, failed, faster, the first."""
    plain = RunRecord(
        id=1,
        started_at=time.time() - 90_000,
        ended_at=time.time() - 86_000,
        model_path=str(model.path),
        title=model.title,
        quantization=model.facts.quantization if model.facts else "",
        engine="llama.cpp b11549",
        settings={"context": 131_072, "n_gpu_layers": 62, "n_cpu_moe": 48},
        forecast=RunForecast(Band(11.4, 16.7, 24.5), Band(155, 243, 381)),
        measured=RunMeasures(
            212.0, 14, 6_210, 15.8, 196.0, 3.1, {"gpu:0": 84 * GIB, "host": 402 * GIB}
        ),
        outcome=Outcome.STOPPED,
    )
    faster = dataclasses.replace(
        plain,
        id=2,
        started_at=plain.started_at + 40_000,
        settings={**plain.settings, "n_cpu_moe": 44, "cache_type": "q8_0"},
        measured=dataclasses.replace(plain.measured, decode_tps=18.4, load_s=205.0),
        note="quiet fans",
        starred=True,
    )
    failed = dataclasses.replace(
        plain,
        id=3,
        started_at=plain.started_at + 60_000,
        settings={**plain.settings, "n_cpu_moe": 30},
        measured=RunMeasures(),
        outcome=Outcome.FAILED,
        cause="vram_oom_weights",
        n_facts=1,
    )
    slower = dataclasses.replace(
        plain,
        id=4,
        started_at=plain.started_at + 80_000,
        settings={**plain.settings, "n_threads": 64},
        measured=dataclasses.replace(plain.measured, decode_tps=6.2, answers=2),
        outcome=Outcome.LOST,
    )
    return slower, failed, faster, plain


SLOW = Slowness(
    figure=Figure(Aspect.DECODE, 2.04, SpeedBand(8, 10, 12, Resource.RAM)),
    finding=Finding("threads_misconfigured", 0.92, None, "", Fix("set", "other"), "speed.toml #1"),
    evidence=Evidence(),
    started_at=1.0,
    ways=(WayOut("threads", {"before": 64}, LoadSettings(Path("/m/k.gguf"))),),
)
"""An answer that came more slowly than forecast, with the reason and one way out."""


def kept_facts() -> tuple[RunFacts, ...]:
    """What the notebook keeps of its failed run (``notebook``): a log with a line that decides."""
    line = (
        "E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 92160.00 MiB on device 0: "
        "cudaMalloc failed: out of memory"
    )
    decoy = "E common_init_result: failed to fit params to free device memory"
    before = (f"I load_tensors: layer {n:3} assigned to device CUDA0" for n in range(61))
    log = "\n".join((*before, line, "E llama_model_load: error loading model", decoy))
    evidence = Evidence(log=log, exit=EngineExit(code=1), engine="llama.cpp", phase="load")
    return (RunFacts(time.time() - 29_000, bundle_text(evidence, diagnose(evidence))),)


def experiments(title: str) -> tuple[Experiment, ...]:
    """Three curves: users on two engines, and threads with a value that failed."""
    users = ("1", "2", "4", "8", "16", "32")
    return (
        Experiment(
            3,
            NOW - 600,
            title,
            "vLLM 0.24.0",
            Variable.USERS,
            tuple(
                Point(
                    n,
                    decode_tps=38 / (1 + int(n) / 24),
                    total_tps=36 * int(n) ** 0.85,
                    first_token_s=0.21 + 0.018 * int(n),
                )
                for n in users
            ),
        ),
        Experiment(
            2,
            NOW - 4000,
            title,
            "llama.cpp b11549",
            Variable.USERS,
            tuple(
                Point(
                    n,
                    decode_tps=19 / int(n) ** 0.7,
                    total_tps=18 * int(n) ** 0.3,
                    first_token_s=1.9 * int(n) ** 0.9,
                )
                for n in users
            ),
        ),
        Experiment(
            1,
            NOW - 9000,
            title,
            "llama.cpp b11549",
            Variable.THREADS,
            (
                Point("8", 120.0, 11.2, None, 4.2, 205.0),
                Point("16", 201.0, 17.9, None, 2.6, 204.0),
                Point("32", 214.0, 18.4, None, 2.4, 203.0),
                Point("64", error=KimiError(ErrorCode.ENGINE_EXITED, {"code": 1})),
            ),
        ),
    )
