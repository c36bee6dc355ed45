"""The verbs of ``kimi-desktop``: the same services as the window, in a terminal. No Qt."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kimi_desktop import __version__


def main(arguments: Sequence[str]) -> int:
    """Run one verb: 0 done, 1 failed with a sentence on stderr, 2 bad arguments, 130 stopped."""
    parser = argparse.ArgumentParser(prog="kimi-desktop")
    parser.add_argument("--version", action="version", version=f"kimi-desktop {__version__}")
    parser.parse_args(arguments)
    return 0
