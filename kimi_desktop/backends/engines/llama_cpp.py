"""llama.cpp behind the engine interface: the embedded one and a llama-server binary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kimi_desktop.backends.command import EngineBuild, Listening, build_command
from kimi_desktop.backends.engine_gpus import visible_gpus
from kimi_desktop.backends.engines.interface import (
    KEY_NAME,
    Heard,
    LoadReader,
    Proof,
    RunPlace,
    StopRules,
    write_private,
)
from kimi_desktop.backends.engines.prometheus import highest, samples_of, total
from kimi_desktop.backends.failures import EngineEnd, explain
from kimi_desktop.backends.launch import GRACE_S
from kimi_desktop.backends.load_progress import LoadProgress
from kimi_desktop.backends.probe import Prober, python_path
from kimi_desktop.backends.types import EngineKind, EngineMetrics, LoadSettings
from kimi_desktop.base.errors import BackendError
from kimi_desktop.planner.flags import DEVICE
from kimi_desktop.planner.plan_types import LoadMode

ROUTER_FAREWELL = "cmd_router_to_child:exit"

# The first is b11549's, the second what llama-server wrote until 2025.
_PORT = re.compile(r"listening on http://[^:/\s]+:(\d+)|listening, hostname: \S+, port: (\d+)")
_LISTENING = re.compile(r"\blistening\b")


class LlamaCpp:
    """See ``Engine``."""

    stopping = StopRules(GRACE_S)
    logs_to_stdout = False
    picks_port = True
    proof = Proof("POST", "/tokenize", {"content": "a"})

    def __init__(self) -> None:
        self.prober = Prober()

    async def probe(self, program: Path) -> EngineBuild:
        """Its ``--help``, asked once."""
        return await self.prober.probe(program)

    def command(
        self,
        build: EngineBuild,
        settings: LoadSettings,
        *,
        listening: Listening | None,
        n_threads: int,
    ) -> tuple[str, ...]:
        """See ``build_command``."""
        return build_command(build, settings, listening=listening, n_threads=n_threads)

    def environment(
        self, build: EngineBuild, settings: LoadSettings, place: RunPlace
    ) -> Mapping[str, str]:
        """The key is in a file; a router's child reports its progress.

        All GPUs of the plan's machine are shown: ``--device`` chooses among them.
        """
        del settings
        sees_ours = place.gpus is not None and build.device_prefix == DEVICE
        extra = dict(visible_gpus(place.gpus, None)) if sees_ours else {}
        if build.is_router_child:
            extra["LLAMA_SERVER_ROUTER_PORT"] = "1"
        if build.kind is EngineKind.EMBEDDED:
            extra["PYTHONPATH"] = python_path()
        return extra

    def write_files(self, place: RunPlace) -> None:
        """The key's file."""
        write_private(place.folder / KEY_NAME, place.key + "\n")

    def farewell(self, build: EngineBuild) -> str:
        """llama-server waits for its router's word on stdin before it ends (measured: for ever).

        The embedded one dies of SIGTERM at once, and this word would leave it half ended.
        """
        is_server = build.kind is EngineKind.LLAMA_SERVER
        return ROUTER_FAREWELL if is_server and build.is_router_child else ""

    def reader(
        self, settings: LoadSettings, total_bytes: int, arrived_bytes: Callable[[], int | None]
    ) -> LoadReader:
        """Its own reports and the bytes that are mapped."""
        mode = settings.load_mode or LoadMode.MMAP
        copies = settings.n_gpu_layers > 0 and mode.keeps_pages
        return LoadProgress(total_bytes, copies=copies, arrived_bytes=arrived_bytes)

    def heard(self, line: str) -> Heard | None:
        """It says where it listens."""
        if not _LISTENING.search(line):
            return None
        match = _PORT.search(line)
        return Heard(int(match[1] or match[2]) if match else None)

    def read_metrics(self, text: str) -> EngineMetrics:
        """Names of b11549; the use of the KV cache went out of it in 2025.

        Tokens are counted when a request ends (measured), so their seconds come with them.
        """
        samples = samples_of(text)
        read = total(samples, "llamacpp:prompt_tokens_total")
        found = total(samples, "llamacpp:prompt_tokens_cached_total")
        return EngineMetrics(
            running=total(samples, "llamacpp:requests_processing"),
            waiting=total(samples, "llamacpp:requests_deferred"),
            cache_used=highest(samples, "llamacpp:kv_cache_usage_ratio"),
            prompt_tokens=read,
            prompt_seconds=total(samples, "llamacpp:prompt_seconds_total"),
            generated_tokens=total(samples, "llamacpp:tokens_predicted_total"),
            generated_seconds=total(samples, "llamacpp:tokens_predicted_seconds_total"),
            looked_up_tokens=None if read is None or found is None else read + found,
            found_tokens=found,
        )

    def explain(self, end: EngineEnd) -> BackendError:
        """By exit, system and log."""
        return explain(end)
