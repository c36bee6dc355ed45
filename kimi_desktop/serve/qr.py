"""The endpoint's address as a QR code, for a window and for a terminal. Pure."""

from __future__ import annotations

import segno

QUIET = 4
"""Light modules around it (ISO/IEC 18004, 6.3.8)."""
_BLOCKS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_modules(text: str) -> tuple[tuple[bool, ...], ...]:
    """Rows of modules, dark = True, without the light border."""
    code = segno.make(text, error="m", micro=False)
    return tuple(tuple(bool(module) for module in row) for row in code.matrix)


def qr_lines(text: str) -> tuple[str, ...]:
    """The code in half blocks, two rows of modules a line, light modules drawn.

    So it is the right way round on a dark ground; readers take it on a light one, too.
    """
    border = qr_modules(text)
    side = len(border) + 2 * QUIET
    light = [[True] * side for _ in range(side + side % 2)]
    for row, modules in enumerate(border):
        for column, dark in enumerate(modules):
            light[row + QUIET][column + QUIET] = not dark
    return tuple(
        "".join(_BLOCKS[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(light[::2], light[1::2], strict=True)
    )
