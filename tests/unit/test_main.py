"""The entry point keeps a known crash away from the user."""

from __future__ import annotations

import subprocess
import sys

from kimi_desktop import __version__


def test_version_needs_no_window() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"kimi-desktop {__version__}"
