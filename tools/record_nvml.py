"""Records what this computer's NVIDIA driver answers, for playing back in tests.

    python -m tools.record_nvml > tests/data/nvml/NAME.json

Asks exactly what the app asks (one look, one sample). Serial numbers and process ids are replaced.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.nvml import InstalledNvml, NvmlFailure

FIELDS = {
    "DeviceGetMemoryInfo": ("total", "free"),
    "DeviceGetUtilizationRates": ("gpu",),
}


class Recorder:
    """Passes calls on and remembers the answers; handles become "gpu0", "gpu1" ..."""

    def __init__(self) -> None:
        self._library = InstalledNvml()
        self._handles: dict[int, str] = {}
        self._kept: list[object] = []  # an id is unique only while its object lives
        self.answers: dict[str, dict[str, Any]] = {}

    def call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401 - as NVML
        """Call ``nvml<name>``."""
        key = " ".join([name, *(self._handles.get(id(part), str(part)) for part in arguments)])
        try:
            answer = self._library.call(name, *arguments)
        except NvmlFailure as failure:
            self.answers[key] = {"code": failure.code, "text": str(failure)}
            raise
        if name == "DeviceGetHandleByIndex":
            self._handles[id(answer)] = f"gpu{arguments[0]}"
            self._kept.append(answer)
        self.answers[key] = {"answer": self._plain(name, answer)}
        return answer

    def _plain(self, name: str, answer: Any) -> Any:  # noqa: ANN401
        if name == "DeviceGetHandleByIndex":
            return self._handles[id(answer)]
        if name == "DeviceGetUUID":
            return f"GPU-{len(self.answers):08d}"
        if name.endswith("RunningProcesses"):
            return [
                {"pid": 1000 + number, "usedGpuMemory": process.usedGpuMemory}
                for number, process in enumerate(answer)
            ]
        fields = FIELDS.get(name)
        return answer if fields is None else {field: getattr(answer, field) for field in fields}


def main() -> None:
    recorder = Recorder()
    reader = GpuReader(recorder)
    reader.look()
    reader.sample()
    reader.close()
    json.dump(recorder.answers, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
