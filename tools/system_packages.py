"""Say which system packages the window and its tests still need. Standard library only.

    python3 tools/system_packages.py offscreen|window|tests

Prints the Debian names on one line (nothing when all is there). Qt loads most of these libraries
itself, so a missing one shows only when the window opens, or as an abort.
"""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path

# What the embedded engine's wheel links to without bringing it.
ENGINE = {"libgomp.so.1": "libgomp1"}
# Found in a bare Debian 12: what PySide6-Essentials needs to import and to draw offscreen ...
OFFSCREEN = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
}
# ... and what its X11 plugin loads besides.
X11 = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
PROGRAMS = {"Xvfb": "xvfb", "xauth": "xauth", "curl": "curl"}
CJK_FONT = "fonts-wqy-microhei"
CJK_MARKS = ("cjk", "wqy", "pingfang", "yahei", "sourcehan", "simsun", "droidsansfallback")
FONT_FOLDERS = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".fonts",
    Path.home() / ".local/share/fonts",
)


def _missing_libraries(wanted: dict[str, str]) -> list[str]:
    missing = []
    for library, package in wanted.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(package)
    return missing


def _has_cjk_font() -> bool:
    files = (file for folder in FONT_FOLDERS if folder.is_dir() for file in folder.rglob("*"))
    return any(mark in file.name.lower() for file in files for mark in CJK_MARKS)


def missing_packages(purpose: str) -> list[str]:
    """The Debian packages that ``purpose`` (offscreen, window, tests) lacks on this machine."""
    if not sys.platform.startswith("linux"):
        return []
    missing = _missing_libraries({**ENGINE, **OFFSCREEN})
    if not _has_cjk_font():
        missing.append(CJK_FONT)
    if purpose == "offscreen":
        return missing
    missing += _missing_libraries(X11)
    if purpose == "tests":
        missing += [package for name, package in PROGRAMS.items() if not shutil.which(name)]
    return missing


if __name__ == "__main__":
    print(" ".join(missing_packages(sys.argv[1] if len(sys.argv) > 1 else "window")))
