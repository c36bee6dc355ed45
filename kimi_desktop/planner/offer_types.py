"""What could run here, as frozen data for lists: models, their files, and words about each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.models.catalogue_types import Engine, License, Note, Quality
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.by_size import SizedForecast
from kimi_desktop.planner.plan_types import Plan
from kimi_desktop.planner.speed_types import SpeedForecast


class Use(StrEnum):
    """How useful a file is on a machine, the most useful first."""

    GOOD = "good"
    """It fits and answers at a speed that one can work with."""
    SLOW = "slow"
    """It fits, and one waits for it."""
    TIGHT = "tight"
    """It fits when less is kept free than the Safe profile wants."""
    DISK = "disk"
    """It starts and reads weights from disk again and again."""
    NONE = "none"
    """It does not fit."""
    UNKNOWN = "unknown"
    """Its size or geometry is not known, or no forecast speaks of its engine."""


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """One quantization of a model, with what it would do here."""

    quantization: str
    repo: str
    """"owner/name"."""
    size_bytes: int | None
    size_is_rounded: bool
    shards: int | None
    quality: Quality | None
    note: Note | None
    engines: tuple[Engine, ...]
    sized: SizedForecast | None
    """None: size or geometry is not known, or only engines without a forecast read it."""
    bits_per_weight: float | None = None
    lacks_disk: bool = False
    """No disk that was looked at has room for it."""
    use: Use = Use.UNKNOWN

    @property
    def is_readable(self) -> bool:
        """A GGUF file, whose header says everything."""
        return Engine.LLAMA_CPP in self.engines and bool(self.size_bytes)

    @property
    def id(self) -> str:
        """What ``plan`` and a download call it."""
        return f"{self.repo}:{self.quantization}"


@dataclass(frozen=True, slots=True)
class OfferedModel:
    """A model with its files, the best for this machine named."""

    id: str
    """Of the catalogue; a repository's id for others."""
    name: str
    released: str
    """"" when not known."""
    total_parameters: int | None
    active_parameters: int | None
    context_tokens: int | None
    modalities: tuple[str, ...]
    license: License
    files: tuple[OfferedFile, ...]
    """The largest first."""
    best: OfferedFile | None
    """The file to have here; where none fits, the one that is nearest to it."""
    is_catalogued: bool = True

    @property
    def use(self) -> Use:
        """Of its best file."""
        return self.best.use if self.best else Use.UNKNOWN


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file on a hub, planned by its header."""

    model: LocalModel
    """As the library would have it; its path is the name of the first file."""
    plan: Plan
    speed: SpeedForecast


@dataclass(frozen=True, slots=True)
class FileWords:
    """A file in words; "" where nothing is known."""

    size: str
    fit: str
    """A few words: "Fits in VRAM + RAM"."""
    spare: str
    """What is left or lacking: "VRAM 16.2, RAM 118.0 GiB to spare"."""
    sentence: str
    """Both in one sentence."""
    decode: str
    """"6.4 – 15.5 tok/s"."""
    waits: str
    """What the speed waits for: "limit: RAM bandwidth"."""
    quality: str
    download: str
    """How long it takes to fetch, or that no disk has room for it."""
    details: str
    """Prompt speed, first token, load time: one line."""
    note: str
    """The packager's remark, engines that it needs."""
    reasons: tuple[str, ...] = ()
    """Why everything is where it is; what is missing and what helps."""
