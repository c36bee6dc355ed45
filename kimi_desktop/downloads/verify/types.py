"""What a verification found, as frozen data that also crosses from the worker as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kimi_desktop.base.events import Event
from kimi_desktop.models.hash_record import Witness


class PartState(StrEnum):
    """How a file came out; each has a sentence (``verify.part.<value>``)."""

    OK = "ok"
    MISSING = "missing"
    SHORT = "short"
    """The beginning of the right file."""
    LONG = "long"
    ALTERED = "altered"
    """The right file but for some ranges, or nobody knows which ranges."""
    SWAPPED = "swapped"
    """Another part of the same model under this name."""
    FOREIGN = "foreign"
    """A file that does not belong here at all."""
    UNPROVEN = "unproven"
    """Nothing says what it should be; its hash is kept from now on."""
    MIXED = "mixed"
    """As it was proven, but no commit has all parts of its set together; ``detail`` is its own."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """One file."""

    target: str
    """Below the model's folder, forward slashes."""
    state: PartState
    size_bytes: int = 0
    """As it is."""
    expected_bytes: int | None = None
    sha256: str = ""
    """As it is; empty when only pieces were compared."""
    expected_sha256: str = ""
    bad_ranges: tuple[tuple[int, int], ...] = ()
    """First byte and the one behind the last, of pieces that differ."""
    other: str = ""
    """SWAPPED: which part this is."""
    witness: Witness = Witness.NOBODY
    """Who says what it should be."""
    detail: str = ""

    @property
    def bad_bytes(self) -> int:
        """To be fetched again, as far as that is known."""
        return sum(end - start for start, end in self.bad_ranges)

    @property
    def is_good(self) -> bool:
        """Nothing speaks against it."""
        return self.state in (PartState.OK, PartState.UNPROVEN)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """All files of one model."""

    folder: str
    parts: tuple[PartVerdict, ...]
    checked_bytes: int
    seconds: float

    @property
    def is_good(self) -> bool:
        """Every part is."""
        return all(part.is_good for part in self.parts)

    @property
    def is_proven(self) -> bool:
        """Every part was compared with what somebody says it should be."""
        return all(part.state is PartState.OK for part in self.parts)

    @property
    def n_unproven(self) -> int:
        """Parts of which nothing says what they should be."""
        return sum(part.state is PartState.UNPROVEN for part in self.parts)

    @property
    def problems(self) -> tuple[PartVerdict, ...]:
        """The parts that are not."""
        return tuple(part for part in self.parts if not part.is_good)

    def to_json(self) -> dict[str, Any]:
        """For the worker's answer and ``--json``."""
        return dataclasses.asdict(self) | {"good": self.is_good, "proven": self.is_proven}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> VerifyReport:
        """The reverse of ``to_json``."""
        parts = tuple(
            PartVerdict(
                **{
                    **part,
                    "state": PartState(part["state"]),
                    "witness": Witness(part["witness"]),
                    "bad_ranges": tuple((start, end) for start, end in part["bad_ranges"]),
                }
            )
            for part in raw["parts"]
        )
        return cls(raw["folder"], parts, raw["checked_bytes"], raw["seconds"])


@dataclass(frozen=True, slots=True)
class VerifyProgressed(Event):
    """A verification moved on; four times a second at most."""

    path: str
    """As it was asked for."""
    done_bytes: int
    total_bytes: int
    bytes_per_s: float
    eta_s: float | None
