"""The colours, sizes and spacing of the window, as frozen data for both themes.

Widgets never hold a colour: they ask ``theme.tokens()`` while painting, so that a switch of the
theme needs only a repaint.
"""

from __future__ import annotations

from dataclasses import dataclass

RADIUS = 8
RADIUS_SMALL = 4
SPACE = 4
"""All distances are multiples of this."""

SMALL_PX, SMALL_LINE_PX = 12, 16
BODY_PX, BODY_LINE_PX = 13, 20
MESSAGE_PX, MESSAGE_LINE_PX = 15, 24
HEADING_PX, HEADING_LINE_PX = 16, 24
TITLE_PX, TITLE_LINE_PX = 20, 28
CODE_PX, CODE_LINE_PX = 13, 20

CONTROL_HEIGHT = 32
SMALL_CONTROL_HEIGHT = 28
DISABLED_OPACITY = 0.62

MOTION_MS = 120
"""Longest movement; none where the system asks for less."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """One theme. Colours are ``#rrggbb``; the phase tints are ``#aarrggbb``."""

    dark: bool
    window: str
    panel: str
    raised: str
    line: str
    """Dividers only."""
    control: str
    """Borders of controls, 3:1 on window and panel."""
    text: str
    muted: str
    accent: str
    on_accent: str
    hover: str
    press: str
    accent_hover: str
    accent_press: str
    ok: str
    warn: str
    bad: str
    accent_soft: str
    ok_soft: str
    warn_soft: str
    bad_soft: str
    weights: str
    kv: str
    compute: str
    overhead: str
    others: str
    spare: str
    hatch: str
    code: str
    code_keyword: str
    code_string: str
    code_number: str
    code_comment: str
    code_function: str
    phase_load: str
    phase_prefill: str
    phase_decode: str


DARK = Tokens(
    dark=True,
    window="#0F1216",
    panel="#161A20",
    raised="#1E242C",
    line="#2A313B",
    control="#6B7685",
    text="#E7EAEE",
    muted="#9AA5B3",
    accent="#6EA8FE",
    on_accent="#0F1216",
    hover="#262D36",
    press="#2E3742",
    accent_hover="#86B7FF",
    accent_press="#5A94EE",
    ok="#4CC38A",
    warn="#E2A336",
    bad="#F16A5D",
    accent_soft="#1D2A40",
    ok_soft="#172A25",
    warn_soft="#2B2519",
    bad_soft="#2E1E20",
    weights="#6EA8FE",
    kv="#B58BFF",
    compute="#4FD1C5",
    overhead="#7F8A98",
    others="#3A424E",
    spare="#222932",
    hatch="#606B7A",
    code="#0F1216",
    code_keyword="#B58BFF",
    code_string="#4CC38A",
    code_number="#E2A336",
    code_comment="#9AA5B3",
    code_function="#6EA8FE",
    phase_load="#1F6EA8FE",
    phase_prefill="#2BE2A336",
    phase_decode="#1C4CC38A",
)

LIGHT = Tokens(
    dark=False,
    window="#F7F7F5",
    panel="#FFFFFF",
    raised="#EFF1F3",
    line="#DCE0E5",
    control="#7C8694",
    text="#1A1F26",
    muted="#5A6572",
    accent="#2563EB",
    on_accent="#FFFFFF",
    hover="#E4E8EC",
    press="#D8DDE3",
    accent_hover="#1D55D6",
    accent_press="#1A4BBF",
    ok="#1A7F4B",
    warn="#9A6700",
    bad="#C93C37",
    accent_soft="#EDF3FF",
    ok_soft="#EDF8F2",
    warn_soft="#FDF8EC",
    bad_soft="#FDF2F1",
    weights="#2563EB",
    kv="#7C3AED",
    compute="#0D9488",
    overhead="#6B7684",
    others="#C3CAD3",
    spare="#E8EBEE",
    hatch="#88929F",
    code="#F7F7F5",
    code_keyword="#7C3AED",
    code_string="#1A7F4B",
    code_number="#9A6700",
    code_comment="#5A6572",
    code_function="#2563EB",
    phase_load="#142563EB",
    phase_prefill="#229A6700",
    phase_decode="#141A7F4B",
)


def relative_luminance(color: str) -> float:
    """Of ``#rrggbb``, as WCAG 2 defines it."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(color[i : i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two ``#rrggbb``, 1 ... 21, as WCAG 2 defines it."""
    low, high = sorted((relative_luminance(one), relative_luminance(other)))
    return (high + 0.05) / (low + 0.05)
