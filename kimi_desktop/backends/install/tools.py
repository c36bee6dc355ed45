"""The Python and the installer that make an environment: uv where it is, else pip. IO thread."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.engines.python_probe import output_of
from kimi_desktop.backends.install.types import InstallOffer
from kimi_desktop.base.errors import BackendError, ErrorCode

ASK_S = 20.0
DROPPED = frozenset(
    {"PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "PIP_TARGET", "PIP_USER",
     "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV", "UV_PROJECT_ENVIRONMENT", "UV_SYSTEM_PYTHON"}
)  # fmt: skip
"""What would lead an installer elsewhere. Proxies, certificates and indexes of the user stay."""
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True, slots=True)
class Tools:
    """What the steps are carried out with."""

    python: str
    """A program, or for uv a version that it finds or fetches itself."""
    version: str
    uv: tuple[str, ...] = ()
    """Empty: pip."""

    def make(self, folder: Path) -> tuple[str, ...]:
        """Makes the environment."""
        if self.uv:
            return (
                *self.uv,
                "venv",
                "--no-project",
                "--allow-existing",
                "--python",
                self.python,
                str(folder),
            )
        return (self.python, "-m", "venv", str(folder))

    def fill(self, folder: Path, offer: InstallOffer, links: str) -> tuple[str, ...]:
        """Fetches and installs the list; said again, it goes on from where it was."""
        inside = str(python_in(folder))
        quiet = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off")
        words: tuple[str, ...] = (inside, "-m", "pip", "install", *quiet)
        if self.uv:
            words = (*self.uv, "pip", "install", "--python", inside)
        words = (*words, "--no-deps")
        if not offer.alias:
            words = (*words, "--require-hashes")
        if links:
            words = (*words, "--find-links", links)
        return (*words, "-r", str(offer.packages))


async def find_tools(
    wanted: Sequence[str],
    environment: Mapping[str, str] = os.environ,
    *,
    own: str | None = sys.executable,
) -> Tools:
    """Uv if it is on PATH or in this Python, and a Python of one of the wanted versions.

    Args:
        wanted: versions, the preferred one first.
        environment: whose PATH is searched.
        own: the Python of this app; None in a packaged app, which has none to give.

    Raises:
        BackendError: INSTALL_NO_PYTHON, there is no such Python and no uv to fetch one.
    """
    path = environment.get("PATH")
    uv = _find_uv(path, own)
    found = {}
    for name in (own, *(f"python{version}" for version in wanted), "python3", "python"):
        place = shutil.which(name, path=path) if name else None
        if place is not None and place not in found:
            found[place] = await _version_of(place)
    for version in wanted:
        for place, has in found.items():
            if has == version:
                return Tools(place, version, uv)
    if uv:
        return Tools(wanted[0], wanted[0], uv)
    raise BackendError(ErrorCode.INSTALL_NO_PYTHON, {"versions": ", ".join(sorted(wanted))})


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The user's own, without what would lead the installer elsewhere."""
    kept = {name: value for name, value in environment.items() if name not in DROPPED}
    return kept | {"PYTHONUNBUFFERED": "1", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}


def python_in(folder: Path) -> Path:
    """The Python of an environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _find_uv(path: str | None, own: str | None) -> tuple[str, ...]:
    if found := shutil.which("uv", path=path):
        return (found,)
    if own and importlib.util.find_spec("uv") is not None:
        return (own, "-m", "uv")
    return ()


async def _version_of(python: str) -> str:
    try:
        code, text = await output_of((python, "-I", "-c", _VERSION), ASK_S)
    except BackendError:
        return ""
    return text.strip() if code == 0 else ""
