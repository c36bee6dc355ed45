"""Writes the lists of packages that vLLM is installed from: versions, hashes, sizes. Needs uv.

    python tools/vllm_locks.py          for every entry of vllm-installs.json with a package

For the wheels of Linux on x86_64 and the Pythons of that file; nothing is downloaded but metadata,
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
environments = ["sys_platform == 'linux' and platform_machine == 'x86_64'"]
"""
PYTHON_MARKER = re.compile(r"python_full_version [<>=]+ '[\d.*]+'")
HEAD = "# {package} and all that it needs. Written by tools/vllm_locks.py; do not edit.\n"


def main() -> int:
    """Write them all."""
    rules = json.loads((ENGINES / "vllm-installs.json").read_text(encoding="utf-8"))
    for entry in rules["installs"]:
        if package := entry.get("package"):
            pythons = sorted(entry.get("pythons", rules["pythons"]), key=_numbers)
            lines, size = lock(package, pythons)
            text = HEAD.format(package=package) + "\n".join(lines) + "\n"
            (ENGINES / "vllm" / entry["list"]).write_text(text, encoding="utf-8")
            print(f"{entry['list']}: {len(lines)} packages, {size / 1e9:.2f} GB")
    return 0


def lock(package: str, pythons: list[str]) -> tuple[list[str], int]:
    """(Lines of a requirements file, bytes to fetch for the Python that takes most)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = PROJECT.format(package=package, first=pythons[0], last=pythons[-1])
        (folder / "pyproject.toml").write_text(text, encoding="utf-8")
        _uv(folder, "lock")
        pins = _uv(folder, "export", "--no-hashes", "--no-emit-project", "--no-annotate",
                   "--no-header").splitlines()  # fmt: skip
        locked = tomllib.loads((folder / "uv.lock").read_text(encoding="utf-8"))["package"]
    files = {(each["name"], each["version"]): _files(each, pythons) for each in locked}
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


def _files(package: dict[str, Any], pythons: list[str]) -> list[dict[str, Any]]:
    """The wheels for the system and the Pythons; the source where there is none."""
    wheels = [wheel for wheel in package.get("wheels", ()) if _fits(wheel["url"], pythons)]
    return wheels or ([package["sdist"]] if "sdist" in package else [])


def _fits(url: str, pythons: list[str]) -> bool:
    _, python, abi, platform = url.rpartition("/")[2].removesuffix(".whl").rsplit("-", 3)
    if platform != "any" and not ("manylinux" in platform and "x86_64" in platform):
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
