"""Entry point: check the ground, then hand over to the command line or the window."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

MIN_PYTHON = (3, 11)


def bad_qt(python: tuple[int, ...], installed: str | None) -> bool:
    """PySide6 6.12.0 loses references to None and aborts where None is not immortal."""
    return python[:2] < (3, 12) and installed == "6.12.0"


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb, or open the window when there is none. Returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if sys.version_info < MIN_PYTHON:
        sys.stderr.write("Kimi Desktop needs Python 3.11 or newer.\n")
        return 1
    if arguments and not arguments[0].startswith("-"):
        from kimi_desktop import cli  # noqa: PLC0415 - a verb must not load Qt

        return cli.main(arguments)
    if any(argument in ("-h", "--help", "--version") for argument in arguments):
        from kimi_desktop import cli  # noqa: PLC0415

        return cli.main(arguments)
    if bad_qt(sys.version_info[:3], _installed("PySide6-Essentials")):
        sys.stderr.write(
            "PySide6 6.12.0 crashes on Python 3.11. Install 6.11.3: "
            "python -m pip install 'PySide6-Essentials==6.11.3'\n"
        )
        return 1
    from kimi_desktop import app  # noqa: PLC0415 - Qt is loaded last

    return app.main(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
