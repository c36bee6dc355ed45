"""Models that look alike, told apart by their files or folders. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from kimi_desktop.models.types import LocalModel

SHORT = 18
"""Letters of a name beside a figure."""
_SPLIT = re.compile(r"-\d{5}-of-\d{5}$")


def telling_names(models: Iterable[LocalModel]) -> Mapping[str, str]:
    """For models of one name and quantization, what tells each from the others, by id.

    The file's name where that differs, else the nearest folder that does; models that look like no
    other have no entry.
    """
    groups: dict[tuple[str, str], list[LocalModel]] = {}
    for model in models:
        quantization = model.facts.quantization if model.facts else ""
        groups.setdefault((model.family, quantization), []).append(model)
    found: dict[str, str] = {}
    for group in groups.values():
        if len(group) > 1:
            found |= _told_apart(group)
    return found


def full_name(model: LocalModel) -> str:
    """Name and quantization."""
    quantization = model.facts.quantization if model.facts else ""
    return f"{model.title} {quantization}".rstrip()


def shortened(name: str) -> str:
    """A name for a narrow place: its middle goes, since names differ at their ends."""
    if len(name) <= SHORT:
        return name
    half = SHORT // 2
    return f"{name[: half - 1]}…{name[-half:]}"


def _told_apart(group: list[LocalModel]) -> dict[str, str]:
    depth = max(len(model.path.parts) for model in group)
    ways: list[Callable[[LocalModel], str]] = [_file]
    ways += [_Folder(up) for up in range(depth - 1)]
    for say in ways:
        names = [say(model) for model in group]
        if len(set(names)) == len(group):
            return {model.id: name for model, name in zip(group, names, strict=True)}
    return {model.id: str(model.path) for model in group}


def _file(model: LocalModel) -> str:
    return _SPLIT.sub("", model.path.stem)


class _Folder:
    """The name of a folder so many levels above the file."""

    def __init__(self, up: int) -> None:
        self._up = up

    def __call__(self, model: LocalModel) -> str:
        parents = model.path.parents
        return parents[self._up].name if self._up < len(parents) else ""
