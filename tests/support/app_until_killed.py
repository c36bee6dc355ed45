"""The app's engine side as a program of its own, for tests and benchmarks that kill it.

    python -m tests.support.app_until_killed HOME MODEL [--binary FILE | --vllm PYTHON] [--generate]

Starts the engine as the app does, prints one JSON line for every change of its state, and waits.
``--generate`` keeps an endless answer open.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from pathlib import Path

from kimi_desktop.backends.service import LlamaEngineService
from kimi_desktop.backends.types import (
    ChatRequest,
    EngineKind,
    EngineStateChanged,
    LoadSettings,
    Sampling,
    VllmSettings,
)
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.planner.types import LoadForecast


def tell(event: Event) -> None:
    if isinstance(event, EngineStateChanged):
        status = event.status
        line = {"state": status.state.value, "pid": status.pid, "error": str(status.error)}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("home", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--vllm", type=Path)
    parser.add_argument("--generate", action="store_true")
    parser.add_argument("--grace", type=float, default=10.0)
    given = parser.parse_args()

    paths = AppPaths.under(given.home)
    paths.make()
    io, bus = IoLoop(), EventBus()
    bus.subscribe(tell)
    service = LlamaEngineService(
        io,
        bus,
        SettingsStore(paths.settings_file),
        paths,
        machine=lambda: None,
        forecast=lambda *_, **__: LoadForecast(()),
        grace_s=given.grace,
    )
    kind = EngineKind.LLAMA_SERVER if given.binary else EngineKind.EMBEDDED
    settings = LoadSettings(
        given.model, kind=kind, binary=given.binary, context=1_000_000, n_threads=1
    )
    if given.vllm:
        settings = LoadSettings(
            given.model,
            kind=EngineKind.VLLM,
            binary=given.vllm,
            context=0,
            server=VllmSettings(),
            extra=("--enforce-eager", "--max-num-seqs", "4"),
        )
    service.start(settings).result()

    async def talk() -> None:
        client = service.client()
        assert client is not None
        request = ChatRequest((("user", "forever"),), Sampling(max_tokens=900_000))
        with service.generating():
            async for _ in client.stream_chat(request):
                pass

    if given.generate:
        io.submit(talk)
    threading.Event().wait()


if __name__ == "__main__":
    main()
