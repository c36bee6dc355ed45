"""Writes the lists of packages that engines are installed from: versions, hashes, sizes. Needs uv.

    python tools/engine_locks.py [ENGINE]     for every entry with a package of *-installs.json

For the wheels of each entry's system and Pythons; nothing is downloaded but metadata,
and no index is named in what is written.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ENGINES = Path(__file__).resolve().parent.parent / "assets" / "engines"
PROJECT = """\
[project]
name = "lock"
version = "0"
requires-python = ">={first},<={last}.999"
dependencies = ["{package}"]
[tool.uv]
environments = ["sys_platform == '{platform}' and platform_machine == '{machine}'"]
"""
PLATFORMS = {"linux": "linux", "macos": "darwin", "windows": "win32"}
MACHINES = {
    ("linux", "x64"): "x86_64",
    ("linux", "arm64"): "aarch64",
    ("macos", "arm64"): "arm64",
    ("windows", "x64"): "AMD64",
}
WHEELS = {
    ("linux", "x64"): ("manylinux", "x86_64"),
    ("linux", "arm64"): ("manylinux", "aarch64"),
    ("macos", "arm64"): ("macosx", "arm64"),
    ("windows", "x64"): ("win", "amd64"),
}
"""What the platform of a fitting wheel has in its name."""
PYTHON_MARKER = re.compile(r"python_full_version [<>=]+ '[\d.*]+'")
HEAD = "# {package} and all that it needs. Written by tools/engine_locks.py; do not edit.\n"


def main() -> int:
    """Write them all."""
    for file in sorted(ENGINES.glob(f"{sys.argv[1] if len(sys.argv) > 1 else '*'}-installs.json")):
        rules = json.loads(file.read_text(encoding="utf-8"))
        for entry in rules["installs"]:
            if package := entry.get("package"):
                pythons = sorted(entry.get("pythons", rules["pythons"]), key=_numbers)
                lines, size = lock(package, pythons, (entry["system"], entry["arch"]))
                text = HEAD.format(package=package) + "\n".join(lines) + "\n"
                folder = ENGINES / file.name.removesuffix("-installs.json")
                (folder / entry["list"]).write_text(text, encoding="utf-8")
                print(f"{entry['list']}: {len(lines)} packages, {size / 1e9:.2f} GB")
    return 0


def lock(package: str, pythons: list[str], system: tuple[str, str]) -> tuple[list[str], int]:
    """(Lines of a requirements file, bytes to fetch for the Python that takes most)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = PROJECT.format(package=package, first=pythons[0], last=pythons[-1],
                              platform=PLATFORMS[system[0]], machine=MACHINES[system])  # fmt: skip
        (folder / "pyproject.toml").write_text(text, encoding="utf-8")
        _uv(folder, "lock")
        pins = _uv(folder, "export", "--no-hashes", "--no-emit-project", "--no-annotate",
                   "--no-header").splitlines()  # fmt: skip
        locked = tomllib.loads((folder / "uv.lock").read_text(encoding="utf-8"))["package"]
    files = {(each["name"], each["version"]): _files(each, pythons, system) for each in locked}
    lines, total = [], 0
    for pin in pins:
        what, _, marker = pin.partition(" ; ")
        name, _, version = what.partition("==")
        found = files[name, version]
        size = max(file["size"] for file in found)
        total += size
        wanted = " and ".join(PYTHON_MARKER.findall(marker))
        hashes = " ".join(f"--hash={file['hash']}" for file in found)
        marks = f" ; {wanted}" if wanted else ""
        lines.append(f"{what}{marks} {hashes} # {size}")
    return lines, total


def _files(
    package: dict[str, Any], pythons: list[str], system: tuple[str, str]
) -> list[dict[str, Any]]:
    """The wheels for the system and the Pythons; the source where there is none."""
    wheels = [wheel for wheel in package.get("wheels", ()) if _fits(wheel["url"], pythons, system)]
    return wheels or ([package["sdist"]] if "sdist" in package else [])


def _fits(url: str, pythons: list[str], system: tuple[str, str]) -> bool:
    _, python, abi, platform = url.rpartition("/")[2].removesuffix(".whl").rsplit("-", 3)
    if platform != "any" and not all(word in platform for word in WHEELS[system]):
        return False
    tags = {f"cp{each.replace('.', '')}" for each in pythons}
    return abi in ("abi3", "none") or bool(tags & set(python.split(".")) and abi in tags)


def _uv(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["uv", *words, "--quiet"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


if __name__ == "__main__":
    sys.exit(main())
