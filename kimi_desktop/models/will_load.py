"""Whether an installed engine can load a model at all: one verdict, and its sentences. Pure.

Nothing about engines is written down here. A build of llama.cpp was asked (``backends.load_probe``
has it look at the model's metadata), the files of an installed vLLM were read
(``backends.served_support``), and the catalogue knows from which version on a model works.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kimi_desktop.base.errors import KimiError, Param
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.models.catalogue_types import EngineFloor
from kimi_desktop.models.hf_folder import HfModel
from kimi_desktop.models.types import LocalModel, ModelState

_NUMBERS = re.compile(r"\d+")


class Answer(StrEnum):
    """What a build of llama.cpp said of a model's metadata."""

    LOADS = "loads"
    """It went through all of it and then missed the weights."""
    ARCHITECTURE = "architecture"
    TOKENIZER = "tokenizer"
    TENSOR_TYPE = "tensor_type"
    METADATA = "metadata"
    """A value is missing that this build wants, or is one that it refuses."""
    UNCLEAR = "unclear"
    """It said something else, or nothing."""


@dataclass(frozen=True, slots=True)
class BuildAnswer:
    """An answer and what it is about."""

    answer: Answer
    detail: str = ""
    """The name that is not known, or the engine's own words."""


@dataclass(frozen=True, slots=True)
class ServedSupport:
    """What an installed vLLM or SGLang knows, by its own files."""

    engine: str
    """"vLLM 0.25.1"."""
    architectures: frozenset[str]
    quantizations: frozenset[str]
    """Empty = not known."""


class Finding(StrEnum):
    """What was found; text keys ``loads.<value>`` and ``loads.<value>.next``."""

    KNOWN = "known"
    PROBLEM = "problem"
    """The files themselves: parts missing, damaged, no model of its own."""
    ARCHITECTURE = "architecture"
    TOKENIZER = "tokenizer"
    TENSOR_TYPE = "tensor_type"
    METADATA = "metadata"
    QUANTIZATION = "quantization"
    TOO_OLD = "too_old"
    """Below the version from which on the model works."""
    BROKEN_VERSION = "broken_version"
    NEEDS_CODE = "needs_code"
    UNCLEAR = "unclear"
    NOT_ASKED = "not_asked"


_STOPS = frozenset({
    Finding.PROBLEM, Finding.ARCHITECTURE, Finding.TOKENIZER, Finding.TENSOR_TYPE,
    Finding.METADATA, Finding.QUANTIZATION,
})  # fmt: skip
_OPEN = frozenset({Finding.UNCLEAR, Finding.NOT_ASKED})


@dataclass(frozen=True, slots=True)
class Found:
    """One finding and what fills its sentences."""

    kind: Finding
    params: Mapping[str, Param] = field(default_factory=dict)
    error: KimiError | None = None
    """For PROBLEM: it has sentences of its own."""


@dataclass(frozen=True, slots=True)
class LoadVerdict:
    """Whether a model would load, and why."""

    build: str
    """"llama.cpp b11549"."""
    found: tuple[Found, ...]
    """The gravest first; never empty."""

    @property
    def will_load(self) -> bool | None:
        """None = nobody could say."""
        kinds = {one.kind for one in self.found}
        if kinds & _STOPS:
            return False
        return None if kinds & _OPEN else True

    @property
    def warns(self) -> bool:
        """It would load, but something should be known."""
        plain = {Finding.KNOWN}
        return bool(self.will_load) and any(one.kind not in plain for one in self.found)


def judge_gguf(
    model: LocalModel,
    build: str,
    answer: BuildAnswer | None,
    floor: EngineFloor | None = None,
) -> LoadVerdict:
    """The verdict on a GGUF model.

    Args:
        model: a row of the library, or one made from headers on a server.
        build: the engine's name with its version.
        answer: what it said; None = it was not asked.
        floor: what the catalogue knows of the model with this engine.
    """
    found: list[Found] = []
    if model.problem is not None:
        found.append(Found(Finding.PROBLEM, error=model.problem))
    elif model.state is not ModelState.READY or answer is None:
        found.append(Found(Finding.NOT_ASKED, {"build": build}))
    else:
        found.append(_of_answer(model, build, answer))
    found += version_findings(build, floor)
    return LoadVerdict(build, tuple(found))


