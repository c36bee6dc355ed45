"""Put Kimi Desktop into the user's application menu, for a double-click; ``--remove`` takes it out.

Writes the entry with the full path of this environment's ``kimi-desktop`` and the icons, under the
user's own data folder (``$XDG_DATA_HOME``, else ``~/.local/share``). Needs no root.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "kimi-desktop"
ICON_SIZES_PX = (16, 24, 32, 48, 64, 128, 256, 512)
# Characters that the Desktop Entry Specification wants escaped inside a quoted argument.
ESCAPED = {character: "\\" + character for character in '"`$\\'}


def quoted(path: Path) -> str:
    """The path as one argument of an Exec line: quoted, escaped, percent signs doubled."""
    inner = "".join(ESCAPED.get(character, character) for character in str(path))
    # The value itself is a string in which a backslash is written twice.
    return '"' + inner.replace("\\", "\\\\").replace("%", "%%") + '"'


def entry_text(program: Path) -> str:
    """The desktop entry that starts ``program``."""
    template = (ROOT / "packaging" / "linux" / f"{NAME}.desktop").read_text(encoding="utf-8")
    return template.replace(f"Exec={NAME}\n", f"Exec={quoted(program)}\n")


def targets(data_home: Path) -> dict[Path, Path | None]:
    """Every file to write; None for the entry itself, else the icon to copy."""
    icons = data_home / "icons" / "hicolor"
    app = ROOT / "assets" / "app"
    files: dict[Path, Path | None] = {data_home / "applications" / f"{NAME}.desktop": None}
    files[icons / "scalable" / "apps" / f"{NAME}.svg"] = app / "icon.svg"
    for size in ICON_SIZES_PX:
        files[icons / f"{size}x{size}" / "apps" / f"{NAME}.png"] = app / f"icon-{size}.png"
    return files


def install(data_home: Path, program: Path) -> Path:
    """Write entry and icons; returns the entry's path."""
    entry = data_home / "applications" / f"{NAME}.desktop"
    for target, source in targets(data_home).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if source is None:
            target.write_text(entry_text(program), encoding="utf-8")
            target.chmod(0o755)  # file managers ask before they start one that is not executable
        else:
            shutil.copyfile(source, target)
    return entry


def remove(data_home: Path) -> None:
    """Delete what ``install`` wrote."""
    for target in targets(data_home):
        target.unlink(missing_ok=True)


def main() -> int:
    """Install or remove, as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--remove", action="store_true", help="take it out of the menu again")
    options = parser.parse_args()
    data_home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    program = Path(sys.executable).with_name(NAME)
    if options.remove:
        remove(data_home)
        sys.stdout.write("Kimi Desktop is out of the application menu.\n")
    elif not program.exists():
        sys.stderr.write(f"{program} is missing. Type: make run\n")
        return 1
    else:
        entry = install(data_home, program)
        sys.stdout.write(f"Kimi Desktop is in the application menu ({entry}).\n")
    if updater := shutil.which("update-desktop-database"):
        subprocess.run([updater, data_home / "applications"], check=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
