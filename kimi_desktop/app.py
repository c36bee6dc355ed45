"""The window's composition root: builds every service and the window, and wires them."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Open the window and run until it closes. Returns the exit code."""
    del arguments
    return 0
