"""vLLM behind the engine interface. Floors and flags: its help, its advisories, its source.

The key goes by the environment, the address is a Unix socket in the run's own folder. Telemetry,
hub access and fetching of media from other hosts are off; nothing here opens its development mode.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.engine_gpus import visible_gpus
from kimi_desktop.backends.engines.interface import Heard, LoadReader, Proof, RunPlace, StopRules
from kimi_desktop.backends.engines.prometheus import highest, samples_of, total
from kimi_desktop.backends.engines.python_engine import PythonEngine
from kimi_desktop.backends.engines.python_probe import (
    Installed,
    ask_flags,
    find_installed_since,
)
from kimi_desktop.backends.engines.server_failures import explain_server
from kimi_desktop.backends.engines.server_line import ServerLine
from kimi_desktop.backends.engines.vllm_log import VllmReader
from kimi_desktop.backends.failures import EngineEnd
from kimi_desktop.backends.served_support import read_vllm_support
from kimi_desktop.backends.server_facts import NO_PARSER
from kimi_desktop.backends.types import EngineKind, EngineMetrics, LoadSettings, VllmSettings
from kimi_desktop.base.errors import BackendError
from kimi_desktop.planner.vllm_flags import NO_HOST, server_flags

PACKAGE = "vllm"
TITLE = "vLLM"
FLOOR = "0.18.0"
"""Below it anybody who can send a request can run code (advisories of 2025 and 2026)."""
GRACE_S = 15.0
"""It ends its workers itself in 0.5 to 11 s (measured), and hangs when a stream stays open."""
LONGEST_SOCKET = 107
ZMQ_NAME = 37
"""A slash and a UUID."""

RENAMED: Mapping[str, tuple[str, ...]] = {
    "--gpu-memory-utilization": ("--device-memory-utilization",),
    "--disable-access-log-for-endpoints": (),
}
FORBIDDEN = frozenset(
    {
        "--allow-credentials", "--allowed-headers", "--allowed-local-media-path",
        "--allowed-media-domains", "--allowed-methods", "--allowed-origins", "--api-key",
        "--config", "--enable-log-deltas", "--enable-log-outputs", "--enable-log-requests",
        "--enable-scale-out", "--grpc", "--grpc-port", "--headless", "--host",
        "--io-processor-plugin", "--kv-transfer-config", "--logits-processors", "--middleware",
        "--port", "--profiler-config", "--reasoning-parser-plugin", "--root-path",
        "--tool-parser-plugin", "--tool-server", "--trust-remote-code", "--uds",
        "--data-parallel-address", "--data-parallel-rpc-port", "--ec-transfer-config", "--hf-token",
        "--kv-events-config", "--master-addr", "--master-port", "--model", "--nnodes",
        "--node-rank", "--otlp-traces-endpoint", "--scheduler-cls", "--trust-request-chat-template",
        "--worker-cls", "--worker-extension-cls", "-n", "-r",
    }
)  # fmt: skip
"""Extra flags that would open the engine to others, log prompts, or run code of others."""


class Vllm(PythonEngine):
    """See ``Engine``."""

    stopping = StopRules(GRACE_S, interrupts=True, clears_shared_memory=True)
    logs_to_stdout = True
    picks_port = False
    proof = Proof("GET", "/v1/models")

    async def installed(self, program: Path) -> Installed:
        """Which vLLM ``program`` points at. A tenth of a second.

        Raises:
            BackendError: there is none, or it is older than ``FLOOR``.
        """
        return await find_installed_since(program, PACKAGE, TITLE, FLOOR)

    async def probe(self, program: Path) -> EngineBuild:
        """Version and flags. Up to half a minute the first time, for its help."""
        installed = await self.installed(program)
        command = program_of(installed)
        flags = await ask_flags(
            self._memory, installed, (*command, "serve", "--help=all"), "--max-model-len"
        )
        support = read_vllm_support(installed.package.parent)
        on_cpu = installed.version.endswith("+cpu")
        build = EngineBuild(
            kind=EngineKind.VLLM,
            program=command,
            flags=flags,
            name=f"{TITLE} {installed.version}",
            unix_sockets="--uds" in flags and sys.platform != "win32",
            devices=() if on_cpu else ("CUDA",),
            version=installed.version,
            architectures=support.architectures if support else frozenset(),
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
        """``vllm serve FOLDER`` with what was planned; ``n_threads`` it finds itself."""
        del n_threads
        special = settings.server or VllmSettings()
        line = ServerLine(build, RENAMED, strict=listening is not None)
        line.words += ["serve", str(settings.model_path)]
        if listening is not None and listening.socket_path is not None:
            line.need("--uds", str(listening.socket_path))
        else:  # typed by hand it would listen everywhere
            line.need("--host", "127.0.0.1")
        if listening is not None and listening.socket_path is None:
            line.need("--port", str(listening.port))
        line.need("--served-model-name", special.served_name or settings.model_path.name)
        _add_placement(line, settings, special)
        if special.tool_parser not in ("", NO_PARSER):
            line.need("--enable-auto-tool-choice")
            line.need("--tool-call-parser", special.tool_parser)
        if special.reasoning_parser not in ("", NO_PARSER):
            line.need("--reasoning-parser", special.reasoning_parser)
        line.want_all(special.needs)
        if special.trusted_code:
            line.need("--trust-remote-code")
        if settings.chat_template is not None:
            line.need("--chat-template", settings.chat_template)
        line.want("--allowed-media-domains", NO_HOST)
        line.want("--disable-access-log-for-endpoints", "/health,/metrics")
        line.add_extra(settings.extra, FORBIDDEN)
        return tuple(line.words)

    def environment(
        self, build: EngineBuild, settings: LoadSettings, place: RunPlace
    ) -> Mapping[str, str]:
        """Its key, its GPUs, and what keeps it at home."""
        variables = {
            "VLLM_API_KEY": place.key,
            "VLLM_HOST_IP": "127.0.0.1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0",
        }
        if len(str(place.folder)) + ZMQ_NAME <= LONGEST_SOCKET:  # else they stay in /tmp
            variables["VLLM_RPC_BASE_PATH"] = str(place.folder)
        if not build.devices:
            special = settings.server or VllmSettings()
            # Unset it takes 92 % of all RAM.
            variables["VLLM_CPU_KVCACHE_SPACE"] = str(special.cpu_cache_gib or 1)
        else:
            variables |= visible_gpus(place.gpus, settings.gpus, by_number=True)
        return variables

    def write_files(self, place: RunPlace) -> None:
        """None: the key is in the environment, which other users cannot read."""

    def farewell(self, build: EngineBuild) -> str:
        """It does not read its stdin."""
        del build
        return ""

    def reader(
        self, settings: LoadSettings, total_bytes: int, arrived_bytes: Callable[[], int | None]
    ) -> LoadReader:
        """By its log alone: the weights are read by workers in their own order."""
        del settings, total_bytes, arrived_bytes
        return VllmReader()

    def heard(self, line: str) -> Heard | None:
        """It says so once, with the address that it was given."""
        return Heard() if "Application startup complete" in line else None

    def read_metrics(self, text: str) -> EngineMetrics:
        """Names that 0.18 to 0.33 share; ``gpu_cache_usage_perc`` is older."""
        samples = samples_of(text)
        return EngineMetrics(
            running=total(samples, "vllm:num_requests_running"),
            waiting=total(samples, "vllm:num_requests_waiting"),
            cache_used=highest(samples, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
            prompt_tokens=total(samples, "vllm:prompt_tokens_total"),
            generated_tokens=total(samples, "vllm:generation_tokens_total"),
            looked_up_tokens=total(samples, "vllm:prefix_cache_queries_total"),
            found_tokens=total(samples, "vllm:prefix_cache_hits_total"),
        )

    def explain(self, end: EngineEnd) -> BackendError:
        """The reason stands above the last line."""
        return explain_server(end)


def program_of(installed: Installed) -> tuple[str, ...]:
    """How it is started: by its program where there is one beside its Python, else as a module."""
    beside = installed.python.with_name("vllm.exe" if sys.platform == "win32" else "vllm")
    if beside.exists():
        return (str(beside),)
    return (str(installed.python), "-P", "-m", "vllm.entrypoints.cli.main")


def _add_placement(line: ServerLine, settings: LoadSettings, special: VllmSettings) -> None:
    server = special.server
    if server is None:
        if settings.context:
            line.need("--max-model-len", str(settings.context))
        return
    line.need_all(server_flags(server))
    for flag, value in (
        ("--max-num-seqs", server.n_sequences),
        ("--max-num-batched-tokens", server.n_batched_tokens),
    ):
        if value is not None:
            line.need(flag, str(value))