def judge_checkpoint(
    model: HfModel, support: ServedSupport | None, floor: EngineFloor | None = None
) -> LoadVerdict:
    """The verdict on a model in Hugging Face's layout.

    Args:
        model: its config and parts.
        support: what the installed server engine knows; None = none is installed.
        floor: what the catalogue knows of the model with this engine.
    """
    config = model.config
    engine = support.engine if support else ""
    found: list[Found] = []
    if model.missing:
        params: dict[str, Param] = {
            "count": len(model.missing),
            "total": len(model.parts),
            "first": model.missing[0],
        }
        found.append(Found(Finding.PROBLEM, params))
    if support is None:
        found.append(Found(Finding.NOT_ASKED, {"build": "vLLM"}))
    else:
        params = {"build": engine, "name": config.architecture, "floor": _floor_words(floor)}
        if config.architecture in support.architectures:
            found.append(Found(Finding.KNOWN, params))
        else:
            found.append(Found(Finding.ARCHITECTURE, params))
        method = config.quantization.method if config.quantization else ""
        if method and support.quantizations and method not in support.quantizations:
            found.append(Found(Finding.QUANTIZATION, params | {"name": method}))
        found += version_findings(engine, floor)
    if config.needs_code:
        found.append(Found(Finding.NEEDS_CODE))
    found.sort(key=lambda one: one.kind not in _STOPS)
    return LoadVerdict(engine, tuple(found))


def load_sentences(verdict: LoadVerdict, language: Language) -> list[tuple[str, str]]:
    """What was found and what to do, one pair for each finding; nothing to do is "" ."""
    pairs = []
    for one in verdict.found:
        if one.error is not None:
            pairs.append(describe_error(one.error, language))
            continue
        key = f"loads.{one.kind.value}"
        params: dict[str, Param] = {"build": verdict.build, **one.params}
        then = "" if one.kind is Finding.KNOWN else message(f"{key}.next", language, **params)
        pairs.append((message(key, language, **params), then))
    return pairs


def version_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version: "llama.cpp b11549" -> (11549,), "vLLM 0.19.1+cpu" -> (0, 19, 1)."""
    return tuple(int(number) for number in _NUMBERS.findall(text.partition("+")[0]))


def _of_answer(model: LocalModel, build: str, answer: BuildAnswer) -> Found:
    kinds = {
        Answer.LOADS: Finding.KNOWN,
        Answer.ARCHITECTURE: Finding.ARCHITECTURE,
        Answer.TOKENIZER: Finding.TOKENIZER,
        Answer.TENSOR_TYPE: Finding.TENSOR_TYPE,
        Answer.METADATA: Finding.METADATA,
        Answer.UNCLEAR: Finding.UNCLEAR,
    }
    architecture = model.facts.architecture if model.facts else ""
    name = answer.detail or architecture
    params: dict[str, Param] = {"build": build, "name": name, "floor": ""}
    return Found(kinds[answer.answer], params)


def version_findings(build: str, floor: EngineFloor | None) -> list[Found]:
    """Versions that the catalogue warns of; an engine of unknown version is not judged."""
    have = version_numbers(build)
    if floor is None or not have:
        return []
    params: dict[str, Param] = {"build": build, "floor": floor.min_version or ""}
    if floor.min_version and have < version_numbers(floor.min_version):
        return [Found(Finding.TOO_OLD, params)]
    if any(have == version_numbers(broken) for broken in floor.broken_versions):
        return [Found(Finding.BROKEN_VERSION, params)]
    return []


def _floor_words(floor: EngineFloor | None) -> str:
    return floor.min_version or "" if floor else ""
