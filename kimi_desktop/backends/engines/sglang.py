"""SGLang behind the engine interface. Flags, files, lines and counters: its source, 0.5.23.

It has no Unix socket: it listens on 127.0.0.1 at a port of ours, with a key. The key goes by a
private file that its ``--config`` reads, so that it stands in no argument; /health and /metrics
answer without it. Hub access is off. Its ways to spread over machines or to split off the encoder
open further ports without a key and are never switched on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.engine_gpus import visible_gpus
from kimi_desktop.backends.engines.interface import (
    CONFIG_NAME,
    Heard,
    LoadReader,
    Proof,
    RunPlace,
    StopRules,
    write_private,
)
from kimi_desktop.backends.engines.prometheus import highest, samples_of, total
from kimi_desktop.backends.engines.python_engine import PythonEngine
from kimi_desktop.backends.engines.python_probe import (
    Installed,
    ask_flags,
    find_installed,
    find_installed_since,
)
from kimi_desktop.backends.engines.server_failures import explain_server
from kimi_desktop.backends.engines.server_line import ServerLine
from kimi_desktop.backends.engines.server_log import ServerReader
from kimi_desktop.backends.engines.sglang_log import TABLE
from kimi_desktop.backends.failures import KILL_NUMBER, EngineEnd
from kimi_desktop.backends.served_support import read_sglang_support
from kimi_desktop.backends.server_facts import NO_PARSER
from kimi_desktop.backends.types import EngineKind, EngineMetrics, LoadSettings, VllmSettings
from kimi_desktop.base.errors import BackendError
from kimi_desktop.planner.vllm_flags import server_flags
from kimi_desktop.planner.vllm_types import ServerEngine

PACKAGE = "sglang"
TITLE = "SGLang"
MODULE = "sglang.launch_server"
FLOOR = "0.5.10"
"""Below it a message to an open port runs code (CVE-2026-3059)."""
GRACE_S = 15.0

RENAMED: Mapping[str, tuple[str, ...]] = {
    "--tp-size": ("--tensor-parallel-size", "--tp"),
    "--pp-size": ("--pipeline-parallel-size",),
    "--dp-size": ("--data-parallel-size",),
    "--ep-size": ("--expert-parallel-size", "--ep"),
    "--model-path": ("--model",),
}
FORBIDDEN = frozenset(
    {
        "--admin-api-key", "--api-key", "--config", "--crash-dump-folder",
        "--custom-sigquit-handler", "--custom-weight-loader", "--decoupled-spec-bind-endpoint",
        "--decoupled-spec-connect-endpoints", "--disaggregation-bootstrap-port",
        "--disaggregation-mode", "--dist-init-addr", "--enable-http-worker-reuseport",
        "--enable-http2", "--enable-trace", "--encoder-bootstrap-port", "--encoder-only",
        "--encoder-register-urls", "--encoder-urls", "--engine-info-bootstrap-port",
        "--export-metrics-to-file", "--export-metrics-to-file-dir", "--fastapi-root-path",
        "--file-storage-path", "--forward-hooks", "--gated-launch-port",
        "--grpc-http-sidecar-port", "--grpc-mode", "--grpc-port", "--host", "--kv-events-config",
        "--language-only", "--load-publish-endpoint", "--log-level", "--log-requests",
        "--log-requests-format", "--log-requests-level", "--log-requests-target", "--model",
        "--model-path", "--nccl-init-addr", "--nccl-port", "--nnodes", "--node-rank",
        "--otlp-traces-endpoint", "--pdmux-config-path", "--port",
        "--remote-instance-weight-loader-backend",
        "--remote-instance-weight-loader-seed-instance-ip",
        "--remote-instance-weight-loader-seed-instance-service-port",
        "--remote-instance-weight-loader-send-weights-group-ports",
        "--remote-instance-weight-loader-start-seed-via-transfer-engine", "--sidecar",
        "--sidecar-args", "--smg-grpc-mode", "--smg-http-sidecar-port", "--ssl-certfile",
        "--ssl-keyfile", "--stat-loggers", "--tool-server", "--trust-remote-code",
        "--trust-request-chat-template", "--use-ray",
    }
)  # fmt: skip
"""Extra flags that would open the engine to others, log prompts, or run code of others; by every
name that its help has for them."""
_CHILD_FAILED = "sigquit"


class Sglang(PythonEngine):
    """See ``Engine``."""

    stopping = StopRules(GRACE_S, interrupts=True, clears_shared_memory=True)
    logs_to_stdout = True
    picks_port = False
    proof = Proof("GET", "/v1/models")

    async def probe(self, program: Path) -> EngineBuild:
        """Version and flags. Up to half a minute the first time, for its help.

        Raises:
            BackendError: there is none, it is older than ``FLOOR``, or it does not run.
        """
        installed = await find_installed_since(program, PACKAGE, TITLE, FLOOR)
        command = program_of(installed)
        flags = await ask_flags(self._memory, installed, (*command, "--help"), "--model-path")
        support = read_sglang_support(installed.package.parent)
        on_cpu = await _is_on_cpu(program)
        build = EngineBuild(
            kind=EngineKind.SGLANG,
            program=command,
            flags=flags,
            name=f"{TITLE} {installed.version}",
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
        """Its launcher with what was planned; ``n_threads`` it finds itself."""
        del n_threads
        special = settings.server or VllmSettings()
        line = ServerLine(build, RENAMED, strict=listening is not None)
        line.need("--model-path", str(settings.model_path))
        if listening is not None:
            line.need("--config", str(listening.key_file.with_name(CONFIG_NAME)))
            line.need("--host", "127.0.0.1")
            line.need("--port", str(listening.port))
        line.need("--served-model-name", special.served_name or settings.model_path.name)
        if not build.devices and listening is not None:
            line.need("--device", "cpu")
        _add_placement(line, settings, special)
        if special.tool_parser not in ("", NO_PARSER):
            line.need("--tool-call-parser", special.tool_parser)
        if special.reasoning_parser not in ("", NO_PARSER):
            line.need("--reasoning-parser", special.reasoning_parser)
        line.want_all(special.needs)
        if special.trusted_code:
            line.need("--trust-remote-code")
        if settings.chat_template is not None:
            line.need("--chat-template", settings.chat_template)
        line.want("--enable-metrics")
        line.add_extra(settings.extra, FORBIDDEN)
        return tuple(line.words)

    def environment(
        self, build: EngineBuild, settings: LoadSettings, place: RunPlace
    ) -> Mapping[str, str]:
        """Its GPUs, and what keeps it at home."""
        variables = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}
        if build.devices:
            variables |= visible_gpus(place.gpus, settings.gpus, by_number=True)
        return variables

    def write_files(self, place: RunPlace) -> None:
        """The key, as a configuration file: JSON is YAML, too."""
        write_private(place.folder / CONFIG_NAME, json.dumps({"api-key": place.key}) + "\n")

    def farewell(self, build: EngineBuild) -> str:
        """It does not read its stdin."""
        del build
        return ""

    def reader(
        self, settings: LoadSettings, total_bytes: int, arrived_bytes: Callable[[], int | None]
    ) -> LoadReader:
        """By its log alone: the weights are read by workers in their own order."""
        del settings, total_bytes, arrived_bytes
        return ServerReader(TABLE)

    def heard(self, line: str) -> Heard | None:
        """After a first request of its own."""
        return Heard() if TABLE.ready.search(line) else None

    def read_metrics(self, text: str) -> EngineMetrics:
        """Prompt tokens count those that were in the prefix cache, too."""
        samples = samples_of(text)
        read = total(samples, "sglang:prompt_tokens_total")
        found = total(samples, "sglang:cached_tokens_total")
        return EngineMetrics(
            running=total(samples, "sglang:num_running_reqs"),
            waiting=total(samples, "sglang:num_queue_reqs"),
            cache_used=highest(samples, "sglang:token_usage"),
            prompt_tokens=read,
            generated_tokens=total(samples, "sglang:generation_tokens_total"),
            looked_up_tokens=read if found is not None else None,
            found_tokens=found,
        )

    def explain(self, end: EngineEnd) -> BackendError:
        """The reason stands above the last line.

        When one of its processes fails, it kills itself with all of them: that is no kill by
        somebody else.
        """
        by_itself = end.code == -KILL_NUMBER and end.oom_kills == 0
        if by_itself and any(_CHILD_FAILED in line.lower() for line in end.lines):
            end = dataclasses.replace(end, code=1)
        return explain_server(end)


def program_of(installed: Installed) -> tuple[str, ...]:
    """Its launcher as a module of its Python, apart from what lies in the working folder."""
    return (str(installed.python), "-I", "-m", MODULE)


async def _is_on_cpu(program: Path) -> bool:
    """Its own version does not say so, that of its PyTorch does."""
    with contextlib.suppress(BackendError):
        return (await find_installed(program, "torch", "PyTorch")).version.endswith("+cpu")
    return False


def _add_placement(line: ServerLine, settings: LoadSettings, special: VllmSettings) -> None:
    server = special.server
    if server is None:
        if settings.context:
            line.need("--context-length", str(settings.context))
        return
    line.need_all(server_flags(dataclasses.replace(server, engine=ServerEngine.SGLANG)))
    for flag, value in (
        ("--max-running-requests", server.n_sequences),
        ("--chunked-prefill-size", server.n_batched_tokens),
    ):
        if value is not None:
            line.need(flag, str(value))
