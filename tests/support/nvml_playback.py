"""Plays back what a driver said (``tools/record_nvml.py``), with faults put in at will."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kimi_desktop.machine.nvml import NvmlFailure

RECORDS = Path(__file__).parents[1] / "data" / "nvml"


class PlaybackNvml:
    """Answers as recorded; a call that was not recorded is not supported.

    ``answers`` may be changed while a test runs: that is how a GPU gets lost.
    """

    def __init__(self, record: str | None = None) -> None:
        self.answers: dict[str, Any] = {}
        self.calls: list[str] = []
        if record is not None:
            self.answers = json.loads((RECORDS / record).read_text(encoding="utf-8"))

    def answer(self, key: str, value: object) -> None:
        """From now on the call gives ``value``."""
        self.answers[key] = {"answer": value}

    def fail(self, key: str, code: int, text: str) -> None:
        """From now on the call fails."""
        self.answers[key] = {"code": code, "text": text}

    def lose(self, index: int) -> None:
        """Every query of this GPU fails, as after a fall from the bus."""
        for key in self.answers:
            if key.endswith(f" gpu{index}") or f" gpu{index} " in key:
                self.fail(key, 15, "GPU is lost")
        self.fail(f"DeviceGetHandleByIndex {index}", 15, "GPU is lost")

    def call(self, name: str, *arguments: object) -> Any:
        key = " ".join([name, *map(str, arguments)])
        self.calls.append(key)
        found = self.answers.get(key)
        if found is None:
            raise NvmlFailure(3, "Not Supported")
        if "code" in found:
            raise NvmlFailure(found["code"], found["text"])
        answer = found["answer"]
        if name.endswith("RunningProcesses"):
            return [SimpleNamespace(**entry) for entry in answer]
        return SimpleNamespace(**answer) if isinstance(answer, dict) else answer
