"""Which archives of a release fit a computer. Pure; the patterns are data (``assets/engines``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kimi_desktop.downloads.engine_builds.types import (
    Accelerator,
    Archive,
    BuildOffer,
    BuildOffers,
    Release,
)
from kimi_desktop.machine.accelerators import Accelerators

_VERSION = r"(?P<version>\d+(?:\.\d+)*)"


@dataclass(frozen=True, slots=True)
class BuildRules:
    """The data file."""

    name: str
    """Of the engine."""
    program: str
    """Name of the program in the archive, without ``.exe``."""
    licence: str
    licences: Mapping[str, str]
    """Beginning of an archive's name -> licence of what is in it."""
    cuda_needs: Mapping[int, tuple[int, ...]]
    """Major version of CUDA -> the least compute capability."""
    builds: tuple[Mapping[str, Any], ...]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> BuildRules:
        """Raises KeyError or ValueError when it is not understood."""
        needs = raw["cuda_needs_capability"]
        return cls(
            raw["name"],
            raw["program"],
            raw["licence"],
            raw["licences"],
            {int(major): _numbers(least) for major, least in needs.items()},
            tuple(raw["builds"]),
        )


def offers_of(
    release: Release, rules: BuildRules, here: Accelerators, host: str
) -> BuildOffers | None:
    """The builds of a release for this computer, the best one first; None when it has none.

    A build for GPUs that are not here comes last: somebody may know better than the system tells.
    """
    fits: list[BuildOffer] = []
    others: list[BuildOffer] = []
    for rule in rules.builds:
        if (rule["system"], rule["arch"]) != (here.system, here.arch):
            continue
        for offer in _newest_first(_matches(release, rules, rule, host)):
            is_for = _fits(offer, rule, rules, here)
            (fits if is_for else others).append(offer)
    found = fits + others
    if not found:
        return None
    has_cuda = any(offer.accelerator is Accelerator.CUDA for offer in fits)
    return BuildOffers(
        tuple(found),
        lacks_cuda="nvidia" in here.makers and not has_cuda,
        lacks_vulkan=found[0].accelerator is Accelerator.VULKAN and not here.has_vulkan,
    )


def _matches(
    release: Release, rules: BuildRules, rule: Mapping[str, Any], host: str
) -> list[BuildOffer]:
    by_name = {archive.name: archive for archive in release.archives}
    parts = re.split(r"(\{tag\}|\{version\})", rule["asset"])
    known = {"{tag}": re.escape(release.tag), "{version}": _VERSION}
    pattern = re.compile("".join(known.get(part, re.escape(part)) for part in parts))
    found = []
    for archive in release.archives:
        match = pattern.fullmatch(archive.name)
        if match is None:
            continue
        version = match.groupdict().get("version") or ""
        names = [name.format(tag=release.tag, version=version) for name in rule.get("with", ())]
        if not all(name in by_name for name in names):
            continue  # it would not start
        archives = (archive, *(by_name[name] for name in names))
        found.append(
            BuildOffer(
                release.tag,
                Accelerator(rule["accelerator"]),
                version,
                archives,
                _licences(archives, rules),
                host,
            )
        )
    return found


def _licences(archives: Sequence[Archive], rules: BuildRules) -> tuple[str, ...]:
    more = [
        licence
        for beginning, licence in rules.licences.items()
        if any(archive.name.startswith(beginning) for archive in archives)
    ]
    return (rules.licence, *more)


def _newest_first(offers: Sequence[BuildOffer]) -> list[BuildOffer]:
    return sorted(offers, key=lambda offer: _numbers(offer.version), reverse=True)


def _fits(
    offer: BuildOffer, rule: Mapping[str, Any], rules: BuildRules, here: Accelerators
) -> bool:
    makers = rule.get("makers")
    if makers is None:
        return True
    if not here.makers.intersection(makers):
        return False
    if offer.accelerator is Accelerator.CUDA:
        return _cuda_fits(_numbers(offer.version), rules, here)
    # On Linux ROCm's libraries are not in the archive, and must be of its very version.
    return offer.accelerator is not Accelerator.HIP or here.system == "windows"


def _cuda_fits(version: tuple[int, ...], rules: BuildRules, here: Accelerators) -> bool:
    """A driver runs every CUDA of its major version and of older ones.

    Source: CUDA Compatibility, "Minor version compatibility"; what a major version no longer
    supports is in its release notes.
    """
    if here.cuda is None or not version or version[0] > here.cuda[0]:
        return False
    least = rules.cuda_needs.get(version[0])
    return here.capability is None or least is None or here.capability >= least


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)
