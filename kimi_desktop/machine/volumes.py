"""What each system's way of finding a volume answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.machine.types import DiskKind


@dataclass(frozen=True, slots=True)
class Volume:
    """Where a folder lies."""

    id: str
    """The same for two folders on one volume."""
    kind: DiskKind
    file_system: str
    read_only: bool = False


FindVolume = Callable[[Path], Volume]
"""The volume of an absolute, existing folder without links."""
