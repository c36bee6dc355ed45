"""The server of ``llama-cpp-python`` behind the engine interface. Its flags: help of 0.3.36.

It runs one request after the other, keeps experts where their layers are, and has no metrics. It
listens on a port alone, and its key goes by the environment, which other users cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild, Listening, split_extra
from kimi_desktop.backends.engine_gpus import visible_gpus
from kimi_desktop.backends.engines.interface import Heard, LoadReader, Proof, RunPlace, StopRules
from kimi_desktop.backends.engines.python_engine import PythonEngine
from kimi_desktop.backends.engines.python_probe import (
    Installed,
    ask_flags,
    find_installed,
)
from kimi_desktop.backends.engines.server_line import ServerLine
from kimi_desktop.backends.failures import EngineEnd, explain
from kimi_desktop.backends.launch import GRACE_S
from kimi_desktop.backends.load_progress import LoadProgress
from kimi_desktop.backends.types import EngineKind, EngineMetrics, LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode, Param
from kimi_desktop.planner.plan_types import LoadMode, Numa

MODULE = "llama_cpp"
TITLE = "llama-cpp-python"
MODULE_WORDS = ("-m", "llama_cpp.server")
LOOKS_UP = "ngram-simple"
"""The kind of speculation that it has, as llama-server calls it."""

GGML_TYPES: Mapping[str, int] = {
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "iq4_nl": 20,
    "bf16": 30,
}  # fmt: skip
"""``enum ggml_type`` of ggml.h; these numbers are in files and do not change."""
FORBIDDEN = frozenset(
    {
        "--api-key", "--config-file", "--hf-model-repo-id", "--hf-pretrained-model-name-or-path",
        "--host", "--interrupt-requests", "--model", "--model-alias", "--port", "--root-path",
        "--ssl-certfile", "--ssl-keyfile",
    }
)  # fmt: skip
"""Extra flags that would open it to others, fetch from a hub, or end answers of others."""

_BACKENDS = (("cuda", "CUDA"), ("hip", "ROCm"), ("vulkan", "Vulkan"), ("metal", "Metal"),
             ("sycl", "SYCL"))  # fmt: skip
_VERSION = re.compile(r"""^__version__ = ["']([^"']+)""", re.MULTILINE)
_READY = "Application startup complete"


class LlamaCppPython(PythonEngine):
    """See ``Engine``."""

    stopping = StopRules(GRACE_S)
    logs_to_stdout = False
    picks_port = False
    proof = Proof("GET", "/v1/models")

    async def probe(self, program: Path) -> EngineBuild:
        """Version, flags, and what it was built for. Some seconds the first time."""
        installed = await find_installed(program, MODULE, TITLE)
        command = (str(installed.python), "-P", *MODULE_WORDS)
        flags = await ask_flags(self._memory, installed, (*command, "--help"), "--n_ctx")
        build = EngineBuild(
            kind=EngineKind.LLAMA_CPP_PYTHON,
            program=command,
            flags=flags,
            name=f"{TITLE} {version_of(installed)}".rstrip(),
            devices=backends_of(installed.package),
            version=version_of(installed),
        )
        self._known[program] = build
        return build

    def command(
        self,
        build: EngineBuild,
        settings: LoadSettings,
        *,
        listening: Listening | None,
        n_threads: int,
    ) -> tuple[str, ...]:
        """``python -m llama_cpp.server`` with what it can do of the settings.

        Raises:
            BackendError: ENGINE_CANNOT, what it cannot do would change where the weights are or
                what is answered; ENGINE_BAD_ARGUMENT, ENGINE_FLAG_CONFLICT, ENGINE_FLAG_QUOTES.
        """
        strict = listening is not None
        if strict and (impossible := refused_of(settings)):
            raise BackendError(
                ErrorCode.ENGINE_CANNOT, {"engine": TITLE, "flag": ", ".join(impossible)}
            )
        line = ServerLine(build, {}, strict=strict)
        line.need("--model", str(settings.model_path))
        line.need("--model_alias", settings.model_path.stem)
        if listening is not None:
            line.need("--host", "127.0.0.1")
            line.need("--port", str(listening.port))
        _say_placement(line, settings, settings.n_threads or n_threads)
        _say_options(line, settings)
        # Its defaults: every token's logits kept, and an answer cut when the next request comes.
        line.want("--logits_all", "false")
        line.want("--interrupt_requests", "false")
        line.want("--verbose", "true")
        _add_extra(line, settings, strict=strict)
        return tuple(line.words)

    def environment(
        self, build: EngineBuild, settings: LoadSettings, place: RunPlace
    ) -> Mapping[str, str]:
        """Its key and its GPUs; nothing is fetched from hubs."""
        variables = {"API_KEY": place.key, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1"}
        if "CUDA" in build.devices:
            variables |= visible_gpus(place.gpus, settings.gpus)
        return variables

    def write_files(self, place: RunPlace) -> None:
        """None: the key is in the environment."""

    def farewell(self, build: EngineBuild) -> str:
        """It does not read its stdin."""
        del build
        return ""

    def reader(
        self, settings: LoadSettings, total_bytes: int, arrived_bytes: Callable[[], int | None]
    ) -> LoadReader:
        """By the bytes that are mapped; it tells nothing itself until it listens."""
        mode = settings.load_mode or LoadMode.MMAP
        copies = settings.n_gpu_layers > 0 and mode.keeps_pages
        return _Reader(total_bytes, copies=copies, arrived_bytes=arrived_bytes)

    def heard(self, line: str) -> Heard | None:
        """The model is loaded before it listens."""
        return Heard() if _READY in line else None

    def read_metrics(self, text: str) -> EngineMetrics:
        """It has none."""
        del text
        return EngineMetrics()

    def explain(self, end: EngineEnd) -> BackendError:
        """By exit, system and log: the lines are llama.cpp's own."""
        return explain(end)


class _Reader(LoadProgress):
    def take_log(self, line: str) -> None:
        """It says once that it listens."""
        self.is_ready = self.is_ready or _READY in line


def version_of(installed: Installed) -> str:
    """As its files say; its distribution has another name than its module."""
    try:
        text = (installed.package / "__init__.py").read_text(encoding="utf-8")
    except OSError:
        return installed.version
    match = _VERSION.search(text)
    return match[1] if match else installed.version


def backends_of(package: Path) -> tuple[str, ...]:
    """What its libraries compute with besides the processor."""
    names = [file.name.lower() for file in (package / "lib").glob("*ggml*")]
    return tuple(title for word, title in _BACKENDS if any(word in name for name in names))


def refused_of(settings: LoadSettings) -> tuple[str, ...]:
    """What it cannot do, and a start without it would be another one; llama-server's names."""
    options = settings.options
    found = {
        "-ot / --n-cpu-moe": settings.overrides or settings.n_cpu_moe,
        "--rpc": settings.workers,
        "--load-mode dio": settings.load_mode is LoadMode.DIRECT,
        "-ctk " + settings.cache_type: settings.cache_type not in GGML_TYPES,
        "--chat-template": settings.chat_template is not None,
        "--mmproj": options.projector,
        "--chat-template-file": options.template_file,
        "--spec-type " + options.speculation: options.speculation not in ("", LOOKS_UP),
    }
    return tuple(flag for flag, wanted in found.items() if wanted)


def does_without(settings: LoadSettings) -> tuple[BackendError, ...]:
    """What was asked of it and is passed over; nothing for other engines."""
    if settings.kind is not EngineKind.LLAMA_CPP_PYTHON:
        return ()
    found = {
        "-np": settings.n_parallel > 1,
        "--numa isolate": _numa(settings) == Numa.ISOLATE.value,
        "--no-op-offload": not settings.offload_ops,
        "--no-repack": not settings.repack,
    }
    flags = ", ".join(flag for flag, wanted in found.items() if wanted)
    params: dict[str, Param] = {"engine": TITLE, "flag": flags}
    return (BackendError(ErrorCode.ENGINE_DOES_WITHOUT, params),) if flags else ()


def _numa(settings: LoadSettings) -> str:
    return settings.options.numa or settings.numa.value


def _say_placement(line: ServerLine, settings: LoadSettings, n_threads: int) -> None:
    line.need("--n_gpu_layers", str(settings.n_gpu_layers))
    if settings.tensor_split:
        line.need("--tensor_split", *(f"{share:g}" for share in settings.tensor_split))
    line.need("--n_ctx", str(settings.context))
    line.need("--n_batch", str(settings.n_batch))
    line.want("--n_ubatch", str(settings.n_ubatch))
    line.need("--n_threads", str(n_threads))
    line.want("--n_threads_batch", str(n_threads))
    mode = settings.load_mode or LoadMode.MMAP
    line.need("--use_mmap", _word(mode.keeps_pages))
    line.need("--use_mlock", _word(mode is LoadMode.LOCKED))
    if _numa(settings) == Numa.DISTRIBUTE.value:
        line.need("--numa", "true")
    if settings.cache_type != "f16":
        number = str(GGML_TYPES.get(settings.cache_type, settings.cache_type))
        line.need("--type_k", number)
        line.need("--type_v", number)


def _say_options(line: ServerLine, settings: LoadSettings) -> None:
    options = settings.options
    if options.flash_attention == "off" and settings.cache_type not in ("f16", "bf16", "f32"):
        params = {"flag": "-fa off", "other": f"-ctv {settings.cache_type}"}
        raise BackendError(ErrorCode.ENGINE_FLAG_CONFLICT, params)
    line.want("--flash_attn", _word(options.flash_attention != "off"))
    if options.lora:
        line.need("--lora_path", options.lora)
    if options.speculation == LOOKS_UP:
        line.need("--draft_model", "prompt-lookup-decoding")
        if options.draft_tokens:
            line.want("--draft_model_num_pred_tokens", str(options.draft_tokens))


def _add_extra(line: ServerLine, settings: LoadSettings, *, strict: bool) -> None:
    typed = split_extra(settings.options.extra) if strict else (settings.options.extra,)
    words = tuple(word for word in (*settings.extra, *typed) if word)
    for word in words if strict else ():
        name = word.partition("=")[0]
        if name.startswith("--") and name in line.words:
            params = {"flag": name, "other": name}
            raise BackendError(ErrorCode.ENGINE_FLAG_CONFLICT, params)
    line.add_extra(words, FORBIDDEN)


def _word(wanted: bool) -> str:
    return "true" if wanted else "false"
