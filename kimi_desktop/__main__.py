"""Entry point: a verb goes to the command line, none to the window."""

from __future__ import annotations

import sys
from collections.abc import Sequence

MIN_PYTHON = (3, 11)
INTERRUPTED = 130
HELP = ("-h", "--help", "--version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb, or open the window when there is none. Returns the exit code."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while modules load; a verb at work ends in its own way
        return INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if sys.version_info < MIN_PYTHON:
        sys.stderr.write("Kimi Desktop needs Python 3.11 or newer.\n")
        return 1
    if arguments and (arguments[0] in HELP or not arguments[0].startswith("-")):
        from kimi_desktop import cli  # noqa: PLC0415 - a verb must not load Qt

        return cli.main(arguments)
    from kimi_desktop import first_window  # noqa: PLC0415 - Qt is loaded last

    return first_window.main(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
