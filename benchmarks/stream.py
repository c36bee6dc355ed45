"""Tokens per second: what the chat pane shows, against a bare httpx client in the same run.

    python benchmarks/stream.py [--rounds 5] [--tokens 200]

The window (offscreen) with its real services starts the engine; then the pane and a bare client
ask the same engine the same question in turns. Prints JSON lines: for the real 270 M model and for
the tiny Kimi-shaped one (about 2,000 tokens a second, a stress), the median rate that the pane
showed, the median of the bare client, the same by the clock, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from kimi_desktop.app import DesktopApp
from kimi_desktop.backends.types import Endpoint, EngineState
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.chat.types import AnswerFinished, Message
from kimi_desktop.core import Core
from kimi_desktop.models.starter import install_starter
from kimi_desktop.ui.shell import Shell
from tests.support.tiny_kimi import make_tiny_kimi

QUESTIONS = {"real 270 M": "Tell me a long story about a ship.", "tiny Kimi": "forever"}


def wait_for(condition: Callable[[], object]) -> None:
    loop = QEventLoop()
    timer = QTimer()
    timer.timeout.connect(lambda: condition() and loop.quit())
    timer.start(20)
    loop.exec()


def ask_pane(core: Core, question: str) -> tuple[float, float]:
    """(rate that the pane shows at the end, rate by the clock from first to last text)."""
    finished: list[Message] = []
    arrivals: list[float] = []

    def on_event(event: object) -> None:
        if isinstance(event, AnswerFinished):
            finished.append(event.message)
        elif type(event).__name__ == "TokensArrived":
            arrivals.append(time.perf_counter())

    leave = core.bus.subscribe(on_event)
    core.chats.send(core.chats.new_chat(), question)
    wait_for(lambda: finished)
    leave()
    stats = finished[0].stats
    assert stats is not None
    span = arrivals[-1] - arrivals[0]
    return stats.decode_tokens_per_s, (stats.tokens - 1) / span if span else 0.0


def ask_bare(endpoint: Endpoint, body: dict[str, object]) -> tuple[float, float]:
    """(the engine's own rate, rate by the clock) of a plain client."""
    uds = str(endpoint.socket_path) if endpoint.socket_path else None
    host = "http://engine" if uds else f"http://127.0.0.1:{endpoint.port}"
    arrivals: list[float] = []
    tokens, own_rate = 0, 0.0
    with (
        httpx.Client(transport=httpx.HTTPTransport(uds=uds), timeout=None) as client,
        client.stream(
            "POST",
            f"{host}/v1/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {endpoint.api_key}"},
        ) as response,
    ):
        for line in response.iter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            data = json.loads(line[6:])
            if data["choices"] and data["choices"][0]["delta"]:
                arrivals.append(time.perf_counter())
            if data.get("usage"):
                tokens = data["usage"]["completion_tokens"]
            if data.get("timings"):
                own_rate = data["timings"]["predicted_per_second"]
    return own_rate, (tokens - 1) / (arrivals[-1] - arrivals[0])


def measure(qt: QApplication, name: str, home: Path, rounds: int, tokens: int) -> None:
    paths = AppPaths.under(home)
    paths.make()
    chat = {"max_tokens": tokens, "temperature": 0.0, "thinking": False}
    paths.settings_file.write_text(
        json.dumps({"schema": 1, "window": {"wizard_done": True}, "chat": chat})
    )
    core = Core(paths)
    shell = Shell(paths.config)
    app = DesktopApp(qt, core, shell)
    shell.show()
    wait_for(lambda: core.models.models and core.machine.machine)
    core.engine.start(core.engine.settings_for(core.models.models[0]))
    wait_for(lambda: core.engine.status.state is EngineState.READY)
    endpoint = core.engine.endpoint
    assert endpoint is not None
    load = core.engine.status.settings
    assert load is not None
    body = {
        "messages": [{"role": "user", "content": QUESTIONS[name]}],
        "max_tokens": tokens,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
    }
    pane: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    ask_bare(endpoint, body)  # warm
    for _ in range(rounds):
        bare.append(ask_bare(endpoint, body))
        pane.append(ask_pane(core, QUESTIONS[name]))
    shown, clock = (statistics.median(values) for values in zip(*pane, strict=True))
    own, bare_clock = (statistics.median(values) for values in zip(*bare, strict=True))
    print(
        json.dumps(
            {
                "figure": "tokens per second",
                "model": name,
                "pane_shows": round(shown, 1),
                "bare_engine_says": round(own, 1),
                "pane_by_clock": round(clock, 1),
                "bare_by_clock": round(bare_clock, 1),
                "ratio": round(shown / own, 3),
                "aim": 0.99,
            }
        ),
        flush=True,
    )
    app.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=200)
    options = parser.parse_args()
    qt = QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        real, tiny = Path(folder) / "real", Path(folder) / "tiny"
        for home in (real, tiny):
            AppPaths.under(home).default_models_folder.mkdir(parents=True)
        install_starter(
            AppPaths.under(real).default_models_folder, lambda *_: None, threading.Event()
        )
        make_tiny_kimi(AppPaths.under(tiny).default_models_folder / "tiny-kimi.q8_0.gguf")
        measure(qt, "real 270 M", real, options.rounds, options.tokens)
        measure(qt, "tiny Kimi", tiny, options.rounds, options.tokens * 5)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
