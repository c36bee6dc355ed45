"""Which versions fit this computer. Pure but for the lists, which are small files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kimi_desktop.backends.install.types import CPU, InstallOffer
from kimi_desktop.machine.accelerators import Accelerators

_LINE = re.compile(r"^([A-Za-z0-9._-]+)==(\S+).*# (\d+)$")


def offers_of(raw: Mapping[str, Any], lists: Path, here: Accelerators) -> tuple[InstallOffer, ...]:
    """Those that run here, the best one first.

    Args:
        raw: ``assets/engines/*-installs.json`` of the engine.
        lists: the folder of its lists.
        here: this computer.
    """
    return tuple(_offer(raw, entry, lists) for entry in raw["installs"] if _fits(entry, here))


def sizes_of(packages: Path) -> dict[str, int]:
    """Normalized name of each package of a list -> bytes to fetch, the largest of its versions."""
    sizes: dict[str, int] = {}
    for line in packages.read_text(encoding="utf-8").splitlines():
        if match := _LINE.match(line):
            name = normalized(match[1])
            sizes[name] = max(int(match[3]), sizes.get(name, 0))
    return sizes


def normalized(name: str) -> str:
    """As indexes compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _fits(entry: Mapping[str, Any], here: Accelerators) -> bool:
    if (entry["system"], entry["arch"]) != (here.system, here.arch):
        return False
    if entry["accelerator"] == CPU:
        return True
    return (
        here.cuda is not None
        and here.capability is not None
        and here.cuda >= _numbers(entry["cuda"])
        and here.capability >= _numbers(entry["capability"])
    )


def _offer(raw: Mapping[str, Any], entry: Mapping[str, Any], lists: Path) -> InstallOffer:
    packages = lists / entry["list"]
    size = sum(sizes_of(packages).values())
    return InstallOffer(
        id=entry["id"],
        title=raw["title"],
        version=entry["version"],
        accelerator=entry["accelerator"],
        cuda=entry.get("cuda", ""),
        packages=packages,
        size_bytes=size,
        installed_bytes=int(size * entry["installed_per_byte"]),
        licences=(raw["licence"], *entry.get("licences", ())),
        pythons=tuple(entry.get("pythons", raw["pythons"])),
        alias=entry.get("alias", ""),
        links=entry.get("links", ""),
        compiles=entry.get("compiles", False),
    )


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)
