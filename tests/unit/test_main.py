"""The entry point keeps a known crash away from the user."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kimi_desktop import __version__
from kimi_desktop.__main__ import bad_qt


@pytest.mark.parametrize(
    ("python", "qt", "bad"),
    [
        ((3, 11, 2), "6.12.0", True),
        ((3, 11, 2), "6.11.3", False),
        ((3, 11, 2), "6.12.1", False),
        ((3, 12, 0), "6.12.0", False),
        ((3, 11, 2), None, False),
    ],
)
def test_only_the_crashing_pair_is_refused(
    python: tuple[int, ...], qt: str | None, bad: bool
) -> None:
    assert bad_qt(python, qt) is bad


def test_version_needs_no_window() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kimi_desktop", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"kimi-desktop {__version__}"
