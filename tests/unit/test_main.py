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


def test_an_interrupt_while_modules_load_is_no_traceback() -> None:
    program = """
import sys
from kimi_desktop.__main__ import main

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "kimi_desktop.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
raise SystemExit(main(["doctor"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == ""
