"""What engines that live in a Python environment have in common."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engines.python_probe import HelpMemory


class PythonEngine:
    """Remembers what the builds of one engine said. See ``Engine`` for the rest."""

    def __init__(self, memory: Path | None = None) -> None:
        """``memory``: a folder for what its help said."""
        self._memory = HelpMemory(memory)
        self._known: dict[Path, EngineBuild] = {}

    def known(self, program: Path) -> EngineBuild | None:
        """What the last probe of it said; asks nothing."""
        return self._known.get(program)
