"""Why something failed, for people: one module per family of causes."""

from __future__ import annotations

from kimi_desktop.base.messages.causes import (
    files,
    gpu,
    memory,
    process,
    quality,
    serving,
    speed,
    start,
)

TEXTS = {
    **start.TEXTS,
    **gpu.TEXTS,
    **files.TEXTS,
    **memory.TEXTS,
    **process.TEXTS,
    **serving.TEXTS,
    **speed.TEXTS,
    **quality.TEXTS,
}
